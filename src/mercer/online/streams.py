"""The state of a stream: columns as points, what predictions were worth, and whether it has changed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from mercer._params import require_count
from mercer._state import COUNT, NOT_NEGATIVE, NUMBER, ArraySpec, doubles, require

# Coordinates for the words of one column, at most.
LEVELS = 32
_DAY = 86400e6
_MEASURES = {"classification": ("accuracy", "log loss"), "regression": ("MAE", "RMSE")}
# A probability of 0 for what came is taken for this.
_LEAST = 1e-15


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

    @property
    def crowded(self) -> tuple[str, ...]:
        """Columns of words that have had more of them than there may be coordinates: texts, or names."""
        texts = [name for name, kind in zip(self.names, self.kinds) if kind == "text"]
        return tuple(name for name, words in zip(texts, self.words) if len(words) >= LEVELS)

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


@dataclass(eq=False)
class Metrics:
    """Two measures of a stream of predictions: accuracy and log loss, or mean absolute and root mean squared
    error.

    Parameters
    ----------
    task : "classification" or "regression"
    window : int
        How many of the last examples are recent.

    Examples
    --------
    >>> import numpy as np
    >>> metrics = Metrics("regression", window=2)
    >>> metrics.update(Metrics.errors(np.array([1.0, 2.0, 3.0]), np.array([1.0, 0.0, 2.0])))
    >>> metrics.total, metrics.recent
    ({'MAE': 1.0, 'RMSE': 1.29...}, {'MAE': 1.5, 'RMSE': 1.58...})
    """

    task: str
    window: int = 1000
    count: int = field(default=0, kw_only=True)
    sums: np.ndarray = field(default_factory=lambda: np.zeros(2), kw_only=True, repr=False)
    last: np.ndarray = field(default_factory=lambda: np.zeros((0, 2)), kw_only=True, repr=False)
    # (examples, both measures of all, both of the recent ones), a line now and then.
    history: np.ndarray = field(default_factory=lambda: np.zeros((0, 5)), kw_only=True, repr=False)

    def __post_init__(self) -> None:
        if self.task not in _MEASURES:
            raise ValueError(f"task must be 'classification' or 'regression', got {self.task!r}")
        require_count(self.window, "window")

    @staticmethod
    def errors(truth: np.ndarray, prediction: np.ndarray) -> np.ndarray:
        """(|error|, error²) of every example; of several outputs the mean."""
        n = len(truth)
        error = np.asarray(prediction, np.float64).reshape(n, -1) - np.reshape(truth, (n, -1))
        return np.column_stack([np.abs(error).mean(axis=1), np.square(error).mean(axis=1)])

    @staticmethod
    def mistakes(right: np.ndarray, probability: np.ndarray | None) -> np.ndarray:
        """(right or not, −log p) of every example, p being the probability of what came."""
        p = np.full(len(right), np.nan) if probability is None else np.maximum(probability, _LEAST)
        return np.column_stack([np.asarray(right, np.float64), -np.log(p)])

    def update(self, values: np.ndarray) -> None:
        """Count some more examples, given by `errors` or `mistakes`."""
        if len(self.last) != self.window:
            self.last = np.zeros((self.window, 2))
        places = (self.count + np.arange(len(values))) % self.window
        self.last[places[-self.window :]] = values[-self.window :]
        # One after another, so that it does not matter how they come.
        self.sums = np.add.accumulate(np.vstack([self.sums, values]))[-1]
        self.count += len(values)

    @property
    def total(self) -> dict[str, float]:
        """Both measures, of all examples; nothing before there is one."""
        return self._named(self.sums / self.count) if self.count else {}

    @property
    def recent(self) -> dict[str, float]:
        """Both measures, of the last examples."""
        held = self.last[: min(self.count, self.window)]
        return self._named(held.mean(axis=0)) if len(held) else {}

    def note(self) -> None:
        """A line for `history`."""
        line = [self.count, *self._both(self.total), *self._both(self.recent)]
        self.history = np.vstack([self.history, line])

    def _both(self, measures: dict[str, float]) -> list[float]:
        return [measures.get(name, math.nan) for name in _MEASURES[self.task]]

    def _named(self, means: np.ndarray) -> dict[str, float]:
        first, second = _MEASURES[self.task]
        if self.task == "regression":
            return {first: float(means[0]), second: math.sqrt(means[1])}
        found = {first: float(means[0])}
        return found | ({second: float(means[1])} if math.isfinite(means[1]) else {})

    holds = {
        "count": COUNT,
        "sums": ArraySpec("f8", 2),
        "last": (ArraySpec("f8", 0, 2), ArraySpec("f8", "window", 2)),
        "history": ArraySpec("f8", None, 5),
    }


@dataclass(eq=False)
class MeanShift:
    """A change is reported when the last losses are higher than those before by more than chance allows.

    With n losses before and w of late, of deviation σ and at most b, m = 1/(1/n + 1/w), the two means differ
    by more than σ √(2L/m) + 2bL/(3m), L = ln(2/δ'), with probability at most δ' (Bernstein). A test is made
    every w/4 examples; the j-th one has δ' = δ/(j (j + 1)), so that over any length of stream whose losses
    are alike and independent the chance of a false alarm is at most about δ. Losses that have *fallen* by as
    much are what learning is for: they become the measure, and nothing is reported.

    It has the interface of river's detectors (`update`, `drift_detected`), any of which can take its place.

    Parameters
    ----------
    window : int
        w, the losses of late.
    delta : float in (0, 1)
        δ

    Examples
    --------
    >>> import numpy as np
    >>> errors = np.random.default_rng(0).random(4000) < np.where(np.arange(4000) < 3000, 0.1, 0.4)
    >>> detector = MeanShift()
    >>> times = [t for t, error in enumerate(errors) if detector.update(error).drift_detected]
    >>> len(times), 3000 < times[0] < 3300
    (1, True)
    """

    window: int = 300
    delta: float = 0.01
    drift_detected: bool = field(default=False, kw_only=True, repr=False)
    # Losses before those in the window: how many, their mean, Σ (v − mean)²; and the largest of all.
    count: float = field(default=0.0, kw_only=True, repr=False)
    mean: float = field(default=0.0, kw_only=True, repr=False)
    squares: float = field(default=0.0, kw_only=True, repr=False)
    largest: float = field(default=0.0, kw_only=True, repr=False)
    seen: int = field(default=0, kw_only=True, repr=False)
    tests: int = field(default=0, kw_only=True, repr=False)
    recent: np.ndarray = field(default_factory=lambda: np.zeros(0), kw_only=True, repr=False)

    def __post_init__(self) -> None:
        require_count(self.window, "window", 8)
        if not 0 < self.delta < 1:
            raise ValueError(f"delta must lie between 0 and 1, got {self.delta!r}")

    def update(self, value: float) -> MeanShift:
        """Take notice of one more loss."""
        self.drift_detected = False
        v = float(value)
        if not math.isfinite(v):
            return self
        if len(self.recent) != self.window:
            self.recent = np.zeros(self.window)
        place = self.seen % self.window
        if self.seen >= self.window:
            self.count += 1
            gap = float(self.recent[place]) - self.mean
            self.mean += gap / self.count
            self.squares += gap * (float(self.recent[place]) - self.mean)
        self.recent[place] = v
        self.largest = max(self.largest, abs(v))
        self.seen += 1
        if self.count >= self.window and self.seen % (self.window // 4) == 0:
            self._test()
        return self

    def _test(self) -> None:
        self.tests += 1
        L = math.log(2 * self.tests * (self.tests + 1) / self.delta)
        m = 1 / (1 / self.count + 1 / self.window)
        late = float(self.recent.mean())
        # Where all were alike before, those of late tell how far they spread.
        variance = max(self.squares / self.count, float(self.recent.var()))
        allowed = math.sqrt(2 * L * variance / m) + 2 * self.largest * L / (3 * m)
        if abs(late - self.mean) > allowed:
            self.drift_detected = late > self.mean
            # Begin again.
            self.count = self.mean = self.squares = self.largest = 0.0
            self.seen = self.tests = 0

    holds = {
        "seen": COUNT,
        "tests": COUNT,
        "mean": NUMBER,
        **dict.fromkeys(("count", "squares", "largest"), NOT_NEGATIVE),
        "recent": (doubles(0), doubles("window")),
    }
