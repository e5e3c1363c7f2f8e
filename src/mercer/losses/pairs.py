"""One machine for every pair of classes: the coding of labels, and the vote."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mercer.losses.coding import LabelCoding

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class PairCoding(LabelCoding):
    """k classes as k(k−1)/2 questions "this class or that one?", in the order (0,1), (0,2), …, (1,2), ….

    Targets are +1 for the first class of a pair, −1 for the second and 0 for examples of other classes, to
    which a loss of the margin y·s is indifferent.

    Examples
    --------
    >>> from mercer.losses import Hinge
    >>> targets, coding = PairCoding.learn(Hinge(), ["a", "b", "c"])
    >>> targets
    array([[ 1.,  1.,  0.],
           [-1.,  0.,  1.],
           [ 0., -1., -1.]])
    >>> print(coding.decode([[1.0, -2.0, -1.0]]))
    ['c']
    """

    _fewest = 3
    _one_column = False  # type: ignore[assignment]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Positions in `classes` of the two classes of every question."""
        return list(combinations(range(len(self.classes)), 2))

    @property
    def n_outputs(self) -> int:
        k = len(self.classes)
        return k * (k - 1) // 2

    @property
    def sides(self) -> Array:
        """(k, questions): 1 for the first class of a pair, −1 for the second, 0 for the others."""
        sides = np.zeros((len(self.classes), self.n_outputs))
        first, second = np.array(self.pairs).T
        sides[first, np.arange(self.n_outputs)] = 1.0
        sides[second, np.arange(self.n_outputs)] = -1.0
        return sides

    def targets(self, index: Array) -> Array:
        return self.sides[index]

    def votes(self, scores: ArrayLike, soft: bool = False) -> Array:
        """How many of its k − 1 questions each class wins; or the sum of its margins, each at most 1."""
        scores = self._scores(scores)
        kind = np.result_type(scores, np.float32)
        sides = self.sides.astype(kind)
        if soft:
            return np.clip(scores, -1, 1) @ sides.T
        won = (scores > 0).astype(kind)
        return won @ np.maximum(sides, 0).T - (1 - won) @ np.minimum(sides, 0).T

    def decision(self, scores: ArrayLike) -> Array:
        """(n, k): the votes, and less than a half vote of confidence that settles ties."""
        scores = self._scores(scores)
        confidence = scores @ self.sides.T
        return self.votes(scores) + confidence / (3 * (np.abs(confidence) + 1))
