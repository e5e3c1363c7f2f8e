"""Errors on rows a machine has not seen, of it and of others beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._units import Split, alone, count, fewest_in_a_class, folds, held_out
from mercer.estimators import KernelRidge
from mercer.selection.crew import HERE, ClusterCrew, Crew
from mercer.selection.path import loo_of_units
from mercer.tables.model.beside import Answer, answers_beside, widened
from mercer.tables.model.learn import Learned, Question, learn, refit
from mercer.tables.model.search import Progress, silent
from mercer.tables.model.texts import letters_a_row

_FOLDS = 5
# From here on one part is held out, instead of every part in turn.
_HOLD_OUT_FROM = 3000
_SMALLEST_TEST, _LARGEST_TEST = 600, 4000
# More rows than these change little when a quarter is added, and their leave-one-out errors take minutes.
# Leaving out units takes a spectrum, which is some twenty times the work of a factor.
_LEAVE_ONE_OUT_UP_TO, _LEAVE_UNITS_OUT_UP_TO = 5000, 2000
_LEAST_GAIN = 0.5
# What the machine is called among the others.
OURS = "mercer"


@dataclass(frozen=True, eq=False)
class Tested:
    """What a question's rows were predicted to be by machines that had not seen them."""

    how: str  # in a sentence
    rows: np.ndarray  # which rows were tested
    predicted: np.ndarray  # numbers or labels
    probability: np.ndarray | None  # (rows, classes), or None
    others: dict[str, Answer]  # by the name of a simpler or a different model
    importance: np.ndarray  # (columns, repeats): by how much the error grew with a column's values shuffled
    # Size of the errors to expect of the last machine, which learned from all rows, as a share of those
    # of the tested ones: the ratio of their leave-one-out errors, at most 1
    gain: float
    remarks: tuple[str, ...]  # of all machines that were learned
    learned_from: int | None = None  # rows, if most of them are not in memory


# Rows that were tested, rows that were learned from, and what was learned.
Part = tuple[np.ndarray, np.ndarray, Learned]


@dataclass(frozen=True, eq=False)
class PartLearner:
    """Learns from a question without one of its parts, for it to be tested on."""

    question: Question
    splits: list[Split]
    seconds: float
    seed: int
    progress: Progress
    crew: Crew

    @property
    def once(self) -> bool:
        return len(self.splits) == 1

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "progress": silent, "crew": HERE}

    def __call__(self, i: int) -> Part:
        def told(text: str) -> None:
            self.progress(text if self.once else f"Test part {i + 1} of {len(self.splits)}: {text}")

        # Predicting, the others beside it and the machine for all rows take what is left.
        share = 0.7 if self.once else 0.5 / len(self.splits)
        (train, test), number = self.splits[i], self.seed + (0 if self.once else i + 1)
        seen = self.question.take(train)
        return np.sort(test), train, learn(seen, share * self.seconds, number, told, self.crew)

    def parts(self) -> list[Part]:
        """All of them, one after the other."""
        return [self(i) for i in range(len(self.splits))]

    def last(self) -> Learned:
        """What is learned from all rows, with a search of its own."""
        return learn(self.question, 0.4 * self.seconds, self.seed, self.progress, self.crew)

    def beside_the_last(self, crew: ClusterCrew) -> tuple[list[Part], Learned]:
        """All parts, each on a worker, while candidates for all rows are tried there, too."""
        self.progress(f"{len(self.splits)} test parts, on the cluster")
        with crew.begun(self, range(len(self.splits))) as errand:
            last = self.last()
            return errand.results(), last


