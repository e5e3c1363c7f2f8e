"""Least squares with one coefficient per example: (S K S + λn I) z = S y, c = S z, S = √w."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from mercer.operators import Factor, Matrix, NotPositiveDefinite, Operator, blas_single_threaded
from mercer.solvers.certify import certify
from mercer.solvers.notes import Notes
from mercer.solvers.pcg import DIVERGED, Apply, Start, pcg
from mercer.solvers.preconditioners import LowRank, Subset
from mercer.solvers.problem import Problem, Solution, relative_to
from mercer.solvers.spans import EPS

# From here on a float32 factor plus float64 conjugate gradients beats a float64 factor.
MIXED_FROM = 3000
# Up to so many examples residuals are computed from float64 kernel values on a GPU: seconds a product.
_DOUBLE_RESIDUAL = 1_500_000
# Up to so many examples K is copied to be centred, where there is an offset.
_CENTRED_TO = 3000
# Rows of a float32 matrix that are written out in float64 together.
_ROWS_AT_ONCE = 512
# How far a noted direction may be from what it was, next to the residual: rounding is far below.
_TURNED = 0.1
# Targets that differ by no more than this part of their mean are all the same, but for rounding.
_ROUNDED_TARGETS = 8 * EPS
# Diagonals of kernel matrices that float32 holds, with all the products that are made of them.
_LEAST_SINGLE, _MOST_SINGLE = 1e-30, 1e30
_THEN = ", then cholesky"


@dataclass(frozen=True, eq=False)
class ShiftedSystem:
    """(μI + S K S) z = rhs with μ = λn; S = diag(scale), or the identity."""

    K: Operator
    mu: float
    scale: np.ndarray | None
    rhs: np.ndarray

    def with_matrix(self, K: Operator) -> Apply:
        """The left-hand side, with this for K."""
        return shifted(K, self.mu, self.scale)

    def relative(self, residual: np.ndarray) -> float:
        """The largest residual of a column, relative to its right-hand side."""
        size = np.linalg.norm(self.rhs, axis=0)
        size[size == 0] = 1.0
        return float((np.linalg.norm(residual, axis=0) / size).max())


@dataclass
class Solved:
    """z that solves such a system, the residual, and the left-hand side for what is still to be measured."""

    z: np.ndarray
    residual: np.ndarray
    apply: Apply
    iterations: int = 0
    history: tuple[float, ...] = ()
    condition: float | None = None
    jitter: float = 0.0
    # Of a residual above the tolerance: is that all that can be had (or were there too few iterations)?
    stalled: bool = False
    # What came after the method it is named after, for the name of the solution.
    then: str = ""
    # K as the solution is measured with, where that is another one: in memory, or in float64.
    kept: Operator | None = None


def shifted(K: Operator, shift: float, scale: np.ndarray | None) -> Apply:
    """V ↦ (shift·I + S K S) V."""
    if scale is None:
        return lambda V: K @ V + shift * V
    s = scale[:, None]
    return lambda V: s * (K @ (s * V)) + shift * V


def solve_direct(system: ShiftedSystem) -> Solved:
    """By factorisation: in place, where large matrices live.

    Float64 systems go through a float32 factor where that is enough, and faster, or all there is room for.
    """
    K = system.K
    mixes = K.dtype == np.float64 and K.shape[0] >= MIXED_FROM
    if mixes and K.single_faster:
        mixed = _solve_mixed(system)
        return _solve_factored(system) if mixed is None else mixed
    try:
        return _solve_factored(system)
    except MemoryError:
        if not mixes:
            raise
    # Here, where nothing holds on to what was tried any more.
    mixed = _solve_mixed(system)
    if mixed is None:
        raise MemoryError(
            "a factor in float64 finds no room, and one in float32 is too rough for this system"
        )
    return mixed


def _solve_factored(system: ShiftedSystem) -> Solved:
    """By a factor in K's own precision, refined."""
    K, rhs = system.K, system.rhs
    factor = K.factor(system.mu, scale=system.scale)
    z = factor.solve(rhs)
    residual = rhs - factor.multiply(z)
    iterations = 1
    # Refinement undoes the rounding, and the jitter, of the factor.
    enough = 10 * float(np.finfo(K.dtype).eps) * np.linalg.norm(rhs)
    for _ in range(3):
        size = np.linalg.norm(residual)
        if size <= enough:
            break
        z_new = z + factor.solve(residual)
        residual_new = rhs - factor.multiply(z_new)
        now = np.linalg.norm(residual_new)
        if not now < size:
            break
        z, residual, iterations = z_new, residual_new, iterations + 1
        if now > 0.5 * size:
            break
    return Solved(
        z, residual, factor.multiply, iterations, (), factor.condition(), factor.jitter, stalled=True
    )


