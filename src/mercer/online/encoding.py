"""Columns of a stream as points: numbers standardised as they come, words given a coordinate each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mercer._state import doubles, require

# Coordinates for the words of one column, at most.
LEVELS = 32
_DAY = 86400e6


@dataclass(eq=False)
class Encoding:
    """From columns (numbers, words, dates) to vectors, in bounded memory.

    A number, or a date in days, becomes (x − mean)/deviation with the mean and deviation of all rows so far;
    what was made of earlier rows stays as it was. A missing one counts as the mean. A word becomes 1 in a
    coordinate of its own: words get them in the order they turn up, and when all are given, the last one is
    shared. The number of coordinates is settled by the first rows, so that points never grow.

    Parameters
    ----------
    names, kinds : of the columns; a kind is "number", "date" or "text"
    standardise : bool
        False leaves numbers as they are.
    rooms : for each column of words, how many coordinates it has
    words : for each column of words, which has which
    count, mean, squares : for each other column the number of values, their mean, and Σ (x − mean)²

    Examples
    --------
    >>> import numpy as np
    >>> rows = {"size": np.array([1.0, 3.0]), "city": np.array(["Bonn", "Kiel"], dtype=object)}
    >>> encoding = Encoding.begin(rows)
    >>> encoding.learn(rows)
    >>> encoding.transform(rows)[:, :3]
    array([[-1.,  1.,  0.],
           [ 1.,  0.,  1.]])
    """

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    standardise: bool
    rooms: tuple[int, ...]
    words: list[dict[str, int]]
    count: np.ndarray
    mean: np.ndarray
    squares: np.ndarray

    @classmethod
    def begin(cls, columns: Mapping[str, np.ndarray], standardise: bool = True) -> Encoding:
        """What the first rows ask for; nothing is learned from them yet."""
        kinds = tuple({"f": "number", "M": "date", "O": "text"}[c.dtype.kind] for c in columns.values())
        texts = [c for c in columns.values() if c.dtype.kind == "O"]
        # Twice as many words as there are now will do for most columns.
        rooms = tuple(min(2 * len(set(c.tolist()) - {None}) + 2, LEVELS) for c in texts)
        zeros = (np.zeros(len(kinds) - len(texts)) for _ in range(3))
        return cls(tuple(columns), kinds, standardise, rooms, [{} for _ in texts], *zeros)

    @property
    def width(self) -> int:
        """How many coordinates a point has."""
        return len(self.count) + sum(self.rooms)

    def learn(self, columns: Mapping[str, np.ndarray]) -> None:
        """Take notice of some more rows: their means and their words."""
        numbers, texts = self._split(columns)
        for j, x in enumerate(numbers):
            known = x[~np.isnan(x)]
            if len(known):
                # Chan's way of joining what is known of two parts; with one row it is Welford's.
                n, total = self.count[j], self.count[j] + len(known)
                mean = known.mean()
                gap = mean - self.mean[j]
                self.squares[j] += np.square(known - mean).sum() + gap * gap * n * len(known) / total
                self.mean[j] += gap * len(known) / total
                self.count[j] = total
        for column, words, room in zip(texts, self.words, self.rooms):
            for word in column.tolist():
                if word is not None and word not in words and len(words) < room:
                    words[word] = len(words)

    def transform(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        """Points, one a row."""
        numbers, texts = self._split(columns)
        rows = len(next(iter(columns.values()))) if self.names else 0
        X = np.zeros((rows, self.width))
        for j, x in enumerate(numbers):
            spread = np.sqrt(self.squares[j] / self.count[j]) if self.count[j] else 0.0
            whole = np.where(np.isnan(x), self.mean[j], x)
            X[:, j] = (whole - self.mean[j]) / (spread or 1.0) if self.standardise else whole
        at = len(numbers)
        for column, words, room in zip(texts, self.words, self.rooms):
            for i, word in enumerate(column.tolist()):
                if word is not None:
                    X[i, at + words.get(word, room - 1)] = 1.0
            at += room
        return X

    def _split(self, columns: Mapping[str, np.ndarray]) -> tuple[list[np.ndarray], list[np.ndarray]]:
        numbers, texts = [], []
        for name, kind in zip(self.names, self.kinds):
            column = columns.get(name)
            if column is None:
                raise ValueError(f"there is no column {name!r}, which the machine learned with")
            fits = {"number": "f", "date": "M", "text": "O"}[kind] == column.dtype.kind
            if not fits and not (column.dtype.kind == "f" and np.isnan(column).all()):
                raise ValueError(f"column {name!r} was {kind} when the machine learned, and is not now")
            if kind == "text":
                texts.append(column if fits else np.full(len(column), None))
            elif column.dtype.kind == "M":
                missing = np.isnat(column)
                numbers.append(np.where(missing, np.nan, column.astype(np.int64) / _DAY))
            else:
                numbers.append(column)
        return numbers, texts

    holds = dict.fromkeys(("count", "mean", "squares"), doubles("columns"))

    def check_state(self) -> None:
        """Refuse words, rooms and columns that do not belong together."""
        texts = self.kinds.count("text")
        fine = set(self.kinds) <= {"number", "date", "text"} and len(set(self.names)) == len(self.kinds)
        fine = fine and len(self.rooms) == len(self.words) == texts == len(self.kinds) - len(self.count)
        for words, room in zip(self.words, self.rooms):
            fine = fine and type(room) is int and max(len(words), 2) <= room <= LEVELS
            fine = fine and list(words.values()) == list(range(len(words)))
        require(
            fine and (self.count >= 0).all() and (self.squares >= 0).all(),
            "the encoding of columns makes no sense",
        )
