"""The door: names become objects here, and nowhere else."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any, TypeVar

from mercer import engines, kernels, losses, representations, solvers
from mercer.engines import Engine
from mercer.kernels import FunctionKernel, Kernel
from mercer.losses import Loss
from mercer.representations import Features, Representation
from mercer.solvers import Solver

T = TypeVar("T")

_KERNELS: dict[str, Callable[[], Kernel]] = {
    "gaussian": kernels.Gaussian,
    "rbf": kernels.Gaussian,
    "laplacian": kernels.Laplacian,
    "matern": kernels.Matern,
    "rational_quadratic": kernels.RationalQuadratic,
    "linear": kernels.Linear,
    "polynomial": kernels.Polynomial,
    "poly": kernels.Polynomial,
    "sigmoid": kernels.Sigmoid,
    "cosine": kernels.Cosine,
    "arc_cosine": kernels.ArcCosine,
    "periodic": kernels.Periodic,
    "chi2": kernels.ChiSquared,
    "intersection": kernels.HistogramIntersection,
    "precomputed": kernels.Precomputed,
}
_LOSSES: dict[str, Callable[[], Loss]] = {
    "squared": losses.Squared,
    "logistic": losses.Logistic,
    "multinomial": losses.Multinomial,
    "hinge": losses.Hinge,
    "squared_hinge": losses.SquaredHinge,
    "epsilon_insensitive": losses.EpsilonInsensitive,
    "huber": losses.Huber,
    "absolute": losses.Absolute,
    "quantile": losses.Quantile,
    "exponential": losses.Exponential,
    "poisson": losses.Poisson,
}
_REPRESENTATIONS: dict[str, Callable[[], Representation]] = {
    "full": representations.Full,
    "nystrom": representations.Nystrom,
    "features": representations.Features,
    "lasso": representations.Lasso,
}
_SOLVERS: dict[str, Callable[[], Solver]] = {
    "cholesky": solvers.Cholesky,
    "cg": solvers.CG,
    "newton": solvers.Newton,
    "descent": solvers.GradientDescent,
    "coordinate": solvers.Coordinate,
}
_ENGINES: dict[str, Callable[[], Engine]] = {"tiled": engines.Tiled, "auto": engines.Tiled}


def kernel_of(value: Any) -> Kernel:
    """A Kernel, a kernel's name, or a function of two points."""
    if callable(value) and not isinstance(value, (Kernel, type)):
        return FunctionKernel(value)
    return _object(value, Kernel, _KERNELS, "kernel")


def loss_of(value: Any) -> Loss:
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