def _in_float32(K: Operator) -> Operator | None:
    """K in float32, if it has such a version and its values fit there."""
    if not K.of_kernel:
        return None
    largest = float(K.diag().max(initial=0.0))
    return K.at(np.float32) if _LEAST_SINGLE < largest < _MOST_SINGLE else None


def _solve_mixed(system: ShiftedSystem) -> Solved | None:
    """A float32 factor as preconditioner: half the memory, twice the speed, float64 accuracy.

    None if the system is too ill-conditioned for it.
    """
    single = _in_float32(system.K)
    if single is None:
        return None
    try:
        factor = single.factor(system.mu, 0.0, system.scale)
    except NotPositiveDefinite:
        return None
    apply = system.with_matrix(system.K)
    result = pcg(apply, system.rhs, factor.solve, tol=1e-11, max_iter=10, patience=2)
    if result.residual > 1e-10:
        return None
    # The recurrence's residual is below 1e-10; what it has drifted from the true one is rounding.
    return Solved(
        result.x, result.final_residual, apply, result.iterations, tuple(result.history), factor.condition()
    )


def solve_cg(
    system: ShiftedSystem,
    *,
    tol: float,
    max_iter: int,
    low_rank: LowRank | Subset | None,
    notes: Notes,
    hopeless: Callable[..., bool] | None = None,
) -> Solved:
    """By conjugate gradients, K never in memory; given up where `hopeless` says so."""
    K, rhs = system.K, system.rhs
    apply = system.with_matrix(K)
    inverse = (lambda v: v) if low_rank is None else low_rank.inverse(system.mu, system.scale)
    before: Solved | None = None
    if K.remote and (K.dtype == np.float32 or _in_float32(K) is not None):
        before = _solve_rounded(system, inverse, tol, max_iter, notes, hopeless)
        if K.dtype == np.float32 or system.relative(before.residual) <= tol:
            return before
        max_iter = max(max_iter - before.iterations, 1)
    # A little below the tolerance: the true residual, and the one with the offset taken out, are larger.
    gives_up = None if hopeless is None else partial(hopeless, target=0.1 * tol)
    with blas_single_threaded(K):
        if before is None:
            start = _resumed(system, notes, apply, inverse)
        else:
            start = Start(before.z, before.residual, None)
        noted = partial(_noted, notes) if notes.kept else None
        result = pcg(
            apply,
            rhs,
            inverse,
            tol=0.1 * tol,
            max_iter=max_iter,
            hopeless=gives_up,
            start=start,
            noted=noted,
        )
    stalled, history = result.iterations < max_iter, tuple(result.history)
    residual, iterations = rhs - apply(result.x), result.iterations
    if before is not None:
        iterations, history = before.iterations + iterations, (*before.history, *history)
    return Solved(result.x, residual, apply, iterations, history, result.condition, stalled=stalled)


