"""Is a problem convex? Its matrix tells, where no rule says that the kernel is one."""

from __future__ import annotations

import numpy as np

from mercer.operators.factor import Factor, NotPositiveDefinite
from mercer.solvers.problem import Problem

# Rows whose values are looked at: a matrix of so many is factored within a second.
_LOOKED_AT = 1500


def semidefinite(problem: Problem) -> bool | None:
    """Is K positive semidefinite, to rounding: by rule, or because all of it was factored?

    None where a part of its rows shows nothing wrong: that proves nothing of the rest.
    """
    if not problem.full or problem.A.semidefinite:
        return True
    some = np.linspace(0, problem.n - 1, min(problem.n, _LOOKED_AT)).astype(np.intp)
    values = problem.A.among(some, some).dense().astype(np.float64)
    single = np.array_equal(values, values.astype(np.float32))  # as if rounded to float32
    rounding = 1e-4 if single else 1e-8
    try:
        Factor(values, shift=rounding * (float(np.abs(values.diagonal()).max()) or 1.0), max_jitter=0.0)
    except NotPositiveDefinite:
        return False
    return True if len(some) == problem.n else None
