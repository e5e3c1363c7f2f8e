"""Matrices on the device: Kᵀ diag(w) K in float64, and Cholesky in place."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.operators.factor import NotPositiveDefinite

_PANEL = 1024
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


class DeviceFactor:
    """A + shift·I = L Lᵀ on the device, in place: the lower triangle of A becomes L.

    The strict upper triangle keeps the matrix, so a failed attempt is repeated with a jitter on the
    diagonal without a second n×n array.

    Parameters
    ----------
    A : (n, n) tensor on the device, float32 or float64, symmetric; overwritten
    shift : float
        Added to the diagonal.
    max_jitter : float
        If a pivot fails, a growing jitter up to this multiple of the mean diagonal is tried.

    Attributes
    ----------
    jitter : float
        What had to be added to the diagonal besides `shift`.
    """

    def __init__(self, A: Any, shift: float = 0.0, max_jitter: float = 1e-2):
        import torch

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
        import torch

        A, n = self.L, self.n
        self._blocks = []
        buffer = A.new_empty(n * min(_PANEL, n))
        for j in range(0, n, _PANEL):
            k = min(j + _PANEL, n)
            panel = buffer[: (n - j) * (k - j)].view(n - j, k - j)
            panel.copy_(A[j:, j:k])
            if j:
                panel.addmm_(A[j:, :j], A[j:k, :j].T, alpha=-1)
            block, info = torch.linalg.cholesky_ex(panel[: k - j])
            if int(info) or not bool(torch.isfinite(block.diagonal()).all()):
                return False
            identity = torch.eye(k - j, dtype=A.dtype, device=A.device)
            inverse = torch.linalg.solve_triangular(block, identity, upper=False)
            self._blocks.append((j, k, inverse))
            A[j:k, j:k] = block.tril() + A[j:k, j:k].triu(1)
            if k < n:
                A[k:, j:k] = panel[k - j :] @ inverse.T
        return True

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

    def _lower(self, X: Any) -> Any:
        for j, k, inverse in self._blocks:
            if j:
                X[j:k] -= self.L[j:k, :j] @ X[:j]
            X[j:k] = inverse @ X[j:k]
        return X

    def _upper(self, X: Any) -> Any:
        for j, k, inverse in reversed(self._blocks):
            if k < self.n:
                X[j:k] -= self.L[k:, j:k].T @ X[k:]
            X[j:k] = inverse.T @ X[j:k]
        return X


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
