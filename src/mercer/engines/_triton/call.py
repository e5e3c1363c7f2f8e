"""Formula, points and memory of one call of the engine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer.codegen.formula import Formula

# Smaller products are over before using symmetry pays.
SYMMETRIC_FROM = 4096


class Call:
    """Formula, points and memory of one call."""

    def __init__(self, engine: Any, formula: Formula, X: Any, Z: Any, dtype: Any):
        import torch

        self.precision, self.formula, self.X, self.Z, self.dtype = engine.precision, formula, X, Z, dtype
        self.n, self.m = X.shape[0], Z.shape[0]
        self.numpy = isinstance(X, np.ndarray)
        self.device = X.device if not self.numpy else torch.device(engine.device)
        if self.device.type == "cuda" and self.device.index is None:
            self.device = torch.device("cuda", torch.cuda.current_device())
        self.native = not interpreting()
        self.budget = engine.budget()
        # As given, packed for either side, norms and padding.
        size = 8 if dtype == torch.float64 else 4
        self.point = X.shape[1] * (3 * size + 12) + 64
        self.columns_fit = not self.numpy or self.m * self.point <= self.budget // 2
        together = self.n if X is Z else self.n + self.m
        self.whole_fits = not self.numpy or together * self.point <= self.budget

    def chunks(self, P: Any, resident: bool) -> Iterator[tuple[slice, Any]]:
        from mercer.engines._triton import stream
        from mercer.engines._triton.pack import PAD
        from mercer.engines._triton.store import STORE

        if resident:
            yield slice(0, P.shape[0]), STORE.get(P, self.device, self.dtype, self.budget)
            return
        rows = max(self.budget // (4 * self.point) // PAD * PAD, 128)
        yield from stream.chunks(P, rows, self.device, self.dtype)

    def row_chunks(self):
        return self.chunks(self.X, self.whole_fits)

    def column_chunks(self):
        return self.chunks(self.Z, self.columns_fit)

    def pairs(self, A: Any, B: Any):
        from mercer.engines._triton.pairs import DevicePairs

        # The smaller set's mean becomes the origin: K(X, Z) and K(Z, X) then round the same things away.
        anchor = B if len(B) <= len(A) else A
        return DevicePairs(self.formula, A, B, anchor, self.precision, self.native)

    def multiply(self, V: Any, total: Any, same: bool) -> None:
        """total += K V, chunk by chunk."""
        for columns, B in self.column_chunks():
            for rows, A in self.row_chunks():
                symmetric = same and A is B and self.n >= (SYMMETRIC_FROM if self.native else 0)
                total[rows] += self.pairs(A, B).multiply(V[columns], symmetric)

    def blocks(self, as_multiplied: bool = False) -> Iterator[tuple[slice, Any]]:
        """Blocks of whole rows of K on the device; with the values that products use, if asked for."""
        import torch

        if not self.n or not self.m:
            if self.n:
                yield slice(0, self.n), self.zeros((self.n, 0), self.dtype)
            return
        for rows, A in self.row_chunks():
            if not self.columns_fit:
                parts = [self.pairs(A, B).block(0, len(A)) for _, B in self.column_chunks()]
                yield rows, torch.cat(parts, 1)
                continue
            _, B = next(self.column_chunks())
            pairs = self.pairs(A, B)
            block = pairs.as_multiplied if as_multiplied else pairs.block
            for i, j in spans(len(A), pairs.height()):
                yield slice(rows.start + i, rows.start + j), block(i, j)

    def gramian(self, w: Any, T: Any) -> Any:
        """Kᵀ diag(w) K, or that of K T, on the device."""
        from mercer.engines._triton.dense import add_gramian, mirror_lower

        right = None if T is None else self.columns(T)[1].double()
        size = self.m if right is None else right.shape[1]
        G = self.zeros((size, size))
        weights = None if w is None else self.columns(w)[1][:, 0]
        for rows, block in self.blocks(as_multiplied=True):
            block = block if right is None else block.double() @ right
            add_gramian(G, block, None if weights is None else weights[rows])
        return mirror_lower(G)

    # -- arrays in and out ------------------------------------------------------------------------

    def columns(self, V: Any) -> tuple[Any, Any]:
        """The dtype of results, and V as a (·, t) tensor on the device."""
        import torch

        from mercer.engines._triton.store import upload

        if self.numpy != isinstance(V, np.ndarray):  # the points say which kind the result is
            V = V.detach().cpu().numpy() if self.numpy else torch.tensor(V)
        if isinstance(V, np.ndarray):
            own = np.float64 if self.dtype == torch.float64 else np.float32
            kind = np.result_type(own, V)
            V = upload(np.asarray(V, np.float32 if V.dtype == np.float32 else np.float64), self.device)
        else:
            kind = torch.promote_types(self.dtype, V.dtype)
            V = V.detach().to(self.device)
            V = V if V.dtype == torch.float32 else V.double()
        if self.dtype == torch.float64:
            V = V.double()
        return kind, V[:, None] if V.ndim == 1 else V

    def give(self, total: Any, kind: Any, ndim: int) -> Any:
        total = total[:, 0] if ndim == 1 else total
        if not self.numpy:
            return total if not hasattr(kind, "itemsize") or isinstance(kind, type) else total.to(kind)
        return self.download(total, kind)

    @staticmethod
    def download(tensor: Any, kind: Any = None) -> np.ndarray:
        """A tensor as a new host array."""
        from mercer.engines._triton.stream import download

        kind = kind or (np.float64 if tensor.element_size() == 8 else np.float32)
        return download(tensor, np.empty(tuple(tensor.shape), kind))

    def zeros(self, shape: tuple[int, ...], dtype: Any = None) -> Any:
        import torch

        return torch.zeros(shape, dtype=dtype or torch.float64, device=self.device)

    def empty(self, shape: tuple[int, ...]) -> Any:
        import torch

        if self.numpy:
            return np.empty(shape, np.float64 if self.dtype == torch.float64 else np.float32)
        return torch.empty(shape, dtype=self.dtype, device=self.device)


def symmetric_gram(call: Call, out: Any) -> None:
    """K(X, X) from its lower triangle, so that it is symmetric to the last bit."""
    _, A = next(call.chunks(call.X, True))
    pairs = call.pairs(A, A)
    for i, j in spans(len(A), pairs.height()):
        if isinstance(out, np.ndarray):
            block = pairs.block(i, j, j)
        else:
            block = pairs.block(i, j, j, out[i:j, :j])
        corner = block[:, i:j].tril()
        block[:, i:j] = corner + corner.tril(-1).T
        if isinstance(out, np.ndarray):
            from mercer.engines._triton.stream import download

            download(block, out[i:j, :j])
        out[:i, i:j] = out[i:j, :i].T


def write(pairs: Any, i: int, j: int, out: Any) -> None:
    """Rows i … j of K into an array or a tensor."""
    if isinstance(out, np.ndarray):
        from mercer.engines._triton.stream import download

        download(pairs.block(i, j), out)
    else:
        pairs.block(i, j, None, out)


def mirror_host(out: np.ndarray) -> None:
    side = 1024
    for i in range(0, len(out), side):
        j = min(i + side, len(out))
        corner = np.tril(out[i:j, i:j])
        out[i:j, i:j] = corner + np.tril(corner, -1).T
        out[i:j, j:] = out[j:, i:j].T


def spans(n: int, height: int) -> Iterator[tuple[int, int]]:
    for i in range(0, n, height):
        yield i, min(i + height, n)


def interpreting() -> bool:
    """Does Triton run in its interpreter, on the CPU? (For tests without a GPU.)"""
    return os.environ.get("TRITON_INTERPRET", "0") == "1"


def lacking(device: str) -> ImportError | RuntimeError | None:
    """What is missing here for computing on a device: torch, Triton or the GPU; None if nothing is."""
    try:
        import torch
        import triton  # noqa: F401
    except ImportError as error:
        why = ImportError(
            f"the cuda engine needs torch with Triton ({error}): pip install 'mercer[gpu]'", name=error.name
        )
        why.__cause__ = error
        return why
    try:
        kind = torch.device(device).type
    except RuntimeError as error:
        return RuntimeError(f"the cuda engine can't use device {device!r}: {error}")
    if kind == "cuda" and not torch.cuda.is_available():
        return RuntimeError("the cuda engine found no NVIDIA GPU that torch can use")
    if kind != "cuda" and not interpreting():
        return RuntimeError(f"the cuda engine can't use device {device!r}: Triton needs an NVIDIA GPU")
    return None


def require(device: str) -> None:
    """A clear word if torch, Triton or the GPU is missing."""
    why = lacking(device)
    if why is not None:
        advice = "or engine" if isinstance(why, ImportError) else "engine"
        raise type(why)(f"{why}; {advice}='tiled' computes the same on the CPU") from why.__cause__
