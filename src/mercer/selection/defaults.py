"""Ranges nobody gave: those of mercer's machines follow from their kernel and the data."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from mercer._resolve import kernel_of
from mercer._xp import issparse
from mercer.estimators.base import KernelMachine
from mercer.estimators.inputs import KernelInputs
from mercer.estimators.neighbours import KernelNeighbours
from mercer.kernels import Kernel, Precomputed
from mercer.kernels.declared import Declared, may_move
from mercer.kernels.order import order_of
from mercer.kernels.unary import Scale
from mercer.selection.dimensions import Choice, Dimension, Distribution, Integer, Real
from mercer.selection.objectives import Data

# Factors around the value a kernel finds for itself.
_AROUND = 100.0
# λ relative to the mean of k(x,x). Below 1e-7 only least squares stays quick.
_LAM = (1e-7, 1e1)
_LAM_SQUARED = (1e-9, 1e1)
# ε of support vector regression, relative to the spread of y.
_EPSILON = (1e-3, 1.0)
_ROWS = 2000
# Points that tell whether a parameter changes how they are shown.
_SHOWN = 20


def with_objects(estimator: Any) -> Any:
    """A clone whose machines have kernels, not names of kernels: only those have parameters to set."""
    estimator = clone(estimator)
    parts = {"": estimator, **{f"{name}__": part for name, part in estimator.get_params().items()}}
    named = {
        f"{name}kernel": kernel_of(part.kernel)
        for name, part in parts.items()
        if isinstance(part, KernelInputs) and not isinstance(part.kernel, Kernel)
    }
    return estimator.set_params(**named)


def complete(space: Mapping[str, Any] | None, estimator: Any, data: Data) -> dict[str, Any]:
    """The space with every None replaced by a range from the data; all of it, if it is None itself."""
    if space is not None and not isinstance(space, Mapping):
        raise ValueError(f"space is a dictionary from parameter names to values, got {space!r}")
    open_names = [] if space is None else [k for k, v in space.items() if _has_none(v)]
    if space is not None and not open_names:
        return dict(space)
    last = estimator.steps[-1] if isinstance(estimator, Pipeline) else ("", estimator)
    prefix, machine = f"{last[0]}__" if last[0] else "", last[1]
    if not isinstance(machine, KernelInputs):
        some = ", ".join(sorted(estimator.get_params())[:8])
        raise ValueError(
            f"{type(machine).__name__} has no ranges by default: say what to tune, as in "
            f"space={{'name': (low, high)}}, with names among {some}, …"
        )
    ranges = Ranges(machine, *_points(estimator, data))
    if space is None:
        return {prefix + name: value for name, value in ranges.all().items()}
    return {name: ranges.fill(name.removeprefix(prefix), space[name]) for name in space}


class Ranges:
    """Ranges of one machine's parameters, given the points its kernel sees."""

    def __init__(self, machine: KernelInputs, X: Any, y: Any):
        self.machine, self.kernel = machine, machine.asked_kernel()
        self.points = clone(machine).check_X(X, self.kernel, reset=True)
        self.y = y

    def all(self) -> dict[str, Any]:
        """Everything worth tuning."""
        out: dict[str, Any] = {f"kernel__{k}": v for k, v in self.of_kernel(self.kernel).items()}
        for name in ("lam", "epsilon"):
            if name in self.machine.get_params(deep=False):
                out[name] = getattr(self, name)()
        if not isinstance(self.machine, KernelNeighbours):
            return out
        if self.machine.n_neighbors != "auto":  # which it chooses at every fit
            out["n_neighbors"] = self.n_neighbors()
        if not out:
            raise ValueError(
                f"{self.machine!r} has nothing to tune by default: who is nearest does not depend on the "
                "parameters of this kernel, and how many are asked is found by leaving one out. Say what to "
                "tune, as in space={'weights': ['uniform', 'distance']}, or space={'kernel': [k1, k2]}"
            )
        return out

    def fill(self, name: str, value: Any) -> Any:
        """A value of the space with its Nones replaced."""
        if name == "kernel" and isinstance(value, Mapping):
            return {k: self.of_kernel(k) if inner is None else inner for k, inner in value.items()}
        if value is not None:
            return value
        if name in ("lam", "epsilon", "n_neighbors"):
            return getattr(self, name)()
        found = {f"kernel__{k}": v for k, v in self.of_kernel(self.kernel).items()}.get(name)
        if found is None:
            raise ValueError(f"space[{name!r}] is None, and there is no range by default: give (low, high)")
        return found

    def of_kernel(self, kernel: Kernel) -> dict[str, Dimension]:
        """Two decades each side of every positive parameter, as it stands or as the data have it.

        Of those of which the kernel says more: between their bounds, or where the prior is; fixed ones stay.
        """
        if isinstance(kernel, Precomputed):
            return {}
        resolved = kernel.resolve(self.points)
        found = _positive(resolved)
        if isinstance(kernel, Scale):
            found.pop("factor", None)  # c·k with λ is k with λ/c
        if isinstance(self.machine, KernelNeighbours) and self.machine.weights == "uniform":
            # Only the order of distances counts.
            found = {name: v for name, v in found.items() if not _keeps_order(resolved, name, self.points)}
        return found

    def n_neighbors(self) -> Integer:
        """As far as `KernelNeighbours` looks by itself, and no more than half of the examples."""
        n = self.points.shape[0]
        return Integer(1, max(1, min(max(15, math.ceil(2 * math.sqrt(n))), n // 2)), log=True)

    def lam(self) -> Real:
        """From next to nothing to more than k(x,x)."""
        if isinstance(self.kernel, Precomputed):
            diagonal = np.asarray(self.points.diagonal(), dtype=float)
        else:
            diagonal = self.kernel.resolve(self.points).diag(self.points)
        scale = float(np.mean(diagonal))
        squared = (
            isinstance(self.machine, KernelMachine) and self.machine.loss_for(np.asarray(self.y)).quadratic
        )
        low, high = _LAM_SQUARED if squared else _LAM
        scale = scale if scale > 0 and math.isfinite(scale) else 1.0
        return Real(low * scale, high * scale, log=True)

    def epsilon(self) -> Real:
        """From next to nothing to the spread of y."""
        spread = float(np.std(np.asarray(self.y, dtype=float))) or 1.0
        return Real(_EPSILON[0] * spread, _EPSILON[1] * spread, log=True)


def _has_none(value: Any) -> bool:
    return value is None or (isinstance(value, Mapping) and any(v is None for v in value.values()))


def _positive(kernel: Kernel, prefix: str = "") -> dict[str, Dimension]:
    found: dict[str, Dimension] = {}
    for name in dict.fromkeys((*kernel.positive, *kernel.log_params)):
        given = getattr(kernel, name)
        value = float(given) if isinstance(given, numbers.Real) else math.nan
        if 0 < value < math.inf and may_move(given):
            found[prefix + name] = _around(given)
    for name, child in kernel.children().items():
        found |= _positive(child, f"{prefix}{name}__")
    return found


def _around(given: Any) -> Dimension:
    """Where to look for a positive parameter: two decades each side, or where the kernel says."""
    low, high = float(given) / _AROUND, float(given) * _AROUND
    if not isinstance(given, Declared):
        return Real(low, high, log=True)
    unbounded = not given.low > 0 and math.isinf(given.high)
    if given.prior is not None and unbounded and hasattr(given.prior, "distribution"):
        return Distribution(given.prior.distribution())
    low, high = given.low or low, min(given.high, high) if math.isinf(given.high) else given.high
    return Real(low, high, log=True) if low < high else Choice([low])


def _keeps_order(kernel: Kernel, name: str, X: Any) -> bool:
    """Is who is nearer to whom the same whatever this parameter is?"""
    value = kernel.get_params()[name]
    here, there = (order_of(clone(kernel).set_params(**{name: v})) for v in (value, 2 * value))
    if here is None or there is None or here.norm != there.norm:
        return False
    # The distance is that of points as length scales, columns or a map show them.
    some = kernel.points(X[:_SHOWN].toarray() if issparse(X) else X[:_SHOWN])
    return np.array_equal(here.view.points(some), there.view.points(some))


def _points(estimator: Any, data: Data) -> tuple[Any, Any]:
    """Some examples as the last step of a pipeline sees them."""
    rows = data.rows(_ROWS)
    pairwise = getattr(estimator.__sklearn_tags__().input_tags, "pairwise", False)
    X = data.X[np.ix_(rows, rows)] if pairwise else _safe_indexing(data.X, rows)
    y = None if data.y is None else _safe_indexing(data.y, rows)
    if isinstance(estimator, Pipeline) and len(estimator.steps) > 1:
        X = clone(estimator[:-1]).fit_transform(X, y)
    return X, y
