"""The doors estimators share: points as their kernel takes them, labels and weights as they are learned."""

from __future__ import annotations

import math
from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_array, column_or_1d, validate_data

from mercer import _resolve
from mercer._params import Params
from mercer._state import parameters_of, require
from mercer._warnings import frames_inside
from mercer._words import Worded, translated
from mercer._xp import as_csr, frozen, issparse, n_points
from mercer.engines import Engine
from mercer.estimators.elsewhere import FileToFile
from mercer.estimators.machine_html import machine_html
from mercer.estimators.tensors import engine_for, on_host, remember
from mercer.functions import Function, KernelFunction
from mercer.kernels import Finite, Gaussian, Precomputed
from mercer.kernels.base import Kernel
from mercer.kernels.door import admit
from mercer.kernels.named import needed
from mercer.kernels.points import FOR_OBJECTS, as_objects, require_one_kind, shortened
from mercer.losses.several import SeveralLabels
from mercer.rows import Rows, lives_elsewhere

# What machines take if no kernel is named: one object, which nobody changes (see `set_params`).
GAUSSIAN = Gaussian()
# A point that is made for a trial has as many numbers; nothing in a file need be as large.
MOST_FEATURES = 1 << 22
# How NumPy says that words, graphs or lists of different lengths are no numbers.
_NO_NUMBERS = ("could not convert string", "setting an array element", "float() argument must be")


