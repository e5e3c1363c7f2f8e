"""Leave-one-out residuals of least squares in closed form, for one λ or many.

With G = S K S + μI (S = √w) and z = G⁻¹Sy, leaving example i out gives
s_i (y_i − f₋ᵢ(x_i)) = z_i / (G⁻¹)_ii. The objective over the other examples divides by their total
weight n − w_i, so the same λ means μ = λ(n − w_i): a shift that differs between examples when the
weights do. One eigendecomposition serves all shifts.

Leaving out a set g of rows (a unit: equal rows, or those of a group) is the same with a block in place of a
number, S_g (y_g − f₋g(x_g)) = (G⁻¹)_gg⁻¹ z_g with μ = λ(n − Σ w_g).

For choosing λ among many examples (`FactoredErrors`, `spectral_errors`) μ = λn is as good whichever is left
out, and one factor, or one small spectrum, serves all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from mercer._memory import available_memory
from mercer._notice import tell_part
from mercer._threads import interruptible
from mercer._units import alone, by_size, count
from mercer._xp import issparse
from mercer.operators import L1, Eigenbasis, Matrix, Operator
from mercer.solvers.coordinates import to_primal
from mercer.solvers.problem import Problem

# Equal rows make blocks whose condition is the largest eigenvalue over the shift: below this share of it
# double precision can't tell what is left of a unit, and residuals are those of this shift.
_SMALLEST_SHIFT = 1e-11
# Numbers in the rows that are looked at together.
_BLOCK = 1 << 22
# Matrices as large as K that are held at once: by an eigendecomposition (and more with unequal weights),
# by a factorisation; and by the small eigendecomposition where there are centres or features.
_SPECTRUM, _SPECTRUM_WEIGHTED, _FACTORED, _PRIMAL = 5, 6, 2, 6
_BLOCKS = 400 << 20


def shortage(problem: Problem, units: np.ndarray | None = None, lams: int | None = None) -> str | None:
    """Why this can't be held in memory, with sizes and a way out; None if it can.

    `lams` is how many values of λ there are; None: one, by a factor.
    """
    (n, t), unknowns = problem.y.shape, problem.A.shape[1]
    plain = problem.weights is None and alone(units)
    if not problem.full:
        squares = _PRIMAL
    elif lams is None and plain:
        squares = _FACTORED
    else:
        squares = _SPECTRUM if plain else _SPECTRUM_WEIGHTED
    need = 8 * squares * unknowns**2 + 8 * 3 * (lams or 1) * n * t + (0 if problem.full else _BLOCKS)
    # Where matrices as large as K live.
    remote = problem.full and problem.A.remote
    free = problem.A.free_bytes() if remote else available_memory()
    if need <= free:
        return None
    what = "leaving one out" if lams is None else f"a path over {lams} values of λ"
    advice = (
        "representation='nystrom' needs one coefficient a centre only; or take a sample of the rows, as "
        "selection.tune does by itself"
        if problem.full
        else f"take fewer than {unknowns:,} centres or features, fewer values of λ, or a sample of the rows"
    )
    return (
        f"{what} for {n:,} examples and {unknowns:,} coefficients takes about {need / 1e9:.1f} GB, mostly "
        f"{squares} matrices of {unknowns:,}×{unknowns:,}, and {free / 1e9:.1f} GB are free"
        f"{' on the GPU' * remote}: {advice}"
    )


def residuals(problem: Problem, lams: Sequence[float], units: np.ndarray | None = None) -> np.ndarray:
    """y_i − f₋ᵢ(x_i), shape (number of λ, n, t); f₋ᵢ is fitted without example i, or its whole unit."""
    _require_ridge(problem)
    if problem.n < 2:
        raise ValueError("leaving one out needs at least two examples")
    if problem.full and problem.weights is None and len(lams) == 1 and alone(units):
        factor = doubles(problem.A).factor(float(lams[0]) * (problem.n - 1))
        return _by_factor(factor, problem.w, problem.y.astype(np.float64), problem.offset)[None]
    return path(problem, lams, units).residuals


def _require_ridge(problem: Problem) -> None:
    if not problem.loss.quadratic or isinstance(problem.B, L1):
        raise ValueError(
            "leave-one-out residuals and paths in closed form need the squared loss and the penalty λ‖f‖²"
        )


def doubles(A: Operator) -> Operator:
    """A in float64."""
    return A.at(np.float64) or Matrix(A.dense().astype(np.float64, copy=False))


def _by_factor(factor: Any, s: np.ndarray, y: np.ndarray, offset: bool) -> np.ndarray:
    """z_i/(G⁻¹)_ii by a factor of G: cheaper than a spectrum, for one shift."""
    t = y.shape[1]
    z = factor.solve(np.hstack([y, s[:, None]]) if offset else y)
    diagonal = factor.inverse_diagonal()
    if offset:  # the inverse of the bordered system
        one, total = z[:, t], float(s @ z[:, t])
        z = z[:, :t] - one[:, None] * (s @ z[:, :t] / total)
        diagonal = diagonal - one**2 / total
    return z / diagonal[:, None]


@dataclass(frozen=True, eq=False)
class PathSolutions:
    """For every λ: coefficients (L, p, t), offsets (L, t) and leave-one-out residuals (L, n, t)."""

    coefs: np.ndarray
    intercepts: np.ndarray
    residuals: np.ndarray


def path(problem: Problem, lams: Sequence[float], units: np.ndarray | None = None) -> PathSolutions:
    """Least squares for every λ, with leave-one-out residuals, from one eigendecomposition."""
    _require_ridge(problem)
    if units is not None and count(units) < 2:
        raise ValueError("leaving a group out needs two of them, and all examples are equal or of one group")
    if units is not None and problem.weights is not None:
        # An example of weight 0 takes no part in any fit: it stands for itself.
        units = np.where(problem.weights > 0, units, int(units.max()) + 1 + np.arange(problem.n))
    units = None if alone(units) else units
    return full_path(problem, lams, units) if problem.full else primal_path(problem, lams, units)


def full_path(problem: Problem, lams: Sequence[float], units: np.ndarray | None = None) -> PathSolutions:
    """One coefficient per example: S K S = Q Λ Qᵀ."""
    n, t = problem.y.shape
    s = np.sqrt(problem.w)
    y = s[:, None] * problem.y.astype(np.float64)
    tell_part("spectrum of the kernel matrix", 0, n, "eigenvectors")
    spectrum = doubles(problem.A).spectrum(None if problem.weights is None else s)
    Qr = spectrum.rotated(np.hstack([y, s[:, None]]) if problem.offset else y)
    lam = np.asarray(lams, dtype=np.float64)
    z = spectrum.solutions(Qr, lam * n)
    intercepts = np.zeros((len(lam), t))
    if problem.offset:
        intercepts = np.einsum("i,lit->lt", s, z[:, :, :t]) / np.einsum("i,lit->lt", s, z[:, :, t:])
        z = z[:, :, :t] - z[:, :, t:] * intercepts[:, None, :]
    if units is not None:
        residuals = _units_left_out(problem, lam, spectrum, Qr, s, units)
    elif problem.weights is None:
        residuals = _equal_weights(lam * (n - 1), spectrum, Qr, problem.offset, t)
    else:
        residuals = _unequal_weights(problem, lam, spectrum, Qr, s)
    coefs = s[None, :, None] * z
    absent = np.flatnonzero(s == 0)
    if len(absent):
        # An example of weight 0 takes no part in the fit: its residual is that of the fit itself.
        scores = np.einsum("in,lnt->lit", problem.A.rows(absent), coefs, optimize=True)
        residuals[:, absent] = problem.y[absent] - scores - intercepts[:, None, :]
    return PathSolutions(coefs, intercepts, residuals)


def _equal_weights(
    shifts: np.ndarray, spectrum: Eigenbasis, Qr: np.ndarray, offset: bool, t: int
) -> np.ndarray:
    z, diagonal = spectrum.solutions(Qr, shifts), spectrum.diagonals(shifts)
    if offset:
        # G⁻¹ replaced by that of the bordered system, which carries the offset.
        one = z[:, :, t]
        total = one.sum(axis=1, keepdims=True)
        z = z[:, :, :t] - one[:, :, None] * (z[:, :, :t].sum(axis=1) / total)[:, None, :]
        diagonal = diagonal - one**2 / total
    return z / diagonal[:, :, None]


def _unequal_weights(
    problem: Problem, lams: np.ndarray, spectrum: Eigenbasis, Qr: np.ndarray, s: np.ndarray
) -> np.ndarray:
    """Every example has its own shift, so its own 1/(Λ+μ_i): still n² work a λ."""
    n, t = problem.y.shape
    out = np.empty((len(lams), n, t))
    for a, lam in enumerate(lams):
        tell_part("leaving one out", a, len(lams), "values of λ")
        z, diagonal, forms = spectrum.with_own_shifts(Qr, lam * (n - s**2))
        if problem.offset:
            one, total = z[:, t], forms[:, t, t]
            z = z[:, :t] - (one / total)[:, None] * forms[:, t, :t]
            diagonal = diagonal - one**2 / total
        out[a] = z / (diagonal * np.where(s > 0, s, 1))[:, None]
    return out


def _units_left_out(
    problem: Problem, lams: np.ndarray, spectrum: Eigenbasis, Qr: np.ndarray, s: np.ndarray, units: np.ndarray
) -> np.ndarray:
    """Units of one size and one weight share a shift, and are solved together."""
    n, t = problem.y.shape
    out = np.empty((len(lams), n, t))
    values, done = spectrum.values, 0
    floor = _SMALLEST_SHIFT * values.max()
    for rows, weight in _alike(units, s**2, n):
        tell_part("leaving one out", done, n, "rows")
        done += rows.size
        q = spectrum.rows(rows)  # (units, size, n)
        for a, lam in enumerate(lams):
            D = 1 / (values + max(lam * (n - weight), floor))
            block = (q * D) @ q.transpose(0, 2, 1)
            z = q @ (D[:, None] * Qr[:, :t])
            if problem.offset:
                one, total = q @ (D * Qr[:, t]), float(D @ Qr[:, t] ** 2)
                z = z - one[:, :, None] * (D @ (Qr[:, t:] * Qr[:, :t]) / total)
                block = block - one[:, :, None] * one[:, None, :] / total
            out[a, rows] = np.linalg.solve(block, z) / np.where(s > 0, s, 1)[rows][:, :, None]
    return out


def _alike(units: np.ndarray, weights: np.ndarray, width: int) -> Iterator[tuple[np.ndarray, float]]:
    """(rows (units, size), weight of each unit), a few megabytes of rows with so many numbers at a time."""
    for rows in by_size(units):
        totals = weights[rows].sum(axis=1)
        at_once = max(1, _BLOCK // (rows.shape[1] * max(width, 1)))
        for total in np.unique(totals):
            same = rows[totals == total]
            yield from ((same[i : i + at_once], float(total)) for i in range(0, len(same), at_once))


def primal_path(problem: Problem, lams: Sequence[float], units: np.ndarray | None = None) -> PathSolutions:
    """With features the smoother's diagonal gives it: (y_i − f(x_i))/(1 − h_ii).

    An offset is the same thing with features and targets centred by their weighted means, and
    w_i/n more in h_ii. Of a unit it is (I − H_gg)⁻¹ (y_g − f(x_g)).
    """
    (n, t), w = problem.y.shape, problem.w
    y = problem.y.astype(np.float64)
    primal = to_primal(replace(problem, offset=False))
    Phi = primal.Phi
    centre, mean, values, V, Vb = centred_spectrum(problem, Phi)
    out = np.empty((len(lams), n, t))
    constant = 1 / n if problem.offset else 0.0
    done = 0
    for g, weight in () if units is None else _alike(units, w, Phi.shape[1]):
        tell_part("leaving one out", done, n, "rows")
        done += g.size
        B = ((Phi.rows(g.ravel()) - centre) @ V).reshape(*g.shape, -1)
        for a, lam in enumerate(lams):
            BD = B / (values + max(lam * (n - weight), _SMALLEST_SHIFT * values.max()))
            H = (BD @ B.transpose(0, 2, 1) + constant) * w[g][:, None, :]
            out[a, g] = np.linalg.solve(np.eye(g.shape[1]) - H, y[g] - mean - BD @ Vb)
    for rows, block in Phi.blocks() if units is None else ():
        tell_part("leaving one out", rows.start, n, "rows")
        B = _turned(block, centre, V)
        for a, lam in enumerate(lams):
            D = 1 / (values[None, :] + (lam * (n - w[rows]))[:, None])
            BD = B * D
            leverage = w[rows] * (np.einsum("ij,ij->i", BD, B) + constant)
            out[a, rows] = (y[rows] - mean - BD @ Vb) / (1 - leverage)[:, None]
    coefs, intercepts = [], []
    for lam in lams:
        u = V @ (Vb / (values[:, None] + lam * n))
        coefs.append(primal.back(u)[0])
        intercepts.append(mean - centre @ u)
    return PathSolutions(np.array(coefs), np.array(intercepts), out)


def centred_spectrum(problem: Problem, Phi: Operator) -> tuple[np.ndarray, ...]:
    """(means of Φ, means of y, eigenvalues and eigenvectors V of ΦᵀWΦ, VᵀΦᵀWy).

    The means are zeros without an offset; with one they are taken out of Φ and y.
    """
    (n, t), w = problem.y.shape, problem.w
    y = problem.y.astype(np.float64)
    G, b = Phi.gramian(problem.weights), Phi.adjoint(w[:, None] * y)
    centre, mean = np.zeros(Phi.shape[1]), np.zeros(t)
    if problem.offset:
        centre, mean = Phi.adjoint(w) / n, (w @ y) / n
        G -= n * np.outer(centre, centre)
        b = b - n * np.outer(centre, mean)
    values, V = interruptible(partial(np.linalg.eigh, G))
    return centre, mean, np.maximum(values, 0), V, V.T @ b


def _turned(block: Any, centre: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Rows of Φ about the means, in the eigenvectors' coordinates."""
    block = block.toarray() if issparse(block) else np.asarray(block, dtype=np.float64)
    return (block - centre) @ V


