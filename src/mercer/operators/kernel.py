"""Kernel matrices as operators: what engines make, and what every one of them can do."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np

from mercer._threads import at_most, cpu_count
from mercer._xp import issparse, take
from mercer.kernels.base import Kernel
from mercer.kernels.door import by_rule
from mercer.operators.base import Middle, Operator, row_blocks


class KernelOperator(Operator):
    """K(X, Z) for one kernel and two sets of points, bound to the engine that computes it.

    An engine makes these, and keeps in them what is prepared once: a traced formula, compiled loops, packed
    points, copies on a device. Entries are never all in memory unless asked for. Here they are computed by
    NumPy: `fill` calls ``kernel.pairwise``, and everything else rests on `fill`, block by block. An engine's
    own class overrides what it does faster (`product`, `fill`, `reduce`, …), and inherits the rest.

    Operators made of it: ``among(rows, columns)`` a part; ``facing(X)`` other rows, the same columns;
    ``against(other)`` its rows with those of another; ``at(dtype)`` another precision; ``T`` the transpose.

    Parameters
    ----------
    engine : Engine
    kernel : Kernel
        With no parameter left to the data.
    X, Z : points
        As `kernel.points` gives them: checked, finite. Not to be changed as long as the operator is used.
        Without Z it is X.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.engines import Tiled
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> A = Tiled().operator(Gaussian(1.0), X)
    >>> bool(np.allclose(A @ np.ones(50), Gaussian(1.0)(X).sum(axis=1)))
    True
    >>> A.among(np.arange(10), np.arange(3)).shape
    (10, 3)
    """

    of_kernel = True
    work = np.inf

    def __init__(self, engine: Any, kernel: Kernel, X: Any, Z: Any = None):
        Z = X if Z is None else Z
        if kernel.vectors:  # of kernels on objects, `points` has seen to that
            kernel.validate()
            kernel.require_resolved()
        kernel.require_same_width(X, Z)
        self.bind(engine, kernel, X, Z)

    def bind(self, engine: Any, kernel: Kernel, X: Any, Z: Any) -> None:
        """Take these, which are known to be in order."""
        same = Z is X
        with at_most(getattr(engine, "threads", None)):
            X = kernel.prepared(X)
            Z = X if same else kernel.prepared(Z)
        self.engine, self.kernel, self.X, self.Z = engine, kernel, X, Z
        self.shape = (X.shape[0], Z.shape[0])
        self.dtype = result_dtype(kernel, X, Z)
        self.remote = engine.remote
        self.dear = not kernel.vectors
        # What vectors are rounded to before they are multiplied. Entries may be float32, but sums of large
        # terms that cancel may not.
        self.rounds_to = np.dtype(np.float64)
        self._flipped: KernelOperator | None = None

    def __reduce__(self):
        # Compiled loops and copies on devices are made anew.
        return _bound, (self.engine, self.kernel, self.X, None if self.symmetric else self.Z, self.rounds_to)

    @property
    def symmetric(self) -> bool:
        """Is it K(X, X)?"""
        return self.X is self.Z

    def beside(self, A):
        Z = A.columns_as_multiplied()
        return self if Z is None else self.engine.operator(self.kernel, Z)

    @property
    def semidefinite(self) -> bool:
        return by_rule(self.kernel)

    @property
    def threads(self) -> int:
        return getattr(self.engine, "threads", None) or cpu_count()

    def remark(self, pairs: int) -> str | None:
        """How products of so many pairs are computed, if that is worth a remark in a plan."""
        return None

    # -- entries ----------------------------------------------------------------------------------

    def entries(self, X: Any, Z: Any) -> np.ndarray:
        """The kernel's values between some of the points, which may be computed on several threads, too."""
        with at_most(getattr(self.engine, "threads", None)):
            return self.kernel.pairwise(X, Z)

    def blocks(self):
        for rows in row_blocks(self.shape, self.dtype):
            yield rows, self.among(rows).dense()

    def fill(self, out):
        require_room(out, *self.shape)
        if out.size:
            for rows in row_blocks(self.shape, self.dtype):
                out[rows] = self.entries(self.X[rows], self.Z)
            if self.symmetric:  # to the last bit, whatever rounding did
                out[...] = np.tril(out) + np.tril(out, -1).T
        return out

    def row_filler(self) -> Callable[[np.ndarray, np.ndarray], None]:
        """fill(index, out) writes K[index] into out: for many calls, what they share done once."""

        def fill(index: np.ndarray, out: np.ndarray) -> None:
            self.among(index).fill(out)

        return fill

    def diag(self):
        if self.symmetric:
            return self._squares()
        return super().diag()

    def row_norms(self):
        return np.sqrt(np.abs(self._squares()))

    def _squares(self) -> np.ndarray:
        """k(x, x) of the rows' points."""
        with at_most(getattr(self.engine, "threads", None)):
            return np.asarray(self.kernel.diagonal(self.X), dtype=np.float64)

    # -- products ---------------------------------------------------------------------------------

    def product(self, V: np.ndarray) -> np.ndarray:
        """K V for V of shape (m,) or (m, t), in the common precision of both."""
        require_columns(V, self.shape[1])
        out = np.zeros((self.shape[0], *V.shape[1:]), np.result_type(self.dtype, V))
        for rows, block in self.blocks():
            out[rows] = block @ V
        return out

    def __matmul__(self, V):
        return np.asarray(self.product(np.asarray(V, dtype=self.rounds_to)), dtype=np.float64)

    def adjoint(self, U):
        return self.T @ U

    @property
    def T(self) -> KernelOperator:
        """K(Z, X)."""
        if self.symmetric:
            return self
        if self._flipped is None:
            self._flipped = self._made(self.Z, self.X)
            self._flipped.rounds_to = self.rounds_to
        return self._flipped

    def sandwich(self, V, middle: Middle):
        V = np.asarray(V, dtype=self.rounds_to)
        require_columns(V, self.shape[1])
        if self.rounds_to != np.float64:
            return self.adjoint(middle(slice(0, self.shape[0]), self @ V))
        return self._sandwich(V, middle)

    def _sandwich(self, V: np.ndarray, middle: Middle) -> np.ndarray:
        dtype = np.result_type(self.dtype, V)

        def step(rows, K):
            K = K.astype(dtype, copy=False)
            return K.T @ middle(rows, K @ V)

        return self.summed(step, (self.shape[1], V.shape[1])).astype(dtype, copy=False)

    def normal(self, V: np.ndarray, w: np.ndarray | None = None) -> np.ndarray:
        """Kᵀ (w ∘ (K V)), w of shape (n,) or (n, t); None counts as ones."""
        columns = V[:, None] if V.ndim == 1 else V
        n = self.shape[0]
        if w is not None and (w.shape[0] != n or w.shape[1:] not in ((), (1,), columns.shape[1:])):
            raise ValueError(f"w must have one row for each of the {n} rows of K, got {w.shape}")

        def weigh(rows, S):
            return S if w is None else S * (w[rows] if w.ndim == 2 else w[rows, None])

        require_columns(V, self.shape[1])
        out = self._sandwich(columns, weigh)
        return out[:, 0] if V.ndim == 1 else out

    # -- other points, other precision, other ways --------------------------------------------------

    def _made(self, X: Any, Z: Any) -> KernelOperator:
        """The same kernel by the same engine, for other points of the same form."""
        return self.engine.operator(self.kernel, X, Z)

    def among(self, rows=None, columns=None):
        X = self.X if rows is None else _still(take(self.X, rows))
        if columns is None:
            Z = self.Z
        else:
            same = columns is rows and self.symmetric
            Z = X if same else _still(take(self.Z, columns))
        return self._made(X, Z)

    def facing(self, X: Any) -> KernelOperator:
        """K of other points with the same columns."""
        return self._made(X, self.Z)

    def against(self, other: KernelOperator) -> KernelOperator:
        """K of the points of these rows with those of another operator's rows."""
        return self._made(self.X, other.X)

    def at(self, dtype):
        if self.dtype == dtype:
            return self
        if not self.kernel.vectors:
            return None
        X = _still(self.X.astype(dtype))
        return self._made(X, X if self.symmetric else _still(self.Z.astype(dtype)))

    def rounded(self):
        other = copy(self)
        other.rounds_to, other._flipped = self.dtype, None
        return other

    def single_threaded(self):
        return self.engine.single_threaded().operator(self.kernel, self.X, self.Z)

    def expecting(self, pairs):
        return self.engine.expecting(pairs).operator(self.kernel, self.X, self.Z)

    # -- where large matrices live is the engine's business ------------------------------------------

    @property
    def single_faster(self) -> bool:  # type: ignore[override]
        return self.engine.single_faster

    @property
    def direct_rows(self) -> int:  # type: ignore[override]
        return self.engine.direct_rows

    def kept(self):
        return self.engine.keep(self)

    def factor(self, shift=0.0, max_jitter=1e-2, scale=None):
        return self.kept().into_factor(shift, max_jitter, scale)

    def spectrum(self, scale=None):
        return self.kept().into_spectrum(scale)

    def free_bytes(self):
        return self.engine.free_bytes()


def _bound(engine: Any, kernel: Kernel, X: Any, Z: Any, rounds_to: np.dtype) -> KernelOperator:
    made = engine.operator(kernel, X, Z)
    made.rounds_to = rounds_to
    return made


def _still(points: Any) -> Any:
    """Fresh points that nobody writes to any more: engines that keep copies need not look for changes."""
    if isinstance(points, np.ndarray) and points.base is None:
        points.flags.writeable = False
    return points


def result_dtype(kernel: Kernel, X: Any, Z: Any) -> np.dtype:
    """The dtype of kernel values: that of the points if they are float arrays, else float64.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.operators import result_dtype
    >>> X = np.zeros((2, 1), dtype=np.float32)
    >>> result_dtype(Gaussian(), X, X), result_dtype(Gaussian(), X, X.astype(int))
    (dtype('float32'), dtype('float64'))
    """
    both = [A.dtype for A in (X, Z) if issparse(A) or isinstance(A, np.ndarray)]
    if kernel.vectors and len(both) == 2 and all(d.kind == "f" for d in both):
        return np.result_type(*both)
    return np.dtype(np.float64)


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
