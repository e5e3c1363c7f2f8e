"""Learning from mistakes: passes over examples that stop only where the function errs.

Between two mistakes nothing changes, so a pass jumps from one to the next, and only they cost kernel values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.operators import KernelOperator

# Kernel values kept: all of K where it fits here, else columns of those who err most.
_COLUMN_BYTES = 256 << 20
# Examples visited together where K does not fit.
_BLOCK = 1024
# Scores of intermediate functions held at once while they vote, 16 MB of doubles a thread.
_VOTE_ENTRIES = 1 << 21

# -- what a mistake is, and what it changes ----------------------------------------------------------


class MistakeRule:
    """Scores are (outputs, examples). `where` says which of their columns, `who` which examples those are."""

    outputs: int
    spread: int  # a mistake on x changes f by a function of squared norm spread·k(x,x)

    def margins(self, scores: np.ndarray, where: Any, who: Any) -> tuple[np.ndarray, np.ndarray]:
        """(margin, rival) of each example; a margin ≤ 0 is a mistake."""
        raise NotImplementedError

    def update(self, scores: np.ndarray, column: np.ndarray, i: int, rival: int) -> None:
        """Take in a mistake on example i; `column` holds its kernel values with the rest."""
        raise NotImplementedError

    def changes(self, index: np.ndarray, rivals: np.ndarray) -> np.ndarray:
        """What mistakes add to the coefficients of their examples, (mistakes, outputs)."""
        raise NotImplementedError


class TwoClasses(MistakeRule):
    outputs = spread = 1

    def __init__(self, targets: np.ndarray):
        self.sign = targets[:, 0]

    def margins(self, scores, where, who):
        margin = self.sign[who] * scores[0, where]
        return margin, np.zeros(len(margin), np.intp)

    def update(self, scores, column, i, rival):
        if self.sign[i] > 0:
            scores[0] += column
        else:
            scores[0] -= column

    def changes(self, index, rivals):
        return self.sign[index, None]


class MoreClasses(MistakeRule):
    spread = 2

    def __init__(self, targets: np.ndarray):
        self.outputs = targets.shape[1]
        self.label = targets.argmax(axis=1)

    def margins(self, scores, where, who):
        others, each = scores[:, where], np.arange(len(who))
        own = others[self.label[who], each]
        others[self.label[who], each] = -np.inf
        rival = others.argmax(axis=0)
        return own - others[rival, each], rival

    def update(self, scores, column, i, rival):
        scores[self.label[i]] += column
        scores[rival] -= column

    def changes(self, index, rivals):
        changes, each = np.zeros((len(index), self.outputs)), np.arange(len(index))
        changes[each, self.label[index]] = 1
        changes[each, rivals] = -1
        return changes


def _through(
    rule: MistakeRule,
    scores: np.ndarray,
    where: np.ndarray,
    who: np.ndarray,
    column: Callable[[int], np.ndarray],
) -> list[tuple[int, int]]:
    """Visit examples in order, jumping from mistake to mistake: (position, rival) of each."""
    found = []
    start, width = 0, 64
    while start < len(who):
        part = slice(start, start + width)
        margin, rival = rule.margins(scores, where[part], who[part])
        wrong = margin <= 0
        hit = int(wrong.argmax())
        if wrong[hit]:
            rule.update(scores, column(start + hit), who[start + hit], rival[hit])
            found.append((start + hit, int(rival[hit])))
            start, width = start + hit + 1, 64
        else:
            start, width = start + width, min(2 * width, 1 << 14)
    return found


# -- where kernel values come from -------------------------------------------------------------------


class Sweeps:
    """One pass over all examples, by columns of K."""

    def __init__(self, K: KernelOperator):
        self.K = K

    def column(self, i: int) -> np.ndarray:
        """Kernel values of an example with all."""
        raise NotImplementedError

    def sweep(self, rule: MistakeRule, scores: np.ndarray, order: np.ndarray) -> list[tuple[int, int]]:
        """Bring the scores to where they are after the pass; return (position, rival) of each mistake."""
        return _through(rule, scores, order, order, lambda p: self.column(int(order[p])))


def sweeps_of(K: KernelOperator) -> Sweeps:
    """The way through the examples that suits the price of their kernel values."""
    if K.dear:
        return ColumnSweeps(K)
    stored = K.shape[0] ** 2 * K.dtype.itemsize <= _COLUMN_BYTES
    return MatrixSweeps(K) if stored else BlockSweeps(K)


class MatrixSweeps(Sweeps):
    """All of K at once: for kernels on vectors that costs as much as a few hundred columns one by one."""

    def __init__(self, K):
        super().__init__(K)
        self.values = K.dense()

    def column(self, i):
        return self.values[i]


class ColumnSweeps(Sweeps):
    """Columns of K when they are asked for, those of the examples that err most being kept.

    For kernels on strings, graphs, … whose values are dear. Passes come by in much the same order each
    time, so keeping what was used last would always have dropped what comes next.
    """

    def __init__(self, K):
        super().__init__(K)
        n = K.shape[0]
        room = min(_COLUMN_BYTES // (8 * n), n)
        self.kept = np.empty((room, n))
        self.owner = np.full(room, -1)
        self.slot: dict[int, int] = {}
        self.asked = np.zeros(n, np.intp)

    def column(self, i):
        self.asked[i] += 1
        if (slot := self.slot.get(i)) is not None:
            return self.kept[slot]
        column = self.K.columns(np.array([i]))[:, 0]
        slot = len(self.slot)
        if slot == len(self.kept):
            # Full: the one asked for least makes way, if for less than this one.
            if not slot:
                return column
            slot = int(self.asked[self.owner].argmin())
            if self.asked[self.owner[slot]] >= self.asked[i]:
                return column
            del self.slot[int(self.owner[slot])]
        self.kept[slot], self.owner[slot], self.slot[i] = column, i, slot
        return column


class BlockSweeps(Sweeps):
    """Nothing kept: examples in blocks, each brought up to date by one product when its turn comes.

    As many kernel values as columns would take, but in products, which are many times faster than
    columns one at a time, about as fast as reading them from memory.
    """

    def sweep(self, rule, scores, order):
        found: list[tuple[int, int]] = []
        ends = []
        starts = range(0, len(order), _BLOCK)
        for start in starts:
            who = order[start : start + _BLOCK]
            self._catch_up(rule, scores, who, order, found)
            block = scores[:, who]
            mistakes = _through(rule, block, np.arange(len(who)), who, self._inside(rule, block, who))
            scores[:, who] = block
            found += [(start + p, rival) for p, rival in mistakes]
            ends.append(len(found))
        for start, end in zip(starts, ends):
            self._catch_up(rule, scores, order[start : start + _BLOCK], order, found[end:])
        return found

    def _catch_up(self, rule, scores, who, order, found):
        """Add to the scores of some examples what these mistakes, not yet seen there, change."""
        if not found:
            return
        where, rivals = np.array(found).T
        index = order[where]
        scores[:, who] += self.K.among(who, index).product(rule.changes(index, rivals)).T

    def _inside(self, rule, block, who):
        """Columns of K(block, block), at once for the examples that would err as things stand."""
        block_of = self.K.among(who, who)
        likely = np.flatnonzero(rule.margins(block, np.arange(len(who)), who)[0] <= 0)
        K = block_of.columns(likely) if len(likely) else None
        slot = {int(p): j for j, p in enumerate(likely)}

        def column(p):
            if K is not None and p in slot:
                return K[:, slot[p]]
            return block_of.columns(np.array([p]))[:, 0]

        return column


# -- voting ------------------------------------------------------------------------------------------


def vote(K: KernelOperator, where: np.ndarray, changes: np.ndarray, survival: np.ndarray) -> np.ndarray:
    """Σ_j c_j sign f_j(X) / T, or Σ_j c_j [l is the best class of f_j(X)] / T in column l.

    f_j is the sum of the first j changes, change j being to coefficient where[j]; K holds the kernel values
    of the points X with those that the coefficients belong to.
    """
    outputs = changes.shape[1]
    weights = survival.astype(np.float64)  # whole numbers, so that votes that cancel do so exactly
    votes = np.zeros((K.shape[0], outputs))

    def step(rows, values_here):
        height = min(len(values_here), 256)
        width = max(_VOTE_ENTRIES // (height * outputs), 1)
        for i in range(0, len(values_here), height):
            some = values_here[i : i + height]
            count = votes[rows][i : i + height]
            last = np.zeros((outputs, len(some)))
            for j in range(0, len(where), width):
                now = slice(j, j + width)
                values = np.empty((outputs, len(some), len(where[now])))
                np.multiply(some[:, where[now]], changes[now].T[:, None, :], out=values)
                values[:, :, 0] += last
                np.cumsum(values, axis=2, out=values)
                last = values[:, :, -1].copy()
                if outputs == 1:
                    count[:, 0] += np.sign(values[0]) @ weights[now]
                else:
                    best = values.argmax(axis=0)
                    for label in range(outputs):
                        count[:, label] += (best == label) @ weights[now]

    K.reduce(step)
    return votes / survival.sum()
