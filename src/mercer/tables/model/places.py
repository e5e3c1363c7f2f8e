"""Values to try in a column, and its middle: what "what if" questions are asked with."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.tables.model.encoders import Category, Date, Number
from mercer.tables.model.schema import Column
from mercer.tables.model.texts import Text

_POINTS = 120
_LEVELS = 12
# A number is followed so many spreads to either side: beyond, there are a few outliers.
_REACH = 3.0
_WEEK, _LONG = np.timedelta64(7 * 86_400_000_000, "us"), 20


def places(column: Column, encoder: Any) -> np.ndarray:
    """Values that a column runs over: its words, dates over its span, or numbers where most of them lie."""
    if isinstance(encoder, Category):
        return np.array(encoder.levels[:_LEVELS], dtype=object)
    if isinstance(encoder, Date):
        return days(np.datetime64(column.low, "us"), np.datetime64(column.high, "us"))
    reach = _REACH * encoder.spread
    low, high = max(column.low, encoder.centre - reach), min(column.high, encoder.centre + reach)
    if column.low == column.high:
        return np.array([column.low])
    return np.linspace(low, high, _POINTS)


def days(first: np.datetime64, last: np.datetime64) -> np.ndarray:
    """Dates over a span; a long one in whole weeks, so that weekdays and hours stay out of the curve."""
    weeks = float((last - first) / _WEEK)
    if weeks < _LONG:
        return (first + np.linspace(0, weeks, _POINTS) * _WEEK).astype("datetime64[us]")
    step = np.ceil(weeks / _POINTS)
    return first + np.arange(0, weeks + 1e-9, step).astype(int) * _WEEK


def middle(encoder: Any) -> np.ndarray:
    """The middle of a column, as a column of one row; of texts, none."""
    if isinstance(encoder, Text):
        return np.array([None], dtype=object)
    if isinstance(encoder, Number):
        return np.array([encoder.centre])
    if isinstance(encoder, Category):
        return np.array(encoder.levels[:1], dtype=object)
    return np.array([encoder.centre], dtype="datetime64[us]")
