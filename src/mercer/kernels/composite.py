"""What kernels made of kernels share."""

from __future__ import annotations

import numpy as np

from mercer.kernels.base import Kernel

_TIGHTEST = 4


class _Composite(Kernel):
    """A kernel made of kernels; points, sparsity and the like are what the parts agree on."""

    # How tightly its operator binds: + is 1, * is 2, ** is 3; a call binds most.
    binding = _TIGHTEST

    def points(self, X):
        for k in self.children().values():
            X = k.points(X)
        return X

    @property
    def sparse(self):  # type: ignore[override]
        return all(k.sparse for k in self.children().values())

    @property
    def vectors(self):
        return all(k.vectors for k in self.children().values())

    @property
    def indefinite(self):  # type: ignore[override]
        return any(k.indefinite for k in self.children().values())

    def _rules(self, text: str) -> str | None:
        reasons = [k.rule() for k in self.children().values()]
        if any(r is None for r in reasons):
            return None
        return text + " (" + "; ".join(str(r) for r in reasons) + ")"


class _Wrapper(_Composite):
    kernel: Kernel

    def validate(self):
        if not isinstance(self.kernel, Kernel):
            raise TypeError(f"{type(self).__name__}: kernel must be a kernel, got {self.kernel!r}")
        super().validate()

    def _outer_slope(self, K: np.ndarray) -> np.ndarray:
        """dg/dK for kernels of the form g(k)."""
        raise NotImplementedError

    def gradient_x(self, X, Z):
        outer = self._outer_slope(self.kernel.pairwise(X, Z))
        return outer[:, :, None] * self.kernel.gradient_x(X, Z)

    def gradient_log_params(self, X, Z):
        outer = self._outer_slope(self.kernel.pairwise(X, Z))
        inner = self.kernel.gradient_log_params(X, Z)
        return prefixed("kernel", {k: times(v, outer) for k, v in inner.items()})

    def vjp_log_params(self, X, W):
        outer = self._outer_slope(self.kernel.pairwise(X, X))
        return prefixed("kernel", self.kernel.vjp_log_params(X, W * outer))


def prefixed(prefix: str, slopes: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {f"{prefix}__{name}": value for name, value in slopes.items()}


def times(slope: np.ndarray, factor: np.ndarray) -> np.ndarray:
    """slope·factor, where slope may have a trailing axis of features."""
    return slope * (factor[..., None] if slope.ndim > factor.ndim else factor)


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