class FactoredErrors:
    """w_i e_i² (its mean over outputs) at one λ after the other, with one coefficient per example.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> problem, _ = KernelRidge(lam=1.0).problem(X, np.sin(X[:, 0]))
    >>> error = FactoredErrors(problem)
    >>> bool(error(1e-4).mean() < error(1.0).mean())
    True
    """

    def __init__(self, problem: Problem):
        self.K, self.s, self.offset = doubles(problem.A).kept(), np.sqrt(problem.w), problem.offset
        self.y = self.s[:, None] * problem.y.astype(np.float64)
        self.scale = None if problem.weights is None else self.s

    def __call__(self, lam: float) -> np.ndarray:
        factor = self.K.factor(lam * len(self.y), scale=self.scale)
        return np.square(_by_factor(factor, self.s, self.y, self.offset)).mean(axis=1)


def spectral_errors(problem: Problem, lams: np.ndarray) -> np.ndarray:
    """w_i e_i² (its mean over outputs) for every λ, (L, n), with centres or features fewer than examples.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> from mercer.kernels import Polynomial
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> problem, _ = KernelRidge(Polynomial(3), lam=1.0).problem(X, np.sin(X[:, 0]))
    >>> small, large = spectral_errors(problem, np.array([1e-6, 1e6])).mean(axis=1)
    >>> bool(small < large)
    True
    """
    Phi = to_primal(replace(problem, offset=False)).Phi
    (n, t), w = problem.y.shape, problem.w
    y = problem.y.astype(np.float64)
    centre, mean, values, V, Vb = centred_spectrum(problem, Phi)
    D = 1 / (values[:, None] + np.asarray(lams, dtype=np.float64)[None, :] * n)
    errors = np.zeros((D.shape[1], n))
    for rows, block in Phi.blocks():
        B = _turned(block, centre, V)
        leverage = w[rows, None] * ((B * B) @ D + (1 / n if problem.offset else 0))
        for j in range(t):
            left = (y[rows, j, None] - mean[j] - B @ (D * Vb[:, j, None])) / (1 - leverage)
            errors[:, rows] += (w[rows, None] * left**2 / t).T
    return errors