class KernelInputs(Worded, FileToFile, BaseEstimator):
    """An estimator on points of a kernel."""

    kernel: Any
    engine: Any
    kernel_: Kernel
    coding_: Any
    scores: Any

    holds: dict[str, Any] = {"kernel_": Kernel}
    fitted_by = "function_"

    def set_params(self, **params: Any) -> Self:
        """Set parameters; those of a kernel or another part on a copy, which nobody else holds."""
        for name in {key.partition("__")[0] for key in params if "__" in key}:
            if name == "kernel" and isinstance(getattr(self, name, None), str):
                self.kernel = _resolve.kernel_of(self.kernel)  # a word has no parameters
            if isinstance(getattr(self, name, None), Params):
                setattr(self, name, copy(getattr(self, name)))
        said = translated(type(self), params)
        if said is not None:
            raise ValueError(said)
        return super().set_params(**params)

    @classmethod
    def from_gamma(cls, gamma: float, **parameters: Any) -> Self:
        """The machine with the Gaussian kernel exp(−gamma·‖x−z‖²), whose width is σ = 1/√(2·gamma).

        >>> from mercer import KernelPCA
        >>> KernelPCA.from_gamma(0.5, n_components=2)
        KernelPCA(kernel=Gaussian(sigma=1.0), n_components=2)
        """
        return cls(kernel=Gaussian.from_gamma(gamma), **parameters)  # type: ignore[call-arg]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        try:
            kernel = self.asked_kernel()
        except (TypeError, ValueError):
            return tags  # fit will say what is wrong
        tags.input_tags.pairwise = isinstance(kernel, Precomputed)
        tags.input_tags.sparse = bool(kernel.sparse)
        return tags

    def asked_kernel(self) -> Kernel:
        """The kernel that was given, by whatever name."""
        return _resolve.kernel_of(self.kernel)

    def _html_repr(self) -> str:
        """What notebooks show: scikit-learn's diagram and, once fitted, what is known of the fit."""
        return machine_html(self)

    def check_X(self, X: Any, kernel: Kernel, *, reset: bool) -> Any:
        """Points as this kernel takes them; `reset`: their features are those that `predict` will expect."""
        if not reset and self._needs_no_check(X):
            return X
        self._require_here(X, kernel)
        if kernel.vectors or isinstance(kernel, Precomputed):
            require_numbers(X, "X")
            sparse: Any = "csr" if kernel.sparse else False
            try:
                return as_csr(
                    validate_data(self, X, reset=reset, accept_sparse=sparse, dtype=[np.float64, np.float32])
                )
            except (TypeError, ValueError) as error:
                if not any(words in str(error) for words in _NO_NUMBERS):
                    raise
                said = str(error).rstrip(".")
                raise type(error)(f"{said}. {kernel!r} compares vectors of numbers: {FOR_OBJECTS}") from None
        # Strings, graphs, indices, …: the kernel itself knows what its points look like.
        if isinstance(X, (str, bytes)) or not hasattr(X, "__len__"):
            raise ValueError(f"X must be a list of points, got {shortened(X)}: for a single one give [x]")
        points = needed(kernel, kernel.points(X))
        if points.shape[0] == 0:
            raise ValueError("Found array with 0 sample(s): X is empty")
        if reset:  # of an earlier fit to vectors
            for name in ("n_features_in_", "feature_names_in_"):
                self.__dict__.pop(name, None)
        return points

    def _require_here(self, X: Any, kernel: Kernel) -> None:
        """Refuse examples that live elsewhere where an array is needed; one that is mapped will do."""
        known = isinstance(X, Rows) or (kernel.vectors and not isinstance(X, np.memmap))
        if known and lives_elsewhere(X):
            raise ValueError(
                f"{type(self).__name__} needs these examples in memory, and they live elsewhere: load some, "
                "open_rows(X).take(index).X. What fits them where they are, with centres or features, are "
                "kernel regressors and classifiers, KernelPCA and KernelKMeans"
            )

    def _needs_no_check(self, X: Any) -> bool:
        """Are these plain finite numbers, as many a row as there were in `fit`?

        scikit-learn's check takes longer than predicting a row does, and would find nothing.
        """
        width = getattr(self, "n_features_in_", None)
        if type(X) is not np.ndarray or X.ndim != 2 or X.shape[1] != width or not len(X):
            return False
        if X.dtype not in (np.float64, np.float32) or hasattr(self, "feature_names_in_"):
            return False
        with np.errstate(over="ignore", invalid="ignore"):
            return math.isfinite(X.sum())

    def _door(self, X: Any, *parts: Any) -> tuple[Kernel, Engine, Any]:
        """A kernel of the machine's own, its engine, and X checked: what every fit begins with.

        `parts` are what else the machine was given: value objects, or None.
        """
        kernel = clone(self.asked_kernel())
        engine: Engine = _resolve.engine_of(engine_for(self.engine, X))
        for part in (kernel, engine, *parts):
            if part is not None:
                part.validate()
        return kernel, engine, self.check_X(on_host(X), kernel, reset=True)

    # Does it learn from examples that live elsewhere?
    takes_rows = False

    def learns_elsewhere(self, X: Any) -> bool:
        """Do these examples live elsewhere, to be learned from there, and not as an array in memory?

        A memory-mapped array is an array to those that take no others: some machines, kernels not on vectors.
        An engine may send any array elsewhere.
        """
        if not self.takes_rows:
            return False
        if not lives_elsewhere(X):
            return _resolve.engine_of(engine_for(self.engine, X)).sends
        kernel = _resolve.kernel_of(self.kernel)
        return not isinstance(X, np.memmap) or (kernel.vectors and not isinstance(kernel, Precomputed))

    def require_y(self, y: Any) -> Any:
        """Targets on the host, or a ValueError if there are none."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        return on_host(y)

    @property
    def input_kernel_(self) -> Kernel:
        """The kernel of points as `predict` takes them: `kernel_`; after a fit to a matrix, Precomputed()."""
        # A precomputed matrix became Finite; points of a Finite that was given have no features.
        precomputed = isinstance(self.kernel_, Finite) and hasattr(self, "n_features_in_")
        return Precomputed() if precomputed else self.kernel_

    def check_new(self, X: Any, engine: Engine | None = None) -> Any:
        """Points to predict for, as the fitted kernel takes them; an engine hears where they live already."""
        points = self.check_X(on_host(X), self.input_kernel_, reset=False)
        function = getattr(self, "function_", None)
        if isinstance(function, KernelFunction):
            require_one_kind(points, function.points)
        if engine is not None:
            remember(engine, points, X)
        return points

    # What is made of a function that is no kernel but wanted even so; empty where the solver says it.
    _if_indefinite = (
        "there is no feature space for distances and norms, and what is found has none of the guarantees"
    )

    def _bind(
        self,
        kernel: Kernel,
        X: Any,
        engine: Engine,
        given: Any,
        weights: np.ndarray | None = None,
        *,
        keep: bool = False,
    ) -> tuple[Any, np.ndarray]:
        """Find what the kernel takes from checked points, keep it as `kernel_`, and refuse what is no kernel.

        Returns the points as that kernel takes them, and k(x,x). `given` is X as it came: a remote engine may
        have it already. `keep`: the machine will hold on to the points, so they must be its own; functions
        see to theirs themselves.
        """
        self.kernel_, points = kernel.resolve(X, weights).bind(X)
        points = as_objects(points)
        squares = np.asarray(self.kernel_.diagonal(points), np.float64)
        if not np.isfinite(squares).all():
            raise ValueError(
                f"{self.kernel_!r} gives NaN or infinity for k(x,x) on these points; are they too large?"
            )
        seen = points if weights is None or weights.all() else points[np.flatnonzero(weights)]
        self._definite = self.admit_points(seen)
        if engine.remote or keep:
            points = frozen(points)
            remember(engine, points, given)
        return points, squares

    def admit_points(self, points: Any) -> bool:
        """The door: refuse what is no kernel on these points, or say that it is none."""
        return admit(self.kernel_, points, self._if_indefinite, frames_inside())

    # -- what is remembered: see `mercer._state` ----------------------------------------------------

    def check_parameters(self) -> None:
        """Refuse names of kernels, engines, … that nothing has."""
        cls: Any = type(self)
        for name in ("kernel", "engine", "representation", "solver"):
            if name in parameters_of(cls):
                getattr(_resolve, f"{name}_of")(getattr(self, name))
        self._validate()

    def _validate(self) -> None:
        """Refuse parameters that are out of range."""

    def check_state(self) -> None:
        """Refuse what does not belong together, and so was not left by `fit`."""
        width = getattr(self, "n_features_in_", None)
        require(not self.kernel_.vectors or width is not None, "n_features_in_ is missing")
        f: Any = getattr(self, "function_", vars(self).get(type(self).fitted_by))
        if isinstance(f, Function):
            require(f.n_features in (None, width), "it is a function of other features")

    def scored(self, X: Any) -> tuple[np.ndarray, Any]:
        """Scores of X, and the coding that makes answers of them."""
        scores = self.scores(X)
        return scores, self.coding_

    def _check_answers(self, coding: Any, outputs: int) -> None:
        one = coding.classes is None or len(coding.classes) > 1 or isinstance(coding, SeveralLabels)
        require(one, "there is one class only")
        require(coding.n_outputs == outputs, f"{coding.n_outputs} outputs are made of {outputs} functions")
        require(getattr(self, "classes_", None) is coding.classes, "classes_ are others than coded")

    def try_state(self) -> None:
        """Answer for one point, of those that are known if there are any."""
        if not self.kernel_.vectors:
            return
        require(self.n_features_in_ <= MOST_FEATURES, "it takes more features than there can be")
        known = getattr(getattr(self, "function_", None), "points", None)
        point = known[:1] if known is not None and n_points(known) else np.zeros((1, self.n_features_in_))
        machine: Any = copy(self)
        machine.__dict__.pop("feature_names_in_", None)  # or a point without names would be warned of
        for method in ("predict", "predict_proba", "decision_function", "transform"):
            if hasattr(machine, method):
                getattr(machine, method)(point)


def checked_labels(y: Any, several: bool = False) -> np.ndarray:
    """Labels as an array, or a ValueError that says why they can't be learned.

    `several`: columns of them are welcome, too, and indicators as a sparse matrix.
    """
    if several and issparse(y):
        y = y.toarray()
    if several and not hasattr(y, "ndim"):
        y = np.asarray(y)
    if several and (y.ndim > 2 or (y.ndim == 2 and y.shape[1] > 1)):
        y = check_array(y, dtype=None, ensure_min_samples=0, input_name="y")
    else:
        y = column_or_1d(y, warn=True)
    try:
        assert_all_finite(y, input_name="y")
    except TypeError:  # pandas' missing value answers no comparison with yes or no
        raise ValueError("y has missing labels (NA): drop those examples") from None
    try:
        check_classification_targets(y)
    except TypeError:
        kinds = ", ".join(sorted({type(label).__name__ for label in y}))
        raise ValueError(f"labels must be of one kind that can be sorted, got {kinds}") from None
    return y


def require_numbers(values: Any, name: str) -> None:
    """Refuse times, which NumPy would make numbers of in whatever unit they happen to have."""
    if getattr(getattr(values, "dtype", None), "kind", None) in ("m", "M"):
        raise ValueError(
            f"{name} holds times, and which unit counts is not said: make numbers of them, such as days, by "
            f"({name} - {name}.min()) / np.timedelta64(1, 'D')"
        )


def nonnegative_weights(sample_weight: Any, X: Any) -> np.ndarray:
    """Weights of the points X as they were given; ones without any."""
    if sample_weight is None:  # a check would take longer than an online machine's step
        return np.ones(n_points(X))
    w = column_or_1d(_check_sample_weight(sample_weight, X, dtype=np.float64))
    if (w < 0).any():
        raise ValueError("sample_weight must be nonnegative")
    return w


def checked_weights(sample_weight: Any, X: Any) -> np.ndarray:
    """Such weights, where only their ratios matter."""
    w = nonnegative_weights(sample_weight, X)
    largest = float(w.max(initial=0.0))
    if largest > 0 and not 1e-250 < largest < 1e250:
        raise ValueError(
            f"sample_weight goes up to {largest:.0e}, and sums of such numbers are not what they should be: "
            "only ratios of weights matter, so divide by the largest"
        )
    return w


def like(scores: np.ndarray, X: Any) -> np.ndarray:
    """What is said of points in float32 is float32: rounded once, at the end."""
    return scores.astype(np.float32) if getattr(X, "dtype", None) == np.float32 else scores


def finite_scores(scores: np.ndarray) -> np.ndarray:
    """These scores; of numbers that are none no answer is made, least of all the first class."""
    if not np.isfinite(scores).all():
        wrong = np.flatnonzero(~np.isfinite(scores).all(axis=1))
        raise ValueError(
            f"the kernel gives NaN or infinity for {len(wrong)} of these {len(scores)} points (the "
            "first is row "
            f"{wrong[0]}): are they much larger than those the machine has learned from? Scale the features"
        )
    return scores
