"""Posteriors with centres or features: linear algebra as large as these are many."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._memory import available_memory
from mercer._threads import interruptible
from mercer.kernels.points import double
from mercer.operators import STORED_SHARE, Composed, Factor, KernelOperator, Operator
from mercer.posterior import likelihood
from mercer.posterior.base import Posterior, require_memory
from mercer.posterior.exact import differentiable_points
from mercer.posterior.observations import dense
from mercer.solvers.coordinates import whitening

_INSTEAD = "take fewer centres or features"


@dataclass(frozen=True, eq=False)
class _Projected:
    T: np.ndarray | None  # (m, r) with TᵀK(Z,Z)T = I; None for features
    v: np.ndarray  # (n,) precisions: G = ΦΦᵀ + diag(1/v)
    total: float  # Σv
    centre: np.ndarray  # (r,) means of φ by v; zeros without an offset
    factor: Factor  # of H = I + Φᵀdiag(v)Φ, Φ about its means
    coef: np.ndarray  # (r, t) posterior means of u in f = ⟨u, φ⟩
    level: np.ndarray  # (t,) of y
    form: np.ndarray  # (t,) yᵀPy
    log_det: float


class ProjectedPosterior(Posterior):
    """The posterior of a machine with centres (DTC) or with features (Bayesian linear regression).

    With ψ(x) = Tᵀk(Z,x), TᵀK(Z,Z)T = I (nearly dependent centres left out), f(x) = ⟨u, ψ(x)⟩ + r(x), where
    u ~ N(0, sI) and r has variance s(k(x,x) − ‖ψ(x)‖²), independent between new points and examples. The data
    are taken to know nothing of r, so that the mean is the machine's: the deterministic training conditional
    (DTC), or projected process. Var f(x) = s(k(x,x) − ‖ψ‖² + ψᵀH⁻¹ψ), H = I + ΨᵀWΨ/λn. With an offset ψ is
    taken about its mean over the examples, and sλn/Σw is added.

    With features there is no r: the prior is that of the features' own kernel φ(x)·φ(z), exactly.

    Parameters
    ----------
    seen, scale, random_state : as in `Posterior`

    Notes
    -----
    Work in float64. Variances that rounding leaves below 0 are 0.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.representations import Nystrom
    >>> X = np.linspace(0, 6, 500)[:, None]
    >>> machine = KernelRidge(lam=1e-4, representation=Nystrom(30), random_state=0).fit(X, np.sin(X[:, 0]))
    >>> posterior = machine.posterior()
    >>> posterior.method, bool(np.abs(posterior.mean(X) - machine.predict(X)).max() < 1e-6)
    ('dtc', True)
    >>> bool(posterior.std([[50.0]])[0] > 10 * posterior.std([[3.0]])[0])
    True
    """

    method = "dtc"
    # Do examples have noise for what the centres don't explain?
    _independent = False

    # -- features of the examples, a block of rows at a time ------------------------------------------

    @property
    def _stored(self) -> tuple[Operator, np.ndarray | None, np.ndarray | None]:
        return self._once("stored", self._store)

    def _store(self) -> tuple[Operator, np.ndarray | None, np.ndarray | None]:
        """(the operator whose rows are features, T, all of its values if memory holds them easily)"""
        seen = self.seen
        n, m = seen.A.shape
        require_memory(48 * m * m, f"the covariances of {m:,} coefficients", _INSTEAD)
        T = None
        if not seen.by_features:
            T = whitening(np.asarray(seen.B.dense(), dtype=np.float64), np.dtype(np.float64))
        Phi = seen.precise if T is None else Composed(seen.precise, T)
        values = None
        if 8 * n * Phi.shape[1] <= STORED_SHARE * available_memory():
            values = np.empty(Phi.shape)
            for rows, block in Phi.blocks():
                values[rows] = dense(block)
        return Phi, T, values

    def _blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        Phi, _, values = self._stored
        if values is not None:
            yield slice(0, len(values)), values
            return
        for rows, block in Phi.blocks():
            yield rows, dense(block)

    def _precisions(self) -> np.ndarray:
        """1/noise of every example, in units of s."""
        seen = self.seen
        if not self._independent:
            return seen.w / seen.noise
        A = seen.precise
        assert isinstance(A, KernelOperator)
        left = np.asarray(A.kernel.diagonal(A.X), dtype=np.float64)
        for rows, Phi in self._blocks():
            left[rows] -= np.einsum("ij,ij->i", Phi, Phi)
        return 1 / (np.maximum(left, 0.0) + seen.noise / seen.w)

    @property
    def _solved(self) -> _Projected:
        return self._once("solved", self._solve)

    def _solve(self) -> _Projected:
        seen = self.seen
        Phi, T, _ = self._stored
        r, v, y = Phi.shape[1], self._precisions(), seen.y
        total = float(v.sum())
        level, centre = np.zeros(y.shape[1]), np.zeros(r)
        if seen.offset:
            level = v @ y / total
            centre = sum((v[rows] @ block for rows, block in self._blocks()), centre) / total
        H, b = np.eye(r), np.zeros((r, y.shape[1]))
        for rows, block in self._blocks():
            block = (block - centre) * np.sqrt(v[rows])[:, None]
            H += block.T @ block
            b += block.T @ (np.sqrt(v[rows])[:, None] * (y[rows] - level))
        factor = interruptible(lambda: Factor(H))
        coef = factor.solve(b)
        form = np.einsum("ij,ij->j", coef, coef)
        for rows, block in self._blocks():  # a difference of sums would lose digits
            form += v[rows] @ np.square(y[rows] - level - (block - centre) @ coef)
        log_det = 2 * float(np.log(factor.L.diagonal()).sum()) - float(np.log(v).sum())
        log_det += float(np.log(total)) if seen.offset else 0.0
        return _Projected(T, v, total, centre, factor, coef, level, form, log_det)

    def _forms(self):
        return self._solved.form, self._solved.log_det

    # -- answers --------------------------------------------------------------------------------------

    def _coordinates(self, points: Any) -> np.ndarray:
        K, T = self.seen.cross(points), self._solved.T
        return K if T is None else K @ T

    def _means(self, points):
        done = self._solved
        return (self._coordinates(points) - done.centre) @ done.coef + done.level

    def _variances(self, points):
        done, psi = self._solved, self._coordinates(points)
        half = done.factor.solve_lower(np.ascontiguousarray((psi - done.centre).T))
        out = np.einsum("ij,ij->j", half, half) + (1 / done.total if self.seen.offset else 0.0)
        if self.seen.by_features:
            return out
        return out + np.maximum(self.seen.squares(points) - np.einsum("ij,ij->i", psi, psi), 0.0)

    def _covariances(self, points):
        done, psi = self._solved, self._coordinates(points)
        half = done.factor.solve_lower(np.ascontiguousarray((psi - done.centre).T))
        out = half.T @ half + (1 / done.total if self.seen.offset else 0.0)
        return out if self.seen.by_features else out + self.seen.gram(points) - psi @ psi.T

    # -- slopes of the likelihood -----------------------------------------------------------------------

    def _slopes(self):
        """By dQ = dK(X,Z) C + Cᵀ dK(Z,X) − Cᵀ dK(Z,Z) C, C = K(Z,Z)⁻¹K(Z,X) = TΦᵀ, and MΦ a row at a time.

        M = ½ Σ_j (a_j a_jᵀ/s_j − P), PΦ = VΦ_c H⁻¹ and Φᵀa = u: nothing as large as n×n is made.
        """
        seen, done, s = self.seen, self._solved, self.scale
        names, t = seen.names, seen.y.shape[1]
        if names:
            differentiable_points(seen)  # or a refusal, before anything is computed
        noise, inner = 0.0, np.zeros((len(done.coef), len(done.coef)))
        in_kernel = np.zeros(sum(size for _, size in names))
        for rows, Phi in self._short_blocks():
            near, v = Phi - done.centre, done.v[rows]
            a = v[:, None] * (seen.y[rows] - done.level - near @ done.coef)
            solved = done.factor.solve(np.ascontiguousarray(near.T)).T
            P = v - v**2 * np.einsum("ij,ij->i", near, solved) - (v**2 / done.total if seen.offset else 0.0)
            diagonal = 0.5 * ((a**2 / s).sum(axis=1) - t * P)
            noise += float(diagonal @ (seen.noise / seen.w[rows]))
            if not names:
                continue
            MPhi = 0.5 * ((a / s) @ done.coef.T - t * v[:, None] * solved)
            if self._independent:
                MPhi -= diagonal[:, None] * Phi
            inner += Phi.T @ MPhi
            in_kernel += self._pair_slopes(rows, MPhi, diagonal)
        if names:
            assert isinstance(seen.A, KernelOperator) and done.T is not None and seen.kernel is not None
            W = -done.T @ (0.5 * (inner + inner.T)) @ done.T.T
            there = seen.kernel.vjp_log_params(double(seen.A.Z), W)
            in_kernel += likelihood.slopes_as_vector(there, names)
        return in_kernel, noise

    def _short_blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Blocks of about as many rows as there are centres: slopes are those of all pairs among both."""
        step = max(self.seen.A.shape[1], 64)
        for rows, block in self._blocks():
            for i in range(0, len(block), step):
                yield slice(rows.start + i, rows.start + min(i + step, len(block))), block[i : i + step]

    def _pair_slopes(self, rows: slice, MPhi: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
        """2⟨MΦTᵀ, dK(X,Z)⟩ for some rows and, with noise of its own for each, Σ M_ii dk(x_i,x_i)."""
        seen, T, b = self.seen, self._solved.T, len(MPhi)
        assert isinstance(seen.A, KernelOperator) and T is not None and seen.kernel is not None
        Z = double(seen.A.Z)
        W = np.zeros((b + len(Z), b + len(Z)))
        W[:b, b:] = MPhi @ T.T
        W[b:, :b] = W[:b, b:].T
        if self._independent:
            W[np.arange(b), np.arange(b)] = diagonal
        both = np.concatenate([differentiable_points(seen)[rows], Z])
        return likelihood.slopes_as_vector(seen.kernel.vjp_log_params(both, W), seen.names)


class IndependentPosterior(ProjectedPosterior):
    """The posterior with centres where every example has its own share of what they don't explain (FITC).

    As `ProjectedPosterior`, with noise s(k(x_i,x_i) − ‖ψ(x_i)‖² + λn/w_i): the fully independent training
    conditional. Its mean is not the machine's, which minimises (T) over the centres' span: examples far from
    all centres count for less.

    Parameters
    ----------
    seen, scale, random_state : as in `Posterior`

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.representations import Nystrom
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> machine = KernelRidge(lam=1e-4, representation=Nystrom(5), random_state=0).fit(X, np.sin(X[:, 0]))
    >>> posterior = machine.posterior("fitc")
    >>> bool(np.abs(posterior.mean(X) - machine.predict(X)).max() > 1e-6)
    True
    """

    method = "fitc"
    _independent = True

    def __init__(self, seen: Any, scale: Any = "likelihood", random_state: Any = None):
        if seen.by_features:
            raise ValueError("features leave nothing unexplained, so method='fitc' needs centres: take 'dtc'")
        super().__init__(seen, scale, random_state)

    def mean(self, X):
        """FITC's own posterior mean of f + b at X, which is not the machine's prediction."""
        return super().mean(X)
