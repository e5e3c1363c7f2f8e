"""The contract of an engine: where kernel products are computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._memory import available_memory
from mercer._params import Params
from mercer.kernels.base import Kernel

Middle = Callable[[slice, np.ndarray], np.ndarray]


def require_room(out: Any, n: int, m: int) -> None:
    """Raise ValueError if a matrix of this shape can't be written into `out`."""
    if tuple(out.shape) != (n, m):
        raise ValueError(f"out has shape {tuple(out.shape)}, but the kernel matrix is {(n, m)}")
    if isinstance(out, np.ndarray) and not out.flags.writeable:
        raise ValueError("out is read-only")
    if isinstance(out, np.ndarray) and (out.dtype.kind != "f" or out.itemsize < 4):
        raise ValueError(f"out must hold float32 or float64, and kernel values don't fit into {out.dtype}")
    if isinstance(out, np.ndarray) and out.size and _overlaps_itself(out):
        raise ValueError(f"entries of out share memory: its strides are {out.strides}")


def _overlaps_itself(out: np.ndarray) -> bool:
    """Do two entries lie in the same place?"""
    room = out.itemsize
    for stride, length in sorted((abs(s), n) for s, n in zip(out.strides, out.shape) if n > 1):
        if stride < room:
            return True
        room = stride * length
    return False


def require_columns(V: Any, m: int) -> None:
    """Raise ValueError if V can't be multiplied by a kernel matrix with m columns."""
    if V.ndim not in (1, 2) or V.shape[0] != m:
        raise ValueError(
            f"V has shape {tuple(V.shape)}, but the kernel matrix has {m} columns: one row for each"
        )
    if isinstance(V, np.ndarray) and V.dtype.kind not in "fiub":
        raise ValueError(f"V must hold real numbers, got {V.dtype}")


def weighted_gram(K: np.ndarray, w: np.ndarray | None, T: np.ndarray | None = None) -> np.ndarray:
    """Kᵀ diag(w) K, or that of K T, in float64.

    Products of float32 entries need float64 sums: normal equations square the condition number.
    """
    K = K.astype(np.float64, copy=False)
    K = K if T is None else K @ T
    if w is None:
        return K.T @ K  # recognised by NumPy as symmetric: half the work
    if (w >= 0).all():
        root = K * np.sqrt(w)[:, None]
        return root.T @ root
    return K.T @ (K * w[:, None])


class Engine(Params):
    """A few operations on a kernel and two point sets; everything at scale is made of them.

    ``gram``      K itself, for when it fits
    ``product``   K V without K in memory
    ``sandwich``  Kᵀ m(K V) without K in memory, m acting on rows; ``normal`` is m = multiplication by weights
    ``reduce``    anything else that can be done with blocks of rows

    Points are what `kernel.points` gives: checked, finite.
    """

    name = ""

    def gram(self, kernel: Kernel, X: Any, Z: Any = None, *, out: np.ndarray | None = None) -> np.ndarray:
        """K(X, Z), or K(X, X) without Z; written into `out` if given."""
        raise NotImplementedError

    def product(self, kernel: Kernel, X: Any, Z: Any, V: np.ndarray) -> np.ndarray:
        """K(X, Z) V, for V of shape (m,) or (m, t)."""
        raise NotImplementedError

    def sandwich(self, kernel: Kernel, X: Any, Z: Any, V: np.ndarray, middle: Middle) -> np.ndarray:
        """K(X, Z)ᵀ m(K(X, Z) V) for V of shape (m, t): middle(rows, (K V)[rows]) → (rows, t)."""
        raise NotImplementedError

    def normal(
        self, kernel: Kernel, X: Any, Z: Any, V: np.ndarray, w: np.ndarray | None = None
    ) -> np.ndarray:
        """K(X, Z)ᵀ (w ∘ (K(X, Z) V)), w of shape (n,) or (n, t); None counts as ones."""
        columns = V[:, None] if V.ndim == 1 else V
        if w is not None and (w.shape[0] != X.shape[0] or w.shape[1:] not in ((), (1,), columns.shape[1:])):
            raise ValueError(f"w must have one row for each of the {X.shape[0]} rows of K, got {w.shape}")

        def weigh(rows, S):
            return S if w is None else S * (w[rows] if w.ndim == 2 else w[rows, None])

        out = self.sandwich(kernel, X, Z, columns, weigh)
        return out[:, 0] if V.ndim == 1 else out

    def gramian(
        self, kernel: Kernel, X: Any, Z: Any, w: np.ndarray | None = None, T: np.ndarray | None = None
    ) -> np.ndarray:
        """K(X, Z)ᵀ diag(w) K(X, Z), or that of K T, in float64 whatever the points."""

        def step(rows, K):
            return weighted_gram(K, None if w is None else w[rows], T)

        size = Z.shape[0] if T is None else T.shape[1]
        parts = [p for p in self.reduce(kernel, X, Z, step) if p is not None]
        total = parts.pop() if parts else np.zeros((size, size))
        for part in parts:
            total += part
        return total

    # -- dense algebra: matrices of the size of the centres ----------------------------------------

    # Does it live elsewhere (on a GPU), so that large matrices should not come to the host?
    remote = False

    def kernel_matrix(self, kernel: Kernel, Z: Any, dtype: Any) -> Any:
        """K(Z, Z) in a precision of its own, where `factor` wants it."""
        return np.array(self.gram(kernel, Z.astype(dtype) if kernel.vectors else Z), dtype=dtype)

    def factor(self, A: Any, shift: float = 0.0, max_jitter: float = 1e-2) -> Any:
        """A Cholesky factor of A + shift·I, made in place; see `mercer.engines.factor.Factor`."""
        from mercer.engines.factor import Factor

        return Factor(A, shift, max_jitter=max_jitter)

    def room(self) -> int:
        """Bytes that matrices may take where this engine keeps them."""
        return available_memory() // 2

    def whitened(self, kernel: Kernel, X: Any, Z: Any, L: Any, w: np.ndarray | None = None) -> Any:
        """L⁻¹ K(X, Z)ᵀ diag(w) K(X, Z) L⁻ᵀ for a factor L, in float64, where `factor` wants it."""
        half = L.solve_lower(self.gramian(kernel, X, Z, w))
        return L.solve_lower(np.ascontiguousarray(half.T))

    def for_many(self, pairs: int) -> Engine:
        """This engine, for work of so many pairs in all that comes in small pieces."""
        return self

    def usable(self) -> Engine:
        """Itself, or the CPU's engine in its place where its device is not there."""
        return self

    def alone(self) -> Engine:
        """This engine, for use in one of several threads at the same time."""
        return self

    def row_maker(self, kernel: Kernel, X: Any) -> Callable[[np.ndarray, np.ndarray], None]:
        """fill(index, out) writes K(X[index], X) into out: for many calls, what they share done once."""

        def fill(index: np.ndarray, out: np.ndarray) -> None:
            self.gram(kernel, X[index], X, out=out)

        return fill

    def describe(self, kernel: Kernel, X: Any, pairs: int) -> str | None:
        """How products of so many pairs are computed, if that is worth a remark in a plan."""
        return None

    def reduce(self, kernel: Kernel, X: Any, Z: Any, step: Any) -> list[Any]:
        """step(rows, K[rows]) for blocks of rows of K, in parallel where the engine can.

        For reductions the others do not cover. `step` returns an array or None; the engine may add
        up arrays as it goes, so that of the list it returns only the sum means anything.
        """
        raise NotImplementedError
