"""The dual solver: exact fits with losses that have kinks, and the sparse solutions they bring."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._xp import take
from mercer.engines import Tiled
from mercer.engines.factor import Factor, NotPositiveDefinite
from mercer.engines.threads import cpu_count, parallel_map
from mercer.kernels import Finite
from mercer.losses import Loss
from mercer.losses.dual import DualForm
from mercer.operators import KernelOperator, Matrix, Operator
from mercer.solvers.base import IncompatibleError, Solver, _frames_inside, warn_if_unconverged
from mercer.solvers.dual.columns import Computed, Factored, Stored, columns_of, still
from mercer.solvers.dual.minimise import BoxQP, State, minimise
from mercer.solvers.primal import Primal, to_primal
from mercer.solvers.problem import Certificate, Problem, Solution, Support

_LARGE = 4096
_SMALL = 2048
# Up to so many coefficients are solved at once, in float64 and to the last digits.
_FEW = 1000
# float32 kernel values come first where the tolerance is not finer than they are.
_SINGLE_TOL = 1e-4
# Rows in which the effect of rounding is measured, at least.
_SAMPLE = 256
# Rows in which the kernel is looked at, where no rule says that it is one.
_LOOKED_AT = 1000


class Dual(Solver):
    """Losses that are maxima of lines or parabolas (hinge, ε-insensitive, absolute, quantile, …), exactly.

    With C_i = w_i/(2λn) and V(y, s) = max over a in a box of a (y − s) − κ|a| − ½ δ a², the coefficients are
    c_i = C_i a_i, and those of the minimiser minimise

        ½ cᵀKc − Σ y_i c_i + κ Σ|c_i| + ½ Σ (δ/C_i) c_i²    over  C_i·box  (and Σc = 0 with an offset).

    Working sets of some thousand coordinates are solved two at a time (one, without an offset) in compiled
    code, the kernel values they need being computed in batches by the engine.

    Parameters
    ----------
    tol : float, optional
        The steepest slope left, of a pair of coefficients or of one: LIBSVM's stopping rule. In the units
        of the scores. None: 1e-3, times the spread of the targets for numeric ones.
    max_iter : int, optional
        Working sets, at most. None: 200, and 25 times as many as it takes to have had every coefficient once.
    cache : float
        Bytes of kernel values to keep, at most. Kernels on few coordinates are computed again instead.
    working_set : int, optional
        How many coefficients are optimised together.

    Notes
    -----
    float64 data are solved with float32 kernel values first (LIBSVM stores those, too). What rounding did to
    the slopes is then measured with float64 values on a sample of rows; unless it is harmless the solution is
    carried on with float64 values. The violation and the gap of the certificate include it.

    Examples
    --------
    >>> from mercer import KernelSVC
    >>> machine = KernelSVC(solver=Dual(tol=1e-6), lam=0.1).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> machine.solution_.status, machine.solution_.certificate.gap < 1e-6
    ('converged', True)
    """

    name = "dual"
    requires = frozenset({"ridge", "dual"})

    def __init__(self, tol=None, max_iter=None, cache=500e6, working_set=None):
        self.tol = tol
        self.max_iter = max_iter
        self.cache = cache
        self.working_set = working_set

    def validate(self):
        super().validate()
        if isinstance(self.cache, bool) or not isinstance(self.cache, (int, float)) or not self.cache >= 0:
            raise ValueError(f"Dual: cache must be a number of bytes, got {self.cache!r}")
        size = self.working_set
        if size is not None and (not isinstance(size, (int, np.integer)) or size < 2):
            raise ValueError(f"Dual: working_set must be a whole number of at least 2, got {size!r}")

    def size(self, n: int) -> int:
        """How many coefficients are optimised together, of n."""
        if self.working_set is not None:
            return int(self.working_set)
        return int(np.clip(n // 8, _SMALL, _LARGE))

    def _rounds(self, n: int) -> int:
        return int(self.max_iter) if self.max_iter is not None else 200 + 25 * n // self.size(n)

    def run(self, problem: Problem) -> Solution:
        self.validate()
        problem = _with_kernel(problem)
        tol = self.tol if self.tol is not None else 1e-3 * _scale(problem)
        primal = None if problem.full else to_primal(replace(problem, offset=False), store=True)
        if primal is not None and not primal.explicit:
            raise IncompatibleError(
                "solver 'dual' needs centres whose matrix can be factored here; use solver='smoothing', or "
                "fewer centres"
            )
        parts = [_Part.of(problem, j) for j in range(problem.y.shape[1])]
        largest = max(len(part.rows) for part in parts)
        engine: Any = getattr(problem.A, "engine", None)
        if engine is not None:
            engine = engine.for_many(sum(len(part.rows) ** 2 for part in parts))
        threads = getattr(engine, "threads", None) or cpu_count()
        small = largest <= self.size(largest) or len(parts) >= 2 * threads
        if len(parts) > 1 and primal is None and small and not problem.A.remote:
            # Many problems, or small ones: one thread each.
            alone, share = engine.alone(), self.cache / threads

            def solve(part: _Part) -> State:
                return self._solve(problem, None, part, tol, alone, share)

            states = parallel_map(solve, parts, threads)
        else:
            states = [self._solve(problem, primal, part, tol, engine, self.cache) for part in parts]
        solution = self._solution(problem, primal, parts, states)
        warn_if_unconverged(
            solution, tol, "Increase max_iter or lam (decrease C), or scale the features", problem.A.dtype
        )
        return solution if _semidefinite(problem) else _without_claims(solution)

    def _solve(
        self, problem: Problem, primal: Primal | None, part: _Part, tol: float, engine: Any, cache: float
    ) -> State:
        state = State(part.start, np.empty(0))
        if len(part.rows) <= _FEW:
            return self._solve_few(self._matrix(problem, primal, part), part, tol, state)
        size = self.size(len(part.rows))
        ways = list(self._ways(problem, primal, part, tol, engine))
        for number, K in enumerate(ways):
            last = number == len(ways) - 1
            if number and isinstance(K, KernelOperator):
                # Usually rounding has done no harm; then a few rows, or one product, show it.
                if state.status == "converged" and self._harmless(K, part, state, tol):
                    continue
                state.g = part.qp.gradient(Computed(K), state.c)
                state.violation = part.qp.violation(*part.qp.slopes(state.c, state.g))
                if state.status == "converged" and state.violation <= tol:
                    continue
            columns = columns_of(K, int(cache), size) if isinstance(K, KernelOperator) else Factored(K)
            if not number:
                state.g = part.qp.gradient(columns, state.c)
            # A little below what is asked, so that rounding does not send the next stage back to work.
            target = tol if last else 0.9 * tol
            rounds = state.rounds + self._rounds(len(part.rows))
            minimise(columns, part.qp, state, tol=target, max_rounds=rounds, size=size)
            del columns  # what it keeps makes room for the next
        return state

    @staticmethod
    def _harmless(K: KernelOperator, part: _Part, state: State, tol: float) -> bool:
        """Would float64 kernel values leave the solution within the tolerance?

        Judged by the largest error of the gradient in a sample of rows, taken one and a half times.
        """
        n = K.shape[0]
        some = np.arange(0, n, max(n // max(_SAMPLE, n // 16), 1))
        used = np.flatnonzero(state.c)
        exact = part.qp.extra[some] * state.c[some] - part.qp.centre[some]
        exact += K.engine.product(K.kernel, take(K.X, some), take(K.X, used), state.c[used])
        error = 1.5 * float(np.abs(exact - state.g[some]).max(initial=0.0))
        if state.violation + 2 * error > tol:
            return False
        state.violation += 2 * error
        state.error = error
        return True

    def _solve_few(self, K: Stored, part: _Part, tol: float, state: State) -> State:
        """Few coefficients: in float64 whatever the data, and beyond the tolerance, as it costs nothing."""
        state.g = part.qp.gradient(K, state.c)
        minimise(K, part.qp, state, tol=tol, max_rounds=self._rounds(K.n), size=K.n)
        if state.status == "converged":
            minimise(K, part.qp, state, tol=1e-8 * tol, max_rounds=state.rounds + 3, size=K.n)
            state.status = "converged"
        return state

    @staticmethod
    def _matrix(problem: Problem, primal: Primal | None, part: _Part) -> Stored:
        if primal is not None:
            Phi = primal.Phi.rows(part.rows)
            return Stored(Phi @ Phi.T)
        K = problem.A
        assert isinstance(K, KernelOperator)
        X = take(K.X, part.rows)
        return Stored(np.asarray(K.engine.gram(K.kernel, X.astype(np.float64) if K.kernel.vectors else X)))

    @staticmethod
    def _ways(
        problem: Problem, primal: Primal | None, part: _Part, tol: float, engine: Any
    ) -> Iterator[Operator]:
        """K of the coefficients that can move: rounded if that helps, then as it is."""
        some = len(part.rows) < problem.n
        if primal is not None:
            yield _rows_of(primal.Phi, part.rows) if some else primal.Phi
            return
        K = problem.A
        assert isinstance(K, KernelOperator)
        X = still(take(K.X, part.rows)) if some else K.X
        K = KernelOperator(K.kernel, X, X, engine)
        rounding = float(np.finfo(np.float32).eps * K.diag().max(initial=0.0) * part.C.max(initial=0.0))
        if tol >= max(_SINGLE_TOL, rounding) and K.dtype == np.float64:
            single = K.at(np.float32)
            if single is not None:
                yield single
        yield K

    def _solution(
        self, problem: Problem, primal: Primal | None, parts: list[_Part], states: list[State]
    ) -> Solution:
        n, t = problem.y.shape
        scale = 2 * problem.lam
        # Written column by column.
        coef, intercept = np.zeros((n, t), order="F"), np.zeros(t)
        objective, gap, free, bounded = 0.0, 0.0, [], []
        for j, (part, state) in enumerate(zip(parts, states, strict=True)):
            coef[part.rows, j] = state.c
            if problem.offset:
                intercept[j] = part.offset(state)
            value, dual = part.values(state, float(intercept[j]), problem.pull / scale)
            objective, gap = (
                objective + value,
                gap + value + dual + state.error * float(np.abs(state.c).sum()),
            )
            at_bound = (state.c != 0) & ((state.c == part.qp.lower) | (state.c == part.qp.upper))
            bounded.append(int(at_bound.sum()))
            free.append(int((state.c != 0).sum()) - bounded[-1])
        dual_coef = coef
        if primal is not None:
            coef, _ = primal.back(primal.Phi.adjoint(coef))
        worst = max(states, key=lambda state: (state.status != "converged", state.violation))
        certificate = Certificate(
            relative_gradient=None,
            objective=scale * objective,
            gap=scale * max(gap, 0.0),
            violation=worst.violation,
        )
        return Solution(
            coef,
            intercept,
            worst.status,
            sum(state.rounds for state in states),
            certificate,
            tuple(max(states, key=lambda state: state.rounds).history),
            self.name,
            support=Support(tuple(free), tuple(bounded)),
            dual_coef=dual_coef,
        )


@dataclass(frozen=True, eq=False)
class _Part:
    """The problem of one output: which coefficients can move, their box, where they start."""

    rows: np.ndarray
    qp: BoxQP
    start: np.ndarray
    C: np.ndarray
    form: DualForm

    @classmethod
    def of(cls, problem: Problem, j: int) -> _Part:
        n, y = problem.n, problem.y
        # Columns by themselves, unless the loss has something different to say of each.
        form, k = (problem.loss.dual(y), j) if _differing(problem.loss) else (problem.loss.dual(y[:, [j]]), 0)
        C = (np.ones(n) if problem.weights is None else problem.weights) / (2 * problem.lam * n)
        rows = np.flatnonzero((C > 0) & (form.upper[:, k] > form.lower[:, k]))
        C = C[rows]
        centre, lower, upper = (
            np.asarray(a[rows, k], dtype=np.float64) for a in (form.centre, form.lower, form.upper)
        )
        form = DualForm(centre, lower, upper, form.kink, form.curvature)
        extra = form.curvature / C if form.curvature else np.zeros(len(rows))
        qp = BoxQP(centre, C * lower, C * upper, extra, form.kink, problem.offset)
        start = np.zeros(len(rows)) if problem.start is None else problem.start[rows, j].astype(np.float64)
        return cls(rows, qp, feasible(start, qp, problem.pull / (2 * problem.lam)), C, form)

    def offset(self, state: State) -> float:
        """b: where free coefficients want it, or else in the middle of where it may be."""
        qp, c, g = self.qp, state.c, state.g
        right, left = qp.slopes(c, g)
        free = np.isfinite(right) & np.isfinite(left) & (right == left)
        if free.any():
            return -float(right[free].mean())
        ends = [v for v in (right.min(initial=np.inf), left.max(initial=-np.inf)) if np.isfinite(v)]
        return -float(np.mean(ends)) if ends else 0.0

    def values(self, state: State, b: float, pull: float) -> tuple[float, float]:
        """(P, D) over 2λ: the objective, and what it can't be less than the negative of."""
        qp, c, g = self.qp, state.c, state.g
        f = g + qp.centre - qp.extra * c
        square = float(c @ f)
        slack = 1e-6 * float(np.abs(c).sum()) ** 2 * float(np.abs(f).max(initial=0.0) + 1)
        if square < -slack:
            raise NotPositiveDefinite(
                "the matrix is not positive semidefinite: cᵀKc < 0 for the coefficients found, so ‖f‖² means "
                "nothing; is the kernel a kernel (mercer.kernels.check)?"
            )
        return float(self.C @ self.form.value(f + b)) + pull * b + 0.5 * square, qp.value(c, g)


