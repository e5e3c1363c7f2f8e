"""The dual solver: exact fits with losses that have kinks, and the sparse solutions they bring."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from mercer._threads import parallel_map
from mercer._warnings import frames_inside
from mercer.losses.base import NoMargin
from mercer.operators import Matrix, Operator
from mercer.solvers.base import IncompatibleError, Solver, warn_if_unconverged
from mercer.solvers.convex import semidefinite
from mercer.solvers.coordinates import Primal, to_primal
from mercer.solvers.cost import DIRECT_FEATURES
from mercer.solvers.dual.columns import Computed, Factored, KernelColumns, Stored, columns_of
from mercer.solvers.dual.minimise import State, minimise
from mercer.solvers.dual.part import Part
from mercer.solvers.dual.solution import settled, solution_of, support_of, values_of, worst_of
from mercer.solvers.dual.sweeps import SWEEPS, SparseDual, sparse_rows, sweeps
from mercer.solvers.least_squares import centred
from mercer.solvers.notes import Notes
from mercer.solvers.problem import Problem, Solution
from mercer.solvers.separation import LARGEST, strictly_separable
from mercer.solvers.smoothing import Smoothing

_LARGE = 4096
_SMALL = 2048
# Up to so many coefficients are solved at once, in float64 and to the last digits.
_FEW = 1000
# float32 kernel values come first where the tolerance is not finer than they are.
_SINGLE_TOL = 1e-4
# Rows in which the effect of rounding is measured, at least.
_SAMPLE = 256
# So many rounds with a few coefficients of features, before something else is tried.
_SOON = 20
_TINY = float(np.finfo(float).tiny)
# Where kinks are found: so many looks at how small slopes must be, each finer by as much at least in doubt.
_SETTLED, _FINER, _FINEST = 5, 0.05, 1e-6


class Dual(Solver):
    """Losses that are maxima of lines or parabolas (hinge, ε-insensitive, absolute, quantile, …), exactly.

    With C_i = w_i/(2λn) and V(y, s) = max over a in a box of a (y − s) − κ|a| − ½ δ a², the coefficients are
    c_i = C_i a_i, and those of the minimiser minimise

        ½ cᵀKc − Σ y_i c_i + κ Σ|c_i| + ½ Σ (δ/C_i) c_i²    over  C_i·box  (and Σc = 0 with an offset).

    Where the kink has a price ν (`Problem.kink_price`) κ is found, too, and Σ|c_i| = ν ΣC_i in its place.

    Working sets of some thousand coordinates are solved two at a time (one, without an offset) in compiled
    code, the kernel values they need being computed in batches by the engine. With sparse features there is
    no K: coefficients move one after the other, again and again, each at the price of its own features.

    Parameters
    ----------
    tol : float, optional
        The steepest slope left, of a pair of coefficients or of one: LIBSVM's stopping rule. In the units
        of the scores. None: 1e-3, times the spread of the targets for numeric ones.
    max_iter : int, optional
        Working sets, at most. None: 200, and 25 times as many as it takes to have had every coefficient once.
        With sparse features a round in which all coefficients have their turn counts, too.
    cache : float
        Bytes of kernel values to keep, at most. Kernels on few coordinates are computed again instead.
    working_set : int, optional
        How many coefficients are optimised together.

    Notes
    -----
    float64 data are solved with float32 kernel values first (LIBSVM stores those, too). What rounding did to
    the slopes is then measured with float64 values on a sample of rows; unless it is harmless the solution is
    carried on with float64 values. The violation of the certificate includes it; the gap is measured anew.

    Examples
    --------
    >>> from mercer import KernelSVC
    >>> machine = KernelSVC(solver=Dual(tol=1e-6), lam=0.1).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> machine.solution_.status, machine.solution_.certificate.gap < 1e-6
    ('converged', True)
    """

    name = "dual"
    passes = 20
    resumes = True
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

    def memory(self, shape):
        if shape.sparse:
            return shape.matrix + 8 * shape.unknowns * shape.outputs
        kept = min(int(self.cache), shape.matrix) if shape.full else shape.matrix
        return kept + 3 * min(self.size(shape.n), shape.n) ** 2 * shape.item

    def size(self, n: int) -> int:
        """How many coefficients are optimised together, of n."""
        if self.working_set is not None:
            return int(self.working_set)
        return int(np.clip(n // 8, _SMALL, _LARGE))

    def _rounds(self, n: int) -> int:
        return int(self.max_iter) if self.max_iter is not None else 200 + 25 * n // self.size(n)

    def run(self, problem: Problem) -> Solution:
        self.validate()
        primal = None if problem.full else to_primal(replace(problem, offset=False), store=True)
        if primal is not None and not primal.explicit:
            raise IncompatibleError(
                "solver 'dual' needs centres whose matrix can be factored here; use solver='smoothing', or "
                "fewer centres"
            )
        with Notes(problem, self.name) as notes:
            return self._minimum(problem, primal, notes)

    def _minimum(self, problem: Problem, primal: Primal | None, notes: Notes) -> Solution:
        known = notes.array("coef", problem.y.shape)
        problem = problem if known is None else replace(problem, start=known)
        if problem.loss.divides_scores:
            problem = replace(problem, lam=problem.lam * _spread(problem, primal))
        parts = [Part.of(problem, j, self.tol) for j in range(problem.y.shape[1])]
        parts = parts if known is None else _not_worse_than_zero(problem, primal, parts)
        _refuse_overlap(problem, primal, parts)
        begun = _begun(problem, parts, notes)
        largest = max(len(part.rows) for part in parts)
        K = problem.A.expecting(sum(len(part.rows) ** 2 for part in parts))
        threads = K.threads
        small = largest <= self.size(largest) or len(parts) >= 2 * threads
        sparse = None if primal is None else primal.Phi.sparse()
        if primal is not None and sparse is not None and largest > _FEW and not problem.kink_price:
            both = zip(parts, self._swept(sparse, parts, begun, threads), strict=True)
            states = [self._finished(primal.Phi, part, state) for part, state in both]
        elif len(parts) > 1 and primal is None and small and not problem.A.remote:
            # Many problems, or small ones: one thread each.
            alone, share = K.single_threaded(), self.cache / threads
            both = zip(parts, begun, strict=True)
            states = parallel_map(lambda p: self._solve(alone, None, p[0], p[1], share), both, threads)
        else:
            both = zip(parts, begun, strict=True)
            states = [self._solve(K, primal, part, state, self.cache) for part, state in both]
        if problem.kink_price:
            parts, solution = self._in_units_of_margins(K, problem, primal, parts, states)
        else:
            solution = solution_of(problem, primal, parts, states)
        few = primal is not None and (sparse is None or primal.Phi.shape[1] <= DIRECT_FEATURES)
        elsewhere = few and self.max_iter is None and not problem.loss.priced
        if elsewhere and not solution.converged:
            # Coordinates one or two at a time get nowhere where features differ much in size; Newton does.
            other, dual = Smoothing(tol=1e-6).solve(problem)
            if other.converged:
                name = f"{self.name}, then {other.solver}"
                return replace(other, solver=name, support=support_of(parts, dual), dual_coef=dual)
        advice = "Scale the features, increase lam (decrease C) or max_iter"
        warn_if_unconverged(solution, worst_of(parts, states)[0].tol, advice, problem.A.dtype)
        convex = semidefinite(problem)
        if convex is False:
            _warn_not_convex()
        return solution if convex else solution.without_claims()

    def _in_units_of_margins(
        self, K: Operator, problem: Problem, primal: Primal | None, parts: list[Part], states: list[State]
    ) -> tuple[list[Part], Solution]:
        """The parts and the solution, in which scores are divided by what their margin is.

        Only now that is known, and so how small slopes must be: those that are too steep are worked on again.
        """
        for left in reversed(range(_SETTLED)):
            try:
                solution, scales = settled(problem, primal, parts, states)
                wanted = [part.tol * min(scale, 1.0) for part, scale in zip(parts, scales, strict=True)]
                finest = not left
            except NoMargin:  # as far as can be told, which finer slopes may change
                rough = (
                    s.status == "converged" and s.violation > _FINEST * p.tol for p, s in zip(parts, states)
                )
                if any(state.status != "converged" for state in states):
                    raise _not_found(states) from None
                if not left or not any(rough):
                    raise
                wanted, finest = [_FINER * state.violation for state in states], False
            steep = (state.violation > tol for state, tol in zip(states, wanted, strict=True))
            again = [j for j, more in enumerate(steep) if more and states[j].status == "converged"]
            if finest or not again:
                break
            for j in again:
                finer = replace(parts[j], tol=0.5 * wanted[j])
                states[j] = self._solve(K, primal, finer, states[j], self.cache)
        return parts, solution

    def _swept(self, Phi: Any, parts: list[Part], begun: list[State], threads: int) -> list[State]:
        """All parts in sparse features, one thread each."""
        rows, squares = sparse_rows(Phi)
        most = SWEEPS if self.max_iter is None else min(int(self.max_iter), SWEEPS)

        def solve(pair: tuple[Part, State]) -> State:
            return sweeps(SparseDual(rows, squares, Phi.shape[1], *pair), most)

        return parallel_map(solve, zip(parts, begun, strict=True), threads)

    def _finished(self, Phi: Operator, part: Part, state: State) -> State:
        """Working sets, from where sweeps took too many: of examples that hang together much."""
        most = np.inf if self.max_iter is None else self.max_iter
        if state.status == "converged" or state.rounds >= most:
            return state
        some = Phi if len(part.at) == Phi.shape[0] else Phi.among(part.at)
        return self._stage(Factored(some), part, state, part.tol)

    def _solve(self, K: Operator, primal: Primal | None, part: Part, state: State, cache: float) -> State:
        if len(part.at) <= _FEW:
            return self._solve_few(self._matrix(K, primal, part), part, state, primal is not None)
        some = not np.array_equal(part.at, np.arange(K.shape[0]))
        if primal is not None:
            Phi = primal.Phi
            if some:
                Phi = Matrix(Phi.rows(part.at)) if Phi.sparse() is None else Phi.among(part.at)
            return self._stage(Factored(Phi), part, state, part.tol)
        K = K.among(part.at, part.at) if some else K
        size = self.size(len(part.at))
        rounding = float(np.finfo(np.float32).eps * K.diag().max(initial=0.0) * part.C.max(initial=0.0))
        single = K.at(np.float32) if part.tol >= max(_SINGLE_TOL, rounding) else None
        if single is not None:
            # A little below what is asked, so that rounding does not send the next stage back to work.
            self._stage(columns_of(single, int(cache), size), part, state, 0.9 * part.tol)
            if state.status == "converged" and self._harmless(K, part, state):
                return state
        double = K.at(np.float64) or K
        state.g = part.qp.gradient(Computed(double), state.c)
        state.violation = part.qp.steepest(state.c, state.g)
        if state.status == "converged" and state.violation <= part.tol:
            return state
        return self._stage(columns_of(double, int(cache), size), part, state, part.tol)

    def _stage(self, K: KernelColumns, part: Part, state: State, tol: float) -> State:
        if not len(state.g):
            state.g = part.qp.gradient(K, state.c)
        rounds = self._rounds(len(part.at)) + (0 if self.max_iter is not None else state.rounds)
        return minimise(K, part.qp, state, tol=tol, max_rounds=rounds, size=self.size(len(part.at)))

    @staticmethod
    def _harmless(K: Operator, part: Part, state: State) -> bool:
        """Would float64 kernel values leave the solution within the tolerance?

        Judged by the largest error of the gradient in a sample of rows, those of the largest k(x, x) among
        them, taken one and a half times.
        """
        n = K.shape[0]
        count = min(max(_SAMPLE, n // 16), n)
        largest = np.argpartition(-K.diag(), min(16, n - 1))[:16]
        some = np.union1d(np.random.default_rng(0).choice(n, count, replace=False), largest)
        used = np.flatnonzero(state.c)
        few = K.among(some, used)
        exact = part.qp.extra[some] * state.c[some] - part.qp.centre[some]
        exact += (few.at(np.float64) or few) @ state.c[used]
        error = 1.5 * float(np.abs(exact - state.g[some]).max(initial=0.0))
        if state.violation + 2 * error > part.tol:
            return False
        state.violation += 2 * error
        return True

    def _solve_few(self, K: Stored, part: Part, state: State, features: bool) -> State:
        """Few coefficients: in float64 whatever the data, and beyond the tolerance, as it costs nothing."""
        state.g = part.qp.gradient(K, state.c)
        # With features there is another way, if this one is long.
        alone = part.qp.sided or not features
        rounds = self._rounds(K.n) if alone or self.max_iter is not None else _SOON
        minimise(K, part.qp, state, tol=part.tol, max_rounds=rounds, size=K.n)
        if state.status == "converged":
            minimise(K, part.qp, state, tol=1e-8 * part.tol, max_rounds=state.rounds + 3, size=K.n)
            state.status = "converged"
        return state

    @staticmethod
    def _matrix(K: Operator, primal: Primal | None, part: Part) -> Stored:
        # With Σc = 0 what all values have in common makes no difference, and would drown what does.
        shift = part.qp.paired and not part.offset_price
        if primal is None:
            few = K.among(part.at, part.at)
            few = few.at(np.float64) or few
        elif (sparse := primal.Phi.sparse()) is not None:
            some = sparse[part.at].astype(np.float64)
            few = Matrix((some @ some.T).toarray())
        else:
            Phi = primal.Phi.rows(part.at)
            Phi = Phi - Phi.mean(axis=0) if shift else Phi
            return Stored(Matrix(Phi @ Phi.T))
        return Stored(centred(few)[0] if shift else few)


def _not_worse_than_zero(problem: Problem, primal: Primal | None, parts: list[Part]) -> list[Part]:
    """The parts; one that begins where no minimisation from 0 can have been begins at 0."""
    if problem.loss.priced:  # 0 is not among their coefficients, and these have bounds
        return parts
    start = np.zeros(problem.y.shape)
    for j, part in enumerate(parts):
        start[part.rows, j] = part.start
    coef = start if primal is None else primal.back(primal.Phi.adjoint(start))[0]
    values = values_of(problem, coef, parts)
    worse = [not part.qp.objective(part.start, values[part.rows, j]) <= 0 for j, part in enumerate(parts)]
    return [
        replace(part, start=np.zeros_like(part.start)) if bad else part
        for part, bad in zip(parts, worse, strict=True)
    ]


def _refuse_overlap(problem: Problem, primal: Primal | None, parts: list[Part]) -> None:
    """NoMargin where a hard margin is asked for that few features lack: steps would take long to see it."""
    if primal is None or not problem.kink_price:
        return
    for part in parts:
        n, p = len(part.rows), primal.Phi.shape[1]
        if np.isfinite(part.form.upper).all() or p >= n or n * p > LARGEST:
            continue
        Phi = primal.Phi.rows(part.rows)
        rows = np.sign(part.qp.centre)[:, None] * np.hstack([Phi - Phi.mean(axis=0), np.ones((n, 1))])
        if strictly_separable(rows / np.append(np.abs(Phi).max(axis=0) + _TINY, 1.0)) is False:
            problem.loss.settled(1.0)


def _not_found(states: list[State]) -> NoMargin:
    """What is to be said where steps have ended before it was clear whether there is a margin."""
    worst = max(state.violation for state in states)
    return NoMargin(
        f"the margin was not found: the solver stopped with slopes of {worst:.1e} left, which says nothing "
        "about the classes; scale the features so that k(x, x) is about 1, or increase max_iter of Dual"
    )


def _spread(problem: Problem, primal: Primal | None) -> float:
    """The variance of the examples in feature space: with λ of that size scores are about 1, for any K."""
    share = problem.w[:, None] / problem.w.sum()
    if primal is None:
        squares, mean = problem.A.diag(), float((share * (problem.A @ share)).sum())
    else:
        squares, mean = primal.Phi.row_squares(), float(np.square(primal.Phi.adjoint(share)).sum())
    whole = float(share[:, 0] @ squares)
    return max(whole - mean, float(np.finfo(problem.A.dtype).eps) * whole) or 1.0


def _begun(problem: Problem, parts: list[Part], notes: Notes) -> list[State]:
    """Where every part starts; what becomes of its coefficients is noted."""
    states = [State(part.start, np.empty(0)) for part in parts]
    if notes.kept:
        coef, rounds = np.zeros(problem.y.shape), np.zeros(len(parts), dtype=int)
        for j, (part, state) in enumerate(zip(parts, states, strict=True)):
            coef[part.rows, j] = part.net(part.start)

            def noted(c: np.ndarray, count: int, j: int = j, part: Part = part) -> None:
                coef[part.rows, j], rounds[j] = part.net(c), count
                notes.note(notes.iterations + int(rounds.sum()), coef=coef)

            state.noted = noted
    return states


def _warn_not_convex() -> None:
    warnings.warn(
        "the kernel matrix is not positive semidefinite, so the problem is not convex: what was found is a "
        "point that no pair of coefficients can improve, and a lower one may exist. mercer.kernels.check "
        "shows what is wrong with the kernel.",
        stacklevel=frames_inside(),
    )
