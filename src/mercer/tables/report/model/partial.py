"""How the prediction changes along one column, all others being held at their middle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.tables.model import Model
from mercer.tables.model.columns import Category, Date, Number
from mercer.tables.model.schema import Column
from mercer.tables.reading import Table

_POINTS = 120
_LEVELS = 12
# A number is followed so many spreads to either side: beyond, there are a few outliers.
_REACH = 3.0
_WEEK, _LONG = np.timedelta64(7 * 86_400_000_000, "us"), 20


@dataclass(frozen=True, eq=False)
class Along:
    """Predictions along one column.

    Attributes
    ----------
    column : Column
    values : (m,) values of the column: numbers, dates or words
    curves : (m, t) predictions, or probabilities of classes
    labels : t names of the curves
    band : (m, 2) 90 % prediction intervals, or None
    """

    column: Column
    values: np.ndarray
    curves: np.ndarray
    labels: tuple[str, ...]
    band: np.ndarray | None


def along(model: Model, name: str, most: int = 5) -> Along:
    """Predictions with one column running over its values and every other one at its middle.

    The middle is the mean of numbers (the median where outliers were squashed), the most frequent word, and
    the middle of a span of time. Of many classes those are kept whose probability changes most.

    Examples
    --------
    >>> import mercer, numpy as np
    >>> x = np.linspace(0, 6, 60)
    >>> model = mercer.fit({"x": x, "of": ["a", "b"] * 30}, np.sin(x), minutes=0.05)
    >>> along(model, "x").curves.shape, along(model, "of").values.tolist()
    ((120, 1), ['a', 'b'])
    """
    encoders = {e.name: e for e in model.columns.encoders_}
    column = next(c for c in model.schema.columns if c.name == name)
    values = _values(column, encoders[name])
    table = Table(
        {
            c.name: values if c.name == name else _repeated(_middle(encoders[c.name]), len(values))
            for c in model.schema.columns
            if c.name in encoders
        }
    )
    if model.task == "regression":
        band = model.predict_interval(table)
        return Along(
            column,
            values,
            np.reshape(model.predict(table), (-1, 1)),
            (model.target,),
            band if np.isfinite(band).all() else None,
        )
    P, classes = model.predict_proba(table), np.asarray(model.classes_)
    if len(classes) == 2:
        return Along(column, values, P[:, 1:], (str(classes[1]),), None)
    # Those that move most; where nothing moves, those that are most probable.
    order = np.argsort(-(np.ptp(P, axis=0) + 1e-3 * P.mean(axis=0)), kind="stable")[:most]
    kept = np.sort(order)
    return Along(column, values, P[:, kept], tuple(str(c) for c in classes[kept]), None)


def _values(column: Column, encoder: Any) -> np.ndarray:
    if isinstance(encoder, Category):
        return np.array(encoder.levels[:_LEVELS], dtype=object)
    if isinstance(encoder, Date):
        return _days(np.datetime64(column.low, "us"), np.datetime64(column.high, "us"))
    reach = _REACH * encoder.spread
    low, high = max(column.low, encoder.centre - reach), min(column.high, encoder.centre + reach)
    if column.low == column.high:
        return np.array([column.low])
    return np.linspace(low, high, _POINTS)


def _days(first: np.datetime64, last: np.datetime64) -> np.ndarray:
    """Dates over a span; a long one in whole weeks, so that weekdays and hours stay out of the curve."""
    weeks = float((last - first) / _WEEK)
    if weeks < _LONG:
        return (first + np.linspace(0, weeks, _POINTS) * _WEEK).astype("datetime64[us]")
    step = np.ceil(weeks / _POINTS)
    return first + np.arange(0, weeks + 1e-9, step).astype(int) * _WEEK


def _middle(encoder: Any) -> Any:
    if isinstance(encoder, Number):
        return encoder.centre
    return encoder.levels[0] if isinstance(encoder, Category) else np.datetime64(encoder.centre, "us")


def _repeated(value: Any, count: int) -> np.ndarray:
    return np.full(count, value, dtype=object if isinstance(value, str) else None)
