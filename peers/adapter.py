"""What every adapter shares: the parameters of a class of scikit-learn, and a machine of ours that answers.

An adapter translates parameters, attributes and the layout of arrays, in both directions, and computes none
of what a test looks at: mercer does. Constructors are made from the signatures of the classes they stand
for, so nothing of theirs is written down again.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from mercer.estimators import FromAlpha, FromC
from mercer.kernels import (
    AdditiveChiSquared,
    ChiSquared,
    Cosine,
    FunctionKernel,
    Gaussian,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
)

# Numbers of machines that were fitted, or refused to be: a test that asks nothing of ours says nothing of it.
USED = [0]


# Attributes that say how scikit-learn found something, not what was found.
INTERNALS = {
    *("n_iter_", "solver_", "effective_metric_", "effective_metric_params_", "outputs_2d_", "class_weight_"),
    *("random_offset_", "random_weights_", "component_indices_", "normalization_", "loss_function_"),
    *("outliers_", "scale_estimate_", "X_fit_", "X_transformed_fit_", "shape_fit_"),
}


class Lacking(NotImplementedError):
    """Something that scikit-learn does and mercer does not."""


class Theirs(BaseEstimator):
    """An estimator by scikit-learn's name and parameters, whose answers are those of `machine_`."""

    machine_: Any

    def __init_subclass__(cls, stands_for: type | None = None, **options: Any) -> None:
        super().__init_subclass__(**options)
        if stands_for is not None:
            cls.__init__ = _constructor(stands_for)  # type: ignore[method-assign]
            cls.__name__ = cls.__qualname__ = stands_for.__name__
            cls.__doc__ = f"{stands_for.__name__} of scikit-learn, by mercer."

    def __getattr__(self, name: str) -> Any:
        # Only what is not found elsewhere is asked for here; `machine_` is not there before a fit.
        if name.startswith("_") or name in INTERNALS:
            raise AttributeError(f"{type(self).__name__} by mercer has no internal {name!r}")
        if name.endswith("_") and "machine_" in vars(self):
            return getattr(self.machine_, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = getattr(self, "kernel", None) == "precomputed" or (
            getattr(self, "metric", None) == "precomputed"
        )
        return tags

    def keep(self, machine: Any, X: Any = None) -> Any:
        """Remember a machine, before it is fitted: what was known of an earlier one is gone."""
        USED[0] += 1
        self.machine_, self.in_single = machine, getattr(X, "dtype", None) == np.float32
        return machine

    def cast(self, values: Any) -> np.ndarray:
        """Coefficients in the precision of X, which are float64 here whatever that is."""
        return np.asarray(values).astype(np.float32 if self.in_single else np.float64)

    def fitted(self) -> Any:
        """The machine that answers."""
        check_is_fitted(self, "machine_")
        return self.machine_


def _constructor(original: type) -> Any:
    signature = inspect.signature(original.__init__)  # type: ignore[misc]

    def __init__(self: Any, *positional: Any, **named: Any) -> None:
        given = signature.bind(self, *positional, **named)
        given.apply_defaults()
        for name, value in list(given.arguments.items())[1:]:
            setattr(self, name, value)

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__


# -- from their words to ours ------------------------------------------------------------------------------


def ours(cls: Any, **parameters: Any) -> Any:
    """A machine of ours; what it has no parameter for is lacking."""
    known = inspect.signature(cls.__init__).parameters
    unknown = sorted(set(parameters) - set(known))
    if unknown:
        USED[0] += 1
        raise Lacking(f"{cls.__name__} has no {', '.join(unknown)}")
    return cls(**parameters)


def lacking(what: str) -> Lacking:
    """The same, said of something that is no parameter."""
    USED[0] += 1
    return Lacking(what)


def price(cls: Any, value: Any) -> Any:
    """λ in their words; several are one a target."""
    value = value.item() if isinstance(value, np.ndarray) and value.size == 1 else value
    if not isinstance(value, (np.ndarray, list, tuple)):
        return cls(value)
    if not np.all(np.asarray(value) > 0):
        raise lacking("no penalty on one of several targets")
    return cls([float(each) for each in value])


def kernel_of(theirs: Any, X: Any) -> Any:
    """Our kernel for `kernel`, `gamma`, `degree`, `coef0` and `kernel_params` of an estimator of theirs."""
    kernel = theirs.kernel
    if callable(kernel):
        if sp.issparse(X):
            raise lacking("functions of sparse rows as kernels")
        extra = getattr(theirs, "kernel_params", None) or {}
        whole = hasattr(theirs, "shrinking")  # support vector machines call with both sets of points
        return FunctionKernel((lambda x, z: kernel(x, z, **extra)) if extra else kernel, vectorized=whole)
    gamma, degree, coef0 = width(theirs.gamma, X), theirs.degree, theirs.coef0
    gamma = 1.0 if kernel == "chi2" and theirs.gamma is None else gamma
    degree, coef0 = 3 if degree is None else degree, 1.0 if coef0 is None else float(coef0)
    return named_kernel(kernel, gamma, degree, coef0)


def named_kernel(name: str, gamma: float, degree: float, coef0: float) -> Any:
    """A kernel of `sklearn.metrics.pairwise`."""
    if name in ("poly", "polynomial"):
        if int(degree) != degree:
            raise lacking("polynomial kernels of a fractional degree")
        degree = int(degree)
        if degree == 0:
            return Polynomial(1, 0.0) * 0 + 1.0
        return gamma**degree * Polynomial(degree, coef0 / gamma)
    made = {
        "linear": Linear,
        "rbf": lambda: Gaussian.from_gamma(gamma),
        "laplacian": lambda: Laplacian.from_gamma(gamma),
        "sigmoid": lambda: Sigmoid(gamma, coef0),
        "cosine": Cosine,
        "chi2": lambda: ChiSquared(gamma),
        "additive_chi2": AdditiveChiSquared,
        "precomputed": Precomputed,
    }
    if name not in made:
        raise lacking(f"the kernel {name!r}")
    return made[name]()


def width(gamma: Any, X: Any) -> float:
    """The number that "scale", "auto" and None stand for."""
    if not isinstance(gamma, str) and gamma is not None:
        return float(gamma)
    X = X if sp.issparse(X) else np.asarray(X)
    features = X.shape[1] if X.ndim == 2 else 1
    if gamma != "scale" or X.dtype.kind not in "fiub":
        return 1 / features
    if sp.issparse(X):
        variance = X.multiply(X).mean() - X.mean() ** 2
    else:
        variance = X.var()
    return float(1 / (features * variance)) if variance > 0 else 1.0


def augmented(X: Any, scale: float) -> Any:
    """X with a column of `scale`: the intercept that LIBLINEAR penalises like any other weight."""
    if sp.issparse(X):
        return sp.hstack([X, np.full((X.shape[0], 1), scale)], format="csr")
    X = np.asarray(X)
    return np.hstack([X, np.full((len(X), 1), scale, dtype=X.dtype if X.dtype.kind == "f" else float)])


def stopping(solver: Any, theirs: Any, default: Any) -> Any:
    """Our solver, if they say how many steps are enough; "auto" else."""
    return "auto" if theirs.max_iter in (None, -1, default) else solver(max_iter=theirs.max_iter)


__all__ = [
    "USED",
    "FromAlpha",
    "FromC",
    "Lacking",
    "Theirs",
    "augmented",
    "kernel_of",
    "lacking",
    "named_kernel",
    "ours",
    "price",
    "stopping",
    "width",
]
