"""What is asked: a number or a label?"""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.tables.reading.cells import is_number
from mercer.tables.reading.from_memory import column_of
from mercer.tables.reading.objects import as_word

_MOST_CODES = 20
_LARGEST = 1e100


@dataclass(frozen=True)
class Target:
    """The target of a table, checked."""

    task: str  # "regression" or "classification"
    y: np.ndarray  # (n,) float64 numbers, or labels
    remark: str  # why this task, in a sentence


def target_of(y: Any, task: str | None = None, name: str = "y") -> Target:
    """Guess the task from the target, unless it is said.

    Words, truth values and integers (of an integer dtype) with few values are labels; so are numbers of which
    there are two, or that count 0, 1, …, k−1 or 1, …, k with k ≤ 20 when they come from a file, which knows
    no integers.

    Examples
    --------
    >>> import numpy as np
    >>> target_of(np.array(["yes", "no", "yes"])).task, target_of(np.array([0.3, 1.7, 2.9])).task
    ('classification', 'regression')
    """
    if task not in (None, "regression", "classification"):
        raise ValueError(f"task must be 'regression' or 'classification', got {task!r}")
    values = column_of_target(y, name)
    _require_complete(values, name)
    if values.dtype.kind == "M":
        raise ValueError(f"the target {name!r} holds dates; turn them into numbers (days since …) first")
    distinct = np.unique(values.astype(str) if values.dtype.kind == "O" else values)
    if len(distinct) < 2:
        raise ValueError(f"the target {name!r} has the same value in every row: there is nothing to learn")
    labels = None if task is not None else _why_labels(values, distinct, name)
    if task == "regression" or (task is None and labels is None):
        return Target(
            "regression", numbers_of(values, name), "as asked" if task else f"{name!r} holds numbers"
        )
    return Target("classification", _labels(values), labels or "as asked")


def _why_labels(values: np.ndarray, distinct: np.ndarray, name: str) -> str | None:
    """Why these are labels; None if they are numbers."""
    n, k = len(values), len(distinct)
    if values.dtype.kind in "OUSb":
        if k > max(2, n // 2):
            raise ValueError(
                f"the target {name!r} has {k:,} different labels in {n:,} rows: too many to learn any; "
                "say task='regression' (--task regression) if these are numbers written as text"
            )
        return f"{name!r} holds {k} labels"
    codes = k <= _MOST_CODES and bool((values == np.round(values)).all())
    if codes and values.dtype.kind in "iu" and n >= 3 * k:
        return f"{name!r} holds {k} different integers"
    if k == 2:
        return f"{name!r} has two values"
    first = distinct[0]
    if codes and name != "y" and n >= 10 * k and first in (0, 1) and distinct[-1] == first + k - 1:
        return (
            f"{name!r} counts from {first:g} to {distinct[-1]:g}; say task='regression' (--task regression) "
            "if these are amounts"
        )
    return None


def column_of_target(y: Any, name: str) -> np.ndarray:
    """One column; Python objects and durations as a table holds them, but whole numbers as integers."""
    values = np.asarray(y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(f"the target must be one column, got an array of shape {values.shape}")
    if values.dtype.kind not in "Om":
        return values
    column = column_of(values, name)
    whole = values.dtype.kind == "O" and all(isinstance(v, numbers.Integral) for v in values)
    return column.astype(np.int64) if whole and column.dtype.kind == "f" else column


def missing(values: np.ndarray) -> np.ndarray:
    """Which values are not there: None or NaN."""
    if values.dtype.kind == "O":
        return np.array([v is None or v != v for v in values], dtype=bool)
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)


def _require_complete(values: np.ndarray, name: str) -> None:
    if len(values) == 0:
        raise ValueError(f"the target {name!r} is empty: there are no rows")
    if values.dtype.kind == "f" and np.isinf(values).any():
        raise ValueError(f"the target {name!r} is infinite in row {int(np.isinf(values).argmax()) + 1}")
    absent = missing(values)
    if absent.any():
        raise ValueError(
            f"the target {name!r} is missing in {int(absent.sum()):,} rows, first in row "
            f"{int(absent.argmax()) + 1}: drop them, or predict them with a model of the others"
        )


def numbers_of(values: np.ndarray, name: str) -> np.ndarray:
    """A target of numbers, or of words that are some; refused where computing with them is not possible."""
    try:
        out = values.astype(np.float64)
    except (TypeError, ValueError):
        said = "is no number everywhere"
        bad = next(v for v in values if not (isinstance(v, numbers.Real) or is_number(str(v))))
        raise ValueError(f"the target {name!r} {said} (for example {bad!r})") from None
    if not np.isfinite(out).all():
        raise ValueError(f"the target {name!r} holds NaN or infinity")
    size, apart = np.abs(out).max(), np.ptp(out / 2)
    if size > _LARGEST or 0 < apart < 1 / _LARGEST:
        raise ValueError(
            f"the target {name!r} goes up to {size:.2g}, over a range of {2 * apart:.2g}: the squares leave "
            "double precision. Measure it in another unit"
        )
    return out


def _labels(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind == "O":
        return values.astype(str)
    if values.dtype.kind == "f" and (values == np.round(values)).all():
        return values.astype(np.int64)
    if values.dtype.kind == "f":  # scikit-learn takes numbers with a fraction for amounts
        return np.array([as_word(v) for v in values])
    return values
