"""The dual problem in sparse features: coefficients one after the other, in random order, again and again.

With K = ΦΦᵀ and w = Φᵀc at hand, moving one coefficient takes as long as its row of Φ has entries, and a
sweep over all of them as long as Φ has: neither K nor pairs of coefficients are needed. An offset asks for
Σc = T, which no single coefficient can keep. So a price is put on it,

    D(c) + b (Σc − T) + ½ρ (Σc − T)²,

and after every sweep b becomes b + ρ (Σc − T), the method of multipliers: what is left of Σc − T vanishes,
and b becomes the offset itself. A step of b is short where λ is large, so b starts where it is best for the
scores at hand. Coefficients that their slopes hold at a bound are left out until the others are done.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from mercer._notice import tell
from mercer._threads import stopping_point
from mercer.codegen.subset.compiled import compiled
from mercer.operators import Matrix
from mercer.solvers.dual.minimise import BoxQP, State, feasible
from mercer.solvers.dual.part import Part
from mercer.solvers.dual.sweep_loop import HUGE, Sparse, SweptAt, add_up, inner, sweep

# Sweeps, at most: what takes more has examples that hang together, and other ways are shorter.
SWEEPS = 500
# Entries of Φ between two chances to be interrupted: some hundredths of a second.
_ENTRIES = 1 << 24
# A sweep sees slopes while they change. They are measured, at rest, once it sees no more than this share.
_SEEN = 0.7
# Below this nothing is curved, and a step goes to the bound.
_LEAST = 1e-28
# So many measurements in a row without progress are enough.
_PATIENCE = 30
# An offset is found to so many binary digits of where it may be,
_HALVINGS = 60
# … and coefficients that add up to this part of their sizes add up to 0.
_ROUNDING = 1e-15


@lru_cache(maxsize=8)
def _compiled(function: Any, dtype: str) -> Any:
    return compiled([function], dtype) or function


def sparse_rows(Phi: Any) -> tuple[Sparse, np.ndarray]:
    """SciPy's sparse rows as the loops read them (no entry twice), and the square of their lengths."""
    if not Phi.has_canonical_format:
        Phi = Phi.copy()
        Phi.sum_duplicates()
    if Phi.shape[1] > np.iinfo(np.int32).max:
        raise ValueError(f"{Phi.shape[1]:,} features are too many: fold them, CountedFeatures(n_features=…)")
    values = Phi.data if Phi.dtype in (np.float32, np.float64) else Phi.data.astype(np.float64)
    places = Phi.indices.astype(np.int32, copy=False)
    rows = Sparse(Phi.indptr.astype(np.int64), places, np.ascontiguousarray(values))
    return rows, Matrix(Phi).row_squares()


class SparseDual:
    """A part of a problem in these features: its coefficients c, w = Φᵀc, and the offset."""

    def __init__(self, rows: Sparse, squares: np.ndarray, width: int, part: Part, state: State):
        qp, self.rows, self.part, self.state = part.qp, rows, part, state
        self.which = part.rows.astype(np.int64)
        self.lengths = np.diff(rows.starts)[part.rows]
        squares, along, common = squares[part.rows], np.zeros(len(part.rows)), 0.0
        self.mean = np.zeros(width)
        if qp.paired and not part.offset_price and len(along):
            # With Σc = 0 what all rows have in common makes no difference, and would drown what does.
            self._run(add_up, None, self.which, np.full(len(along), 1 / len(along)), self.mean)
            self._run(inner, None, self.which, self.mean, along)
            common = float(self.mean @ self.mean)
            squares = np.maximum(squares - 2 * along + common, 0.0)
        # As if the constant were one more feature, of the size of all others together.
        self.price = (float(squares.mean()) or 1.0) if qp.paired and len(squares) else 0.0
        curvature = np.maximum(squares + qp.extra + self.price, _LEAST)
        box = (qp.centre, qp.lower, qp.upper, qp.extra, curvature)
        self.at = SweptAt(self.which, state.c, *box, along, np.zeros(width), qp.kink, self.price, common)
        # The offset, what Σc is too large by, the steepest slopes, those beyond which coefficients may sleep,
        # and what the mean row has as its score.
        self.now = np.array([0.0, 0.0, -HUGE, HUGE, HUGE, -HUGE, 0.0])

    def _run(self, function: Any, order: np.ndarray | None, *args: Any) -> None:
        """A loop over all coefficients, or in this order, as many at a time as may not be interrupted."""
        lengths = self.lengths if order is None else self.lengths[order]
        ends, begin = np.cumsum(lengths), 0
        run = _compiled(function, self.rows.values.dtype.name)
        while begin < len(ends):
            done = ends[begin - 1] if begin else 0
            end = max(int(np.searchsorted(ends, done + _ENTRIES, "right")), begin + 1)
            run(self.rows, *args, begin, end)
            stopping_point()
            begin = end

    def measure(self) -> None:
        """The slopes where c is now, with Σc made what it must be, and w computed anew."""
        qp, state, w = self.part.qp, self.state, self.at.w
        state.c[:] = _balanced(state.c, qp, self.part.offset_price)
        w[:], state.g = 0.0, np.zeros(len(state.c))
        self._run(add_up, None, self.which, state.c, w)
        self._run(inner, None, self.which, w, state.g)
        state.g += qp.extra * state.c - qp.centre
        # The offset of rows that are centred has what the mean row scores in it.
        before, self.now[1], self.now[6] = self.now[6], 0.0, float(self.mean @ w)
        self.now[0] += self.now[6] - before
        state.violation = qp.violation(*qp.slopes(state.c, state.g))

    def set_offset(self) -> None:
        """The offset that is best for the scores of the coefficients as they were measured."""
        if self.part.qp.paired:
            missing = self.part.qp.extra * self.state.c - self.state.g
            self.now[0] = _best_offset(self.part, missing) + self.now[6]

    def over(self, some: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, float]:
        """A sweep over these coefficients: (those that stay awake, the steepest slope seen)"""
        order, awake, now = rng.permutation(some), np.zeros(len(some), np.int64), self.now
        now[2], now[3] = -HUGE, HUGE
        self._run(sweep, order, self.at, order, awake, now)
        pull = self.price * now[1]
        now[0] += pull
        steep = max(now[2], 0.0), min(now[3], 0.0)
        # Next time, who is held by more than the steepest slope of the others may sleep.
        now[4], now[5] = steep[0] or HUGE, steep[1] or -HUGE
        return np.sort(order[awake > 0]), float(max(steep[0] - steep[1], abs(pull)))

    def wake(self) -> np.ndarray:
        """All coefficients; none of them may sleep in the sweep to come."""
        self.now[4], self.now[5] = HUGE, -HUGE
        return np.arange(len(self.state.c))


