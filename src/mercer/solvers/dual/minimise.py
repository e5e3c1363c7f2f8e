"""The dual problem by working sets: a few thousand coordinates at a time, where the slopes are steepest.

    minimise D(c) = ½ cᵀKc − centreᵀc + κ Σ|c_i| + ½ Σ extra_i c_i²    over lower ≤ c ≤ upper (and Σc fixed)

Where κ is to be found, too, for a price of its own (ν), Σ|c| is fixed as well. An example that may go either
way then has two coordinates, one a side, so that every box is of one sign and only pairs of one side move.

The state is c and g = Kc − centre + extra·c. A round takes a working set, solves its block (`Block`), and
adds K[:, changed] δ to g, which is all the kernel that is ever computed. Rows at a bound whose slope holds
them there are left out of that (`_Sleepers`) and catch up when the others are done.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer._notice import tell
from mercer._threads import stopping_point
from mercer.solvers.dual.block import Block
from mercer.solvers.dual.columns import KernelColumns, Stored
from mercer.solvers.dual.steps import slopes

# A block is solved so much better than the whole is at the time, but not much beyond what is asked.
_INNER_SHARE, _INNER_FLOOR = 0.1, 0.3
# Steps in a block between two chances to be interrupted, per coordinate.
_STEPS = 60
# Rounds between two looks at which rows may sleep.
_SHRINK_EVERY = 6
_MOST_GROUPS = 12
# So many rounds in a row that move nothing, or gain nothing next to all that was gained, are enough.
_UNMOVED, _PATIENCE = 3, 50
_NOTHING = {"float32": 1e-9, "float64": 1e-15}


@dataclass(frozen=True, eq=False)
class BoxQP:
    """The problem; with `paired`, Σc stays what it is at the start, with `sided` both parts of it do."""

    centre: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    extra: np.ndarray
    kink: float
    paired: bool
    sided: bool = False

    @property
    def far(self) -> np.ndarray:
        """Which coordinates are of the side below 0."""
        return self.lower < 0

    def levelled(
        self, right: np.ndarray, left: np.ndarray, rows: Any = slice(None)
    ) -> tuple[np.ndarray, np.ndarray]:
        """Slopes (of some rows), those of either side measured from its own level, so that they compare."""
        if not self.sided:
            return right, left
        right, left, far = right.copy(), left.copy(), self.far[rows]
        for side in (far, ~far):
            ends = right[side].min(initial=np.inf), left[side].max(initial=-np.inf)
            known = [end for end in ends if np.isfinite(end)]
            level = sum(known) / max(len(known), 1)
            right[side] -= level
            left[side] -= level
        return right, left

    def steepest(self, c: np.ndarray, g: np.ndarray) -> float:
        """The violation at c."""
        return self.violation(*self.levelled(*self.slopes(c, g)))

    def slopes(self, c: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Slopes to the right and to the left; infinite where there is no way."""
        return slopes(c, g, self.lower, self.upper, self.kink)

    def violation(self, right: np.ndarray, left: np.ndarray) -> float:
        """How far from optimal: the steepest way down there is, of a pair or of one coordinate."""
        if not len(right):
            return 0.0
        if self.paired:
            return float(max(left.max() - right.min(), 0.0))
        return float(max(left.max(), -right.min(), 0.0))

    def objective(self, c: np.ndarray, values: np.ndarray) -> float:
        """D(c), given Kc."""
        quadratic = 0.5 * float(c @ (values + self.extra * c)) - float(self.centre @ c)
        return quadratic + self.kink * float(np.abs(c).sum())

    def gradient(self, K: KernelColumns, c: np.ndarray) -> np.ndarray:
        """g at c, computed anew."""
        g = self.extra * c - self.centre
        used = np.flatnonzero(c)
        if len(used):
            K.add(g, None, used, c[used])
        return g


