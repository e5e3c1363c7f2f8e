"""λ = 0: of all functions that fit best the one of least norm."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from mercer.operators import Operator
from mercer.solvers.base import Solver, warn_if_unconverged
from mercer.solvers.certify import DOUBT, ROUNDED
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
    reason = "λ = 0: of all f that fit best the one of least norm"
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


# U, S, and the way from z to coefficients.
Decomposed = tuple[np.ndarray, np.ndarray, Callable[[np.ndarray], np.ndarray]]


class _Space:
    """The examples of positive weight in coordinates U, orthonormal but for weights, and the way back."""

    def __init__(self, problem: Problem):
        self.problem = problem
        self.rows = np.flatnonzero(problem.w)
        self.w = problem.w[self.rows] / problem.w[self.rows].sum()
        self.y = problem.y[self.rows]
        self.all = min(len(self.rows), problem.A.shape[1])
        if self.all > LARGEST_FACTOR:
            raise ValueError(
                f"lam=0 takes a decomposition of the features of {len(self.rows):,} examples, more than "
                f"{LARGEST_FACTOR:,}: use representation='nystrom' or 'features' with fewer, or lam > 0"
            )
        self.U, self.S, self.back = self._of_kernel() if problem.full else self._of_features()

    def _of_kernel(self) -> Decomposed:
        problem, rows = self.problem, self.rows
        U, S = self._of_gram(self._dense(problem.A.among(rows, rows)))

        def back(z: np.ndarray) -> np.ndarray:
            coef = np.zeros((problem.n, z.shape[1]))
            coef[rows] = self._uncentred(U @ (z / S[:, None] ** 2))
            return coef

        return U, S, back

    def _of_features(self) -> Decomposed:
        # Means are seen to here.
        primal = to_primal(replace(self.problem, offset=False), store=True)
        some, offset = primal.Phi.among(self.rows), self.problem.offset
        sparse = some.sparse()
        if sparse is not None and some.shape[1] > len(self.rows):
            Phi = sparse.astype(np.float64)
            U, S = self._of_gram((Phi @ Phi.T).toarray())
            return U, S, lambda z: primal.back(Phi.T @ self._uncentred(U @ (z / S[:, None] ** 2)))[0]
        dense = self._dense(some)
        dense = dense - self.w @ dense if offset else dense
        U, S, Vt = np.linalg.svd(dense, full_matrices=False)
        kept = max(dense.shape) * float(np.finfo(self.problem.A.dtype).eps) * S.max(initial=0.0) < S
        U, S, V = U[:, kept], S[kept], Vt[kept].T
        return U, S, lambda z: primal.back(V @ (z / S[:, None]))[0]

    def _of_gram(self, K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """U and S from ΦΦᵀ = U S² Uᵀ, Φ being centred."""
        size = float(K.diagonal().max(initial=0.0))
        if self.problem.offset:
            means = K @ self.w
            K = K - means[:, None] - means[None, :] + self.w @ means
        values, Q = np.linalg.eigh(0.5 * (K + K.T))
        floor = len(K) * float(np.finfo(self.problem.A.dtype).eps) * max(size, float(values.max(initial=0.0)))
        kept = values > floor
        return Q[:, kept], np.sqrt(values[kept])

    def _uncentred(self, c: np.ndarray) -> np.ndarray:
        """Coefficients of the features as they are, from those of centred ones."""
        return c - self.w[:, None] * c.sum(axis=0) if self.problem.offset else c

    @staticmethod
    def _dense(A: Operator) -> np.ndarray:
        return np.asarray((A.at(np.float64) or A).dense(), dtype=np.float64)

    # -- squared loss -----------------------------------------------------------------------------

    def squares(self) -> Solution:
        """Weighted least squares in U."""
        offset, root = self.problem.offset, np.sqrt(self.w)[:, None]
        middle = self.w @ self.y if offset else np.zeros(self.y.shape[1])
        target = self.y - middle
        if self.problem.weights is None:
            z = self.U.T @ target
            z = z + self.U.T @ (target - self.U @ z)  # what rounding left
        else:
            z = np.linalg.lstsq(root * self.U, root * target, rcond=None)[0]
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

    def _spread(self, middle: np.ndarray | float) -> float:
        """The mean of squared distances of targets from there, over all outputs."""
        return float(self.w @ np.square(self.y - middle).sum(axis=1))

    def _terms(self, coef: np.ndarray, intercept: np.ndarray) -> float:
        """How large the numbers are, on average, that scores are sums of: these say what rounding does."""
        A = self.problem.A
        if self.problem.full:
            sums = np.max(A.diag(), initial=0.0) * np.abs(coef).sum(axis=0, keepdims=True)
        else:
            some = A.among(self.rows)
            entries = some.sparse()
            sums = abs(self._dense(some) if entries is None else entries) @ np.abs(coef)
        largest = sums + np.abs(intercept) + np.abs(self.y)
        return float(np.sqrt(self.w @ np.square(largest).sum(axis=1)))

    def _solution(self, z: np.ndarray, b: np.ndarray, steps: int, history: tuple[float, ...]) -> Solution:
        problem, loss = self.problem, self.problem.loss
        coef = self.back(z)
        # What is measured is what predicts.
        scores = problem.A.among(self.rows) @ coef
        intercept = b - self.w @ scores if problem.offset else np.zeros(self.y.shape[1])
        scores = scores + intercept
        objective = self._value(scores)
        slopes = self.w[:, None] * loss.grad(self.y, scores)
        gradient = self.U.T @ slopes
        constant = np.zeros_like(scores) + (b if loss.quadratic else 0.0)
        start = self.U.T @ (self.w[:, None] * loss.grad(self.y, constant))
        condition = float(self.S.max() / self.S.min()) if len(self.S) else 1.0
        scale = self._spread(b if problem.offset else 0.0) if loss.quadratic else objective
        apart = 8 * EPS * (condition * np.sqrt(scale) + self._terms(coef, intercept))
        largest = float(self.S.max(initial=0.0))
        size = float(np.linalg.norm(self.S[:, None] * gradient))
        first = float(np.linalg.norm(self.S[:, None] * start))
        # Where nothing is left to learn both are 0, but for rounding.
        relative = 0.0 if max(size, first) <= largest * apart else relative_to(size, first)
        gap = None
        if loss.quadratic:
            rounding = apart * (2 * np.sqrt(objective) + apart)
            H = 2 * (self.U.T * self.w) @ self.U
            best = np.linalg.lstsq(H, gradient, rcond=None)[0]
            gap = min(0.5 * float((gradient * best).sum()), objective) + rounding
            fine = gap - rounding <= DOUBT * scale + rounding and rounding <= ROUNDED * scale
        else:
            rounding = 8 * EPS * condition * scale
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
