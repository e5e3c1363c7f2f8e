"""The GPU engine: kernels generated from a kernel's formula, products without the matrix."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer._xp import issparse
from mercer.engines.base import Engine
from mercer.engines.tiled import Tiled, result_dtype
from mercer.kernels.formula import Formula, NotTraceable, trace

_PRECISIONS = ("float32", "fast")
# Without a limit of the user's: this share of the memory that is free.
_SHARE = 0.7
_SYMMETRIC_FROM = 4096


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

    def __init__(self, precision="float32", memory=None, device="cuda"):
        self.precision = precision
        self.memory = memory
        self.device = device

    def validate(self):
        if self.precision not in _PRECISIONS:
            raise ValueError(f"Cuda: precision must be one of {_PRECISIONS}, got {self.precision!r}")
        if self.memory is not None and not (isinstance(self.memory, (int, np.integer)) and self.memory > 0):
            raise ValueError(f"Cuda: memory must be a positive number of bytes or None, got {self.memory!r}")

    # -- the contract -----------------------------------------------------------------------------

    def gram(self, kernel, X, Z=None, *, out=None):
        """K(X, Z), or the symmetric K(X, X), written into `out` if given."""
        call = self._call(kernel, X, X if Z is None else Z)
        if call is None:
            return self._on_cpu("gram", kernel, X, Z, out=out)
        same = Z is None or Z is X
        if out is None:
            out = call.empty((call.n, call.m))
        if not call.n or not call.m:
            return out
        if same and call.whole_fits:
            _symmetric_gram(call, out)
            return out
        for rows, A in call.row_chunks():
            for columns, B in call.column_chunks():
                pairs = call.pairs(A, B)
                for i, j in _spans(len(A), pairs.height()):
                    _write(pairs, i, j, out[rows.start + i : rows.start + j, columns])
        if same:
            _mirror_host(out)
        return out

    def product(self, kernel, X, Z, V):
        """K(X, Z) V."""
        call = self._call(kernel, X, Z)
        if call is None:
            return self._on_cpu("product", kernel, X, Z, V)
        kind, V2 = call.columns(V)
        total = call.zeros((call.n, V2.shape[1]))
        if call.n and call.m:
            call.multiply(V2, total, X is Z)
        return call.give(total, kind, V.ndim)

    def normal(self, kernel, X, Z, V, w=None):
        """K(X,Z)ᵀ (w ∘ (K(X,Z) V)), w of shape (n,) or (n, t)."""
        call = self._call(kernel, X, Z)
        if call is None:
            return self._on_cpu("normal", kernel, X, Z, V, w)
        kind, V2 = call.columns(V)
        total = call.zeros((call.m, V2.shape[1]))
        if call.n and call.m:
            weights = None if w is None else call.columns(w)[1]
            if not call.columns_fit:
                middle = call.zeros((call.n, V2.shape[1]))
                call.multiply(V2, middle, X is Z)
                middle = middle if weights is None else middle * weights
                back = self._call(kernel, Z, X)
                back.multiply(middle.to(V2.dtype), total, X is Z)
                return call.give(total, kind, V.ndim)
            _, B = next(call.column_chunks())
            for rows, A in call.row_chunks():
                S = call.pairs(A, B).multiply(V2, X is Z and len(A) == len(B) >= _SYMMETRIC_FROM)
                if weights is not None:
                    S = S * weights[rows]
                total += call.pairs(B, A, B).multiply(S.to(V2.dtype), X is Z and len(A) >= _SYMMETRIC_FROM)
        return call.give(total, kind, V.ndim)

    def reduce(self, kernel, X, Z, step):
        """step(rows, K[rows]) for blocks of rows, computed on the GPU and handed over as NumPy arrays."""
        call = self._call(kernel, X, Z)
        if call is None:
            return self._on_cpu("reduce", kernel, X, Z, step)
        total = None
        for rows, block in call.blocks():
            part = step(rows, block.cpu().numpy())
            if part is not None:
                total = part.astype(np.float64) if total is None else total + part
        return [total]

    # -- more -------------------------------------------------------------------------------------

    def gramian(self, kernel, X, Z, w=None):
        """K(X,Z)ᵀ diag(w) K(X,Z) in float64: K in the points' precision, products and sums in float64.

        Parameters
        ----------
        kernel : Kernel
        X, Z : points
        w : (n,) array, optional

        Returns
        -------
        (m, m) array, or a tensor on the device if X is one
        """
        from mercer.engines._triton.dense import add_gramian, mirror_lower

        call = self._call(kernel, X, Z)
        if call is None:
            parts = Tiled().reduce(kernel, X, Z, _gramian_step(w))
            return sum((p for p in parts if p is not None), np.zeros((Z.shape[0],) * 2))
        G = call.zeros((call.m, call.m))
        weights = None if w is None else call.columns(w)[1][:, 0]
        for rows, block in call.blocks():
            add_gramian(G, block, None if weights is None else weights[rows])
        return call.give(mirror_lower(G), np.float64, 2)

    def kernel_matrix(self, kernel, Z, dtype=None):
        """K(Z, Z) as a tensor on the device, symmetric to the last bit, for `factor`.

        Parameters
        ----------
        kernel : Kernel
            One with a formula.
        Z : points
        dtype : dtype, optional
            float32 or float64: what the points are computed in; None: as they are.
        """
        import torch

        if dtype is not None:
            double = (
                np.dtype(dtype) == np.float64
                if not isinstance(dtype, torch.dtype)
                else dtype == torch.float64
            )
            if isinstance(Z, np.ndarray):
                Z = Z.astype(np.float64 if double else np.float32, copy=False)
            else:
                Z = Z.to(torch.float64 if double else torch.float32)
        call = self._call(kernel, Z, Z)
        if call is None:
            return torch.tensor(Tiled().gram(kernel, Z)).to(self.device)
        out = torch.empty((call.n, call.n), dtype=call.dtype, device=call.device)
        if call.n:
            _symmetric_gram(call, out)
        return out

    def factor(self, A, shift=0.0, max_jitter=1e-2):
        """Cholesky factor of A + shift·I on the device, in place.

        Parameters
        ----------
        A : (n, n) tensor on the device, which is overwritten, or array, which is copied there
        shift : float
        max_jitter : float
            Largest addition to the diagonal that is tried, as a multiple of its mean.

        Returns
        -------
        Factor
            With `solve`, `solve_lower`, `solve_upper`, `jitter`.
        """
        from mercer.engines._triton.dense import Factor
        from mercer.engines._triton.store import upload

        _require(self.device)
        return Factor(upload(A, self.device) if isinstance(A, np.ndarray) else A, shift, max_jitter)

    def remember(self, array, tensor):
        """Say that a device tensor holds what a host array holds, so that it isn't uploaded again."""
        from mercer.engines._triton.store import STORE

        if tuple(array.shape) != tuple(tensor.shape):
            raise ValueError(
                f"remember: an array of shape {array.shape} and a tensor of {tuple(tensor.shape)}"
            )
        STORE.put(array, tensor, self._budget())

    def forget(self):
        """Drop all device copies."""
        from mercer.engines._triton.store import STORE

        STORE.clear()

    # -- inside -----------------------------------------------------------------------------------

    def _budget(self) -> int:
        """Bytes for points on the device."""
        import torch

        if self.memory is not None:
            return int(self.memory)
        if torch.device(self.device).type == "cpu":
            return 1 << 33
        free, _ = torch.cuda.mem_get_info(self.device)
        kept = torch.cuda.memory_reserved(self.device) - torch.cuda.memory_allocated(self.device)
        return int(_SHARE * (free + kept))

    def _call(self, kernel, X, Z) -> _Call | None:
        """What one call works with; None if the CPU engine has to do it."""
        self.validate()
        if not kernel.vectors or issparse(X) or issparse(Z):
            return None
        if not all(getattr(P, "ndim", 0) == 2 and P.shape[1] > 0 for P in (X, Z)):
            return None
        try:
            formula = trace(kernel)
        except NotTraceable:
            return None
        _require(self.device)
        import torch

        if isinstance(X, np.ndarray):
            kind = result_dtype(kernel, X, Z)
            dtype = {"float32": torch.float32, "float64": torch.float64}.get(kind.name)
        else:
            dtype = torch.promote_types(X.dtype, Z.dtype)
        if dtype not in (torch.float32, torch.float64):
            return None
        return _Call(self, formula, X, Z, dtype)

    def _on_cpu(self, method, kernel, X, Z, *rest, **options):
        """The same call on the CPU engine, tensors going there and back."""

        def host(value):
            return value.detach().cpu().numpy() if hasattr(value, "detach") else value

        tensors = hasattr(X, "detach")
        found = getattr(Tiled(), method)(kernel, host(X), host(Z), *map(host, rest), **options)
        if not tensors or method == "reduce":
            return found
        import torch

        return torch.from_numpy(found).to(X.device)