def _with_kernel(problem: Problem) -> Problem:
    """The same problem; a matrix in memory becomes a kernel on the numbers of its rows."""
    if not problem.full or isinstance(problem.A, KernelOperator):
        return problem
    index = np.arange(problem.n)
    K = KernelOperator(Finite(problem.A.dense()), index, index, Tiled())
    return replace(problem, A=K, B=K)


def _semidefinite(problem: Problem) -> bool:
    """Is K positive semidefinite: by rule, or as far as some rows show?"""
    K = problem.A
    if not problem.full or not isinstance(K, KernelOperator) or (K.kernel.vectors and K.kernel.rule()):
        return True
    some = take(K.X, np.linspace(0, problem.n - 1, min(problem.n, _LOOKED_AT)).astype(np.intp))
    values = np.array(K.engine.gram(K.kernel, some), dtype=np.float64)
    rounding = 1e-4 if K.kernel.pairwise(some[:1], some[:1]).dtype == np.float32 else 1e-8
    try:
        Factor(values, shift=rounding * (float(np.abs(values.diagonal()).max()) or 1.0), max_jitter=0.0)
    except NotPositiveDefinite:
        return False
    return True


def _without_claims(solution: Solution) -> Solution:
    """What can be said where the problem is not convex, and a warning that says so."""
    warnings.warn(
        "the kernel matrix is not positive semidefinite, so the problem is not convex: what was found is a "
        "point that no pair of coefficients can improve, and a lower one may exist. mercer.kernels.check "
        "shows what is wrong with the kernel.",
        stacklevel=_frames_inside(),
    )
    status = "stationary" if solution.converged else solution.status
    return replace(solution, status=status, certificate=replace(solution.certificate, gap=None))


