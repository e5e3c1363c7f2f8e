"""Models beside ours on the same rows and columns: a constant, a linear model, gradient boosting."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from typing import Any

import numpy as np

from mercer._threads import one_thread
from mercer._units import alone, count, folds
from mercer.selection.search import Clock
from mercer.tables.model.columns import Columns
from mercer.tables.model.deadline import Deadline
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
# Rows × columns × classes from which on a fit is timed; iterations by which it is; seconds for each operation
# of a spectrum.
_QUICK, _FIRST_ITERATIONS, _SPECTRUM = 1_000_000, 5, 3e-10
# Few rows take as long as so many: a histogram is made for every column and leaf.
_ROWS_AT_LEAST = 2000
# Numbers or labels, and probabilities of labels.
Answer = tuple[np.ndarray, np.ndarray | None]


def answers_beside(
    seen: Question,
    asked: Question,
    points: np.ndarray,
    there: np.ndarray,
    columns: Columns,
    seconds: float,
    deadline: Deadline,
) -> dict[str, Answer]:
    """What models of other kinds, fitted to the rows seen, say of those asked.

    `points` and `there` are these rows as our machine has them. The linear model takes them so, with the
    words of texts; boosting takes numbers and levels as they stand, and no texts. Each has half of so many
    seconds; without any there is a constant only.
    """
    out = {}
    for name, model in others(seen).items():
        clock = deadline.clock(0.5 * seconds)
        if name == "gradient boosting" and columns.width and seconds:
            known, levels = as_they_stand(columns, seen.table, points)
            model.set_params(categorical_features=levels)
            out[name] = answer(model, known, as_they_stand(columns, asked.table, there)[0], seen, clock)
        elif name == "constant" or (name != "gradient boosting" and seconds):
            out[name] = answer(model, *numbers_and_words(points, there, columns.width), seen, clock)
        if clock.ended:
            deadline.cut_short(f"the {name} beside it")
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


def answer(model: Any, points: Any, there: Any, seen: Question, clock: Clock) -> Answer:
    """What a model says once it is fitted, or by when its time is up."""
    few = one_thread() if len(seen.y) < _MANY else nullcontext()
    with few, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a baseline that did not quite converge is still a baseline
        fit_in_time(model, points, seen.y, clock)
    predicted = model.predict(there)
    if seen.classes is None:
        return predicted, None
    return predicted, widened(model.predict_proba(there), model.classes_, seen.classes)


def fit_in_time(model: Any, X: Any, y: np.ndarray, clock: Clock) -> None:
    """Fit, to fewer rows or in fewer iterations if there is no time for all; the clock then says so.

    Nothing ends a fit of scikit-learn's from outside: a few iterations tell how long all would take.
    """
    (n, d), outputs = X.shape, len(np.unique(y)) if hasattr(model, "predict_proba") else 1
    if hasattr(model, "alphas"):  # ridge by its spectrum
        most = _rows_of_spectrum(d, clock.left)
        if n > most:
            rows, clock.ended = np.random.default_rng(0).permutation(n)[:most], True
            X, y = X[rows], y[rows]
            if model.cv is not None:  # whose folds are of all rows
                model.set_params(cv=None)
    elif hasattr(model, "max_iter") and max(n, _ROWS_AT_LEAST) * d * outputs > _QUICK:
        whole, few = model.max_iter, _FIRST_ITERATIONS
        model.set_params(warm_start=True, max_iter=few).fit(X, y)
        used = clock.seconds - clock.left
        more = int(np.clip(few * clock.left / max(used, 1e-9), 0, whole - few))
        clock.ended = clock.ended or more < whole - few
        if more >= few:
            model.set_params(max_iter=few + more).fit(X, y)
        return
    model.fit(X, y)


def _rows_of_spectrum(d: int, seconds: float) -> int:
    """Rows whose singular values take so long."""
    rows = 1 << 20
    while rows > 200 and _SPECTRUM * rows * d * min(rows, d) > seconds:
        rows = int(0.8 * rows)
    return rows


def widened(P: np.ndarray, known: np.ndarray, classes: Any) -> np.ndarray:
    """Probabilities with a column for every class, also those a machine has not seen."""
    out = np.zeros((len(P), len(classes)))
    out[:, np.searchsorted(classes, known)] = P
    return out
