"""Errors on rows a machine has not seen, of it and of others beside it."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mercer._threads import Stopped, stop_when, stopping_point
from mercer._units import Split, alone, count, fewest_in_a_class, folds, held_out
from mercer.estimators import KernelRidge
from mercer.estimators.base import KernelMachine
from mercer.operators import NotPositiveDefinite
from mercer.selection.crew import HERE, ClusterCrew, Crew
from mercer.selection.path import loo_of_units
from mercer.tables.model.beside import Answer, answers_beside, widened
from mercer.tables.model.deadline import Deadline
from mercer.tables.model.effort import Effort, fit_seconds
from mercer.tables.model.first import first_part
from mercer.tables.model.fitting import Fitted, fit_both, fit_few, for_rows, quadratic, squares
from mercer.tables.model.forests import has_forest
from mercer.tables.model.importance import REPEATS, importances
from mercer.tables.model.learn import SEARCH, Learned, Question, Sought, learn, refit, seek
from mercer.tables.model.on_device import both_on
from mercer.tables.model.recalibration import recalibrated
from mercer.tables.model.search import Progress, silent
from mercer.tables.model.speed import Speed

_FOLDS = 5
# From here on one part is held out, instead of every part in turn.
_HOLD_OUT_FROM = 3000
# With fewer rows there are folds in any case; and how many of its rows a search should look at.
_FEW, _MOST_OF_THEM = 1000, 0.6
# With fewer sets of rows that belong together there are folds, too.
_FEW_UNITS = 50
_SMALLEST_TEST, _LARGEST_TEST = 600, 4000
# More rows than these change little when a quarter is added, and their leave-one-out errors take minutes.
# Leaving out units takes a spectrum, which is some twenty times the work of a factor.
_LEAVE_ONE_OUT_UP_TO, _LEAVE_UNITS_OUT_UP_TO = 5000, 2000
_LEAST_GAIN = 0.5
# Shares of the time: of searches in folds and of the last one; where one part is held out, of the one search
# with the fits that follow, and of these at most; of the models beside ours.
_FOLDS_SHARE, _LAST_SHARE = 0.42, 0.38
_ONCE_SHARE, _FITS_SHARE = 0.82, 0.45
_BESIDE_SHARE = 0.08
# Time for fits is kept free for so many times the forecast of an exact one of so many columns.
_ROOM, _WIDE = 1.3, 50
# Of the time for fits, for machines whose fits can't be forecast.
_SLOW_FITS = 0.6
# Of what is left when they begin, these fits take no more; and of that, a first one that is sure to be done.
_LATE_FITS, _SOON = 0.65, 0.08
_ALL_ROWS = "the fit to all rows"
# Of the minutes, what is over when a search begins, and what it has at least.
_BEGUN, _LEAST_SEARCH = 0.1, 0.2
_FEW_ONLY = "{} before the fit to all rows was done: this model knows some of them"
_FIRST_ONLY = "{} before the model was done: this is a first one, of few rows and one width"
_UNTESTED = "it was interrupted before other models and the importance of columns were looked at"
# What no data should lead to, and no call should be lost by.
_FAILED = NotPositiveDefinite, np.linalg.LinAlgError
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
    cut: tuple[str, ...] = ()  # those of the remarks that say what the clock, or somebody, cut short


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
    deadline: Deadline
    # What was learned soon and is not the last word: it remains if something better comes to no end.
    soon: list[tuple[Part, Learned]] = field(default_factory=list)

    @property
    def once(self) -> bool:
        return len(self.splits) == 1

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "progress": silent, "crew": HERE}

    def __call__(self, i: int) -> Part:
        def told(text: str) -> None:
            self.progress(f"Test part {i + 1} of {len(self.splits)}: {text}")

        (train, test), number = self.splits[i], self.seed + i + 1
        seconds = _FOLDS_SHARE / len(self.splits) * self.seconds
        seen = self.question.take(train)
        return np.sort(test), train, learn(seen, seconds, number, told, self.crew, self.deadline)

    def learned(self) -> tuple[list[Part], Learned]:
        """All parts, one after the other, and what is learned from all rows."""
        if self.once:
            part, last = self.held_out()
            return [part], last
        if isinstance(self.crew, ClusterCrew):
            return self.beside_the_last(self.crew)
        return [self(i) for i in range(len(self.splits))], self.last()

    def last(self) -> Learned:
        """What is learned from all rows, with a search of its own."""
        seconds = _LAST_SHARE * self.seconds
        return learn(self.question, seconds, self.seed, self.progress, self.crew, self.deadline)

    def beside_the_last(self, crew: ClusterCrew) -> tuple[list[Part], Learned]:
        """All parts, each on a worker, while candidates for all rows are tried there, too."""
        self.progress(f"{len(self.splits)} test parts, on the cluster")
        with crew.begun(self, range(len(self.splits))) as errand:
            last = self.last()
            return errand.results(), last

    def held_out(self) -> tuple[Part, Learned]:
        """One part, and what is learned from all rows with the kernel that was found without it."""
        (train, test), progress = self.splits[0], self.progress
        # Where rows belong together splits come in the order of the table, and its beginning is no sample.
        if not alone(self.question.units):
            train = np.random.default_rng(self.seed).permutation(train)
        seen = self.question.take(train)
        fits = min(_FITS_SHARE * self.seconds, _ROOM * self._forecast)
        # A wide table, and a first model of it, may have taken more than the tenth that is counted on.
        late = max(self.deadline.spent - _BEGUN * self.seconds, 0.0)
        seconds = max(_ONCE_SHARE * self.seconds - fits - late, _LEAST_SEARCH * self.seconds)
        sought = seek(seen, seconds, self.seed, progress, self.crew, self.deadline)
        progress("Fitting")
        fits = min(_FITS_SHARE * self.seconds, _LATE_FITS * self.deadline.left)
        if not quadratic(sought.machine):
            found: list[tuple[Part, Learned]] = []
            with self.deadline.stage(sought.slow, _SLOW_FITS * fits):
                found.append(self._one_by_one(sought, 0.5 * fits))
            if found:
                return found[0]
            sought = sought.by_least_squares(self.seed)
            fits = min(fits, _LATE_FITS * self.deadline.left)
        if not squares(sought.machine):  # texts, or labels of different weights
            return self._one_by_one(sought, 0.5 * fits)
        there = sought.columns.transform(self.question.table.take(test))
        X, y = np.vstack([sought.points, there]), np.concatenate([seen.y, self.question.y[test]])
        machine = for_rows(sought.machine, len(train), len(y))
        device = self.question.device
        both = None if device is None else both_on(device, machine, X, y, len(train), fits)
        if both is None:
            if device is not None:  # which has taken some of the time
                fits = min(fits, _LATE_FITS * self.deadline.left)
            return self._soon_and_whole(sought, machine, X, y, fits)
        return self._with(sought, both)

    def _soon_and_whole(
        self, sought: Sought, machine: KernelMachine, X: np.ndarray, y: np.ndarray, seconds: float
    ) -> tuple[Part, Learned]:
        """Fitted to all rows; before that to fewer, which remains if all of them take too long after all."""
        part, soon, speed = len(self.splits[0][0]), _SOON * seconds, Speed.of(machine.kernel, X)
        if speed.exact(len(y)) <= soon:
            return self._with(sought, fit_both(machine, X, y, part, seconds, speed))
        self.soon.append(self._with(sought, fit_few(machine, X, y, part, soon, speed)))
        with self.deadline.stage(_ALL_ROWS, _LATE_FITS * self.deadline.left):
            return self._with(sought, fit_both(machine, X, y, part, seconds - soon, speed))
        return self.soon[0]

    def _with(self, sought: Sought, both: Fitted) -> tuple[Part, Learned]:
        train, test = self.splits[0]
        part = replace(sought.fitted(both.part, self.seed, both.remarks), curve=both.curve)
        return (np.sort(test), train, part), replace(part, machine=both.whole)

    @property
    def _forecast(self) -> float:
        """Seconds of an exact fit of all rows; of two on a GPU, since each is one by itself."""
        device, n = self.question.device, len(self.question.y)
        return fit_seconds(n, _WIDE) if device is None else 2 * device.fit_seconds(n, _WIDE)

    def _one_by_one(self, sought: Sought, seconds: float) -> tuple[Part, Learned]:
        """Two fits, each of which may take so long."""
        train, test = self.splits[0]
        part = sought.fit(seconds, self.seed)
        again = refit(self.question, part, seconds, self.seed, self.progress)
        return (np.sort(test), train, part), again


def evaluate(
    question: Question, deadline: Deadline, seed: int, progress: Progress, crew: Crew = HERE
) -> tuple[Tested, Learned]:
    """Test honestly, then learn from all rows.

    Few rows: five folds, the whole search repeated in each, then once more on all rows. Many rows: one part
    is held out of search and fit; then the machine is fitted again, with what was found, to all rows.

    Before all that a first model is made of few rows. It is what remains where the time is up, or somebody
    interrupts, before there is a better one.
    """
    first = _first(question, deadline, seed)
    width = len(question.table.names) if first is None else first[1].columns.width
    splits = _splits(question, seed, deadline.seconds, width)
    tests = PartLearner(question, splits, deadline.seconds, seed, progress, crew, deadline)
    end, why = "", tuple[str, ...]()
    try:
        # Without a first model the minutes can't be kept.
        with stop_when(deadline.passed) if first else nullcontext():
            parts, final = tests.learned()
        tested, final = _tested(tests, parts, final)
    except Stopped:
        stopping_point()  # is it all that is to be given up?
        end = "the time was up"
    except KeyboardInterrupt:
        if first is None and not tests.soon:
            raise
        progress("Interrupted: what there is by now is kept")
        end = "it was interrupted"
    except _FAILED as error:
        if first is None and not tests.soon:
            raise
        end = f"a solver failed ({error})"
    if end and tests.soon:
        [(part, final)] = tests.soon
        tested, final = _tested(tests, [part], final, fully=False)
        why = (_FEW_ONLY.format(end),)
    elif end and first is not None:
        (tested, final), why = first, (_FIRST_ONLY.format(end),)
    cut = (*why, *deadline.remarks())
    return replace(tested, remarks=(*tested.remarks, *cut), cut=(*tested.cut, *cut)), final


def _first(question: Question, deadline: Deadline, seed: int) -> tuple[Tested, Learned] | None:
    try:
        part = first_part(question, deadline, seed)
    except (*_FAILED, ValueError):  # of few rows a column may be constant, or each of its words another one
        return None
    if part is None:
        return None
    answers = [answers_of(part, question, 0.0, deadline)]
    how = f"{len(part[0]):,} rows that took no part"
    return pooled(how, question, [part], answers, _unknown(part), 1.0, part[2]), part[2]


def _unknown(part: Part) -> np.ndarray:
    """The importance of columns where it was not measured."""
    return np.zeros((len(part[2].columns.schema_.columns), REPEATS))


def _tested(
    tests: PartLearner, parts: list[Part], final: Learned, fully: bool = True
) -> tuple[Tested, Learned]:
    """What is known of machines that were learned; little, if there is no time or somebody interrupts."""
    question, splits, deadline = tests.question, tests.splits, tests.deadline
    seconds = _BESIDE_SHARE * tests.seconds / len(parts)
    said, importance = tuple[str, ...](), None
    try:
        tests.progress("Testing")
        if fully:
            answers = [answers_of(part, question, seconds, deadline) for part in parts]
            importance = importances(parts, question, tests.seconds, tests.seed, deadline)
    except KeyboardInterrupt:
        tests.progress("Interrupted: the model is kept")
        said = (_UNTESTED,)
    if importance is None:
        answers = [answers_of(part, question, 0.0, deadline) for part in parts]
        importance = _unknown(parts[0])
    if tests.once:
        how = f"{sum(len(test) for test, _, _ in parts):,} rows held out of search and fit"
    else:
        how = f"{len(splits)}-fold cross-validation, the whole search repeated in each fold"
    gain = _gain(parts, final, question) if fully and not deadline.passed() else 1.0
    tested = pooled(how, question, parts, answers, importance, gain, final)
    final, probability = recalibrated(question, parts, final, tests.seed)
    if probability is not None:
        tested = replace(tested, probability=probability)
    return replace(tested, remarks=(*tested.remarks, *said), cut=said), final


def pooled(
    how: str,
    question: Question,
    parts: list[Part],
    answers: list[dict[str, Answer]],
    importance: np.ndarray,
    gain: float,
    final: Learned,
) -> Tested:
    """What is known of the test rows of all parts."""
    rows = np.concatenate([test for test, _, _ in parts])
    order = np.argsort(rows, kind="stable")
    # A part may have no numbers, if they are constant in it: what takes nothing else has no answer there.
    names = [name for name in answers[0] if all(name in found for found in answers)]
    everyone = {name: _pooled([found[name] for found in answers], order) for name in names}
    predicted, probability = everyone.pop(OURS)
    remarks = tuple(dict.fromkeys(r for made in [*(made for *_, made in parts), final] for r in made.remarks))
    if not alone(question.units):
        sets = f"{count(question.units):,} sets of rows"
        how += f", rows that are equal or of one group kept together ({sets})"
    return Tested(how, rows[order], predicted, probability, everyone, importance, gain, remarks)


def _splits(question: Question, seed: int, seconds: float = np.inf, width: int = 1) -> list[Split]:
    """Folds; of many rows, or of fewer if there is no time to search in every fold, one part to test."""
    n, units, labels = len(question.y), question.units, question.y if question.classes is not None else None
    fewest = count(units) if labels is None else fewest_in_a_class(labels, units)
    size = min(int(np.clip(0.2 * n, _SMALLEST_TEST, _LARGEST_TEST)), n // 3)
    many = n >= _HOLD_OUT_FROM or (n >= _FEW and not _time_for_folds(question, seconds, width))
    # One part would be one or two of few groups, which say little of others.
    many = many and count(units) >= _FEW_UNITS
    # Of more labels than that some would be tested, and some not.
    if many and (labels is None or len(np.unique(labels)) <= size):
        return [held_out(units, size, labels if fewest >= 2 else None, seed)]
    return folds(units, min(_FOLDS, count(units), max(2, fewest)), labels, seed)


def _time_for_folds(question: Question, seconds: float, width: int) -> bool:
    """Can a search in a fold look at most of its rows?"""
    rows = len(question.y) * (_FOLDS - 1) // _FOLDS
    outputs = 1 if question.classes is None else len(question.classes)
    effort = Effort.within(SEARCH * _FOLDS_SHARE / _FOLDS * seconds, rows, width, outputs)
    return effort.final_rows >= _MOST_OF_THEM * rows


def _gain(parts: list[Part], final: Learned, question: Question) -> float:
    most = _LEAVE_ONE_OUT_UP_TO if alone(question.units) else _LEAVE_UNITS_OUT_UP_TO
    if question.classes is not None or len(question.y) > most or has_forest(final.found.best.kernel):
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


def answers_of(part: Part, question: Question, seconds: float, deadline: Deadline) -> dict[str, Answer]:
    """What the machine, and others beside it, say of rows they have not seen."""
    test, train, learned = part
    asked, seen = question.take(test), question.take(train)
    P = None
    if question.classes is not None:
        P = widened(learned.predict_proba(asked.table), learned.machine.classes_, question.classes)
    there = learned.columns.transform(asked.table)
    points = seen.points(learned.columns)
    others = answers_beside(seen, asked, points, there, learned.columns, seconds, deadline)
    return {OURS: (learned.machine.predict(there), P), **others}


def _pooled(answers: list[Answer], order: np.ndarray) -> Answer:
    predicted, probability = zip(*answers, strict=True)
    return (
        np.concatenate(predicted)[order],
        None if probability[0] is None else np.concatenate(probability)[order],
    )