def sweeps(here: SparseDual, max_rounds: int) -> State:
    """Go on from where the coefficients are until no slope exceeds the tolerance of the part."""
    part, state = here.part, here.state
    rng = np.random.default_rng(0)
    least, idle, goal = np.inf, 0, _SEEN * part.tol
    state.status = "max_iter"
    here.measure()
    here.set_offset()
    some = here.wake()
    while True:
        state.history.append(state.violation)
        tell("dual", state.rounds, "violation", state.violation, part.tol)
        state.note()
        if state.violation <= part.tol:
            state.status = "converged"
        if state.status == "converged" or state.rounds >= max_rounds or idle >= _PATIENCE:
            state.status = "stalled" if idle >= _PATIENCE and state.status != "converged" else state.status
            return state
        seen = np.inf
        while seen > goal and state.rounds < max_rounds:
            some, seen = here.over(some, rng)
            state.rounds += 1
            if seen <= goal and len(some) < len(state.c):
                # What slept may want to move by now: a sweep over all of them tells.
                some, seen = here.over(here.wake(), rng)
                state.rounds += 1
            elif not len(some):
                some = here.wake()
        here.measure()
        some = here.wake()
        idle = 0 if state.violation < 0.9 * least else idle + 1
        least = min(least, state.violation)
        goal *= 0.5 if state.violation > part.tol else 1.0


def _balanced(c: np.ndarray, qp: BoxQP, total: float) -> np.ndarray:
    """c with Σc = total: those that are free give way first, so that zeros stay zeros if they can."""
    c = np.clip(c, qp.lower, qp.upper)
    if not qp.paired:
        return c
    free = (c > qp.lower) & (c < qp.upper) & (c != 0)
    share = (total - float(c.sum())) / max(int(free.sum()), 1)
    c[free] = np.clip(c[free] + share, qp.lower[free], qp.upper[free])
    return feasible(c, qp, total)


def _best_offset(part: Part, missing: np.ndarray) -> float:
    """b at which the coefficients wanted for `missing` − b, what scores lack, add up to what they must."""
    kink = part.qp.kink
    low, high = float(missing.min(initial=np.inf)) - kink, float(missing.max(initial=-np.inf)) + kink
    for _ in range(_HALVINGS if len(missing) else 0):
        b = 0.5 * low + 0.5 * high
        wanted = part.C * part.form.slope(missing - b)
        beyond = float(wanted.sum()) - part.offset_price
        # Between two kinks the sum is 0 over a whole interval, but for the rounding of what cancels there.
        if abs(beyond) <= _ROUNDING * (float(np.abs(wanted).sum()) + abs(part.offset_price)):
            return b
        low, high = (b, high) if beyond > 0 else (low, b)  # the sum falls with b
    return 0.5 * low + 0.5 * high if len(missing) else 0.0
