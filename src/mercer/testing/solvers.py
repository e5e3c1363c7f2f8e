"""The laws of solvers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from mercer.losses import Huber, Logistic, Loss, Multinomial, Squared, SquaredHinge
from mercer.operators import L1, Identity, Matrix
from mercer.solvers import Newton, Problem, Solution, Solver
from mercer.testing.common import fail, require_close, require_kind

_LOSSES: tuple[Loss, ...] = (Squared(), Huber(0.5), Logistic(), SquaredHinge(), Multinomial())


def check_solver(solver: Solver, *, tol: float = 1e-4, random_state: int = 0) -> None:
    """Raise `LawViolation` if a solver breaks a law.

    It is run on small problems of every kind it doesn't refuse: with one unknown per example, with
    centres and with features, with and without weights and an offset. The laws: the solution is the
    minimum, by the gradient of the dense problem; its certificate says the truth (objective, relative
    gradient and gap are recomputed); weight 0 means absent; the problem is left alone; refusals name a
    reason; the solver is a value.

    Parameters
    ----------
    solver : Solver
    tol : float
        Norm of the gradient in H_K, relative to that at f = 0, that the solution must reach.
    random_state : int
        Seed of the problems.

    Examples
    --------
    >>> from mercer.solvers import Cholesky, Newton
    >>> from mercer.testing import LawViolation, check_solver
    >>> check_solver(Newton())
    >>> class Careless(Cholesky):
    ...     def run(self, problem):
    ...         from dataclasses import replace
    ...         return super().run(replace(problem, weights=None))
    >>> try:
    ...     check_solver(Careless())
    ... except LawViolation as violation:
    ...     print(str(violation).split(":")[1])
     the solution must be the minimum
    """
    require_kind(solver, Solver, "check_solver")
    solved = 0
    for name, problem in _problems(np.random.default_rng(random_state)):
        refusal = solver.refusal(problem.loss, "lasso" if isinstance(problem.B, L1) else "ridge")
        if refusal is None:
            _check(solver, name, problem, tol, random_state)
            solved += 1
        elif not isinstance(refusal, str) or len(refusal) < 20:
            fail(solver, "a refusal must name its reason", f"for {name} it says {refusal!r}")
    if not solved:
        fail(solver, "a solver must solve something", "it refuses every problem")


def _problems(rng: np.random.Generator) -> Iterator[tuple[str, Problem]]:
    n, p, t = 24, 6, 3
    X = rng.standard_normal((n, 2))
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    Phi = rng.standard_normal((n, p)) / np.sqrt(p)
    full = Matrix(K)
    shapes = {
        "one unknown per example": (full, full),
        "centres": (Matrix(K[:, :p]), Matrix(K[:p, :p])),
        "features": (Matrix(Phi), Identity(p)),
        "features and the penalty λ‖c‖₁": (Matrix(Phi), L1(p)),
        "features and an elastic net of c ≥ 0": (Matrix(Phi), L1(p, 0.5, positive=True)),
    }
    w = rng.uniform(0.2, 2, n)
    w[:2] = 0
    w *= n / w.sum()
    for loss in _LOSSES:
        y = rng.standard_normal((n, t)) + 1
        if loss.joint:
            y = np.eye(t)[y.argmax(axis=1)]
        elif loss.classification:
            y = np.where(y[:, :1] > 1, 1.0, -1.0)
        for shape, (A, B) in shapes.items():
            for weights in (None, w):
                for offset in (False, True):
                    words = f"{loss!r}, {shape}{', weights' * (weights is not None)}{', offset' * offset}"
                    # Small enough a penalty for the data to matter, large enough for descent to arrive.
                    yield words, Problem(A, B, y, loss, 0.02, weights, offset)


def _check(solver: Solver, name: str, problem: Problem, tol: float, seed: int) -> None:
    given = [problem.y, np.ones(problem.n) if problem.weights is None else problem.weights]
    given += [M.values for M in (problem.A, problem.B) if isinstance(M, Matrix)]
    before = [array.copy() for array in given]
    solution = solver.run(replace(problem, rng=np.random.default_rng(seed)))
    if not all(map(np.array_equal, given, before)):
        fail(solver, "the problem must be left alone", f"solving {name} changed it")
    size = (problem.A.shape[1], problem.y.shape[1])
    if solution.coef.shape != size or solution.intercept.shape != size[1:]:
        found = f"coef is {solution.coef.shape} and intercept {solution.intercept.shape}"
        fail(solver, "wrong shape", f"for {name} {found}, not {size} and {size[1:]}")
    if not problem.offset and solution.intercept.any():
        fail(solver, "an offset only where one is asked for", f"{name}: {solution.intercept}")
    if solution.status not in ("converged", "stalled", "max_iter"):
        fail(solver, "status is converged, stalled or max_iter", f"{name}: {solution.status!r}")
    _optimal(solver, name, problem, solution, tol)
    if problem.weights is not None:
        _absent(solver, name, problem, np.flatnonzero(problem.weights), solution, tol, seed)


def _objective(problem: Problem, coef: np.ndarray, intercept: np.ndarray) -> float:
    value = problem.data_value(problem.A.dense() @ coef + intercept)
    if isinstance(problem.B, L1):
        return value + problem.lam * problem.B.value(coef)
    return value + problem.lam * float((coef * (problem.B.dense() @ coef)).sum())


def _gradient(problem: Problem, coef: np.ndarray, intercept: np.ndarray) -> float:
    """‖∇C‖ in H_K, from the dense problem: √(gᵀB⁺g) for the gradient g in the coefficients."""
    A, lam = problem.A.dense(), problem.lam
    ρ = problem.data_grad(A @ coef + intercept) / problem.n
    g = A.T @ ρ
    if isinstance(problem.B, L1):
        price = lam * problem.B.ratio
        g = g + lam * (1 - problem.B.ratio) * coef
        reach = np.maximum(-g if problem.B.positive else np.abs(g), 0)
        away = np.where(coef != 0, np.abs(g + price * np.sign(coef)), np.maximum(reach - price, 0))
        square = float(np.square(away).sum())
    else:
        B = problem.B.dense()
        g = g + 2 * lam * B @ coef
        values, vectors = np.linalg.eigh(B)
        kept = values > 1e-12 * values[-1]
        square = float((np.square(vectors[:, kept].T @ g) / values[kept, None]).sum())
    if problem.offset:
        square += float(np.square(ρ.sum(axis=0)).sum())
    return float(np.sqrt(square))


def _optimal(solver: Solver, name: str, problem: Problem, solution: Solution, tol: float) -> None:
    coef, intercept, said = solution.coef, solution.intercept, solution.certificate
    zero = np.zeros_like(coef), np.zeros_like(intercept)
    start, norm = _gradient(problem, *zero), _gradient(problem, coef, intercept)
    if not norm <= tol * start:
        left = f"the gradient is {norm / start:.2g} of what it was at 0, not {tol:.2g}"
        fail(solver, "the solution must be the minimum", f"for {name} {left}")
    objective = _objective(problem, coef, intercept)
    law = "the certificate must say the truth"
    if not abs(said.objective - objective) <= 1e-8 * abs(objective):
        fail(solver, law, f"for {name} it claims an objective of {said.objective:.8g}, not {objective:.8g}")
    # What rounding leaves of a gradient is not worth a quarrel.
    if said.relative_gradient is not None and said.relative_gradient < 0.1 * norm / start - 1e-7:
        claim = f"it claims a gradient of {said.relative_gradient:.2g}, not {norm / start:.2g}"
        fail(solver, law, f"for {name} {claim}")
    if said.gap is None:
        return
    best = Newton(tol=1e-10).run(problem)
    # To Newton's method the penalty is λ‖c‖² whatever it is, and there is no bound: any point will do here.
    other = np.maximum(best.coef, 0) if getattr(problem.B, "positive", False) else best.coef
    above = objective - _objective(problem, other, best.intercept)
    if said.gap < above - 1e-12 * abs(objective):
        claim = f"it claims a gap of {said.gap:.2g}, but is {above:.2g} above the minimum"
        fail(solver, law, f"for {name} {claim}")


def _absent(
    solver: Solver, name: str, problem: Problem, kept: np.ndarray, solution: Solution, tol: float, seed: int
) -> None:
    """Without the examples of weight 0 the scores of the others are the same."""
    w = np.asarray(problem.weights)[kept]
    A = Matrix(problem.A.rows(kept)[:, kept] if problem.full else problem.A.rows(kept))
    fewer = replace(
        problem,
        A=A,
        B=A if problem.full else problem.B,
        y=problem.y[kept],
        weights=w * (len(kept) / w.sum()),
        rng=np.random.default_rng(seed),
    )
    again = solver.run(fewer)
    here = A.dense() @ again.coef + again.intercept
    there = (problem.A.dense() @ solution.coef + solution.intercept)[kept]
    limit = 100 * tol * max(float(np.abs(there).max()), 1.0)
    words = f"for {name} the score at ({{}}) is {{}} without them, {{}} with them"
    require_close(solver, "weight 0 must mean absent", here, there, limit, words)
