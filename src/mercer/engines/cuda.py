"""The GPU engine: kernels generated from a kernel's formula, products without the matrix."""

from __future__ import annotations

import numpy as np

from mercer._xp import issparse
from mercer.engines._triton.call import (
    SYMMETRIC_FROM,
    Call,
    mirror_host,
    require,
    spans,
    symmetric_gram,
    write,
)
from mercer.engines.base import Engine, require_columns, require_room
from mercer.engines.tiled import Tiled, result_dtype
from mercer.kernels.formula import Formula, NotTraceable, trace

_PRECISIONS = ("float32", "fast")
# Without a limit of the user's: this share of the memory that is free.
_SHARE = 0.7
# Points that tell how large all of them are.
_SAMPLE = 1024


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
        require_room(out, call.n, call.m)
        if not call.n or not call.m:
            return out
        if same and call.whole_fits:
            symmetric_gram(call, out)
            return out
        for rows, A in call.row_chunks():
            for columns, B in call.column_chunks():
                pairs = call.pairs(A, B)
                for i, j in spans(len(A), pairs.height()):
                    write(pairs, i, j, out[rows.start + i : rows.start + j, columns])
        if same:
            mirror_host(out)
        return out

    def product(self, kernel, X, Z, V):
        """K(X, Z) V."""
        call = self._call(kernel, X, Z)
        if call is None:
            return self._on_cpu("product", kernel, X, Z, V)
        require_columns(V, call.m)
        kind, V2 = call.columns(V)
        total = call.zeros((call.n, V2.shape[1]))
        if call.n and call.m and V2.shape[1]:
            call.multiply(V2, total, X is Z)
        return call.give(total, kind, V.ndim)

    def normal(self, kernel, X, Z, V, w=None):
        """K(X,Z)ᵀ (w ∘ (K(X,Z) V)), w of shape (n,) or (n, t)."""
        call = self._call(kernel, X, Z)
        if call is None:
            return self._on_cpu("normal", kernel, X, Z, V, w)
        require_columns(V, call.m)
        kind, V2 = call.columns(V)
        total = call.zeros((call.m, V2.shape[1]))
        if call.n and call.m and V2.shape[1]:
            weights = None if w is None else call.columns(w)[1]
            if not call.columns_fit:
                middle = call.zeros((call.n, V2.shape[1]))
                call.multiply(V2, middle, X is Z)
                middle = middle if weights is None else middle * weights
                back = Call(self, call.formula, Z, X, call.dtype)
                back.multiply(middle.to(V2.dtype), total, X is Z)
                return call.give(total, kind, V.ndim)
            _, B = next(call.column_chunks())
            for rows, A in call.row_chunks():
                same = A is B and len(A) >= SYMMETRIC_FROM
                S = call.pairs(A, B).multiply(V2, same)
                if weights is not None:
                    S = S * weights[rows]
                total += call.pairs(B, A, B).multiply(S.to(V2.dtype), same)
        return call.give(total, kind, V.ndim)

    def sandwich(self, kernel, X, Z, V, middle):
        """K(X,Z)ᵀ m(K(X,Z) V): two products, m on the host, where losses and weights live."""
        S = middle(slice(0, X.shape[0]), self.product(kernel, X, Z, V))
        return self.product(kernel, Z, X, S)

    def usable(self):
        try:
            require(self.device)
        except (ImportError, RuntimeError):
            return Tiled()
        return self

    def describe(self, kernel, X, pairs):
        if issparse(X):
            return "kernel products by the CPU engine, not on the GPU: the points are sparse"
        try:
            trace(kernel)
        except NotTraceable as reason:
            return f"kernel products by the CPU engine, not on the GPU: {reason}"
        return f"kernel products on the GPU, precision {self.precision!r}"

    def reduce(self, kernel, X, Z, step):
        """step(rows, K[rows]) for blocks of rows, computed on the GPU and handed over as NumPy arrays."""
        call = self._call(kernel, X, Z)
        if call is None:
            return self._on_cpu("reduce", kernel, X, Z, step)
        total = None
        for rows, block in call.blocks():
            part = step(rows, call.download(block))
            if part is not None:
                total = part.astype(np.float64) if total is None else total + part
        return [total]

    # -- more -------------------------------------------------------------------------------------

    def gramian(self, kernel, X, Z, w=None, T=None):
        """K(X,Z)ᵀ diag(w) K(X,Z), or that of K T: K in the points' precision, the rest in float64.

        Parameters
        ----------
        kernel : Kernel
        X, Z : points
        w : (n,) array, optional
        T : (m, r) array, optional

        Returns
        -------
        (m, m) or (r, r) array, or a tensor on the device if X is one
        """
        call = self._call(kernel, X, Z)
        if call is None:
            return self._on_cpu("gramian", kernel, X, Z, w, T)
        return call.give(call.gramian(w, T), np.float64, 2)

    def room(self):
        """Bytes that matrices may take on the device."""
        import torch

        if torch.device(self.device).type == "cpu":
            return 1 << 33
        return int(_SHARE * torch.cuda.mem_get_info(self.device)[0])

    def whitened(self, kernel, X, Z, L, w=None):
        """L⁻¹ Kᵀ diag(w) K L⁻ᵀ for a factor L of this engine's, left on the device."""
        call = self._call(kernel, X, Z)
        if call is None:
            return super().whitened(kernel, X, Z, L, w)
        half = L.solve_lower(call.gramian(w, None))
        return L.solve_lower(half.T.contiguous())

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

        if dtype is not None and kernel.vectors:
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
            symmetric_gram(call, out)
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

        require(self.device)
        return Factor(upload(A, self.device) if isinstance(A, np.ndarray) else A, shift, max_jitter)

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

    # -- inside -----------------------------------------------------------------------------------

    def budget(self) -> int:
        """Bytes for points on the device."""
        import torch

        if self.memory is not None:
            return int(self.memory)
        if torch.device(self.device).type == "cpu":
            return 1 << 33
        free, _ = torch.cuda.mem_get_info(self.device)
        kept = torch.cuda.memory_reserved(self.device) - torch.cuda.memory_allocated(self.device)
        return int(_SHARE * (free + kept))

    def _call(self, kernel, X, Z) -> Call | None:
        """What one call works with; None if the CPU engine has to do it."""
        self.validate()
        if kernel.vectors:
            kernel.validate()
            kernel.require_resolved()
        if not kernel.vectors or issparse(X) or issparse(Z):
            return None
        if isinstance(X, np.ndarray) != isinstance(Z, np.ndarray):
            raise TypeError("the points on both sides must be NumPy arrays, or on both sides torch tensors")
        kernel._same_width(X, Z)
        if not all(getattr(P, "ndim", 0) == 2 and P.shape[1] > 0 for P in (X, Z)):
            return None
        try:
            formula = trace(kernel)
        except NotTraceable:
            return None
        if isinstance(X, np.ndarray) and not _squares_fit(formula, X, Z):
            return None  # the CPU engine has float64 for that
        require(self.device)
        import torch

        if isinstance(X, np.ndarray):
            kind = result_dtype(kernel, X, Z)
            dtype = {"float32": torch.float32, "float64": torch.float64}.get(kind.name)
        else:
            dtype = torch.promote_types(X.dtype, Z.dtype)
        if dtype not in (torch.float32, torch.float64):
            return None
        return Call(self, formula, X, Z, dtype)

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


def _squares_fit(formula: Formula, X: np.ndarray, Z: np.ndarray) -> bool:
    """Has float32 room for the statistics of some of these points, as they are seen?"""
    some = [P[:: max(len(P) // _SAMPLE, 1)] for P in (X, Z)]
    for leaf in formula.leaves:
        if min(len(P) for P in some) and not leaf.statistic.fits(*(leaf.view.points(P) for P in some)):
            return False
    return True