def _solve_rounded(
    system: ShiftedSystem,
    inverse: Apply,
    tol: float,
    max_iter: int,
    notes: Notes,
    hopeless: Callable[..., bool] | None,
) -> Solved:
    """On a GPU: points and vectors in float32, between residuals from float64 kernel values.

    Beyond a million examples those would take minutes: there only the sums of residuals are in float64.
    """
    K = system.K
    precise = K.at(np.float64) if K.shape[0] <= _DOUBLE_RESIDUAL else None
    rough, exact = (K.at(np.float32) or K).rounded(), system.with_matrix(precise or K)
    # Below the tolerance, since the residual with the offset taken out is larger.
    goal = 0.3 * tol if precise is not None else tol
    solved = _refined(system, rough, exact, inverse, goal, max_iter, notes, 0.5, 1e-4, hopeless)
    return replace(solved, kept=precise)


def solve_cg_or_factor(
    system: ShiftedSystem, *, tol: float, max_iter: int, low_rank: LowRank | Subset | None, notes: Notes
) -> Solved:
    """By conjugate gradients without K; a system too ill-conditioned for so many of them is factored."""
    hopeless = partial(_too_slow, max_iter=max_iter)
    solved = solve_cg(system, tol=tol, max_iter=max_iter, low_rank=low_rank, notes=notes, hopeless=hopeless)
    if system.relative(solved.residual) <= tol:
        return solved
    try:
        K = in_doubles(system.K)
        factored = solve_direct(replace(system, K=K))
        return replace(factored, history=solved.history, then=_THEN, kept=K)
    except MemoryError:  # what was found will have to do
        return solved


def in_doubles(K: Operator) -> Operator:
    """K as it is factored: in float64 where float32 would save no time, since points are exact in either."""
    return K if K.single_faster else K.at(np.float64) or K


def _noted(notes: Notes, iterations: int, at: Start) -> None:
    assert at.p is not None
    notes.note(notes.iterations + iterations, z=at.x, p=at.p)


def _resumed(system: ShiftedSystem, notes: Notes, apply: Apply, inverse: Apply) -> Start | None:
    """Where conjugate gradients were, if something was noted; the residual is measured anew."""
    z = notes.array("z", system.rhs.shape)
    if z is None:
        return None
    r = system.rhs - apply(z)
    if not np.isfinite(r).all():
        raise notes.damaged("its coefficients are too large")
    lost = _worse_than_nothing(system, z, r)
    if lost.any():
        z, r = np.where(lost, 0.0, z), np.where(lost, system.rhs, r)
    p = notes.array("p", system.rhs.shape)
    if p is None or lost.any():
        return Start(z, r)
    # Columns that had converged have no direction; if rounding makes them begin again, it is the steepest.
    steepest = inverse(r)
    p = np.where(p.any(axis=0), p, steepest)
    return Start(z, r, p if _could_follow(apply, r, steepest, p) else None)


def _could_follow(apply: Apply, r: np.ndarray, steepest: np.ndarray, p: np.ndarray) -> bool:
    """Could conjugate gradients have these directions p?

    They are the steepest ones less what these have in common with earlier directions. That makes them shorter
    in the norm of M, and leaves their products with the residual, which is orthogonal to earlier directions.
    """
    M_steepest, M_p = np.hsplit(apply(np.hstack([steepest, p])), 2)
    steep, along = (r * steepest).sum(axis=0), (r * p).sum(axis=0)
    longest, length = (steepest * M_steepest).sum(axis=0), (p * M_p).sum(axis=0)
    fine = (np.abs(along - steep) <= _TURNED * steep) & (length <= (1 + _TURNED) * longest)
    return bool(fine.all())


