"""The GPU engine: kernels generated from a kernel's formula, products without the matrix."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from mercer._threads import stopping_point
from mercer._xp import issparse
from mercer.codegen.formula import Formula
from mercer.codegen.symbols import NotTraceable
from mercer.engines._triton.call import (
    SYMMETRIC_FROM,
    Call,
    lacking,
    mirror_host,
    require,
    spans,
    symmetric_gram,
    write,
)
from mercer.engines.base import Engine
from mercer.engines.tiled import Tiled
from mercer.kernels.formula import trace
from mercer.operators.kernel import KernelOperator, require_columns, require_room
from mercer.operators.resident import Resident
from mercer.rows.base import rows_of_a_shard

_PRECISIONS = ("float32", "fast")
# Without a limit of the user's, points may take this share of the memory that is free, and matrices this.
_SHARE, _MATRICES = 0.7, 0.95
# Cards for computing have units for float64; those for graphics, told by the second number, hardly any.
_DOUBLES = 0
# Points that tell how large all of them are.
_SAMPLE = 1024

# Bytes of a shard's points.
_SHARD_BYTES = 256 << 20

# Matrices that fill the device are made by one thread at a time; seconds between looks at Ctrl-C and clocks.
_ONE, _PATIENCE = threading.Lock(), 0.05


@contextmanager
def _alone() -> Iterator[None]:
    """No two threads of this process inside the ``with`` block."""
    while not _ONE.acquire(timeout=_PATIENCE):
        stopping_point()
    try:
        yield
    finally:
        _ONE.release()


class Cuda(Engine):
    """Kernel products on an NVIDIA GPU, through torch and Triton.

    The formula of a kernel becomes one GPU kernel: statistics of pairs on the matrix units, the profile,
    and the product with V, without the matrix in memory. Kernels without a formula (Python functions,
    strings), and sparse matrices, are computed by the CPU engine instead.

    NumPy arrays in give NumPy arrays out, torch tensors give torch tensors. Points in float32 are computed
    in float32, points in float64 in float64. A float64 V with float32 points keeps its digits.
    Device copies of arrays are remembered while the array lives, so that repeated products with the same
    points upload them once; changes in place are noticed.

    Parameters
    ----------
    precision : {"float32", "fast"}
        How float32 points are multiplied on the matrix units. "float32": split into two half-precision
        numbers each, relative error of products about 1e-6, below 1e-5. "fast": rounded to half
        precision, relative error about 1e-3. float64 points are not affected.
    memory : int, optional
        Bytes of GPU memory for points; more of them than fit are streamed from the host in chunks. None:
        70 % of what is free.
    device : str
        The torch device.

    Notes
    -----
    K(X, X) V with up to two columns computes each pair once and adds up with atomic operations: its last
    digits can differ from run to run.

    Examples
    --------
    >>> Cuda(precision="fast")
    Cuda(precision='fast')
    """

    name = "cuda"
    remote = True
    # One is computed with, one comes, and losses of one are computed on the host.
    at_once = 3

    def __init__(self, precision="float32", memory=None, device="cuda"):
        self.precision = precision
        self.memory = memory
        self.device = device

    def validate(self):
        if self.precision not in _PRECISIONS:
            raise ValueError(f"Cuda: precision must be one of {_PRECISIONS}, got {self.precision!r}")
        if self.memory is not None and not (isinstance(self.memory, (int, np.integer)) and self.memory > 0):
            raise ValueError(f"Cuda: memory must be a positive number of bytes or None, got {self.memory!r}")

    def lacking(self) -> ImportError | RuntimeError | None:
        """What it takes and is not here (torch, Triton, a GPU), as an error to raise; None if all is."""
        return lacking(self.device)

    def usable(self):
        return Tiled() if self.lacking() is not None else self

    # A factor of so many rows takes a fraction of a second.
    direct_rows = 30_000

    @property
    def single_faster(self) -> bool:  # type: ignore[override]
        """Whether this card has no units for float64 arithmetic to speak of."""
        import torch

        if torch.device(self.device).type == "cpu":
            return False
        return torch.cuda.get_device_capability(self.device)[1] != _DOUBLES

    def free_bytes(self):
        return int(_MATRICES * self._free())

    def _free(self) -> int:
        """Bytes that torch can get, or has and does not use."""
        import torch

        if torch.device(self.device).type == "cpu":
            return 1 << 33
        kept = torch.cuda.memory_reserved(self.device) - torch.cuda.memory_allocated(self.device)
        return torch.cuda.mem_get_info(self.device)[0] + kept

    def keep(self, K):
        """K in the device's memory, computed there if it has a formula."""
        import torch

        from mercer.engines._triton.matrix import DeviceMatrix, room_for
        from mercer.engines._triton.store import upload

        require(self.device)
        with room_for(self, K.shape[0], K.dtype.itemsize):
            if isinstance(K, CudaOperator) and K.symmetric:
                return DeviceMatrix(self, K.matrix())
            values = K.dense()
            values = values if isinstance(values, torch.Tensor) else upload(values, self.device)
            return DeviceMatrix(self, values)

    def left_out(self, kernel, X, Y, mu, offset):
        from mercer.engines._triton.left_out import left_out

        with _alone():
            return left_out(self, kernel, X, Y, mu, offset)

    def ridge_scores(self, kernel, X, Y, mu, new):
        from mercer.engines._triton.left_out import scores

        with _alone():
            return scores(self, kernel, X, Y, mu, new)

    def place(self, X, y=None, w=None):
        """Rows in shards large enough to keep the device busy."""
        rows = super().place(X, y, w)
        n, d = rows.shape
        return rows.recut(rows_of_a_shard(n, d, rows.dtype.itemsize, _SHARD_BYTES))

    def remember(self, array, tensor):
        """Say that a device tensor holds what a host array holds, so that it isn't uploaded again."""
        from mercer.engines._triton.store import STORE

        if tuple(array.shape) != tuple(tensor.shape):
            raise ValueError(
                f"remember: an array of shape {array.shape} and a tensor of {tuple(tensor.shape)}"
            )
        STORE.put(array, tensor, self.budget())

    def forget(self):
        """Drop all device copies."""
        from mercer.engines._triton.store import STORE

        STORE.clear()

    def budget(self) -> int:
        """Bytes for points on the device."""
        import torch

        if self.memory is not None:
            return int(self.memory)
        return int(_SHARE * self._free()) if torch.device(self.device).type != "cpu" else self._free()


