"""What kernels made of kernels share."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._xp import DualNumber, dual
from mercer.kernels.base import Kernel
from mercer.kernels.counts import Counts

_TIGHTEST = 4


class _Composite(Kernel):
    """A kernel made of kernels; points, sparsity and the like are what the parts agree on."""

    # Names of the parameters that are its parts.
    parts: tuple[str, ...] = ("kernel",)
    # What it is, of kernels: why it is one, if they are.
    made: str
    # How tightly its operator binds: + is 1, * is 2, ** is 3; a call binds most.
    binding = _TIGHTEST

    def validate(self):
        for name in self.parts:
            if not isinstance(getattr(self, name), Kernel):
                raise TypeError(
                    f"{type(self).__name__}: {name} must be a kernel, got {getattr(self, name)!r}"
                )
        super().validate()

    def points(self, X):
        # Whoever looks at columns by their names makes dicts of rows, which are objects to all others.
        for k in sorted(self.children().values(), key=_looks_for_names, reverse=True):
            X = k.points(X)
        return X

    @property
    def by_name(self) -> bool:
        """Does a part look at columns by their names?"""
        return any(map(_looks_for_names, self.children().values()))

    @property
    def sparse(self):  # type: ignore[override]
        return all(k.sparse for k in self.children().values())

    @property
    def vectors(self):
        return all(k.vectors for k in self.children().values())

    @property
    def infinitely_divisible(self):  # type: ignore[override]
        return all(k.infinitely_divisible for k in self.children().values())

    @property
    def indefinite(self):  # type: ignore[override]
        return any(k.indefinite for k in self.children().values())

    def rule(self):
        reasons = [k.rule() for k in self.children().values()]
        return None if None in reasons else f"{self.made} ({'; '.join(map(str, reasons))})"


def _looks_for_names(kernel: Kernel) -> bool:
    return getattr(kernel, "by_name", False)


class _CountsOfOne(Kernel):
    """A kernel made of one other, which has sparse features if that has. A subclass gives `recounted`."""

    kernel: Kernel

    @property
    def has_counts(self):  # type: ignore[override]
        return self.kernel.has_counts

    def counts(self, X):
        return X if isinstance(X, Counts) else self.recounted(X)

    def recounted(self, X: Any) -> Counts:
        """The features of checked points, from those of the other kernel."""
        raise NotImplementedError(f"{type(self).__name__} must define recounted(X)")

    def spelled(self, X):
        return self.kernel.spelled(self.child_points(X))


class PreparedParts:
    """Points as each part of a kernel has prepared them; taken apart like points."""

    ndim = 1
    dtype = np.dtype(object)

    def __init__(self, parts: list[Any]):
        self.parts = parts

    @property
    def shape(self) -> tuple[int]:
        return (self.parts[0].shape[0],)

    def __getitem__(self, index: Any) -> PreparedParts:
        return type(self)([part[index] for part in self.parts])


class _Combined(_Composite):
    """g(k₁(x,z), …): a function of the values of kernels. A subclass gives `combine`, that is g."""

    def combine(self, *values: Any, xp: Any) -> Any:
        """g, in operations of the namespace xp; values may be numbers, arrays, symbols or dual numbers."""
        raise NotImplementedError

    def _values(self, method: str, *args: Any) -> list[Any]:
        """What each part says of the same points, or of its own form of them."""
        out = []
        for i, part in enumerate(self.parts):
            own = (a.parts[i] if isinstance(a, PreparedParts) else a for a in args)
            out.append(getattr(getattr(self, part), method)(*own))
        return out

    def prepared(self, X):
        if self.vectors or self.has_counts or isinstance(X, PreparedParts):
            return super().prepared(X)
        parts = self._values("prepared", X)
        # Points that every part takes as they are stay what they are: engines know them.
        return X if all(part is X for part in parts) else PreparedParts(parts)

    def formula(self, tracer, view):
        return self.combine(*self._values("formula", tracer, view), xp=tracer)

    def pairwise(self, X, Z):
        return self.combine(*self._values("pairwise", X, Z), xp=np)

    def diagonal(self, X):
        return self.combine(*self._values("diagonal", X), xp=np)

    def amplitude(self):
        return float(self.combine(*self._values("amplitude"), xp=np))

    def _outer_slopes(self, X: Any, Z: Any) -> list[Any]:
        """∂g/∂k of every part, at each pair of points."""
        values = self._values("pairwise", X, Z)
        slopes = []
        for i, value in enumerate(values):
            varied = [*values[:i], DualNumber(value, 1.0), *values[i + 1 :]]
            slopes.append(DualNumber.of(self.combine(*varied, xp=dual)).slope)
        return slopes

    def gradient_x(self, X, Z):
        inner = self._values("gradient_x", X, Z)
        return sum(times(dk, outer) for dk, outer in zip(inner, self._outer_slopes(X, Z), strict=True))

    def gradient_log_params(self, X, Z):
        out: dict[str, Any] = {}
        for part, outer in zip(self.parts, self._outer_slopes(X, Z), strict=True):
            inner = getattr(self, part).gradient_log_params(X, Z)
            out |= prefixed(part, {name: times(dk, outer) for name, dk in inner.items()})
        return out

    def vjp_log_params(self, X, W):
        out: dict[str, Any] = {}
        for part, outer in zip(self.parts, self._outer_slopes(X, X), strict=True):
            out |= prefixed(part, getattr(self, part).vjp_log_params(X, W * outer))
        return out


def prefixed(prefix: str, slopes: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {f"{prefix}__{name}": value for name, value in slopes.items()}


def times(slope: np.ndarray, factor: Any) -> np.ndarray:
    """slope·factor, where slope may have a trailing axis of features."""
    return slope * (factor[..., None] if slope.ndim > np.ndim(factor) > 0 else factor)


def merge(items: list[tuple[tuple[int, ...], float]]) -> dict[tuple[int, ...], float]:
    out: dict[tuple[int, ...], float] = {}
    for monomial, weight in items:
        out[monomial] = out.get(monomial, 0.0) + weight
    return out


def multiply(a: dict, b: dict) -> dict:
    return merge([(tuple(sorted(m + n)), v * w) for m, v in a.items() for n, w in b.items()])


def shown(part: Kernel, above: int) -> str:
    """A part of an expression, in parentheses unless it binds more tightly than `above`."""
    binding = part.binding if isinstance(part, _Composite) else _TIGHTEST
    return repr(part) if binding > above else f"({part!r})"
