"""How good answers for rows that live elsewhere are: sums over shards, which are all that travels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._xp import issparse
from mercer.estimators.elsewhere import opened, require_weights
from mercer.rows import Rows, Shard
from mercer.rows.base import Totals

# Bits of a number that one pass over the targets decides on, and how many of them a number has.
_BITS, _ALL = 16, 64


class Spread:
    """Weight, mean and squared deviations from it of some targets, which add up.

    Examples
    --------
    >>> y = np.array([[1.0], [2.0], [6.0]])
    >>> both = Spread.of(y[:1], np.ones(1)) + Spread.of(y[1:], np.ones(2))
    >>> both.weight, both.mean.tolist(), both.squares.tolist()
    (3.0, [3.0], [14.0])
    """

    def __init__(self, weight: float, mean: np.ndarray, squares: np.ndarray):
        self.weight, self.mean, self.squares = weight, mean, squares

    @classmethod
    def of(cls, y: np.ndarray, w: np.ndarray) -> Spread:
        weight = float(w.sum())
        mean = w @ y / weight if weight else np.zeros(y.shape[1])
        return cls(weight, mean, w @ (y - mean) ** 2)

    def __add__(self, other: Spread) -> Spread:
        weight, apart = self.weight + other.weight, other.mean - self.mean
        share = other.weight / weight if weight else 0.0
        between = apart**2 * (self.weight * share)
        return Spread(weight, self.mean + share * apart, self.squares + other.squares + between)


@dataclass(frozen=True, eq=False)
class Accuracy:
    """The share, by weight, of labels that are predicted; of several an example, all of them."""

    name = "accuracy"
    passes = 1

    def here(self, y: Any, predicted: Any, w: Any) -> float:
        """Of answers in memory."""
        from sklearn.metrics import accuracy_score

        if np.ndim(predicted) == 2:  # every label of an example has to be right
            y = np.asarray(y.toarray() if issparse(y) else y)
            if y.shape != predicted.shape:
                raise ValueError(f"y has shape {y.shape}, and what is predicted {predicted.shape}")
            return float(np.average((y == predicted).all(axis=1), weights=w))
        return accuracy_score(y, predicted, sample_weight=w)

    def of(self, machine: Any, rows: Rows) -> float:
        """Over all rows."""
        right, weight = rows.total(Right(machine))
        return float(right / _positive(weight))


@dataclass(frozen=True, eq=False)
class Determination:
    """R² = 1 − Σw(y − f)²/Σw(y − ȳ)², the mean over outputs; of a constant target 1 if met, 0 else."""

    name = "r2"
    passes = 1

    def here(self, y: Any, predicted: Any, w: Any) -> float:
        """Of answers in memory."""
        from sklearn.metrics import r2_score

        return r2_score(y, predicted, sample_weight=w)

    def of(self, machine: Any, rows: Rows) -> float:
        """Over all rows."""
        _require_two(rows)
        errors, spread = rows.total(SquaredErrors(machine))
        _positive(spread.weight)
        return _explained(errors, spread.squares)


@dataclass(frozen=True, eq=False)
class PinballShare:
    """D²: the share of the pinball loss of the best constant that is explained, the mean over levels.

    The best constants are quantiles of the targets. They are found exactly, from the first bits to the last,
    in four passes over the targets.
    """

    levels: Sequence[float]

    name = "d2_pinball_score"
    passes = 5

    def here(self, y: Any, predicted: Any, w: Any) -> float:
        """Of answers in memory, a column for each level."""
        from sklearn.metrics import d2_pinball_score

        shares = [
            d2_pinball_score(y, predicted[:, j], sample_weight=w, alpha=level)
            for j, level in enumerate(self.levels)
        ]
        return float(np.mean(shares))

    def of(self, machine: Any, rows: Rows) -> float:
        """Over all rows."""
        _require_two(rows)
        levels = np.asarray(self.levels, dtype=np.float64)
        errors, constant = rows.total(PinballErrors(machine, levels, quantiles(rows, levels)))
        return _explained(errors, constant)


def scored_elsewhere(machine: Any, measure: Any, X: Any, y: Any, sample_weight: Any) -> float:
    """What a measure says of a machine's answers for rows that live elsewhere.

    `y` and `sample_weight` are names of columns or arrays; None where X are rows that have their own.
    """
    bare, rows = opened(machine, X, y, sample_weight, cache=None if measure.passes > 1 else False)
    if not rows.shape[0]:
        raise ValueError("Found array with 0 sample(s): there are no rows")
    if not rows.has_y:
        raise ValueError("no target was named: say which column (or array) is y")
    return measure.of(bare, rows)


# -- tasks ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Right:
    """A task: the weight of labels that are predicted, and of all."""

    machine: Any

    def __call__(self, shard: Shard) -> Totals:
        said, y, w = self.machine.predict(shard.X), np.asarray(shard.y).reshape(-1), _weights(shard)
        if _is_word(said) != _is_word(y):
            raise ValueError(
                f"the machine's labels are such as {said[0]!r} and those of the rows such as {y[0]!r}: words "
                "are never numbers"
            )
        return float(w @ (said == y)), float(w.sum())


@dataclass(frozen=True, eq=False)
class SquaredErrors:
    """A task: squared errors of each output, and the spread of the targets."""

    machine: Any

    def __call__(self, shard: Shard) -> Totals:
        y, w = _targets(shard), _weights(shard)
        said = np.asarray(self.machine.predict(shard.X), dtype=np.float64).reshape(len(y), -1)
        if said.shape != y.shape:
            raise ValueError(f"there are {y.shape[1]} targets, and the machine predicts {said.shape[1]}")
        return w @ (y - said) ** 2, Spread.of(y, w)


@dataclass(frozen=True, eq=False)
class PinballErrors:
    """A task: the pinball loss of what is predicted for each level, and of constants."""

    machine: Any
    levels: np.ndarray
    constants: np.ndarray

    def __call__(self, shard: Shard) -> Totals:
        y, w = _one_target(shard), _weights(shard)

        def loss(said: np.ndarray) -> np.ndarray:
            apart = y - said
            return w @ np.maximum(self.levels * apart, (self.levels - 1) * apart)

        return loss(np.asarray(self.machine.predict(shard.X), dtype=np.float64)), loss(self.constants)


@dataclass(frozen=True, eq=False)
class Histogram:
    """A task: the weight of targets by their next bits, of those that begin as each level's quantile does."""

    begins: np.ndarray  # the bits that are known, as numbers
    known: int  # how many they are

    def __call__(self, shard: Shard) -> Totals:
        bits, w = _ordered(_one_target(shard)[:, 0]), _weights(shard)
        following = ((bits >> np.uint64(_ALL - self.known - _BITS)) & np.uint64((1 << _BITS) - 1)).astype(int)
        found = np.empty((len(self.begins), 1 << _BITS))
        for row, begin in zip(found, self.begins, strict=True):
            # A shift by all 64 bits is not defined.
            mine = bits >> np.uint64(_ALL - self.known) == begin if self.known else np.full(len(bits), True)
            row[:] = np.bincount(following[mine], w[mine], minlength=1 << _BITS)
        return (found,)


