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

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Positions in `classes` of the two classes of every question."""
        return list(combinations(range(len(self.classes)), 2))

    @property
    def n_outputs(self) -> int:
        k = len(self.classes)
        return k * (k - 1) // 2

    @property
    def _one_column(self) -> bool:
        return False

    def _targets(self, index: Array) -> Array:
        targets = np.zeros((len(index), self.n_outputs))
        for j, (a, b) in enumerate(self.pairs):
            targets[index == a, j] = 1.0
            targets[index == b, j] = -1.0
        return targets

    def votes(self, scores: ArrayLike, soft: bool = False) -> Array:
        """How many of its k − 1 questions each class wins; or the sum of its margins, each at most 1."""
        scores = self._scores(scores)
        out = np.zeros((len(scores), len(self.classes)), np.result_type(scores, np.float32))
        for j, (a, b) in enumerate(self.pairs):
            margin = np.clip(scores[:, j], -1, 1) if soft else scores[:, j]
            out[:, a] += margin if soft else scores[:, j] > 0
            out[:, b] -= margin if soft else -(scores[:, j] <= 0).astype(out.dtype)
        return out

    def decision(self, scores: ArrayLike) -> Array:
        """(n, k): the votes, and less than a half vote of confidence that settles ties."""
        scores = self._scores(scores)
        confidence = np.zeros((len(scores), len(self.classes)))
        for j, (a, b) in enumerate(self.pairs):
            confidence[:, a] += scores[:, j]
            confidence[:, b] -= scores[:, j]
        return self.votes(scores) + confidence / (3 * (np.abs(confidence) + 1))
