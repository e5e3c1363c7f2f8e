"""Matrices on the device: Kᵀ diag(w) K in float64, and Cholesky in place.

Plain torch, without its own factorisations of large matrices: those take a copy, and may count entries in
32 bits, which 46,340 rows exceed.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from mercer._threads import stopping_point
from mercer.operators.factor import NotPositiveDefinite

_PANEL = 1024
# Diagonal blocks up to this size go to the library; larger ones are halved.
_LEAST = 256
# Rows of a panel that are multiplied by the inverse of its corner together.
_ROWS = 8192
# Column blocks of a symmetric product: only those on and below the diagonal are computed.
_STRIPES = 8


def add_gramian(G: Any, K: Any, w: Any) -> None:
    """G += Kᵀ diag(w) K on and below the diagonal, in float64."""
    K = K.double()
    left = K if w is None else K * w.double()[:, None]
    m = K.shape[1]
    stripe = max(-(-m // _STRIPES), 512)
    for j in range(0, m, stripe):
        k = min(j + stripe, m)
        G[j:, j:k].addmm_(K[:, j:].T, left[:, j:k])


def mirror_lower(G: Any) -> Any:
    """The upper triangle from the lower one."""
    n = len(G)
    for j in range(0, n, _PANEL):
        k = min(j + _PANEL, n)
        G[j:k, k:] = G[k:, j:k].T
        block = G[j:k, j:k].tril(-1)
        G[j:k, j:k] = block + block.T + G[j:k, j:k].diagonal().diag()
    return G


class Pace:
    """The host runs a step ahead of the device, no further: Ctrl-C is heard within a step or two."""

    def __init__(self, device: Any):
        self.device = device
        self.begun: deque[Any] = deque()

    def step(self) -> None:
        """To be called after the work of a step is queued."""
        import torch

        stopping_point()
        if self.device.type != "cuda":
            return
        event = torch.cuda.Event()
        event.record(torch.cuda.current_stream(self.device))
        self.begun.append(event)
        if len(self.begun) > 1:
            self.begun.popleft().synchronize()


class DeviceFactor:
    """S A S + shift·I = L Lᵀ on the device, in place: the lower triangle of A becomes L.

    Panel after panel of columns: what those to the left take off it is one matrix product, its corner is
    factored by halves, and what lies below is multiplied by the inverse of that. The strict upper triangle
    keeps the matrix, so that residuals can be computed, and a failed attempt is repeated with a jitter on the
    diagonal, without a second n×n array.

    Parameters
    ----------
    A : (n, n) tensor on the device, float32 or float64, symmetric; overwritten
    shift : float
        Added to the diagonal.
    max_jitter : float
        If a pivot fails, a growing jitter up to this multiple of the mean diagonal is tried.
    scale : (n,) array, optional
        The diagonal of S.

    Attributes
    ----------
    jitter : float
        What had to be added to the diagonal besides `shift`.
    """

    def __init__(self, A: Any, shift: float = 0.0, max_jitter: float = 1e-2, scale: np.ndarray | None = None):
        import torch

        if scale is not None:
            S = torch.tensor(np.asarray(scale), dtype=A.dtype, device=A.device)
            A.mul_(S[:, None]).mul_(S)
        self.L, self.n, self.jitter = A, len(A), 0.0
        self._blocks: list[tuple[int, int, Any]] = []
        self.diagonal = A.diagonal().double() + shift
        if self.n == 0:
            return
        if not bool(torch.isfinite(self.diagonal).all()):
            raise NotPositiveDefinite("the matrix has NaN or infinity on its diagonal: k(x,x) must be finite")
        limits = torch.finfo(A.dtype)
        mean = max(float(self.diagonal.abs().mean()), limits.tiny)
        # What rounding makes of a zero eigenvalue: about √n·eps, if errors are independent.
        step = self.n**0.5 * limits.eps * mean
        while True:
            A.diagonal().copy_(self.diagonal + self.jitter)
            if self._attempt():
                return
            self.jitter = 10 * self.jitter or step
            if self.jitter > max_jitter * mean:
                raise NotPositiveDefinite(
                    "the matrix is not positive definite, even with a jitter of "
                    f"{self.jitter / 10:.1e} on its diagonal; is the kernel positive semidefinite "
                    "(mercer.kernels.check)? A larger lam helps too"
                )
            for j in range(0, self.n, _PANEL):
                k = min(j + _PANEL, self.n)
                A[k:, j:k] = A[j:k, k:].T
                block = A[j:k, j:k].triu(1)
                A[j:k, j:k] = block + block.T

    def _attempt(self) -> bool:
        """All panels, without waiting for any; whether that went well is looked at in the end."""
        import torch

        A, n, pace = self.L, self.n, Pace(self.L.device)
        self._blocks = []
        failed: list[Any] = []
        for j in range(0, n, _PANEL):
            k = min(j + _PANEL, n)
            corner = A[j:k, j:k].clone()
            if j:
                corner.addmm_(A[j:k, :j], A[j:k, :j].T, alpha=-1)
                A[k:, j:k].addmm_(A[k:, :j], A[j:k, :j].T, alpha=-1)
            L, inverse = _corner(corner, failed)
            self._blocks.append((j, k, inverse))
            A[j:k, j:k] = L + A[j:k, j:k].triu(1)
            for i in range(k, n, _ROWS):
                A[i : i + _ROWS, j:k] = _divided(A[i : i + _ROWS, j:k], L, inverse)
            pace.step()
        fine = torch.isfinite(A.diagonal()).all() & (torch.stack(failed) == 0).all()
        return bool(fine)

    def solve(self, B: Any) -> Any:
        """(L Lᵀ)⁻¹ B; NumPy in, NumPy out, in float64 outside and the factor's precision inside."""
        return self._give(self._upper(self._lower(self._take(B))), B)

    def solve_lower(self, B: Any) -> Any:
        """L⁻¹ B."""
        return self._give(self._lower(self._take(B)), B)

    def solve_upper(self, B: Any) -> Any:
        """L⁻ᵀ B."""
        return self._give(self._upper(self._take(B)), B)

    def multiply_lower(self, V: Any) -> Any:
        """L V."""
        X = self._take(V)
        out = X.new_zeros(X.shape)
        for j, k, _ in self._blocks:
            out[j:k] += self.L[j:k, j:k].tril() @ X[j:k]
            out[k:] += self.L[k:, j:k] @ X[j:k]
        return self._give(out, V)

    def multiply_upper(self, V: Any) -> Any:
        """Lᵀ V."""
        X = self._take(V)
        out = X.new_zeros(X.shape)
        for j, k, _ in self._blocks:
            out[j:k] = self.L[j:k, j:k].tril().T @ X[j:k] + self.L[k:, j:k].T @ X[k:]
        return self._give(out, V)

    def gram_factor(self, scale: float, shift: float) -> GramFactor:
        """The factor of scale·LᵀL + shift·I, in the unused upper triangle of the same array."""
        return GramFactor(self, scale, shift)

    def multiply(self, V: Any) -> Any:
        """(S A S + shift·I) V from the untouched upper triangle, in float64, jitter not included."""
        import torch

        X = torch.tensor(V) if isinstance(V, np.ndarray) else V
        X = X.to(device=self.L.device, dtype=torch.float64)
        X = X[:, None] if X.ndim == 1 else X
        out = self.diagonal[:, None] * X
        for j, k, _ in self._blocks:
            corner, right = self.L[j:k, j:k].triu(1).double(), self.L[j:k, k:].double()
            out[j:k] += corner @ X[j:k] + corner.T @ X[j:k] + right @ X[k:]
            out[k:] += right.T @ X[j:k]
        return self._give(out, V)

    def inverse_diagonal(self) -> np.ndarray:
        """diag((L Lᵀ)⁻¹): squared column lengths of L⁻¹, a panel of columns at a time."""
        out, pace = self.diagonal.new_empty(self.n), Pace(self.L.device)
        for first, (c, e, inverse) in enumerate(self._blocks):
            X = self.L.new_empty((self.n - c, e - c))
            X[: e - c] = inverse
            for j, k, inner in self._blocks[first + 1 :]:
                X[j - c : k - c] = (inner @ (self.L[j:k, c:j] @ X[: j - c])).neg_()
            out[c:e] = X.double().square_().sum(0)
            pace.step()
        return out.cpu().numpy()

    def inverse(self) -> np.ndarray:
        """(L Lᵀ)⁻¹ as an array, a panel of columns at a time."""
        out = np.empty((self.n, self.n))
        for first, (c, e, _) in enumerate(self._blocks):
            X = self.L.new_zeros((self.n, e - c))
            X[c:e].fill_diagonal_(1.0)
            out[:, c:e] = self._upper(self._lower(X, first)).double().cpu().numpy()
        return out

    def log_determinant(self) -> float:
        """log det (L Lᵀ), from the pivots."""
        return 2 * float(self.L.diagonal().double().log().sum())

    def condition(self) -> float:
        """A cheap lower estimate of the condition number, from the pivots."""
        pivots = self.L.diagonal().double()
        return float((pivots.max() / pivots.min()) ** 2) if self.n else 1.0

    def _take(self, B: Any) -> Any:
        import torch

        X = torch.tensor(B) if isinstance(B, np.ndarray) else B
        X = X.to(device=self.L.device, dtype=self.L.dtype, copy=True)
        return X[:, None] if X.ndim == 1 else X

    def _give(self, X: Any, B: Any) -> Any:
        X = X.reshape(B.shape).double()
        return X.cpu().numpy() if isinstance(B, np.ndarray) else X

    def _lower(self, X: Any, first: int = 0) -> Any:
        """L⁻¹ X; the blocks before the first have nothing but zeros."""
        start = self._blocks[first][0] if self._blocks else 0
        for j, k, inverse in self._blocks[first:]:
            if j > start:
                X[j:k] -= self.L[j:k, start:j] @ X[start:j]
            X[j:k] = _divided(X[j:k].T, self.L[j:k, j:k].tril(), inverse).T
        return X

    def _upper(self, X: Any) -> Any:
        for j, k, inverse in reversed(self._blocks):
            if k < self.n:
                X[j:k] -= self.L[k:, j:k].T @ X[k:]
            X[j:k] = _divided(X[j:k].T, self.L[j:k, j:k].tril().T, inverse.T).T
        return X


