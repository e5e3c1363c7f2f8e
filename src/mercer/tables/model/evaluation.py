"""Errors on rows a machine has not seen, of it and of others beside it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._units import alone, count, fewest_in_a_class, folds, held_out
from mercer.engines.threads import one_thread
from mercer.estimators import KernelRidge
from mercer.selection.path import loo_of_units
from mercer.tables.model.learn import Learned, Question, learn, refit
from mercer.tables.model.search import Progress

_FOLDS = 5
# From here on one part is held out, instead of every part in turn.
_HOLD_OUT_FROM = 3000
_SMALLEST_TEST, _LARGEST_TEST = 600, 4000
# More rows than these change little when a quarter is added, and their leave-one-out errors take minutes.
# Leaving out units takes a spectrum, which is some twenty times the work of a factor.
_LEAVE_ONE_OUT_UP_TO, _LEAVE_UNITS_OUT_UP_TO = 5000, 2000
_LEAST_GAIN = 0.5


@dataclass(frozen=True, eq=False)
class Tested:
    """What a question's rows were predicted to be by machines that had not seen them.

    Attributes
    ----------
    how : in a sentence
    rows : which rows were tested
    predicted : numbers or labels
    probability : (rows, classes), or None
    others : dict from the name of a simpler or a different model to its (predicted, probability)
    importance : (columns, repeats): by how much the error grew with a column's values shuffled
    gain : size of the errors to expect of the last machine, which learned from all rows, as a share of those
        of the tested ones: the ratio of their leave-one-out errors, at most 1
    remarks : of all machines that were learned
    """

    how: str
    rows: np.ndarray
    predicted: np.ndarray
    probability: np.ndarray | None
    others: dict[str, tuple[np.ndarray, np.ndarray | None]]
    importance: np.ndarray
    gain: float
    remarks: tuple[str, ...]


def evaluate(question: Question, seconds: float, seed: int, progress: Progress) -> tuple[Tested, Learned]:
    """Test honestly, then learn from all rows.

    Few rows: five folds, the whole search repeated in each, then once more on all rows. Many rows: one part
    is held out of search and fit; then the machine is fitted again, with what was found, to all rows.
    """
    n = len(question.y)
    if n >= _HOLD_OUT_FROM:
        size = int(np.clip(0.2 * n, _SMALLEST_TEST, _LARGEST_TEST))
        labels = question.y if question.classes is not None else None
        if labels is not None and fewest_in_a_class(labels, question.units) < 2:
            labels = None
        train, test = held_out(question.units, size, labels, seed)
        # Predicting and the others beside it take what is left.
        learned = learn(question.take(train), 0.7 * seconds, seed, progress)
        progress("Testing")
        parts = [(np.sort(test), train, learned)]
        found = _test(parts, question, seconds, seed)
        how = f"{len(test):,} rows held out of search and fit{_together(question)}"
        final = refit(question, learned, seed, progress)
        return _pooled(found, how, question, parts, final), final
    splits = _splits(question, seed)
    parts = []
    for i, (train, test) in enumerate(splits, start=1):

        def told(text: str, i: int = i) -> None:
            progress(f"Test part {i} of {len(splits)}: {text}")

        parts.append((test, train, learn(question.take(train), 0.5 * seconds / len(splits), seed + i, told)))
    progress("Testing")
    found = _test(parts, question, seconds, seed)
    how = f"{len(splits)}-fold cross-validation, the whole search repeated in each fold{_together(question)}"
    final = learn(question, 0.4 * seconds, seed, progress)
    return _pooled(found, how, question, parts, final), final


def _together(question: Question) -> str:
    if alone(question.units):
        return ""
    return f", rows that are equal or of one group kept together ({count(question.units):,} sets of rows)"


def _gain(parts: list[tuple[np.ndarray, np.ndarray, Learned]], final: Learned, question: Question) -> float:
    most = _LEAVE_ONE_OUT_UP_TO if alone(question.units) else _LEAVE_UNITS_OUT_UP_TO
    if question.classes is not None or len(question.y) > most:
        return 1.0
    before = np.concatenate([_left_out(learned, question.take(train)) for _, train, learned in parts])
    after = _left_out(final, question)
    if not np.mean(before) > 0:
        return 1.0
    return float(np.clip(np.mean(after) / np.mean(before), _LEAST_GAIN, 1.0))


def _left_out(learned: Learned, question: Question) -> np.ndarray:
    """Sizes of leave-one-out errors, by least squares with the kernel that was found."""
    X, best = learned.columns.transform(question.table), learned.found.best
    machine = KernelRidge(best.kernel, lam=best.mu / len(X), offset=True, representation="full")
    return np.abs(loo_of_units(machine, X, question.y, None, question.units))


def _splits(question: Question, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    most = min(_FOLDS, count(question.units))
    if question.classes is None:
        return folds(question.units, most, seed=seed)
    fewest = fewest_in_a_class(question.y, question.units)
    return folds(question.units, max(2, min(most, fewest)), question.y, seed)


@dataclass(frozen=True, eq=False)
class _Part:
    rows: np.ndarray
    predicted: np.ndarray
    probability: np.ndarray | None
    others: dict[str, tuple[np.ndarray, np.ndarray | None]]
    shuffled: np.ndarray  # (columns, repeats): error sums
    base: float
    count: int  # rows they are sums over


def _test(
    parts: list[tuple[np.ndarray, np.ndarray, Learned]], question: Question, seconds: float, seed: int
) -> list[_Part]:
    budget = _SHARE * seconds / len(parts)
    return [_one(test, train, learned, question, budget, seed) for test, train, learned in parts]


def _one(
    test: np.ndarray, train: np.ndarray, learned: Learned, question: Question, seconds: float, seed: int
) -> _Part:
    asked, seen = question.take(test), question.take(train)
    P = learned.predict_proba(asked.table) if question.classes is not None else None
    if P is not None:
        P = _widened(P, learned.machine.classes_, question.classes)
    predicted = learned.predict(asked.table)
    points, there = learned.columns.transform(seen.table), learned.columns.transform(asked.table)
    others = {name: make(points, seen, there) for name, make in _OTHERS.items()}
    if P is not None:
        others = {
            name: (labels, _widened(p, known, question.classes))
            for name, (labels, p, known) in others.items()
        }
    else:
        others = {name: (values, None) for name, (values, _, _) in others.items()}
    shuffled, base, count = _importance(learned, asked, there, predicted, seconds, seed)
    return _Part(test, predicted, P, others, shuffled, base, count)


def _widened(P: np.ndarray, known: np.ndarray, classes: Any) -> np.ndarray:
    """Probabilities with a column for every class, also those a machine has not seen."""
    out = np.zeros((len(P), len(classes)))
    out[:, np.searchsorted(classes, known)] = P
    return out


_REPEATS = 3
# Rows whose columns are shuffled: fewer where there are so many columns that it would take minutes.
_FEWEST_SHUFFLED, _MOST_SHUFFLED = 20, 1000
# Differences of coordinates a second, and the share of the time for this.
_KERNEL_SPEED, _SHARE = 1e9, 0.1


def _importance(
    learned: Learned, asked: Question, points: np.ndarray, predicted: np.ndarray, seconds: float, seed: int
):
    """Sums of errors with the values of each column shuffled, and without; and over how many rows."""
    rng = np.random.default_rng(seed)
    origin = learned.columns.origin_
    work = len(np.unique(origin)) * _REPEATS * points.shape[1] * learned.machine.plan_.unknowns
    most = int(np.clip(seconds * _KERNEL_SPEED / work, _FEWEST_SHUFFLED, _MOST_SHUFFLED))
    rows = rng.permutation(len(points))[:most]
    here, truth = points[rows], asked.y[rows]

    def error(values: np.ndarray) -> float:
        return float(np.sum(values != truth) if asked.classes is not None else np.sum((values - truth) ** 2))

    out = np.zeros((len(learned.columns.schema_.columns), _REPEATS))
    for j in np.unique(origin):
        mixed = np.tile(here, (_REPEATS, 1))
        order = np.concatenate([rng.permutation(len(here)) for _ in range(_REPEATS)])
        mixed[:, origin == j] = here[order][:, origin == j]
        out[j] = [error(values) for values in np.split(learned.machine.predict(mixed), _REPEATS)]
    base = error(predicted[rows])
    out[[j for j in range(len(out)) if j not in origin]] = base
    return out, base, len(rows)


def _pooled(
    parts: list[_Part],
    how: str,
    question: Question,
    learned: list[tuple[np.ndarray, np.ndarray, Learned]],
    final: Learned,
) -> Tested:
    rows = np.concatenate([p.rows for p in parts])
    order = np.argsort(rows, kind="stable")

    def pool(pieces: list[Any]) -> Any:
        return None if pieces[0] is None else np.concatenate(pieces)[order]

    others = {
        name: (pool([p.others[name][0] for p in parts]), pool([p.others[name][1] for p in parts]))
        for name in parts[0].others
    }
    count = sum(p.count for p in parts)
    shuffled, base = sum(p.shuffled for p in parts) / count, sum(p.base for p in parts) / count
    if question.classes is None:
        shuffled, base = np.sqrt(shuffled), float(np.sqrt(base))
    return Tested(
        how,
        rows[order],
        pool([p.predicted for p in parts]),
        pool([p.probability for p in parts]),
        others,
        np.asarray(shuffled) - base,
        _gain(learned, final, question),
        tuple(dict.fromkeys(r for made in [*(one for *_, one in learned), final] for r in made.remarks)),
    )


# -- models beside it -------------------------------------------------------------------------------


def _constant(points: np.ndarray, seen: Question, there: np.ndarray):
    from sklearn.dummy import DummyClassifier, DummyRegressor

    model = DummyRegressor() if seen.classes is None else DummyClassifier(strategy="prior")
    return _fitted(model, points, seen, there)


def _linear(points: np.ndarray, seen: Question, there: np.ndarray):
    from sklearn.linear_model import LogisticRegression, RidgeCV

    if seen.classes is None:
        # By leave-one-out, unless rows belong together.
        cv = None if alone(seen.units) else folds(seen.units, min(_FOLDS, count(seen.units)))
        return _fitted(RidgeCV(np.logspace(-3, 4, 15), cv=cv), points, seen, there)
    return _fitted(LogisticRegression(max_iter=300), points, seen, there)


def _boosted(points: np.ndarray, seen: Question, there: np.ndarray):
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    # It can't be told which rows belong together; where some do it does not stop early.
    if seen.classes is None:
        early: Any = "auto" if alone(seen.units) else False
        model = HistGradientBoostingRegressor(random_state=0, early_stopping=early)
        return _fitted(model, points, seen, there)
    # Stopping early takes a tenth of the rows, with every class among them and among the others.
    counts = np.unique(seen.y, return_counts=True)[1]
    aside = max(-(-len(seen.y) // 10), len(counts))
    early = bool(counts.min() >= 2) and alone(seen.units)
    model = HistGradientBoostingClassifier(random_state=0, early_stopping=early, validation_fraction=aside)
    return _fitted(model, points, seen, there)


def _fitted(model: Any, points: np.ndarray, seen: Question, there: np.ndarray):
    few = one_thread() if len(points) < _HOLD_OUT_FROM else nullcontext()
    with few, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a baseline that did not quite converge is still a baseline
        model.fit(points, seen.y)
    predicted = model.predict(there)
    if seen.classes is None:
        return predicted, None, None
    return predicted, model.predict_proba(there), model.classes_


_OTHERS: dict[str, Callable[..., Any]] = {
    "constant": _constant,
    "linear model": _linear,
    "gradient boosting": _boosted,
}
