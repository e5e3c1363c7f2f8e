"""Has the stream changed? The mean loss of late against the mean loss before."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from mercer._params import require_count
from mercer._state import COUNT, NOT_NEGATIVE, NUMBER, doubles


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
