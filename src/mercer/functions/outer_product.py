"""Along which directions a function changes: the mean outer product of its gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._xp import DualNumber, dual, issparse
from mercer.functions.base import as_columns
from mercer.functions.kernel import KernelFunction
from mercer.kernels import Constant, Kernel, LengthScales, Mahalanobis, OnColumns, Product, Scale, Sum
from mercer.kernels.profiled import Profiled
from mercer.kernels.statistics import DotProduct, SquaredDistance

# Numbers held at once in one matrix: 32 MB of doubles.
_ENTRIES = 1 << 22
_TERMS_AT_ONCE = 2048
# Of pairs so near to each other (a share of the largest squared norm) the difference of two sums keeps no
# digits where the profile has a kink.
_NEAR = 1e-14
_LINEAR = (LengthScales, Mahalanobis, OnColumns)


def gradient_outer_product(f: KernelFunction, X: Any) -> np.ndarray:
    """(1/n) Σ_i ∇f(x_i) ∇f(x_i)ᵀ over a set of vectors, shape (d, d), in float64.

    Of t functions it is the sum of theirs. For a function of the distance, k = φ(‖A(x−z)‖²), the gradients
    are ∇f(x_i) = AᵀA (x_i Σ_j w_ij − Σ_j w_ij z_j) with w_ij = 2 c_j φ'(‖A(x_i−z_j)‖²): products of matrices,
    with no array of n×m×d numbers. So it goes for functions of x·z, on chosen columns, with length scales or
    a metric, for sums, products and multiples of such kernels; any other goes by its `gradient_x`.

    Parameters
    ----------
    f : KernelFunction
        Of a kernel of vectors that has a derivative. Where that has a kink (a Laplacian at its centre) the
        slope of the term counts as 0.
    X : (n, d) points

    Examples
    --------
    Of a linear function it is the outer product of its weights:

    >>> from mercer.kernels import Linear
    >>> gradient_outer_product(KernelFunction(Linear(), [[1.0, 2.0]], [3.0]), [[0.0, 0.0], [5.0, 1.0]])
    array([[ 9., 18.],
           [18., 36.]])
    """
    if not isinstance(f, KernelFunction) or not f.kernel.vectors:
        raise TypeError(f"gradients are of functions of a kernel on vectors, got {f!r}")
    X = f.kernel.points(X)
    n, d = X.shape
    if n == 0:
        raise ValueError("a mean over no points: X has no rows")
    C = as_columns(f.coef).astype(np.float64)
    M, width = np.zeros((d, d)), max(min(len(f), _TERMS_AT_ONCE), C.shape[1] * (d + 1))
    step = max(1, _ENTRIES // max(width, 1))
    for a in range(0, n, step):
        here = _doubles(X[a : a + step])
        G = np.zeros((len(here), C.shape[1], d))
        for b in range(0, len(f), _TERMS_AT_ONCE):
            some = slice(b, b + _TERMS_AT_ONCE)
            G += _gradients(f.kernel, here, _doubles(f.points[some]), C[some], None)
        G = G.reshape(-1, d)
        M += G.T @ G
    return M / n


def _gradients(
    kernel: Kernel, X: np.ndarray, Z: np.ndarray, C: np.ndarray, weights: np.ndarray | None
) -> np.ndarray:
    """Σ_j v_ij c_jt ∇k(x_i, z_j), shape (n, t, d), with weights v (ones where there are none)."""
    if isinstance(kernel, _LINEAR):
        map = kernel.child_points(np.eye(X.shape[1]))
        inner = _gradients(kernel.kernel, kernel.child_points(X), kernel.child_points(Z), C, weights)
        return inner @ map.T
    if isinstance(kernel, Scale):
        return _gradients(kernel.kernel, X, Z, C * kernel.factor, weights)
    if isinstance(kernel, Constant):
        return np.zeros((len(X), C.shape[1], X.shape[1]))
    if isinstance(kernel, Sum):
        return _gradients(kernel.left, X, Z, C, weights) + _gradients(kernel.right, X, Z, C, weights)
    if isinstance(kernel, Product):
        left, right = (_times(part.pairwise(X, Z), weights) for part in (kernel.left, kernel.right))
        return _gradients(kernel.left, X, Z, C, right) + _gradients(kernel.right, X, Z, C, left)
    if isinstance(kernel, Profiled) and type(kernel).gradient_x is Profiled.gradient_x:
        if type(kernel.statistic) is SquaredDistance:
            return _of_distances(kernel, X, Z, C, weights)
        if type(kernel.statistic) is DotProduct:
            W, (_, t), d = _slopes(kernel, kernel.statistic.pairwise(X, Z), weights), C.shape, X.shape[1]
            return (W @ _beside(C, Z)).reshape(len(X), t, d)
    return _by_differences(kernel, X, Z, C, weights)


def _of_distances(
    kernel: Profiled, X: np.ndarray, Z: np.ndarray, C: np.ndarray, weights: np.ndarray | None
) -> np.ndarray:
    """2 Σ_j φ'(s_ij) c_j (x_i − z_j): x_i times a sum less a sum, of points about their mean."""
    (n, d), t = X.shape, C.shape[1]
    S = kernel.statistic.pairwise(X, Z)
    W = _slopes(kernel, S, weights)
    W *= 2
    middle = Z.mean(axis=0)
    Xc, Zc = X - middle, Z - middle
    largest = float(np.einsum("ij,ij->i", Xc, Xc).max(initial=0))
    i, j = np.nonzero((largest * _NEAR > S) & (S > 0))
    near, W[i, j] = W[i, j], 0
    sums = W @ np.hstack([C, _beside(C, Zc)])
    G = sums[:, :t, None] * Xc[:, None, :] - sums[:, t:].reshape(n, t, d)
    step = max(1, _ENTRIES // (t * d))
    for a in range(0, len(i), step):  # one by one, from their differences
        ia, ja = i[a : a + step], j[a : a + step]
        away = near[a : a + step, None] * (X[ia] - Z[ja])
        np.add.at(G, ia, C[ja][:, :, None] * away[:, None, :])
    return G


def _by_differences(
    kernel: Kernel, X: np.ndarray, Z: np.ndarray, C: np.ndarray, weights: np.ndarray | None
) -> np.ndarray:
    """By the kernel's own derivative, an array of rows × terms × coordinates at a time."""
    G = np.empty((len(X), C.shape[1], X.shape[1]))
    step = max(1, _ENTRIES // max(Z.size, 1))
    for a in range(0, len(X), step):
        slopes = kernel.gradient_x(X[a : a + step], Z)
        if weights is not None:
            slopes = slopes * weights[a : a + step, :, None]
        G[a : a + step] = np.einsum("imd,mt->itd", slopes, C, optimize=True)
    return G


def _slopes(kernel: Profiled, S: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """φ'(s_ij), weighted; an array of its own."""
    slope = DualNumber.of(kernel.profile(DualNumber(S, np.ones_like(S)), dual)).slope
    return np.array(_times(np.broadcast_to(slope, S.shape), weights))


def _times(values: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    return values if weights is None else values * weights


def _beside(C: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """c_jt z_j in one row, output by output: (m, t·d)."""
    return (C[:, :, None] * Z[:, None, :]).reshape(len(Z), -1)


def _doubles(X: Any) -> np.ndarray:
    return (X.toarray() if issparse(X) else X).astype(np.float64, copy=False)
