"""The door: names become objects here, and nowhere else."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable
from typing import Any, TypeVar

from mercer import engines, kernels, losses, representations, solvers
from mercer._params import Params
from mercer.engines import Engine
from mercer.kernels import FunctionKernel, Kernel
from mercer.losses import FunctionLoss, Loss
from mercer.representations import Features, Representation
from mercer.solvers import Solver

T = TypeVar("T")


def _exported(room: Any, kind: type, label: Callable[[Any], str]) -> dict[str, Callable[[], Any]]:
    """Name → class for what a room exports and what can be made without arguments."""
    found: dict[str, Callable[[], Any]] = {}
    for name in room.__all__:
        value = getattr(room, name)
        if inspect.isclass(value) and issubclass(value, kind) and label(value):
            parameters = list(inspect.signature(value).parameters.values())
            if all(p.default is not p.empty for p in parameters):
                found[label(value)] = value
    return found


def _snake(cls: type) -> str:
    """RationalQuadratic → rational_quadratic, L1Ball → l1_ball; what is to be subclassed has no name."""
    if inspect.isabstract(cls) or cls in (Kernel, kernels.Profiled, kernels.Radial, kernels.Dot):
        return ""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()


# Names come from the classes themselves; only what other libraries call them is listed.
_KERNELS = {
    **_exported(kernels, Kernel, _snake),
    "rbf": kernels.Gaussian,
    "poly": kernels.Polynomial,
    "chi2": kernels.ChiSquared,
}
_LOSSES = {
    **_exported(losses, Loss, _snake),
    "log_loss": losses.Logistic,
    "squared_error": losses.Squared,
    "absolute_error": losses.Absolute,
    "pinball": losses.Quantile,
}
_REPRESENTATIONS = _exported(representations, Representation, lambda cls: cls.name)
_SOLVERS = _exported(solvers, Solver, lambda cls: cls.name)
_ENGINES = {**_exported(engines, Engine, lambda cls: cls.name), "auto": engines.Tiled}


def kernel_of(value: Any) -> Kernel:
    """A Kernel, a kernel's name, or a function of two points."""
    if type(value).__module__ == "sklearn.gaussian_process.kernels":
        raise TypeError(
            f"{value!r} is a kernel of scikit-learn's. Here RBF(ℓ) is Gaussian(ℓ), with one ℓ a column "
            "Gaussian(1.0).scaled(ℓ), Matern(ℓ, nu=…) is Matern(nu, ℓ), a WhiteKernel's noise is λn; "
            "docs/howto/from-scikit-learn.md has a table"
        )
    if callable(value) and not isinstance(value, (Kernel, type)):
        return FunctionKernel(value)
    return _object(value, Kernel, _KERNELS, "kernel")


def loss_of(value: Any, classification: bool = False) -> Loss:
    """A Loss, a loss's name, or a function V(y, s): of labels coded ±1, or of numbers."""
    if callable(value) and not isinstance(value, (Params, type)):
        return FunctionLoss(value, classification=classification)
    return _object(value, Loss, _LOSSES, "loss")


def representation_of(value: Any) -> Representation | None:
    """A Representation or its name; None for "auto"."""
    if isinstance(value, str) and value == "auto":
        return None
    found = _object(value, Representation, _REPRESENTATIONS, "representation")
    if isinstance(found, Features) and isinstance(found.map, str):
        raise ValueError("Features: map must be a feature map such as RandomFourierFeatures(), not a name")
    return found


def solver_of(value: Any) -> Solver | None:
    """A Solver or its name; None for "auto"."""
    if isinstance(value, str) and value == "auto":
        return None
    return _object(value, Solver, _SOLVERS, "solver")


def engine_of(value: Any) -> Engine:
    return _object(value, Engine, _ENGINES, "engine")


def _object(value: Any, kind: Any, names: dict[str, Callable[[], T]], what: str) -> T:
    if isinstance(value, kind):
        return value
    known = ", ".join(repr(n) for n in sorted(names))
    if isinstance(value, type) and issubclass(value, kind):
        raise TypeError(f"{what} must be an object: write {value.__name__}(), with the parentheses")
    if isinstance(value, str):
        if value in names:
            return names[value]()
        near = difflib.get_close_matches(value, names, 1)
        raise ValueError(
            f"unknown {what} {value!r}" + (f", did you mean {near[0]!r}?" if near else f"; known: {known}")
        )
    raise TypeError(f"{what} must be of type {kind.__name__}, or one of {known}; got {value!r}")