def quantiles(rows: Rows, levels: np.ndarray) -> np.ndarray:
    """The least targets that, with those below, have these shares of all weight.

    Examples
    --------
    >>> from mercer.rows import ArrayRows
    >>> quantiles(ArrayRows(np.zeros((4, 1)), np.array([3.0, -1.0, 7.5, 2.0])), np.array([0.5, 0.9])).tolist()
    [2.0, 7.5]
    """
    begins = np.zeros(len(levels), dtype=np.uint64)
    wanted: np.ndarray | None = None
    for known in range(0, _ALL, _BITS):
        (found,) = rows.total(Histogram(begins, known))
        up_to = np.cumsum(found, axis=1)
        if wanted is None:
            _positive(up_to[0, -1])
            wanted = levels * up_to[:, -1]
        for j, masses in enumerate(up_to):
            # Rounding may ask for more than there is: then it is the last that has any weight.
            place = int(np.searchsorted(masses, min(wanted[j], masses[-1])))
            place = max(place, int(np.argmax(found[j] > 0)))
            wanted[j] -= masses[place - 1] if place else 0.0
            begins[j] = (begins[j] << np.uint64(_BITS)) | np.uint64(place)
    return _from_ordered(begins)


def _ordered(y: np.ndarray) -> np.ndarray:
    """Numbers as 64 bits that are ordered as they are."""
    bits = (y + 0.0).view(np.uint64)  # 0 and −0 are equal
    return np.where(bits >> np.uint64(63), ~bits, bits | np.uint64(1 << 63))


def _from_ordered(bits: np.ndarray) -> np.ndarray:
    return np.where(bits >> np.uint64(63), bits & np.uint64((1 << 63) - 1), ~bits).view(np.float64)


def _explained(errors: np.ndarray, constant: np.ndarray) -> float:
    """1 − errors/constant; where constants make no error, 1 if nothing else does, and 0 else."""
    shares = np.where(errors == 0, 1.0, 0.0)
    some = constant > 0
    shares[some] = 1 - errors[some] / constant[some]
    return float(shares.mean())


def _targets(shard: Shard) -> np.ndarray:
    """y as float64 of shape (n, outputs), all of them finite."""
    y = np.asarray(shard.y, dtype=np.float64).reshape(len(shard), -1)
    if not np.isfinite(y).all():
        row = int(np.flatnonzero(~np.isfinite(y).all(axis=1))[0])
        raise ValueError(f"row {shard.first + row + 1:,} has NaN or infinity as its target: leave it out")
    return y


def _one_target(shard: Shard) -> np.ndarray:
    y = _targets(shard)
    if y.shape[1] != 1:
        raise ValueError(f"quantiles are those of one target, got {y.shape[1]}")
    return y


def _weights(shard: Shard) -> np.ndarray:
    if shard.w is None:
        return np.ones(len(shard))
    w = np.asarray(shard.w, dtype=np.float64)
    require_weights(w)
    return w


def _is_word(labels: np.ndarray) -> bool:
    return labels.dtype.kind in "US" or (labels.dtype.kind == "O" and isinstance(labels[0], str))


def _positive(weight: float) -> float:
    if not weight > 0:
        raise ValueError("sample_weight is zero everywhere: there is nothing to judge by")
    return weight


def _require_two(rows: Rows) -> None:
    if rows.shape[0] < 2:
        raise ValueError("of a single row no share of a spread is explained: give two at least")
