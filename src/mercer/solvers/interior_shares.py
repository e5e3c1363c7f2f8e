"""An interior-point method for losses that are maxima over shares of classes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._notice import tell
from mercer._threads import stopping_point
from mercer.operators import Factor
from mercer.solvers.base import Solver, warn_if_unconverged
from mercer.solvers.certify import certify
from mercer.solvers.coordinates import to_primal, whitening
from mercer.solvers.problem import Problem, Solution, Support

# Unknowns times classes: the matrix of so many rows is factored in every step.
MOST_TOGETHER = 6000
# How much of the way to the nearest bound a step goes.
_SHORT = 0.995
# Shares below this part of their sum are 0.
_NOTHING = 1e-7
# Rows of features that are weighted at a time.
_ROWS = 4096


class InteriorShares(Solver):
    """V(y, s) = max over p ≥ 0, Σp = 1 of Σ_l p_l (s_l + 1 − y_l) − s_y, exactly: primal and dual together.

    In features Φ with ‖f‖ = ‖u‖, and C_i = w_i/(2λn), it is the quadratic problem

        minimise ½‖U‖² + Σ C_i (θ_i − s_iy)   over U, θ with z_il = θ_i − s_il + y_il ≥ 0,  S = ΦU,

    whose multipliers are C_i p_il. Newton's method for p z = μ, μ → 0 (Mehrotra's predictor and corrector):
    what an example adds to the matrix is φφᵀ ⊗ Q with Q = diag(e) − eeᵀ/Σe, e = p/z. Coefficients are
    c = C(y − p).

    Parameters
    ----------
    tol : float
        Σ p z, the duality gap, relative to the objective of f = 0, to reach.
    max_iter : int
        Steps, at most; 15 to 30 are usual.
    """

    name = "interior"
    requires = frozenset({"ridge", "simplex"})
    passes = 25

    def __init__(self, tol=1e-10, max_iter=100):
        self.tol = tol
        self.max_iter = max_iter

    def memory(self, shape):
        size = min(shape.n, shape.unknowns) * shape.outputs
        return shape.stored + 3 * 8 * size * size

    def flops(self, shape):
        n, q, k = shape.n, float(min(shape.n, shape.unknowns)), shape.outputs
        return self.passes * (n * q * q * k * k + (q * k) ** 3 / 3)

    def run(self, problem: Problem) -> Solution:
        self.validate()
        n, k = problem.y.shape
        Phi, back = _features(problem)
        rows = np.flatnonzero(problem.w)
        if (Phi.shape[1] + 1) * k > 2 * MOST_TOGETHER:
            raise ValueError(
                f"{problem.loss!r} with {k} classes, {Phi.shape[1]:,} unknowns each, is more than its solver "
                f"can do at once: use representation=Nystrom(n_centres={MOST_TOGETHER // k}) or Multinomial()"
            )
        C = problem.w[rows] / (2 * problem.lam * n)
        state = _State.begin(Phi[rows], problem.y[rows], C, problem.offset)
        status, history = "max_iter", [state.gap]
        while len(history) <= self.max_iter:
            stopping_point()
            tell(self.name, len(history) - 1, "gap", state.gap, self.tol)
            if state.gap <= self.tol and state.residual <= self.tol:
                status = "converged"
                break
            if not state.step():
                status = "stalled"
                break
            history.append(state.gap)
        solution = self._solution(problem, state, rows, back, status, tuple(history))
        warn_if_unconverged(solution, self.tol, "Scale the features or increase lam", problem.A.dtype)
        return solution

    def _solution(
        self, problem: Problem, state: _State, rows: np.ndarray, back: Any, status: str, history: Any
    ) -> Solution:
        n, k = problem.y.shape
        C = state.C[:, None]
        P = np.where(state.P > _NOTHING * C, state.P, 0.0)
        P *= C / P.sum(axis=1, keepdims=True)
        dual_coef = np.zeros((n, k))
        dual_coef[rows] = C * state.Y - P
        dual_coef[np.abs(dual_coef) < 1e-12 * np.abs(dual_coef).max(initial=0.0)] = 0.0
        coef, shift = back(state.U[: state.p], dual_coef)
        b = (state.U[-1] if problem.offset else np.zeros(k)) + shift
        b = b - b.mean() if problem.offset else np.zeros(k)
        values = problem.A @ coef
        slopes = np.zeros((n, k))
        slopes[rows] = P / C - state.Y
        measured = certify(problem, coef, b, self.tol, None, slopes, values)
        # By how much a share is on a class that another one is ahead of.
        wanted = (values + b)[rows] - state.Y
        lowest = np.where(P > 0, wanted, np.inf).min(axis=1)
        violation = float((wanted.max(axis=1) - lowest).max(initial=0.0))
        certificate = measured.certificate(relative_gradient=None, violation=violation)
        at_bound = np.isclose(np.abs(dual_coef[rows]), C, rtol=1e-9)
        used = dual_coef[rows] != 0
        free, bounded = ((used & side).sum(axis=0).tolist() for side in (~at_bound, at_bound))
        status = measured.verdict(status, 1e-6)
        found = (coef, b, status, len(history) - 1, certificate, history, self.name)
        return Solution(*found, support=Support(tuple(free), tuple(bounded)), dual_coef=dual_coef)


def _features(problem: Problem) -> tuple[np.ndarray, Any]:
    """Φ, and the way from weights u and coefficients c of the examples to those of the representation."""
    if problem.full:
        K = np.asarray((problem.A.at(np.float64) or problem.A).dense(), dtype=np.float64)
        # Coefficients of the examples are the dual ones.
        return K @ whitening(K, problem.A.dtype), lambda U, c: (c, 0.0)
    primal = to_primal(replace(problem, offset=False), store=True)
    Phi = primal.Phi.dense()
    return np.asarray(Phi, dtype=np.float64), lambda U, c: (primal.back(U)[0], 0.0)


@dataclass
class _State:
    """A point inside: U (with b as its last row, if there is an offset), shares P (times C) and slacks Z."""

    Phi: np.ndarray
    Y: np.ndarray
    C: np.ndarray
    p: int
    U: np.ndarray
    P: np.ndarray
    slack: np.ndarray

    @classmethod
    def begin(cls, Phi: np.ndarray, Y: np.ndarray, C: np.ndarray, offset: bool) -> _State:
        """f = 0, every class with the same share."""
        p, k = Phi.shape[1], Y.shape[1]
        X = np.hstack([Phi, np.ones((len(Phi), 1))]) if offset else Phi
        return cls(X, Y, C, p, np.zeros((X.shape[1], k)), np.repeat(C[:, None] / k, k, axis=1), 1.0 + Y)

    @property
    def gap(self) -> float:
        """Σ p z relative to the loss of 0."""
        return float((self.P * self.slack).sum() / self.C.sum())

    @property
    def _left(self) -> np.ndarray:
        """The slope in U."""
        left = -self.Phi.T @ (self.C[:, None] * self.Y - self.P)
        left[: self.p] += self.U[: self.p]
        return left

    @property
    def residual(self) -> float:
        """That slope, next to the largest it can be."""
        size = float(np.linalg.norm(self.Phi.T @ (self.C[:, None] * self.Y)))
        return float(np.linalg.norm(self._left)) / max(size, np.finfo(float).tiny)

    def step(self) -> bool:
        """One step towards the centre of a smaller gap; False if rounding allows none."""
        P, Z, k = self.P, self.slack, self.P.shape[1]
        E = P / Z
        total = E.sum(axis=1, keepdims=True)
        try:
            solve = self._factored(E, total)
        except np.linalg.LinAlgError:
            return False
        left, missing = self._left, self.C[:, None] - P.sum(axis=1, keepdims=True)

        def newton(rho: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            r = rho / Z
            q = r - E * (r.sum(axis=1, keepdims=True) - missing) / total
            dU = solve(-left - self.Phi.T @ q)
            dS = self.Phi @ dU
            dP = q + E * dS - E * (E * dS).sum(axis=1, keepdims=True) / total
            dT = (r.sum(axis=1, keepdims=True) + (E * dS).sum(axis=1, keepdims=True) - missing) / total
            return dU, dP, dT - dS

        products = P * Z
        mu = float(products.mean())
        dU, dP, dZ = newton(-products)
        far = min(_room(P, dP), _room(Z, dZ), 1.0)
        ahead = float(((P + far * dP) * (Z + far * dZ)).mean())
        centre = mu * (ahead / mu) ** 3
        dU, dP, dZ = newton(centre - products - dP * dZ)
        far = min(_SHORT * min(_room(P, dP), _room(Z, dZ)), 1.0)
        if not far > 1e-10 or not np.isfinite(dU).all():
            return False
        self.U, self.P = self.U + far * dU, P + far * dP
        # Slacks from the scores, so that rounding does not add up: only θ goes its own way.
        self.slack = Z + far * dZ
        return k > 0

    def _factored(self, E: np.ndarray, total: np.ndarray) -> Any:
        """H⁻¹, H = I (0 for b) + Σ φφᵀ ⊗ (diag(e) − eeᵀ/Σe), classes one after the other."""
        X, (q, k) = self.Phi, (self.Phi.shape[1], E.shape[1])
        H = np.zeros((k * q, k * q))
        for a in range(k):
            for c in range(a, k):
                weights = E[:, a] * (float(a == c) - E[:, c] / total[:, 0])
                block = np.zeros((q, q))
                for i in range(0, len(X), _ROWS):
                    some = X[i : i + _ROWS]
                    block += (some.T * weights[i : i + _ROWS]) @ some
                H[a * q : (a + 1) * q, c * q : (c + 1) * q] = block
                H[c * q : (c + 1) * q, a * q : (a + 1) * q] = block.T
            own = np.arange(a * q, a * q + self.p)
            H[own, own] += 1.0
        if q > self.p:
            # All b may be moved together: of these directions that one is held.
            last = np.arange(k) * q + self.p
            H[np.ix_(last, last)] += max(float(np.abs(H[last, last]).max(initial=0.0)), 1.0) / k
        factor = Factor(H)

        def solve(R: np.ndarray) -> np.ndarray:
            return factor.solve(np.ascontiguousarray(R.T).reshape(-1, 1)).reshape(k, q).T

        return solve


def _room(at: np.ndarray, step: np.ndarray) -> float:
    """How far one can go before a number becomes 0."""
    falls = step < 0
    return float((at[falls] / -step[falls]).min(initial=np.inf))
