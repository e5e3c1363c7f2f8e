"""Models beside ours on the same rows and columns: a constant, a linear model, gradient boosting."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from typing import Any

import numpy as np

from mercer._threads import one_thread
from mercer._units import alone, count, folds
from mercer.tables.model.columns import Columns
from mercer.tables.model.encoders import Category, Number
from mercer.tables.model.learn import Question
from mercer.tables.model.level_codes import CodedCategory
from mercer.tables.model.texts import Text, numbers_and_words
from mercer.tables.reading import Table

_FOLDS = 5
# Below so many rows a thread is enough.
_MANY = 3000
# As many levels as boosting tells apart by itself, missing words not counted.
_LEVELS = 254
# Numbers or labels, and probabilities of labels.
Answer = tuple[np.ndarray, np.ndarray | None]


def answers_beside(
    seen: Question, asked: Question, points: np.ndarray, there: np.ndarray, columns: Columns
) -> dict[str, Answer]:
    """What models of other kinds, fitted to the rows seen, say of those asked.

    `points` and `there` are these rows as our machine has them. The linear model takes them so, with the
    words of texts; boosting takes numbers and levels as they stand, and no texts.
    """
    out = {}
    for name, model in others(seen).items():
        if name != "gradient boosting":
            out[name] = answer(model, *numbers_and_words(points, there, columns.width), seen)
        elif columns.width:
            known, levels = as_they_stand(columns, seen.table, points)
            model.set_params(categorical_features=levels)
            out[name] = answer(model, known, as_they_stand(columns, asked.table, there)[0], seen)
    return out


def as_they_stand(columns: Columns, table: Table, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows for gradient boosting, and which of their coordinates are numbers of levels.

    Numbers as they are, levels by their number, NaN where there is none; dates, and codes of categories with
    too many levels to tell apart, as they are among `points`.
    """
    parts, levels, start = [], [], 0
    for e in columns.encoders_:
        if isinstance(e, Text):
            break  # they come last
        stop = start + len(e.names_out())
        part = points[:, start:stop].astype(np.float64)
        by_level = isinstance(e, Category) and len(e.levels) < _LEVELS
        if isinstance(e, Number):
            part = table[e.name][:, None]
        elif by_level:
            part = _levels(e, table[e.name])[:, None]
        elif isinstance(e, CodedCategory):
            part = part[:, -e.outputs :]
        parts.append(part)
        levels += [by_level] * part.shape[1]
        start = stop
    return np.hstack(parts), np.array(levels)


def _levels(encoder: Category, values: np.ndarray) -> np.ndarray:
    """The number of each row's level; of words that share a column the next one, NaN for missing ones."""
    next_one = len(encoder.levels) if encoder.others and not isinstance(encoder, CodedCategory) else np.nan
    place = {level: float(i) for i, level in enumerate(encoder.levels)}
    return np.array([np.nan if v is None else place.get(v, next_one) for v in values])


def others(seen: Question) -> dict[str, Any]:
    """A constant, a linear model and a strong model of another kind, for these rows; not fitted."""
    from sklearn.dummy import DummyClassifier, DummyRegressor
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.linear_model import LogisticRegression, RidgeCV

    # Boosting can't be told which rows belong together; where some do it does not stop early.
    apart = alone(seen.units)
    if seen.classes is None:
        # By leave-one-out, unless rows belong together.
        cv = None if apart else folds(seen.units, min(_FOLDS, count(seen.units)))
        early: Any = "auto" if apart else False
        return {
            "constant": DummyRegressor(),
            "linear model": RidgeCV(np.logspace(-3, 4, 15), cv=cv),
            "gradient boosting": HistGradientBoostingRegressor(random_state=0, early_stopping=early),
        }
    # Stopping early takes a tenth of the rows, with every class among them and among the others.
    counts = np.unique(seen.y, return_counts=True)[1]
    early, aside = bool(counts.min() >= 2) and apart, max(-(-len(seen.y) // 10), len(counts))
    boosted = HistGradientBoostingClassifier(random_state=0, early_stopping=early, validation_fraction=aside)
    return {
        "constant": DummyClassifier(strategy="prior"),
        "linear model": LogisticRegression(max_iter=300),
        "gradient boosting": boosted,
    }


def answer(model: Any, points: Any, there: Any, seen: Question) -> Answer:
    """What a model says once it is fitted."""
    few = one_thread() if len(seen.y) < _MANY else nullcontext()
    with few, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a baseline that did not quite converge is still a baseline
        model.fit(points, seen.y)
    predicted = model.predict(there)
    if seen.classes is None:
        return predicted, None
    return predicted, widened(model.predict_proba(there), model.classes_, seen.classes)


def widened(P: np.ndarray, known: np.ndarray, classes: Any) -> np.ndarray:
    """Probabilities with a column for every class, also those a machine has not seen."""
    out = np.zeros((len(P), len(classes)))
    out[:, np.searchsorted(classes, known)] = P
    return out
