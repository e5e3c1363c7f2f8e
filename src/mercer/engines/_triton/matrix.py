"""Matrices that stay on the device: as operators, factored, and by their eigenvectors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from mercer._threads import interruptible
from mercer.engines._triton import dense as algebra
from mercer.engines._triton.store import upload
from mercer.engines._triton.stream import download
from mercer.operators.base import Operator, row_blocks
from mercer.operators.spectrum import Eigenbasis


class DeviceMatrix(Operator):
    """A matrix in the device's memory.

    Parameters
    ----------
    engine : Cuda
    values : (n, p) tensor, float32 or float64
    """

    remote = True

    def __init__(self, engine: Any, values: Any):
        self.engine, self.values = engine, values
        self.shape = tuple(values.shape)
        self.dtype = np.dtype(np.float64 if values.element_size() == 8 else np.float32)
        self.single_faster, self.direct_rows = engine.single_faster, engine.direct_rows

    def blocks(self):
        for rows in row_blocks(self.shape, self.dtype):
            yield rows, self._down(self.values[rows])

    def dense(self):
        return self._down(self.values)

    def diag(self):
        return self._down(self.values.diagonal().double())

    def __matmul__(self, V):
        return self._down((self.values @ self._up(V)).double())

    def adjoint(self, U):
        return self._down((self.values.T @ self._up(U)).double())

    def among(self, rows=None, columns=None):
        values = self.values if rows is None else self.values[self._index(rows)]
        return DeviceMatrix(self.engine, values if columns is None else values[:, self._index(columns)])

    def kept(self):
        return self

    def at(self, dtype):
        return self if self.dtype == dtype else None

    def factor(self, shift=0.0, max_jitter=1e-2, scale=None):
        with room_for(self.engine, self.shape[0], self.dtype.itemsize):
            values = self.values.clone()
        return DeviceMatrix(self.engine, values).into_factor(shift, max_jitter, scale)

    def into_factor(
        self, shift: float = 0.0, max_jitter: float = 1e-2, scale: np.ndarray | None = None
    ) -> algebra.DeviceFactor:
        """As `factor`, in the place of the matrix, which is given up."""
        values, self.values = self.values, None
        with memory_errors():
            return algebra.DeviceFactor(values, shift, max_jitter, scale)

    def spectrum(self, scale=None):
        with room_for(self.engine, self.shape[0], 8):
            values = self.values.clone()
        return DeviceMatrix(self.engine, values).into_spectrum(scale)

    def into_spectrum(self, scale: np.ndarray | None = None) -> DeviceEigenbasis:
        """As `spectrum`, in the place of the matrix, which is given up."""
        import torch

        values, self.values = self.values.double(), None
        if scale is not None:
            S = upload(np.asarray(scale, np.float64), values.device)
            values.mul_(S[:, None]).mul_(S)
        with memory_errors():
            return DeviceEigenbasis(*interruptible(partial(torch.linalg.eigh, values)))

    def free_bytes(self):
        return self.engine.free_bytes()

    def _up(self, V: Any) -> Any:
        return upload(np.ascontiguousarray(np.asarray(V, self.dtype)), self.values.device)

    def _index(self, index: Any) -> Any:
        import torch

        if isinstance(index, slice):
            return index
        index = np.asarray(index)
        index = np.flatnonzero(index) if index.dtype == bool else index
        return torch.as_tensor(index.astype(np.int64), device=self.values.device)

    @staticmethod
    def _down(tensor: Any) -> np.ndarray:
        kind = np.float64 if tensor.element_size() == 8 else np.float32
        return download(tensor, np.empty(tuple(tensor.shape), kind))


class DeviceEigenbasis(Eigenbasis):
    """A symmetric matrix by its eigenvectors, which stay on the device."""

    entries = 1 << 27

    def rows(self, index):
        import torch

        picked = torch.as_tensor(np.asarray(index).astype(np.int64), device=self.Q.device)
        return self._give(self.Q[picked])

    def _take(self, array):
        return upload(np.ascontiguousarray(array, np.float64), self.Q.device)

    def _give(self, found):
        return download(found, np.empty(tuple(found.shape)))


@contextmanager
def memory_errors() -> Iterator[None]:
    """torch's own error for a device that is full, as Python's."""
    import torch

    try:
        yield
    except torch.cuda.OutOfMemoryError as error:
        torch.cuda.empty_cache()
        raise MemoryError(f"the GPU's memory is full: {error}") from error


@contextmanager
def room_for(engine: Any, n: int, itemsize: int) -> Iterator[None]:
    """For allocating an n×n matrix that is factored in place; MemoryError, before any of it, without room."""
    need, free = itemsize * n * (n + 3 * algebra._PANEL), engine.free_bytes()
    if need > free:
        raise MemoryError(
            f"a {n:,}×{n:,} matrix and its factorisation take {need / 1e9:.1f} GB of the GPU's memory, and "
            f"{free / 1e9:.1f} GB are free"
        )
    with memory_errors():
        yield
