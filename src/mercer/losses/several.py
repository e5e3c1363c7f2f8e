"""Several labels an example: a coding of every column of y, side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mercer._state import require
from mercer.losses.coding import LabelCoding, distinct

if TYPE_CHECKING:
    from mercer.losses.base import Loss

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class SeveralLabels:
    """How the columns of y (n, t) became targets: each by a `LabelCoding` of its own.

    Where y has zeros and ones only (an indicator matrix: which labels an example has), answers are in
    scikit-learn's convention for multilabel classification: predictions (n, t), scores (n, t), and P(label)
    for each, (n, t). Otherwise columns have classes of their own; then scores and probabilities are lists, an
    array for each column.

    A column in which nothing changes is not learned: it has no targets, and is predicted as it is, with
    probability 1 and score ±1.

    Parameters
    ----------
    loss : Loss
        One for each output by itself, such as Logistic().
    indicator : bool
    labels : list of arrays
        The classes of each column, sorted.
    classes : array or list of arrays
        What a machine has as ``classes_``: the numbers of the columns, if they are indicators; else `labels`.

    Examples
    --------
    >>> from mercer.losses import Logistic
    >>> targets, coding = SeveralLabels.learn(Logistic(), [[0, 1, 1], [1, 0, 1], [1, 1, 1]])
    >>> targets
    array([[-1.,  1.],
           [ 1., -1.],
           [ 1.,  1.]])
    >>> coding.decode([[-2.0, 3.0]])
    array([[0, 1, 1]])
    """

    loss: Loss
    indicator: bool
    labels: list[Array]
    classes: Any

    holds = {"indicator": bool, "labels": list}
    one_dimensional = False

    def check_state(self) -> None:
        """Refuse a coding without columns, or in which nothing was learned."""
        require(all(isinstance(c, np.ndarray) and len(c) for c in self.labels), "a column has no labels")
        require(self.n_outputs > 0, "no column has two labels")
        require(len(self.classes) == len(self.labels), "classes and columns differ in number")

    @classmethod
    def learn(cls, loss: Loss, y: ArrayLike) -> tuple[Array, SeveralLabels]:
        """Return the targets (n, outputs) for y, and the coding."""
        if loss.joint:
            raise ValueError(
                f"{loss!r} scores the classes of one label together, and y has several columns: use "
                "loss='logistic', which asks about each by itself, or a machine for each column"
            )
        y = np.asarray(y)
        indicator = y.dtype.kind in "biuf" and bool(((y == 0) | (y == 1)).all())
        y = y.astype(np.intp) if indicator else y
        labels = [distinct(column)[0] for column in y.T]
        if all(len(c) == 1 for c in labels):
            raise ValueError("no column of y has two labels, so there is nothing to learn: add examples")
        coding = cls(loss, indicator, labels, np.arange(len(labels)) if indicator else labels)
        parts = [loss.encode_labels(y[:, j])[0] for j, _ in coding.learned()]
        return np.hstack(parts), coding

    def learned(self) -> Iterator[tuple[int, LabelCoding]]:
        """The columns in which something changes, and their codings."""
        for j, classes in enumerate(self.labels):
            if len(classes) > 1:
                yield j, LabelCoding(self.loss, classes)

    @property
    def n_outputs(self) -> int:
        """The number of columns of targets and scores."""
        return sum(part.n_outputs for _, part in self.learned())

    def encode(self, y: ArrayLike) -> Array:
        """Return the targets of further labels; all must be known in their column."""
        y = np.asarray(y)
        if y.ndim != 2 or y.shape[1] != len(self.labels):
            raise ValueError(f"y has shape {y.shape}, but (n, {len(self.labels)}) is expected.")
        y = y.astype(np.intp) if self.indicator else y
        return np.hstack([part.encode(y[:, j]) for j, part in self.learned()])

    def decode(self, scores: ArrayLike) -> Array:
        """Return the labels, (n, t)."""
        scores = np.asarray(scores)
        n = len(scores)
        columns = [np.repeat(classes[:1], n) for classes in self.labels]
        for j, part, mine in self._parts(scores):
            columns[j] = part.decode(mine)
        if len({column.dtype.kind for column in columns}) == 1:
            return np.column_stack(columns)
        return np.column_stack([column.astype(object) for column in columns])

    def decision(self, scores: ArrayLike) -> Any:
        """Return scores, positive where the label is there: (n, t); or what each column has, in a list."""
        scores = np.asarray(scores)
        sure = [2.0 * self._there(j) - 1 for j in range(len(self.labels))]
        found = [np.full(len(scores), value, scores.dtype) for value in sure]
        for j, part, mine in self._parts(scores):
            found[j] = part.decision(mine)
        return np.column_stack(found) if self.indicator else found

    def probability(self, scores: ArrayLike) -> Any:
        """Return P(label), (n, t); or, in a list, the probability of each class for every column."""
        scores = np.asarray(scores)
        n = len(scores)
        if not self.indicator:
            found = [np.ones((n, 1), scores.dtype) for _ in self.labels]
            for j, part, mine in self._parts(scores):
                found[j] = part.probability(mine)
            return found
        P = np.column_stack([np.full(n, self._there(j), scores.dtype) for j in range(len(self.labels))])
        for j, part, mine in self._parts(scores):
            P[:, j] = part.probability(mine)[:, 1]
        return P

    def _there(self, j: int) -> float:
        """Of a column in which nothing changes: 1, or 0 where an indicator is never set."""
        return float(self.labels[j][0] != 0) if self.indicator else 1.0

    def _parts(self, scores: Array) -> Iterator[tuple[int, LabelCoding, Array]]:
        if scores.ndim != 2 or scores.shape[1] != self.n_outputs:
            raise ValueError(
                f"the array of scores has shape {scores.shape}, but (n, {self.n_outputs}) is expected."
            )
        begin = 0
        for j, part in self.learned():
            yield j, part, scores[:, begin : begin + part.n_outputs]
            begin += part.n_outputs
