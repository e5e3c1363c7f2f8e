"""λ = 0: of all functions that fit best the one of least norm."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from mercer.operators import Operator
from mercer.solvers.base import Solver, warn_if_unconverged
from mercer.solvers.certify import DOUBT
from mercer.solvers.coordinates import to_primal
from mercer.solvers.cost import LARGEST_FACTOR
from mercer.solvers.problem import Certificate, Problem, Solution, relative_to
from mercer.solvers.separation import LARGEST, separable

EPS = float(np.finfo(float).eps)
# Unknowns of Newton's method together.
_MOST_TOGETHER = 4000
_STEPS = 200
_TOL = 1e-10


class Unpenalised(Solver):
    """The limit λ → 0 of squared loss, and of losses with probabilities, by a singular value decomposition.

    In coordinates f = ⟨u, φ(·)⟩ with ‖f‖ = ‖u‖, the features of the examples (centred, with an offset) are
    Φ = U S Vᵀ. Scores are U z + b with z = S Vᵀu, and what U leaves open is 0 in u. Singular values below
    rounding are left out. Squared loss: z by least squares, which goes through all targets if U spans them.
    Logistic and multinomial loss: z by Newton's method. Where classes can be told apart no z is best, since
    any that does it is better when doubled: a linear programme finds that out beforehand, and it is refused.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> machine = KernelRidge(lam=0).fit([[0.0], [1.0], [3.0]], [1.0, 2.0, 0.0])
    >>> machine.predict([[0.0], [1.0], [3.0]]).round(8).tolist(), machine.solution_.certificate.condition < 10
    ([1.0, 2.0, 0.0], True)
    """

    name = "unpenalised"
    requires = frozenset({"ridge", "smooth", "curved"})
    passes = 10

    def refusal(self, loss, penalty):
        reason = super().refusal(loss, penalty)
        if reason is None and not (loss.quadratic or loss.has_probability):
            reason = (
                "lam=0 means something for squared, logistic, multinomial and exponential loss, and for "
                f"KernelSVC; with {loss!r} give lam > 0, or lam='auto'"
            )
        return reason

    def run(self, problem: Problem) -> Solution:
        self.validate()
        space = _Space(problem)
        solution = space.squares() if problem.loss.quadratic else space.likeliest()
        advice = "Scale the features, or give lam > 0"
        warn_if_unconverged(solution, _TOL, advice, problem.A.dtype)
        return solution


class _Space:
    """The examples of positive weight in coordinates U, orthonormal but for weights, and the way back."""

    def __init__(self, problem: Problem):
        self.problem = problem
        self.rows = np.flatnonzero(problem.w)
        self.w = problem.w[self.rows] / problem.w[self.rows].sum()
        self.y = problem.y[self.rows]
        Phi = self._features()
        self.means = self.w @ Phi if problem.offset else np.zeros(Phi.shape[1])
        Phi = Phi - self.means
        U, S, Vt = np.linalg.svd(Phi, full_matrices=False)
        self.largest = float(S.max(initial=0.0))
        floor = max(Phi.shape) * float(np.finfo(problem.A.dtype).eps)
        kept = self.floor_of(floor) * self.largest < S
        self.U, self.S, self.V = U[:, kept], S[kept], Vt[kept].T
        self.all = min(len(self.rows), problem.A.shape[1])

    def floor_of(self, floor: float) -> float:
        """What is lost of singular values: those of Φ = Q√Λ are roots of what was rounded."""
        return float(np.sqrt(floor)) if self.rooted else floor

    def _features(self) -> np.ndarray:
        """Φ of the rows; `back` makes coefficients of weights u."""
        problem, rows = self.problem, self.rows
        n, p = problem.A.shape
        if min(len(rows), p) > LARGEST_FACTOR:
            raise ValueError(
                f"lam=0 takes a decomposition of the features of {len(rows):,} examples, which is more than "
                f"{LARGEST_FACTOR:,}: use representation='nystrom' or 'features' with fewer, or lam > 0"
            )
        self.rooted = True
        if problem.full:
            K = self._dense(problem.A.among(rows, rows))
            values, Q = np.linalg.eigh(0.5 * (K + K.T))
            kept = values > len(K) * float(np.finfo(problem.A.dtype).eps) * values.max(initial=0.0)
            roots = np.sqrt(values[kept])

            def back(u: np.ndarray) -> np.ndarray:
                coef = np.zeros((n, u.shape[1]))
                coef[rows] = Q[:, kept] @ (u / roots[:, None])
                return coef

            self.back = back
            return Q[:, kept] * roots
        # Means are seen to here.
        primal = to_primal(replace(problem, offset=False), store=True)
        some = primal.Phi.among(rows)
        if p > len(rows):  # as if with one coefficient an example: u = Φᵀc
            sparse = some.sparse()
            whole = self._dense(some) if sparse is None else sparse.astype(np.float64)
            K = whole @ whole.T
            K = K if sparse is None else K.toarray()
            values, Q = np.linalg.eigh(0.5 * (K + K.T))
            kept = values > len(K) * float(np.finfo(problem.A.dtype).eps) * values.max(initial=0.0)
            roots = np.sqrt(values[kept])
            self.back = lambda u: primal.back(whole.T @ (Q[:, kept] @ (u / roots[:, None])))[0]
            return Q[:, kept] * roots
        self.rooted = False
        self.back = lambda u: primal.back(u)[0]
        return self._dense(some)

    @staticmethod
    def _dense(A: Operator) -> np.ndarray:
        return np.asarray((A.at(np.float64) or A).dense(), dtype=np.float64)

    # -- squared loss -----------------------------------------------------------------------------

    def squares(self) -> Solution:
        """Weighted least squares in U."""
        offset, root = self.problem.offset, np.sqrt(self.w)[:, None]
        middle = self.w @ self.y if offset else np.zeros(self.y.shape[1])
        target = root * (self.y - middle)
        z = np.linalg.lstsq(root * self.U, target, rcond=None)[0]
        # Once more for what rounding left.
        z = z + np.linalg.lstsq(root * self.U, target - (root * self.U) @ z, rcond=None)[0]
        return self._solution(z, middle, 1, ())

    # -- losses with probabilities ----------------------------------------------------------------

    def likeliest(self) -> Solution:
        """Newton's method with a line search, in z and b together."""
        problem, t = self.problem, self.y.shape[1]
        self._refuse_separable()
        X = np.hstack([self.U, np.ones((len(self.U), 1))]) if problem.offset else self.U
        if X.shape[1] * (t if problem.loss.joint else 1) > _MOST_TOGETHER:
            raise ValueError(
                f"lam=0 with {X.shape[1]:,} independent features and {t} classes is more than Newton's "
                "method can do here: give lam > 0, or fewer features"
            )
        beta, history, steps = np.zeros((X.shape[1], t)), [], 0
        value, first = self._value(X @ beta), None
        while True:
            slopes = self.w[:, None] * problem.loss.grad(self.y, X @ beta)
            gradient = X.T @ slopes
            size = float(np.linalg.norm(gradient))
            first = size if first is None else first
            history.append(relative_to(size, first))
            if history[-1] <= _TOL or steps >= _STEPS:
                break
            step, share = self._newton(X, beta, gradient), 1.0
            fall = float((gradient * step).sum())
            while share > 1e-12:
                new = self._value(X @ (beta - share * step))
                if new <= value - 1e-4 * share * fall + 8 * EPS * abs(value):
                    break
                share *= 0.5
            else:
                break
            beta, value, steps = beta - share * step, new, steps + 1
        b = beta[-1] if problem.offset else np.zeros(t)
        return self._solution(beta[: self.U.shape[1]], b, steps, tuple(history))

    def _value(self, scores: np.ndarray) -> float:
        values = self.problem.loss.value(self.y, scores)
        return float(self.w @ (values if values.ndim == 1 else values.sum(axis=1)))

    def _newton(self, X: np.ndarray, beta: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """H⁻¹ times the gradient; where all classes may be moved together, the shortest such step."""
        loss, (q, t) = self.problem.loss, beta.shape
        if not loss.joint:
            D = self.w[:, None] * loss.hess(self.y, X @ beta)
            steps = [np.linalg.lstsq((X.T * D[:, j]) @ X, gradient[:, j], rcond=None)[0] for j in range(t)]
            return np.stack(steps, axis=1)
        root = loss.hess_root(self.y, X @ beta)
        # Row (i, s) of the square root of H: what Rᵀ makes of the scores of one coefficient at a time.
        blocks = []
        for s in range(t):
            unit = np.zeros((len(X), t))
            unit[:, s] = 1.0
            blocks.append(root.adjoint(unit))
        R = np.stack(blocks, axis=1)  # (n, classes, t)
        M = np.einsum("nk,nst->nkst", X * np.sqrt(self.w)[:, None], R).transpose(0, 3, 1, 2)
        M = M.reshape(len(X) * t, q * t)
        return np.linalg.lstsq(M.T @ M, gradient.ravel(), rcond=1e-13)[0].reshape(q, t)

    def _refuse_separable(self) -> None:
        """ValueError where a function tells all examples apart, or some without harm to the others."""
        for j, rows in enumerate(self._sides()):
            if rows.size > LARGEST:
                raise ValueError(
                    f"whether classes can be told apart is a linear programme of {rows.shape[0]:,} by "
                    f"{rows.shape[1]:,} numbers here, which is too large: give lam > 0"
                )
            if separable(rows):
                which = f" (output {j})" if self.y.shape[1] > 1 and not self.problem.loss.joint else ""
                raise ValueError(
                    f"without a penalty nothing is likeliest{which}: functions of this kernel tell "
                    "classes of these examples apart, all or some of them without an error, and the larger "
                    "the scores the likelier; give lam > 0, or take KernelSVC(lam=0), the hard margin"
                )

    def _sides(self) -> Iterator[np.ndarray]:
        """Of every question: rows whose products with (z, b) are the margins."""
        y, offset = self.y, self.problem.offset
        X = np.hstack([self.U, np.ones((len(self.U), 1))]) if offset else self.U
        if not self.problem.loss.joint:
            for j in range(y.shape[1]):
                yield X * y[:, [j]]
            return
        own, t = y.argmax(axis=1), y.shape[1]
        others = []
        for other in range(t):
            rows = np.flatnonzero(own != other)
            block = np.zeros((len(rows), t, X.shape[1]))
            block[np.arange(len(rows)), own[rows]] = X[rows]
            block[:, other] -= X[rows]
            others.append(block.reshape(len(rows), -1))
        yield np.vstack(others)

    # -- the solution -----------------------------------------------------------------------------

    def _solution(self, z: np.ndarray, b: np.ndarray, steps: int, history: tuple[float, ...]) -> Solution:
        problem, loss = self.problem, self.problem.loss
        u = self.V @ (z / self.S[:, None])
        coef = self.back(u)
        intercept = b - self.means @ u if problem.offset else np.zeros(self.y.shape[1])
        # What is measured is what predicts.
        scores = problem.A.among(self.rows) @ coef + intercept
        objective = self._value(scores)
        slopes = self.w[:, None] * loss.grad(self.y, scores)
        gradient = self.U.T @ slopes
        constant = np.zeros_like(scores) + (b if loss.quadratic else 0.0)
        start = self.U.T @ (self.w[:, None] * loss.grad(self.y, constant))
        size = float(np.linalg.norm(self.S[:, None] * gradient))
        relative = relative_to(size, float(np.linalg.norm(self.S[:, None] * start)))
        gap, condition = None, float(self.S.max() / self.S.min()) if len(self.S) else 1.0
        scale = float(self.w @ np.square(self.y).sum(axis=1)) if loss.quadratic else objective
        rounding = 8 * EPS * condition * scale
        if loss.quadratic:
            H = 2 * (self.U.T * self.w) @ self.U
            best = np.linalg.lstsq(H, gradient, rcond=None)[0]
            gap = min(0.5 * float((gradient * best).sum()), objective) + rounding
            fine = gap - rounding <= DOUBT * scale
        else:
            fine = history[-1] <= _TOL or relative <= DOUBT
        left = self.all - len(self.S) - (1 if problem.offset and self.all == len(self.rows) else 0)
        over = f"{len(self.S):,} directions; {left:,} others are 0 to rounding" if left > 0 else ""
        certificate = Certificate(
            relative_gradient=relative,
            objective=objective,
            gap=gap,
            condition=condition,
            rounding=rounding,
            over=over,
        )
        status = "converged" if fine else ("max_iter" if steps >= _STEPS else "stalled")
        return Solution(coef, intercept, status, steps, certificate, history, Unpenalised.name)