def _corner(A: Any, failed: list[Any]) -> tuple[Any, Any]:
    """L with A = L Lᵀ, and its inverse, by halves; `failed` takes down how the factorisations went."""
    import torch

    n = len(A)
    if n <= _LEAST:
        L, info = torch.linalg.cholesky_ex(A)
        failed.append(info)
        identity = torch.eye(n, dtype=A.dtype, device=A.device)
        return L, torch.linalg.solve_triangular(L, identity, upper=False)
    h = n // 2
    L, inverse = torch.zeros_like(A), torch.zeros_like(A)
    L[:h, :h], inverse[:h, :h] = _corner(A[:h, :h], failed)
    L[h:, :h] = _divided(A[h:, :h], L[:h, :h], inverse[:h, :h])
    below = torch.addmm(A[h:, h:], L[h:, :h], L[h:, :h].T, alpha=-1)
    L[h:, h:], inverse[h:, h:] = _corner(below, failed)
    inverse[h:, :h] = (inverse[h:, h:] @ (L[h:, :h] @ inverse[:h, :h])).neg_()
    return L, inverse


def _divided(B: Any, L: Any, inverse: Any) -> Any:
    """X with X Lᵀ = B, by the inverse of L.

    The inverse of a badly conditioned L loses digits; what X lacks is measured, and added, once.
    """
    import torch

    X = B @ inverse.T
    return X.addmm_(torch.addmm(B, X, L.T, alpha=-1), inverse.T)


