"""Measures on test rows with their 95 % intervals, of a model and of others beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtri

from mercer._units import count, worth
from mercer.tables.model.decision import Decided
from mercer.tables.model.learn import Question
from mercer.tables.model.metric import Metric

# Resamples of the test rows, and how many numbers may be made of them: rows, times labels.
_RESAMPLES, _FEWEST_RESAMPLES, _MOST = 400, 100, 1.6e7
_LIKELIEST = Decided()
_NUMBERS = ("rmse", "mae", "r2")
_LABELS = ("accuracy", "log_loss", "balanced_accuracy", "auc", "average_precision")


@dataclass(frozen=True)
class Score:
    """One measure on test rows, with a 95 % confidence interval."""

    name: str
    value: float
    low: float
    high: float
    larger_is_better: bool


@dataclass(frozen=True)
class Contender:
    """A model and its scores on the same test rows, that of the chosen metric first.

    `apart` is a 95 % interval of what it costs more than the model of the evidence, by that metric, on the
    same resampled rows: below 0 throughout it is better, beyond noise. None of that model itself.
    """

    name: str
    scores: tuple[Score, ...]
    apart: tuple[float, float] | None = None

    @property
    def better(self) -> bool:
        """Did it test better, beyond noise?"""
        return self.apart is not None and self.apart[1] < 0

    @property
    def worse(self) -> bool:
        """Did it test worse, beyond noise?"""
        return self.apart is not None and self.apart[0] > 0


@dataclass(frozen=True, eq=False)
class Resamples:
    """Test rows drawn with replacement, units as a whole, the same draws for everybody who is compared."""

    question: Question
    truth: np.ndarray
    units: np.ndarray
    weights: np.ndarray  # (resamples, rows): how often a row is there

    @classmethod
    def of(cls, question: Question, truth: np.ndarray, units: np.ndarray, seed: int) -> Resamples:
        """Drawn by that number."""
        place = np.unique(units, return_inverse=True)[1].ravel()
        some, labels = count(units), 1 if question.classes is None else len(question.classes)
        most = int(np.clip(_MOST / (len(truth) * labels), _FEWEST_RESAMPLES, _RESAMPLES))
        drawn = np.random.default_rng(seed).integers(0, some, (most, some))
        drawn += some * np.arange(most)[:, None]
        times = np.bincount(drawn.ravel(), minlength=most * some).reshape(most, some)
        return cls(question, truth, units, times[:, place].astype(np.float64))

    def contenders(
        self, answers: Mapping[str, tuple[np.ndarray, np.ndarray | None]], decided: Decided = _LIKELIEST
    ) -> tuple[Contender, ...]:
        """All of them; the first one is the model that others are compared with."""
        metric, found = self.question.metric, []
        ours: np.ndarray | None = None
        for name, (predicted, probability) in answers.items():
            if decided.by_cost:
                costs = self._costs(predicted, decided)[1]
            else:
                values = metric.values(self.truth, predicted, probability, self.weights)
                costs = -values if metric.larger_is_better else values
            # One set of rows that belong together says nothing of how much others differ from it.
            several = count(self.units) > 1
            apart = None if ours is None else _quantiles(costs - ours) if several else (-np.inf, np.inf)
            ours = costs if ours is None else ours
            found.append(Contender(name, self.scores(predicted, probability, decided), apart))
        return tuple(found)

    def _costs(self, predicted: np.ndarray, decided: Decided) -> tuple[float, np.ndarray]:
        """The mean cost of errors, and that of the resamples."""
        costs = decided.cost_of(self.truth, predicted, self.question.classes)  # type: ignore[arg-type]
        return float(costs.mean()), (self.weights @ costs) / self.weights.sum(axis=1)

    def scores(
        self, predicted: np.ndarray, probability: np.ndarray | None, decided: Decided = _LIKELIEST
    ) -> tuple[Score, ...]:
        """What was asked for first. What these rows can't say (AUC, of one label only) is left out."""
        asked = self.question
        out: list[Score] = []
        for name in dict.fromkeys((asked.metric.name, *(_NUMBERS if asked.classes is None else _LABELS))):
            if name == "accuracy":
                out += self._shares(predicted)
            elif name == "log_loss":
                out.append(self._log_loss(probability))
            else:
                out.append(self._score(replace(asked.metric, name=name), predicted, probability))
        if decided.cost is not None:
            mean, resampled = self._costs(predicted, decided)
            score = _within(Score(decided.cost, mean, *_quantiles(resampled), False))
            out = [score, *out] if decided.by_cost else [*out, score]
        return tuple(score for score in out if np.isfinite(score.value))

    def _shares(self, predicted: np.ndarray) -> tuple[Score, Score]:
        wrong, independent = float(np.mean(predicted != self.truth)), worth(self.units)
        low, high = wilson(wrong * independent, independent)
        rate = Score("error rate", wrong, low, high, False)
        return rate, Score("accuracy", 1 - wrong, 1 - high, 1 - low, True)

    def _log_loss(self, probability: Any) -> Score:
        place = np.searchsorted(self.question.classes, self.truth)  # type: ignore[arg-type]
        losses = -np.log(np.clip(probability[np.arange(len(place)), place], 1e-15, 1))
        mean, half = float(losses.mean()), 1.96 * float(losses.std()) / np.sqrt(worth(self.units))
        return Score("log loss", mean, max(mean - half, 0.0), mean + half, False)

    def _score(self, metric: Metric, predicted: Any, probability: Any) -> Score:
        value = metric.value(self.truth, predicted, probability)
        if count(self.units) < 2:
            return Score(metric.words, value, *metric.range, metric.larger_is_better)
        low, high = _quantiles(metric.values(self.truth, predicted, probability, self.weights))
        if value == metric.most and metric.judges != "numbers":
            # Resamples of rows without an error have none either, which proves little where rows are few.
            low = min(low, 1 - wilson(0.0, self._fewest())[1])
        return _within(Score(metric.words, value, low, high, metric.larger_is_better))

    def _fewest(self) -> float:
        """Units of the rarest label that is there."""
        place = np.searchsorted(self.question.classes, self.truth)  # type: ignore[arg-type]
        return min(float(count(self.units[place == j])) for j in np.unique(place))


def wilson(errors: float, n: float) -> tuple[float, float]:
    """Wilson's 95 % interval of a proportion.

    >>> wilson(0.0, 10)
    (0.0, 0.277...)
    """
    z = float(ndtri(0.975))
    p = errors / n
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return max(float(centre - half), 0.0), min(float(centre + half), 1.0)


def _quantiles(values: np.ndarray) -> tuple[float, float]:
    there = values[~np.isnan(values)]
    if not len(there):
        return float("nan"), float("nan")
    low, high = np.quantile(there, [0.025, 0.975])
    return float(low), float(high)


def _within(score: Score) -> Score:
    """With its value in its interval, whatever was drawn."""
    low, high = np.fmin(score.low, score.value), np.fmax(score.high, score.value)
    return Score(score.name, score.value, float(low), float(high), score.larger_is_better)