class CudaOperator(KernelOperator):
    """K(X, Z) on the device; what has no formula, or sparse points, is left to the CPU engine."""

    threaded = True

    def __init__(self, engine: Cuda, kernel: Any, X: Any, Z: Any = None):
        super().__init__(engine, kernel, X, Z)
        self._obstacle: str | None = None
        self._call = self._begin()

    def _begin(self) -> Call | None:
        """What all calls work with; None if the CPU engine has to do it."""
        X, Z = self.X, self.Z
        if not self.kernel.vectors or issparse(X) or issparse(Z):
            self._obstacle = "the points are sparse" if self.kernel.vectors else "its points are no vectors"
            return None
        if isinstance(X, np.ndarray) != isinstance(Z, np.ndarray):
            raise TypeError("the points on both sides must be NumPy arrays, or on both sides torch tensors")
        if not all(getattr(P, "ndim", 0) == 2 and P.shape[1] > 0 for P in (X, Z)):
            return None
        try:
            formula = trace(self.kernel)
        except NotTraceable as reason:
            self._obstacle = str(reason)
            return None
        if isinstance(X, np.ndarray) and not _squares_fit(formula, X, Z):
            return None  # the CPU engine has float64 for that
        require(self.engine.device)
        import torch

        if isinstance(X, np.ndarray):
            dtype = {"float32": torch.float32, "float64": torch.float64}.get(self.dtype.name)
        else:
            dtype = torch.promote_types(X.dtype, Z.dtype)
        if dtype not in (torch.float32, torch.float64):
            return None
        return Call(self.engine, formula, X, Z, dtype)

    def _on_host(self) -> KernelOperator:
        X = _host(self.X)
        return Tiled().operator(self.kernel, X, X if self.symmetric else _host(self.Z))

    def _given(self, found: np.ndarray) -> Any:
        """What the CPU engine found, as a tensor where the points are such."""
        if not hasattr(self.X, "detach"):
            return found
        import torch

        return torch.from_numpy(found).to(self.X.device)

    def remark(self, pairs):
        if self._obstacle is not None:
            return f"kernel products by the CPU engine, not on the GPU: {self._obstacle}"
        return f"kernel products on the GPU, precision {self.engine.precision!r}"

    # -- entries ----------------------------------------------------------------------------------

    def dense(self):
        if self._call is None:
            return self._given(self._on_host().dense())
        return self.fill(self._call.empty(self.shape))

    def fill(self, out):
        if self._call is None:
            self._on_host().fill(out)
            return out
        require_room(out, *self.shape)
        call = self._call
        if not call.n or not call.m:
            return out
        if self.symmetric and call.whole_fits:
            symmetric_gram(call, out)
            return out
        for rows, A in call.row_chunks():
            for columns, B in call.column_chunks():
                pairs = call.pairs(A, B)
                for i, j in spans(len(A), pairs.height()):
                    write(pairs, i, j, out[rows.start + i : rows.start + j, columns])
        if self.symmetric:
            mirror_host(out)
        return out

    # -- products ---------------------------------------------------------------------------------

    def product(self, V):
        if self._call is None:
            return self._given(self._on_host().product(_host(V)))
        call = self._call
        require_columns(V, call.m)
        kind, V2 = call.columns(V)
        total = call.zeros((call.n, V2.shape[1]))
        if call.n and call.m and V2.shape[1]:
            call.multiply(V2, total, self.symmetric)
        return call.give(total, kind, V.ndim)

    def normal(self, V, w=None):
        if self._call is None:
            return self._given(self._on_host().normal(_host(V), None if w is None else _host(w)))
        call = self._call
        require_columns(V, call.m)
        kind, V2 = call.columns(V)
        total = call.zeros((call.m, V2.shape[1]))
        if call.n and call.m and V2.shape[1]:
            weights = None if w is None else call.columns(w)[1]
            if not call.columns_fit:
                middle = call.zeros((call.n, V2.shape[1]))
                call.multiply(V2, middle, self.symmetric)
                middle = middle if weights is None else middle * weights
                back = Call(self.engine, call.formula, self.Z, self.X, call.dtype)
                back.multiply(middle.to(V2.dtype), total, self.symmetric)
                return call.give(total, kind, V.ndim)
            _, B = next(call.column_chunks())
            for rows, A in call.row_chunks():
                same = A is B and len(A) >= SYMMETRIC_FROM
                S = call.pairs(A, B).multiply(V2, same)
                if weights is not None:
                    S = S * weights[rows]
                total += call.pairs(B, A).multiply(S.to(V2.dtype), same)
        return call.give(total, kind, V.ndim)

    def _sandwich(self, V, middle):
        """Two products, m on the host, where losses and weights live."""
        return self.T.product(middle(slice(0, self.shape[0]), self.product(V)))

    def reduce(self, step):
        """step(rows, K[rows]) for blocks of rows, computed on the GPU and handed over as NumPy arrays."""
        call = self._call
        if call is None:
            return self._on_host().reduce(step)
        total = None
        for rows, block in call.blocks():
            part = step(rows, call.download(block))
            if part is not None:
                total = part.astype(np.float64) if total is None else total + part
        return [total]

    def gramian(self, w=None, T=None):
        """K in the points' precision, the rest in float64."""
        call = self._call
        if call is None:
            w, T = (None if value is None else _host(value) for value in (w, T))
            return self._given(self._on_host().gramian(w, T))
        return call.give(call.gramian(w, T), np.float64, 2)

    def column_sums(self, w):
        call = self._call
        if call is None:
            return self._given(self._on_host().column_sums(_host(w)))
        total, weights = call.zeros((call.m, 1)), call.columns(w)[1].double()
        for rows, block in call.blocks(as_multiplied=True):
            total += block.double().T @ weights[rows]
        return call.give(total, np.float64, 2)

    def columns_as_multiplied(self):
        call = self._call
        if call is None or not call.numpy or not call.columns_fit or not call.n or not call.m:
            return None
        _, B = next(call.column_chunks())
        points = call.pairs(B, B).columns()
        return None if points is None else call.download(points)

    # -- vectors and factors that stay on the device --------------------------------------------------------

    def matrix(self) -> Any:
        """K(X, X) as a tensor on the device, symmetric to the last bit."""
        import torch

        call = self._call
        if call is None:
            return torch.tensor(self._on_host().dense()).to(self.engine.device)
        out = torch.empty((call.n, call.n), dtype=call.dtype, device=call.device)
        if call.n:
            symmetric_gram(call, out)
        return out

    def resident(self):
        call = self._call
        if call is None or not call.numpy or not call.whole_fits:
            return super().resident()
        return DeviceResident(self)

    def whitened_factor(self, L, w=None, scale=1.0, shift=0.0, max_jitter=1e-2):
        from mercer.engines._triton.dense import DeviceFactor
        from mercer.engines._triton.store import upload

        if self._call is None:
            half = upload(self._on_host().gramian(w), self.engine.device)
        else:
            half = self._call.gramian(w, None)
        H = L.solve_lower(L.solve_lower(half).T.contiguous())
        return DeviceFactor(H.mul_(scale), shift, max_jitter)