def _differing(loss: Loss) -> bool:
    """Does the loss treat columns differently, as one for several quantiles does?"""
    return len(getattr(loss, "levels", ())) > 1


def _rows_of(Phi: Operator, rows: np.ndarray) -> Operator:
    return Matrix(Phi.rows(rows))


def _scale(problem: Problem) -> float:
    """What a score of 1 amounts to: 1 for labels, the spread of the targets for numbers."""
    if problem.loss.classification:
        return 1.0
    if problem.pull:
        return min(1.0, problem.pull * problem.n)  # the coefficients add up to that
    spread = float(np.median(np.abs(problem.y - np.median(problem.y, axis=0)))) or float(problem.y.std())
    return spread or 1.0


def feasible(c: np.ndarray, qp: BoxQP, total: float) -> np.ndarray:
    """The coefficients clipped to their box, and with an offset changed so that they add up to `total`."""
    c = np.clip(c, qp.lower, qp.upper)
    if not qp.paired:
        return c
    missing = total - float(c.sum())
    if abs(missing) <= 1e-13 * float(np.abs(c).sum()):  # rounding: to mend it would move zeros off zero
        return c
    room = qp.upper - c if missing > 0 else c - qp.lower
    if room.sum() < abs(missing) * (1 - 1e-12):
        raise ValueError(f"no coefficients within their bounds add up to {total:.6g}")
    before = np.concatenate([[0.0], np.cumsum(room)[:-1]])
    return c + np.sign(missing) * np.clip(abs(missing) - before, 0, room)
