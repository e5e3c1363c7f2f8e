"""f = Σ a_c k(x_c,·): a term for every example that had a loss, within a budget."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._state import MOST, ArraySpec, doubles, require
from mercer._xp import issparse, take
from mercer.engines import Engine
from mercer.functions import KernelFunction
from mercer.functions.terms import stack
from mercer.kernels.base import Kernel
from mercer.kernels.counts import Counts
from mercer.online import loops
from mercer.online.budgets import Budget
from mercer.online.code import loop
from mercer.online.learner import (
    CHUNK,
    Learner,
    UpdateRule,
    check_points,
    dtype_for,
    fill,
    is_few,
    pairwise,
    widened,
)

# In `birth`, of a term that has been dropped and waits to be cleared away with others.
GONE = -1
_NOTHING = np.zeros(1)


class ExpansionLearner(Learner):
    """Terms at examples, oldest first.

    Dropped terms stay where they are, with coefficient 0, until there are many of them: a step that moved
    all the others would cost more than the rest of it.
    """

    _by_output = ("offset", "A", "U")
    holds = {
        "kernel": Kernel,
        "points": Any,
        "budget": Budget,
        "engine": Engine,
        "birth": ArraySpec("i8", "m"),
        "A": doubles("outputs", "m"),
        "U": doubles("outputs", None),
        "diagonal": doubles("m"),
        "K": ArraySpec("f", "pairs", "pairs", finite=True),
        "partner": ArraySpec("i8", "merged"),
        "near": ArraySpec("f8", "merged"),
    }

    engine: Engine

    def __init__(
        self, kernel: Kernel, points: Any, rule: UpdateRule, outputs: int, budget: Budget, engine: Engine
    ):
        super().__init__(rule, outputs)
        self.kernel, self.budget, self.engine = kernel, budget, engine
        self.points = points[:0]
        self.A = np.zeros((outputs, 0))
        self.U = np.zeros((outputs, 0))
        self.diagonal = np.zeros(0)
        self.birth = np.zeros(0, np.int64)
        # Of terms: kernel values between them and, to merge, who is most like whom.
        self.K = np.zeros((0, 0), dtype_for(points))
        self.partner, self.near = np.zeros(0, np.int64), np.zeros(0)
        self._room: dict[str, np.ndarray] = {}
        # (points, their sparse features)
        self._features: tuple[Any, Any] = None, None

    def check_state(self) -> None:
        budget, held, m = self.budget, self.birth != GONE, len(self.birth)
        require(not budget.projects, "the budget is one of coordinates")
        budget.validate()
        require(0 <= int(budget.n_terms) <= MOST, "the budget is larger than any memory")
        births = self.birth[held]
        few = budget.policy == loops.NOBODY or len(births) <= budget.n_terms
        require(few, "there are more terms than the budget allows")
        # First the range: differences of numbers beyond it may wrap round.
        rising = births.min(initial=1) >= 1 and births.max(initial=0) <= self.seen
        rising = rising and (np.diff(births) > 0).all()
        require(rising, "terms are not in the order of their age")
        require(not self.A[:, ~held].any(), "terms that are gone have coefficients")
        require(self.U.shape[1] == (m if self.rule.averaging else 0), "the sum of functions has other terms")
        check_points(self, m)
        square = len(self.K) == (m if budget.pairs else 0) and self.K.dtype == dtype_for(self.points)
        require(square, "kernel values between terms are wrong")
        merged = m if budget.policy == loops.MERGE else 0
        require(len(self.partner) == merged, "partners of terms are wrong")
        if merged:
            partner = self.partner[held]
            alone = partner == -1
            there = ((partner >= 0) & (partner < m) | alone).all() and held[partner[~alone]].all()
            require(there and np.isfinite(self.near[held]).all(), "partners of terms are wrong")
        self.__dict__.setdefault("_room", {})  # made when needed
        self.__dict__.setdefault("_features", (None, None))

    @property
    def size(self) -> int:
        return int(np.count_nonzero(self.birth != GONE))

    def __getstate__(self):
        made = {"_room": {}, "_features": (None, None)}  # again, when needed
        return {**super().__getstate__(), **made, "K": self.K.copy(), "points": self.points.copy()}

    # -- learning ----------------------------------------------------------------------------------

    def _learn(self, points, Y, weight):
        n, t, pairs = points.shape[0], self.outputs, self.budget.pairs
        if len(self.birth) + n > (self.budget.n_terms or 2 * self.size) + CHUNK:
            self._clear()
        m = len(self.birth)
        every = self._with(points)
        rows, columns = self._compared(points, every)
        if pairs:
            K = self._square(m + n)
            fill(K[m:], self.kernel, rows, columns, self.engine)
            K[:m, m:] = K[m:, :m].T
        else:
            K = np.empty((n, m + n), dtype_for(every))
            fill(K, self.kernel, rows, columns, self.engine)
        A, U = np.zeros((t, m + n)), np.zeros((t, m + n if self.rule.averaging else 0))
        A[:, :m] = self.A
        if self.rule.averaging:
            U[:, :m] = self.U
        diagonal, size, near = (np.empty(m + n) for _ in range(3))
        diagonal[:m], diagonal[m:] = self.diagonal, self._diagonal(rows)
        size[:m] = np.fmin(np.einsum("ij,ij->j", self.A, self.A) * self.diagonal, loops.HUGE)
        size[m:] = np.inf
        size[:m][self.birth == GONE] = np.inf
        birth, partner = np.empty((2, m + n), np.int64)
        birth[:m], birth[m:] = self.birth, GONE
        if self.budget.policy == loops.MERGE:
            partner[:m], near[:m] = self.partner, self.near
            partner[m:], near[m:] = -1, 0.0
        chance = draws(self.rule.seed, self.seen, n) if self.budget.policy == loops.AT_RANDOM else _NOTHING
        chunk, course = self._begin(Y, weight)
        course.count[loops.HELD] = np.count_nonzero(self.birth != GONE)
        loop("expansion", "float32" if K.dtype == np.float32 else "float64")(
            loops.Terms(K, A, U, size, diagonal, birth, partner, near),
            chunk,
            course,
            loops.Keeping(chance, self.budget.policy, int(self.budget.n_terms), m if pairs else 0, m),
            self.code.record,
        )
        scale = self._end(chunk.S, course, A)
        birth[size == np.inf] = GONE
        self.points, self.A, self.diagonal, self.birth = every, A * scale, diagonal, birth
        if self.rule.averaging:
            self.U = U
        if pairs:
            self.K = K
        if self.budget.policy == loops.MERGE:
            self.partner, self.near = partner, near
        return chunk.S

    # -- sparse features ---------------------------------------------------------------------------

    def _counted(self) -> Any:
        """Terms as the kernel compares them: their sparse features, where it has such, made once."""
        if not self.kernel.has_counts or self.engine.remote:
            return self.points
        if self._features[0] is not self.points:
            self._features = self.points, self.kernel.counts(self.points)
        return self._features[1]

    def _compared(self, points: Any, every: Any) -> tuple[Any, Any]:
        """These points, and all of them with the terms first, as the kernel compares them."""
        known = self._counted()
        if known is self.points:
            return points, every
        new = self.kernel.counts(points)
        both = Counts.stacked([known, new])
        # Of no use if the step fails: `every` then never becomes the points.
        self._features = every, both
        return new, both

    def _diagonal(self, rows: Any) -> np.ndarray:
        return rows.squares() if isinstance(rows, Counts) else self.kernel.diagonal(rows)

    # -- room --------------------------------------------------------------------------------------

    def _most(self, needed: int) -> int:
        """Columns to make room for."""
        return max(needed, self.budget.n_terms + CHUNK if self.budget.n_terms else 2 * needed)

    def _with(self, points: Any) -> Any:
        """All points, these below the others; the others are not copied if there is room beside them."""
        m, n = len(self.birth), points.shape[0]
        if issparse(points):
            return stack(self.points, points) if m else points.copy()
        room = self._room.get("points")
        dtype = np.result_type(self.points, points)
        if room is None or self.points.base is not room or len(room) < m + n or room.dtype != dtype:
            room = np.empty((self._most(m + n), *points.shape[1:]), dtype)
            room[:m] = self.points
            self._room["points"] = room
        room[m : m + n] = points
        return room[: m + n]

    def _square(self, size: int) -> np.ndarray:
        """K with so many rows and columns, those it has now filled in."""
        room, m = self._room.get("K"), len(self.K)
        if room is None or self.K.base is not room or len(room) < size:
            most = self._most(size)
            room = np.empty((most, most), self.K.dtype)
            room[:m, :m] = self.K
            self._room["K"] = room
        return room[:size, :size]

    def _clear(self) -> None:
        """Clear dropped terms away."""
        kept = np.flatnonzero(self.birth != GONE)
        if len(kept) == len(self.birth):
            return
        if self.budget.policy == loops.MERGE:
            place = np.full(len(self.birth) + 1, -1)
            place[kept] = np.arange(len(kept))
            self.partner, self.near = place[self.partner[kept]], self.near[kept]
        self.points, self.A = take(self.points, kept), self.A[:, kept]
        self.diagonal, self.birth = self.diagonal[kept], self.birth[kept]
        if self.rule.averaging:
            self.U = self.U[:, kept]
        if self.budget.pairs:
            self.K = self.K.take(kept, 0).take(kept, 1)

    def widen(self, columns):
        self.points = widened(self.points, columns)

    # -- what was learned --------------------------------------------------------------------------

    def coefficients(self):
        return self._mean(self.A, self.U).T[self.birth != GONE]

    def function(self, coef):
        return KernelFunction(self.kernel, take(self.points, self.birth != GONE), coef, self.engine)

    def scores(self, points):
        if not len(self.birth):
            return np.zeros((points.shape[0], self.outputs)) + self.intercept
        coef = self._mean(self.A, self.U).T
        terms = self._counted()
        if is_few(points, terms):
            return pairwise(self.kernel, points, terms) @ coef + self.intercept
        values = self.engine.operator(self.kernel, points, terms).product(coef)
        return np.asarray(values, np.float64) + self.intercept


def draws(seed: int, first: int, n: int) -> np.ndarray:
    """Numbers in [0, 1) that depend on the seed and on an example's number only."""
    # Philox makes four numbers of each value of its counter; the counter is the example's.
    return np.random.Generator(np.random.Philox(key=seed, counter=first)).random(4 * n)[::4].copy()