class DeviceResident(Resident):
    """An operator on the device, and vectors there: tensors."""

    def __init__(self, K: CudaOperator):
        from mercer.engines._triton.store import upload

        super().__init__(K)
        device = K._call.device  # type: ignore[union-attr]
        self._upload = partial(upload, device=device)
        kind, same = K.dtype, K.symmetric
        X = self._upload(np.asarray(K.X, kind))
        self.there = K.engine.operator(K.kernel, X, X if same else self._upload(np.asarray(K.Z, kind)))
        self._rounds = K.rounds_to == np.float32

    def place(self, V):
        return self._upload(np.asarray(V, np.float64))

    def fetch(self, V):
        from mercer.engines._triton.stream import download

        return download(V, np.empty(tuple(V.shape)))

    def multiply(self, V):
        return self.there.product(V.float() if self._rounds else V).double()

    def adjoint(self, U):
        return self.there.T.product(U.float() if self._rounds else U).double()

    def entries(self):
        return self.there.dense().double()


Cuda.makes = CudaOperator


def _host(value: Any) -> Any:
    """A tensor as an array; arrays as they are."""
    return value.detach().cpu().numpy() if hasattr(value, "detach") else value


def _squares_fit(formula: Formula, X: np.ndarray, Z: np.ndarray) -> bool:
    """Has float32 room for the statistics of some of these points, as they are seen?"""
    some = [P[:: max(len(P) // _SAMPLE, 1)] for P in (X, Z)]
    for leaf in formula.leaves:
        if min(len(P) for P in some) and not leaf.statistic.fits(*(leaf.view.points(P) for P in some)):
            return False
    return True