class GramFactor:
    """scale·LᵀL + shift·I = UᵀU, with U in the strict upper triangle of the array that holds L.

    Two factors in the room of one: for as many centres as fit on the device once.
    """

    def __init__(self, factor: DeviceFactor, scale: float, shift: float):
        A, n = factor.L, factor.n
        self.A, self.n, self.jitter = A, n, 0.0
        edges = [(j, min(j + _PANEL, n)) for j in range(0, n, _PANEL)]
        corners = []
        for j, k in edges:
            column = A[j:, j:k].clone()
            column[: k - j].tril_()
            A[:j, j:k] = (A[j:, :j].T @ column).mul_(scale)
            corner = (column.T @ column).mul_(scale)
            corner.diagonal().add_(shift)
            corners.append(corner)
        self._factor(edges, corners)

    def _factor(self, edges: list[tuple[int, int]], corners: list[Any]) -> None:
        import torch

        A = self.A
        self._blocks = []
        for (j, k), corner in zip(edges, corners, strict=True):
            above = A[:j, j:k]
            corner.addmm_(above.T, above, alpha=-1)
            block, info = torch.linalg.cholesky_ex(corner)
            if int(info) or not bool(torch.isfinite(block.diagonal()).all()):
                # Rounding: what is left of the diagonal is all that is known.
                least = torch.finfo(A.dtype).eps * float(corners[0][0, 0])
                block = corner.diagonal().clamp(min=least).sqrt().diag()
                self.jitter = max(self.jitter, least)
            identity = torch.eye(k - j, dtype=A.dtype, device=A.device)
            inverse = torch.linalg.solve_triangular(block, identity, upper=False)
            self._blocks.append((j, k, inverse))
            if k < self.n:
                right = A[j:k, k:] - above.T @ A[:j, k:]
                A[j:k, k:] = inverse @ right

    def solve(self, B: Any) -> Any:
        """(UᵀU)⁻¹ B; NumPy in, NumPy out."""
        import torch

        X = torch.tensor(B) if isinstance(B, np.ndarray) else B
        X = X.to(device=self.A.device, dtype=self.A.dtype, copy=True)
        for j, k, inverse in self._blocks:
            if j:
                X[j:k] -= self.A[:j, j:k].T @ X[:j]
            X[j:k] = inverse @ X[j:k]
        for j, k, inverse in reversed(self._blocks):
            if k < self.n:
                X[j:k] -= self.A[j:k, k:] @ X[k:]
            X[j:k] = inverse.T @ X[j:k]
        X = X.double()
        return X.cpu().numpy() if isinstance(B, np.ndarray) else X