def evaluate(
    question: Question, seconds: float, seed: int, progress: Progress, crew: Crew = HERE
) -> tuple[Tested, Learned]:
    """Test honestly, then learn from all rows.

    Few rows: five folds, the whole search repeated in each, then once more on all rows. Many rows: one part
    is held out of search and fit; then the machine is fitted again, with what was found, to all rows.
    """
    tests = PartLearner(question, _splits(question, seed), seconds, seed, progress, crew)
    splits, once, final = tests.splits, tests.once, None
    if isinstance(crew, ClusterCrew) and not once:
        parts, final = tests.beside_the_last(crew)
    else:
        parts = tests.parts()
    progress("Testing")
    answers = [answers_of(part, question) for part in parts]
    rows = np.concatenate([test for test, _, _ in parts])
    order = np.argsort(rows, kind="stable")
    # A part may have no numbers, if they are constant in it: what takes nothing else has no answer there.
    names = [name for name in answers[0] if all(name in found for found in answers)]
    pooled = {name: _pooled([found[name] for found in answers], order) for name in names}
    predicted, probability = pooled.pop(OURS)
    importance = importances(parts, question, seconds, seed)
    if once:
        how = f"{len(rows):,} rows held out of search and fit"
        final = refit(question, parts[0][2], seed, progress)
    else:
        how = f"{len(splits)}-fold cross-validation, the whole search repeated in each fold"
        final = tests.last() if final is None else final
    gain = _gain(parts, final, question)
    remarks = tuple(dict.fromkeys(r for made in [*(made for *_, made in parts), final] for r in made.remarks))
    if not alone(question.units):
        sets = f"{count(question.units):,} sets of rows"
        how += f", rows that are equal or of one group kept together ({sets})"
    return Tested(how, rows[order], predicted, probability, pooled, importance, gain, remarks), final


def _splits(question: Question, seed: int) -> list[Split]:
    """Folds; of many rows one part to learn from and one to test."""
    n, units, labels = len(question.y), question.units, question.y if question.classes is not None else None
    fewest = count(units) if labels is None else fewest_in_a_class(labels, units)
    if n >= _HOLD_OUT_FROM:
        size = int(np.clip(0.2 * n, _SMALLEST_TEST, _LARGEST_TEST))
        return [held_out(units, size, labels if fewest >= 2 else None, seed)]
    return folds(units, min(_FOLDS, count(units), max(2, fewest)), labels, seed)


def _gain(parts: list[Part], final: Learned, question: Question) -> float:
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
    X, best = question.points(learned.columns), learned.found.best
    machine = KernelRidge(best.kernel, lam=best.mu / len(X), offset=True, representation="full")
    return np.abs(loo_of_units(machine, X, question.y, None, question.units))


def answers_of(part: Part, question: Question) -> dict[str, Answer]:
    """What the machine, and others beside it, say of rows they have not seen."""
    test, train, learned = part
    asked, seen = question.take(test), question.take(train)
    P = None
    if question.classes is not None:
        P = widened(learned.predict_proba(asked.table), learned.machine.classes_, question.classes)
    there = learned.columns.transform(asked.table)
    others = answers_beside(seen, asked, seen.points(learned.columns), there, learned.columns)
    return {OURS: (learned.machine.predict(there), P), **others}


def _pooled(answers: list[Answer], order: np.ndarray) -> Answer:
    predicted, probability = zip(*answers, strict=True)
    return (
        np.concatenate(predicted)[order],
        None if probability[0] is None else np.concatenate(probability)[order],
    )


_REPEATS = 3
# Rows whose columns are shuffled: fewer where there are so many columns that it would take minutes.
_FEWEST_SHUFFLED, _MOST_SHUFFLED = 20, 1000
# Differences of coordinates a second, and the share of the time for this.
_KERNEL_SPEED, _SHARE = 1e9, 0.1
# To count the words of a text takes as long as so many differences, to compare a letter about one.
_TEXT = 300_000


def importances(parts: list[Part], question: Question, seconds: float, seed: int) -> np.ndarray:
    """(columns, repeats): growth of the error rate, or of the root mean squared error, over all parts."""
    found = []
    for test, _, learned in parts:
        asked = question.take(test)
        points = learned.columns.transform(asked.table)
        predicted = learned.machine.predict(points)
        found.append(_importance(learned, asked, points, predicted, _SHARE * seconds / len(parts), seed))
    shuffled, base, rows = (sum(values) for values in zip(*found, strict=True))
    if question.classes is None:
        return np.sqrt(shuffled / rows) - np.sqrt(base / rows)
    return (shuffled - base) / rows


def _importance(
    learned: Learned, asked: Question, points: np.ndarray, predicted: np.ndarray, seconds: float, seed: int
):
    """Sums of errors with the values of each column shuffled, and without; and over how many rows."""
    rng = np.random.default_rng(seed)
    origin = learned.columns.origin_
    work = len(np.unique(origin)) * _REPEATS * points.shape[1] * learned.machine.plan_.unknowns
    words = _TEXT * len(learned.columns.texts) + letters_a_row(points) * learned.machine.plan_.unknowns
    work += len(np.unique(origin)) * _REPEATS * words
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