def feasible(c: np.ndarray, qp: BoxQP, total: float) -> np.ndarray:
    """The coefficients clipped to their box, and with an offset changed so that they add up to `total`.

    Of a problem with two sides each adds up to that, with its sign.
    """
    c = np.clip(c, qp.lower, qp.upper)
    if not qp.paired:
        return c
    if qp.sided:
        for side, sign in ((~qp.far, 1.0), (qp.far, -1.0)):
            box = qp.centre[side], qp.lower[side], qp.upper[side], qp.extra[side]
            part = BoxQP(*box, 0.0, True)
            c[side] = feasible(c[side], part, sign * total)
        return c
    missing = total - float(c.sum())
    if abs(missing) <= 1e-13 * float(np.abs(c).sum()):  # rounding: to mend it would move zeros off zero
        return c
    room = qp.upper - c if missing > 0 else c - qp.lower
    if room.sum() < abs(missing) * (1 - 1e-12):
        raise ValueError(f"no coefficients within their bounds add up to {total:.6g}")
    before = np.concatenate([[0.0], np.cumsum(room)[:-1]])
    return c + np.sign(missing) * np.clip(abs(missing) - before, 0, room)


@dataclass
class State:
    """Where a minimisation is."""

    c: np.ndarray
    g: np.ndarray
    violation: float = np.inf
    rounds: int = 0
    steps: int = 0
    status: str = "max_iter"
    history: list[float] = field(default_factory=list)
    # What is shown the coefficients after every round.
    noted: Callable[[np.ndarray, int], None] | None = None

    def note(self) -> None:
        if self.noted is not None:
            self.noted(self.c, self.rounds)


class _Slopes:
    """What must be added to g for the slopes to the right and to the left, kept up to date."""

    def __init__(self, qp: BoxQP, c: np.ndarray):
        self.qp, self.c = qp, c
        self.right, self.left = slopes(c, np.zeros(len(c)), qp.lower, qp.upper, qp.kink)

    def moved(self, index: np.ndarray) -> None:
        """These coordinates have changed."""
        qp = self.qp
        zero = np.zeros(len(index))
        ends = slopes(self.c[index], zero, qp.lower[index], qp.upper[index], qp.kink)
        self.right[index], self.left[index] = ends

    def at(self, g: np.ndarray, rows) -> tuple[np.ndarray, np.ndarray]:
        if isinstance(rows, slice):
            return g + self.right, g + self.left
        here = g[rows]
        return here + self.right[rows], here + self.left[rows]


class _Sleepers:
    """Rows left out of updates, in groups, each with the c it last saw."""

    def __init__(self, n: int):
        self.awake: np.ndarray | None = None
        self.groups: list[tuple[np.ndarray, np.ndarray]] = []
        self.n = n

    def send(self, quiet: np.ndarray, c: np.ndarray) -> None:
        """Let the rows at these positions among the awake ones sleep, if that is worth it."""
        awake = np.arange(self.n) if self.awake is None else self.awake
        if len(self.groups) >= _MOST_GROUPS or quiet.sum() < 0.1 * len(awake):
            return
        self.groups.append((awake[quiet], c.copy()))
        self.awake = awake[~quiet]

    def wake(self, K: KernelColumns, c: np.ndarray, g: np.ndarray) -> None:
        for rows, then in self.groups:
            changed = np.flatnonzero(c != then)
            if len(changed):
                K.add(g, rows, changed, c[changed] - then[changed])
        self.awake, self.groups = None, []


def minimise(K: KernelColumns, qp: BoxQP, state: State, *, tol: float, max_rounds: int, size: int) -> State:
    """Go on from `state` (changed in place) until no slope exceeds tol."""
    n, c, g = K.n, state.c, state.g
    whole = K.values if isinstance(K, Stored) else None
    size = K.working_set(size)
    block = Block(size, K.dtype, whole)
    sleepers, ways = _Sleepers(n), _Slopes(qp, c)
    previous = np.empty(0, dtype=np.intp)
    state.status = "max_iter"
    unmoved, idle, gained, least, nothing = 0, 0, 0.0, np.inf, _NOTHING[K.dtype.name]
    while True:
        rows = slice(None) if sleepers.awake is None else sleepers.awake
        right, left = qp.levelled(*ways.at(g, rows), rows)
        state.violation = qp.violation(right, left)
        state.history.append(state.violation)
        tell("dual", state.rounds, "violation", state.violation, tol)
        stopping_point()
        if state.violation < 0.9 * least:
            least, idle = state.violation, 0
        if state.violation <= tol:
            if sleepers.awake is None:
                state.status = "converged"
                return state
            sleepers.wake(K, c, g)
            previous = previous[:0]
            continue
        stuck = unmoved >= _UNMOVED or idle >= _PATIENCE
        if state.rounds >= max_rounds or stuck:
            return _given_up(K, qp, state, sleepers, "stalled" if stuck else "max_iter")
        if K.partial and state.rounds % _SHRINK_EVERY == _SHRINK_EVERY - 1:
            sleepers.send(_held(qp, right, left), c)
            if sleepers.awake is not None and sleepers.awake is not rows:
                previous = previous[:0]
                rows = sleepers.awake
                right, left = qp.levelled(*ways.at(g, rows), rows)
        chosen = choose(qp, right, left, _positions(rows, previous), size)
        index = chosen if isinstance(rows, slice) else rows[chosen]
        matrix = block.matrix(len(index))
        if whole is None:
            K.block(index, matrix)
        share = 0.0 if len(index) == n else _INNER_SHARE
        inner = max(share * state.violation, _INNER_FLOOR * tol)
        box = qp.lower[index], qp.upper[index], qp.extra[index]
        new, outcome = block.solve(
            c[index], g[index], box, qp.kink, qp.paired, tol=inner, limit=_STEPS * len(index), sided=qp.sided
        )
        gain, moved = _taken(K, qp, state, sleepers.awake, index, new)
        ways.moved(index)
        gained += gain
        unmoved = 0 if moved else unmoved + 1
        idle = idle + 1 if gain <= nothing * gained else 0
        previous = index
        state.rounds += 1
        state.note()
        state.steps += outcome.steps