class _Call:
    """Formula, points and memory of one call."""

    def __init__(self, engine: Cuda, formula: Formula, X: Any, Z: Any, dtype: Any):
        import torch

        self.engine, self.formula, self.X, self.Z, self.dtype = engine, formula, X, Z, dtype
        self.n, self.m = X.shape[0], Z.shape[0]
        self.numpy = isinstance(X, np.ndarray)
        self.device = X.device if not self.numpy else torch.device(engine.device)
        if self.device.type == "cuda" and self.device.index is None:
            self.device = torch.device("cuda", torch.cuda.current_device())
        self.native = not interpreting()
        self.budget = engine._budget()
        # As given, packed for either side, norms and padding.
        size = 8 if dtype == torch.float64 else 4
        self.point = X.shape[1] * (3 * size + 12) + 64
        self.columns_fit = not self.numpy or self.m * self.point <= self.budget // 2
        together = self.n if X is Z else self.n + self.m
        self.whole_fits = not self.numpy or together * self.point <= self.budget

    def _chunks(self, P: Any, resident: bool) -> Iterator[tuple[slice, Any]]:
        from mercer.engines._triton import stream
        from mercer.engines._triton.pack import PAD
        from mercer.engines._triton.store import STORE

        if resident:
            yield slice(0, P.shape[0]), STORE.get(P, self.device, self.dtype, self.budget)
            return
        rows = max(self.budget // (4 * self.point) // PAD * PAD, 128)
        yield from stream.chunks(P, rows, self.device, self.dtype)

    def row_chunks(self):
        return self._chunks(self.X, self.whole_fits)

    def column_chunks(self):
        return self._chunks(self.Z, self.columns_fit)

    def pairs(self, A: Any, B: Any, anchor: Any = None):
        from mercer.engines._triton.pairs import Pairs

        precision = self.engine.precision
        return Pairs(self.formula, A, B, B if anchor is None else anchor, precision, self.native)

    def multiply(self, V: Any, total: Any, same: bool) -> None:
        """total += K V, chunk by chunk."""
        for columns, B in self.column_chunks():
            for rows, A in self.row_chunks():
                symmetric = same and A is B and self.n >= (_SYMMETRIC_FROM if self.native else 0)
                total[rows] += self.pairs(A, B).multiply(V[columns], symmetric)

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """Blocks of whole rows of K on the device."""
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
            for i, j in _spans(len(A), pairs.height()):
                yield slice(rows.start + i, rows.start + j), pairs.block(i, j)

    # -- arrays in and out ------------------------------------------------------------------------

    def columns(self, V: Any) -> tuple[Any, Any]:
        """The dtype of results, and V as a (·, t) tensor on the device."""
        import torch

        from mercer.engines._triton.store import upload

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
        from mercer.engines._triton.stream import download

        return download(total, np.empty(tuple(total.shape), kind))

    def zeros(self, shape: tuple[int, ...], dtype: Any = None) -> Any:
        import torch

        return torch.zeros(shape, dtype=dtype or torch.float64, device=self.device)

    def empty(self, shape: tuple[int, ...]) -> Any:
        import torch

        if self.numpy:
            return np.empty(shape, np.float64 if self.dtype == torch.float64 else np.float32)
        return torch.empty(shape, dtype=self.dtype, device=self.device)


def _symmetric_gram(call: _Call, out: Any) -> None:
    """K(X, X) from its lower triangle, so that it is symmetric to the last bit."""
    _, A = next(call._chunks(call.X, True))
    pairs = call.pairs(A, A)
    for i, j in _spans(len(A), pairs.height()):
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


def _write(pairs: Any, i: int, j: int, out: Any) -> None:
    """Rows i … j of K into an array or a tensor."""
    if isinstance(out, np.ndarray):
        from mercer.engines._triton.stream import download

        download(pairs.block(i, j), out)
    else:
        pairs.block(i, j, None, out)


def _mirror_host(out: np.ndarray) -> None:
    side = 1024
    for i in range(0, len(out), side):
        j = min(i + side, len(out))
        corner = np.tril(out[i:j, i:j])
        out[i:j, i:j] = corner + np.tril(corner, -1).T
        out[i:j, j:] = out[j:, i:j].T


def _spans(n: int, height: int) -> Iterator[tuple[int, int]]:
    for i in range(0, n, height):
        yield i, min(i + height, n)


def _gramian_step(w: Any):
    def step(rows, K):
        K = K.astype(np.float64)
        return K.T @ (K if w is None else K * np.asarray(w, np.float64)[rows, None])

    return step


def interpreting() -> bool:
    """Does Triton run in its interpreter, on the CPU? (For tests without a GPU.)"""
    return os.environ.get("TRITON_INTERPRET", "0") == "1"


def _require(device: str) -> None:
    """A clear word if torch, Triton or the GPU is missing."""
    advice = "engine='tiled' computes the same on the CPU"
    try:
        import torch
        import triton  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"the cuda engine needs torch with Triton ({error}): pip install 'mercer[gpu]'; or {advice}"
        ) from error
    if torch.device(device).type == "cuda" and not torch.cuda.is_available():
        raise RuntimeError(f"the cuda engine found no NVIDIA GPU that torch can use; {advice}")
    if torch.device(device).type != "cuda" and not interpreting():
        raise RuntimeError(
            f"the cuda engine can't use device {device!r}: Triton needs an NVIDIA GPU; {advice}"
        )