def _worse_than_nothing(system: ShiftedSystem, z: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Which columns no conjugate gradients have come to: they lower ½zᵀMz − zᵀb, which is −½zᵀ(b + r)."""
    size = np.linalg.norm(system.rhs, axis=0)
    return ~(((z * (system.rhs + r)).sum(axis=0) >= 0) & (np.linalg.norm(r, axis=0) <= DIVERGED * size))


def solve_stored(
    system: ShiftedSystem,
    *,
    tol: float,
    max_iter: int,
    rank: int,
    rng: np.random.Generator,
    notes: Notes,
    factor: bool = True,
) -> Solved:
    """By conjugate gradients on K kept in memory in float32; float64 accuracy by refinement.

    A product then costs one pass over the matrix, far less than computing it. If conjugate gradients
    have not converged after `max_iter` of them, the same array is factored instead, if `factor` allows.
    """
    K, mu, scale = system.K, system.mu, system.scale
    single, precise = _in_float32(K), K.dtype == np.float64
    if single is None and precise:
        # Strings and the like: kept in float64, where nothing needs refinement.
        kept = Matrix(K.dense())
        system = replace(system, K=kept)
        columns = LowRank(kept, rank, rng)
        solved = solve_cg(system, tol=tol, max_iter=max_iter, low_rank=columns, notes=notes)
        if factor and system.relative(solved.residual) > tol:
            solved = replace(_solve_factored(system), then=_THEN)
        return replace(solved, kept=kept)
    # A little below the tolerance, where there is room: with the offset taken out the residual is larger.
    tol = 0.1 * tol if precise else tol
    stored = Matrix((single or K).dense())
    low_rank = LowRank(stored, rank, rng)
    # Products in float32 can't measure a small residual; sums in float64 of the same entries can.
    exact = system.with_matrix(K if precise else _Upcast(stored.values))
    if factor and _forecast(low_rank.left, mu, scale, tol) > 1.3 * max_iter:
        nothing = Solved(np.zeros_like(system.rhs), system.rhs, exact)
        return _factored_in_place(system, stored, tol, nothing)
    inverse = low_rank.inverse(mu, scale)
    floor, hopeless = 1e-4 if precise else 0.0, partial(_too_slow, max_iter=max_iter)
    solved = _refined(system, stored, exact, inverse, tol, max_iter, notes, 0.3, floor, hopeless)
    if system.relative(solved.residual) <= tol or not factor:
        return solved
    del inverse, low_rank
    return _factored_in_place(system, stored, tol, solved)


def _refined(
    system: ShiftedSystem,
    rough: Operator,
    exact: Apply,
    inverse: Apply,
    tol: float,
    max_iter: int,
    notes: Notes,
    share: float,
    floor: float,
    hopeless: Callable[..., bool] | None = None,
) -> Solved:
    """Rounds of conjugate gradients with K as `rough` has it, each for a residual measured by `exact`.

    A round goes for this share of what is left to do, but not below `floor`.
    """
    rhs, quick = system.rhs, system.with_matrix(rough)
    z, residual, best = np.zeros_like(rhs), rhs, 1.0
    found = notes.array("z", rhs.shape)
    if found is not None and (now := system.relative(left := rhs - exact(found))) < best:
        z, residual, best = found, left, now
    history, iterations, condition = [1.0], 0, None
    while best > tol and iterations < max_iter:
        target = max(share * tol / best, floor)
        gives_up = None if hopeless is None else partial(hopeless, target=target)
        most = max_iter - iterations
        noted = partial(_noted_round, notes, iterations, z) if notes.kept else None
        result = pcg(quick, residual, inverse, tol=target, max_iter=most, hopeless=gives_up, noted=noted)
        iterations += result.iterations
        condition = condition or result.condition
        history += [best * h for h in result.history[1:]]
        z_new = z + result.x
        residual_new = rhs - exact(z_new)
        before, now = best, system.relative(residual_new)
        if now < before:
            z, residual, best = z_new, residual_new, now
        if not now < 0.5 * before:
            break
    stalled = iterations < max_iter
    return Solved(z, residual, exact, iterations, tuple(history), condition, stalled=stalled)


def _noted_round(notes: Notes, before: int, z: np.ndarray, iterations: int, at: Start) -> None:
    notes.note(notes.iterations + before + iterations, z=z + at.x)


def _factored_in_place(system: ShiftedSystem, stored: Matrix, tol: float, before: Solved) -> Solved:
    """The stored matrix becomes its own factor; its upper triangle still gives products."""
    rhs, precise = system.rhs, system.K.dtype == np.float64
    # Where residuals don't come from the factor a jitter costs iterations, no accuracy: few, if it is not
    # much more than μ.
    most = min(10 * system.mu / max(float(stored.diag().mean()), 1e-300), 1e-2) if precise else 1e-2
    try:
        L = Factor(stored.values, system.mu, system.scale, max_jitter=most)
    except NotPositiveDefinite:
        if not precise:
            raise
        stored.values = None  # room for a factor in float64
        return replace(_solve_factored(system), then=_THEN)
    exact = before.apply if precise else L.multiply
    result = pcg(exact, rhs, L.solve, tol=0.1 * tol, max_iter=60 if L.jitter else 30, patience=5)
    if precise and result.residual > tol:
        stored.values = None
        del L
        return replace(_solve_factored(system), then=_THEN)
    history = (*before.history, *result.history)
    return Solved(
        *(result.x, rhs - exact(result.x), exact, before.iterations + result.iterations, history),
        *(L.condition(), 0.0 if precise else L.jitter, True, _THEN),
    )


class _Upcast(Matrix):
    """A float32 matrix that multiplies in float64, panel by panel."""

    def __matmul__(self, V):
        out = np.empty((self.shape[0], *V.shape[1:]))
        for i in range(0, self.shape[0], _ROWS_AT_ONCE):
            rows = slice(i, i + _ROWS_AT_ONCE)
            np.matmul(self.values[rows].astype(np.float64), V, out=out[rows])
        return out


def _forecast(left: float, mu: float, scale: np.ndarray | None, tol: float) -> float:
    """About how many conjugate gradients it will take, if what the preconditioner leaves out is this.

    The largest eigenvalue left out is some ten times the mean one, so that √(10 left/μ)·log(2/tol)/2 would be
    the bound; eigenvalues are spread out, and measured numbers are about 4.5 √(left/μ) a digit.
    """
    weight = 1.0 if scale is None else float(np.square(scale).mean())
    return -4.5 * np.log10(tol) * float(np.sqrt(left * weight / mu))


def _too_slow(history: list[float], *, target: float, max_iter: int) -> bool:
    """Will this rate of decrease, which settles early, miss the target by the last iteration?"""
    k = len(history) - 1
    if k < 8 or k % 4:
        return False
    rate = np.log(max(history[-1], 1e-300)) / k
    return rate >= 0 or np.log(target) / rate > 1.3 * max_iter


def centred(K: Operator) -> tuple[Matrix, np.ndarray]:
    """K less what its rows and columns have in common, and the means of its columns.

    For c with Σc = 0 the products of both differ by a constant, the same for all rows: means·c.
    """
    values = np.asarray(K.dense(), dtype=np.float64)
    means = values.mean(axis=0)
    values -= means
    values -= values.mean(axis=1, keepdims=True)
    return Matrix(values), means


def _around_mean(problem: Problem) -> tuple[np.ndarray, np.ndarray | float]:
    """y, with an offset less its mean, and that mean.

    The mean is the offset's business: taken out, it does not drown the rest.
    """
    y = problem.y.astype(np.float64)
    if not problem.offset:
        return y, 0.0
    # Measured from one of the values: of values that are all the same not even rounding is left.
    seen = problem.w > 0
    first = y[seen.argmax()]
    mean = first + problem.w @ (y - first) / problem.n
    y = y - mean
    # What is no more than the rounding of y can't be learnt, and would look like a fit that gets nowhere.
    y[:, np.abs(y[seen]).max(axis=0) <= _ROUNDED_TARGETS * np.abs(mean)] = 0.0
    return y, mean


def _units(V: np.ndarray) -> np.ndarray:
    """For each column the power of two by which to divide so that its largest entry is about 1."""
    return np.ldexp(1.0, np.frexp(np.abs(V).max(axis=0, initial=0.0))[1] - 1)


def _explained(error: NotPositiveDefinite, K: Operator, mu: float) -> NotPositiveDefinite:
    """The error with its reason, where that is the size of the values of K: rounding of these outweighs μ."""
    largest = float(np.abs(K.diag()).max(initial=0.0))
    rounded = float(np.finfo(K.dtype).eps) * largest
    if not mu < rounded < np.inf:
        return error
    return NotPositiveDefinite(
        f"{error}. Kernel values go up to {largest:.1e} here, where they are rounded by {rounded:.1e}, and "
        f"λn is {mu:.1e}: if the points are far from the origin, subtract the means of the features"
    )


def _offset(s: np.ndarray, z: np.ndarray, z1: np.ndarray) -> np.ndarray:
    """b with √w·(z − b z_1) = 0."""
    share = float((s @ z1).item())
    # Above 0 wherever anything was solved at all; else the certificate says that nothing was.
    return (s @ z) / share if share > 0 else np.zeros(z.shape[1])


def ridge_solution(
    problem: Problem,
    solve: Callable[[ShiftedSystem], Solved],
    tol: float,
    name: str,
    *,
    centre: bool = True,
) -> Solution:
    """Least squares on Full, given a way to solve the shifted system; of K as it stands unless `centre`.

    With μ = λn and the residual r of that system the representer equations are off by S r/μ.
    """
    n, s = problem.n, np.sqrt(problem.w)
    mu = problem.lam * n
    y, mean = _around_mean(problem)
    y = y * s[:, None]
    t = y.shape[1]
    rhs = np.hstack([y, s[:, None]]) if problem.offset else y
    K = problem.A
    if K.dear and n <= _CENTRED_TO:
        # Kernels on objects may be slow: they are not computed again to measure the result.
        K = Matrix(K.dense())
        problem = replace(problem, A=K, B=K)
    if centre and problem.offset and n <= _CENTRED_TO and not K.remote:
        K, _ = centred(K.at(np.float64) or K)
    # In units of powers of two, which round nothing, so that float32 holds any target.
    unit = _units(rhs)
    try:
        solved = solve(ShiftedSystem(K, mu, None if problem.weights is None else s, rhs / unit))
    except NotPositiveDefinite as error:
        raise _explained(error, problem.A, mu) from None
    z, residual = solved.z * unit, solved.residual * unit
    intercept = np.zeros(t)
    if problem.offset:
        # The last column is the solution z_1 for the right-hand side √w, so that z = z_y − b z_1 solves the
        # system for y − b. The offset's own equation, Σ c_i = √w·z = 0, fixes b.
        z1, r1 = z[:, t:], residual[:, t:]
        intercept = _offset(s, z[:, :t], z1)
        z, residual = z[:, :t] - z1 * intercept, residual[:, :t] - r1 * intercept
        y = y - s[:, None] * intercept
    coef = s[:, None] * z
    if problem.offset and K is not problem.A:
        coef = coef - coef.mean(axis=0)
    if solved.kept is not None and K is problem.A:
        problem = replace(problem, A=solved.kept, B=solved.kept)
    measured = certify(problem, coef, intercept + mean, tol)
    largest = np.abs(coef).max(initial=0.0)
    # The residual r and the gradient in H_K, whose length is √(rᵀKr), vanish together. One below the
    # tolerance will do: conjugate gradients go by the first and the certificate by the second.
    left = float(np.linalg.norm(residual)) / max(float(np.linalg.norm(y)), float(np.finfo(float).tiny))
    good = min(measured.relative_gradient, left) <= tol
    if solved.stalled and measured.gap is not None:
        # All that a factor leaves is rounding: of that the gap speaks, and the verdict looks at it.
        good = good or measured.gap - measured.rounding <= tol**1.5 * measured.scale
    status = measured.verdict("converged" if good else "stalled" if solved.stalled else "max_iter", tol)
    certificate = measured.certificate(
        representer_residual=relative_to(np.abs(s[:, None] * residual).max(initial=0.0), mu * largest),
        condition=solved.condition,
        jitter=solved.jitter,
    )
    name += solved.then
    return Solution(coef, measured.intercept, status, solved.iterations, certificate, solved.history, name)