def _given_up(K: KernelColumns, qp: BoxQP, state: State, sleepers: _Sleepers, status: str) -> State:
    if sleepers.awake is not None:
        sleepers.wake(K, state.c, state.g)
        state.violation = qp.steepest(state.c, state.g)
    state.status = status
    return state


def _taken(
    K: KernelColumns, qp: BoxQP, state: State, rows: np.ndarray | None, index: np.ndarray, new: np.ndarray
) -> tuple[float, bool]:
    """Give coordinates `index` new values: by how much that lowers the objective, and did any move?"""
    c, g = state.c, state.g
    old, slope = c[index], g[index]
    change = new - old
    moved = np.flatnonzero(change)
    g[index] += qp.extra[index] * change
    c[index] = new
    if len(moved) and K.same_set:
        K.add(g, rows, index, change)
    elif len(moved):
        K.add(g, rows, index[moved], change[moved])
    # D is quadratic but for κ Σ|c|: the slopes at both ends tell by how much it fell.
    kinks = qp.kink * float(np.abs(new).sum() - np.abs(old).sum())
    return -0.5 * float(change @ (slope + g[index])) - kinks, len(moved) > 0


def _held(qp: BoxQP, right: np.ndarray, left: np.ndarray) -> np.ndarray:
    """Coordinates at a bound that no partner (or slope) could now make move."""
    if qp.paired:
        low, high = right.min(), left.max()
    else:
        high = max(float(left.max()), -float(right.min()), 0.0)
        low = -high
    at_lower, at_upper = left == -np.inf, right == np.inf
    return (at_lower & (right > high)) | (at_upper & (left < low))


def _positions(rows, index: np.ndarray) -> np.ndarray:
    """Where these coordinates stand among the rows that are awake."""
    if isinstance(rows, slice):
        return index
    where = np.searchsorted(rows, index)
    where = np.minimum(where, len(rows) - 1)
    return where[rows[where] == index]


def choose(qp: BoxQP, right: np.ndarray, left: np.ndarray, previous: np.ndarray, size: int) -> np.ndarray:
    """A working set: half of the last one, free coordinates first, and the steepest of the others."""
    n = len(right)
    if n <= size:
        return np.arange(n)
    free = np.isfinite(right[previous]) & np.isfinite(left[previous])
    kept = np.concatenate([previous[free], previous[~free]])[: min(size // 2, size - 2)]
    room = size - len(kept)
    up, down = right.copy(), -left
    up[kept], down[kept] = np.inf, np.inf
    if qp.paired:
        first = _lowest(up, room // 2)
        down[first] = np.inf
        second = _lowest(down, room - len(first))
        return np.concatenate([first, second, kept])
    return np.concatenate([_lowest(np.minimum(up, down), room), kept])


def _lowest(values: np.ndarray, count: int) -> np.ndarray:
    """Indices of the `count` lowest finite values, fewer if there are fewer."""
    found = np.argpartition(values, count)[:count] if count < len(values) else np.arange(len(values))
    return found[np.isfinite(values[found])]
