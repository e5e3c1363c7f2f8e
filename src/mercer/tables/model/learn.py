"""One pass from a table and its target to a fitted machine: prepare → search → choose the loss → fit."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._threads import one_thread
from mercer._units import alone
from mercer.engines import Engine
from mercer.estimators.base import KernelMachine
from mercer.estimators.calibration import Calibration
from mercer.selection.crew import HERE, Crew
from mercer.selection.search import Clock
from mercer.tables.model.columns import Columns
from mercer.tables.model.deadline import Deadline
from mercer.tables.model.decision import unweighted
from mercer.tables.model.device import Device
from mercer.tables.model.effort import Effort
from mercer.tables.model.families import Found
from mercer.tables.model.fitting import fit_alone, for_rows, quadratic
from mercer.tables.model.forests import has_forest, regrown
from mercer.tables.model.machines import LossTrial, calibrated, choose, least_squares
from mercer.tables.model.metric import Metric, metric_of
from mercer.tables.model.on_device import one_on, searched_on
from mercer.tables.model.search import SMALL, KernelSearch, Progress
from mercer.tables.model.text_search import TextSearch
from mercer.tables.model.texts import bag_of, kernel_terms, moved
from mercer.tables.reading import Table

# Shares of the time for a search and its fit: what a search of kernels is forecast to take, what it may take,
# and what comparing losses may take; the rest is for the fit.
SEARCH, _SEARCH_MOST, _TEXTS, _LOSSES = 0.65, 0.8, 0.2, 0.15
_LEAST_FIT = 2.0
_TOO_SLOW = "did better on some rows, but takes too long on all"
THE_SEARCH, THE_LOSSES = "the search for a kernel", "the comparison of losses"


@dataclass(frozen=True, eq=False)
class Question:
    """A table and its target."""

    table: Table  # without the target
    y: np.ndarray  # numbers or labels
    task: str  # "regression" or "classification"
    classes: np.ndarray | None  # all labels, sorted; None for numbers
    # (n,) numbers: rows with the same one (equal rows, rows of a group) are on one side of every split;
    # None: every row stands for itself
    units: np.ndarray = None  # type: ignore[assignment]
    texts: tuple[str, ...] = ()  # columns of names or free text
    # What predictions are judged by; None: accuracy, or the root mean squared error
    metric: Metric = None  # type: ignore[assignment]
    class_weight: Mapping[Any, float] | None = None  # what rows of each label weigh in the fit
    engine: Engine | None = None  # a GPU; None: the CPU alone

    def __post_init__(self) -> None:
        if self.units is None:
            object.__setattr__(self, "units", np.arange(len(self.y)))
        if self.metric is None:
            object.__setattr__(self, "metric", metric_of(None, self.task, self.classes, self.y))

    def take(self, rows: np.ndarray) -> Question:
        """Some of the rows."""
        return replace(self, table=self.table.take(rows), y=self.y[rows], units=self.units[rows])

    @property
    def device(self) -> Device | None:
        """The GPU, if there is one and these rows are worth it."""
        return Device.of(self.engine, len(self.y))

    def points(self, columns: Columns) -> np.ndarray:
        """The rows as points to learn from, which know their own targets nowhere: see `Columns`."""
        return columns.training_points(self.table, self.codes(), self.units)

    def codes(self) -> np.ndarray:
        """(n, t) targets for least squares: numbers, ±1 for two classes, one column a class for more."""
        if self.classes is None:
            return self.y[:, None].astype(np.float64)
        place = np.searchsorted(self.classes, self.y)
        if len(self.classes) == 2:
            return (2.0 * place - 1)[:, None]
        return 2.0 * (place[:, None] == np.arange(len(self.classes))) - 1


@dataclass(frozen=True, eq=False)
class Learned:
    """What one pass ends with."""

    columns: Columns  # how the table becomes points
    machine: KernelMachine  # fitted
    calibration: Calibration | None  # probabilities for machines that have none themselves
    found: Found  # the search
    loss_trials: tuple[LossTrial, ...]  # losses that were compared
    remarks: tuple[str, ...] = ()  # where the clock or free memory, and not the seed alone, decided
    # (rows, error) on rows that took no part, of machines of fewer rows: see `fit_both`
    curve: tuple[tuple[int, float], ...] = ()

    def predict(self, table: Any) -> np.ndarray:
        """Numbers or labels."""
        return self.machine.predict(self.columns.transform(table))

    def predict_proba(self, table: Any) -> np.ndarray:
        """(n, classes)"""
        return probabilities(self.machine, self.calibration, self.columns.transform(table))


def probabilities(machine: Any, calibration: Calibration | None, points: np.ndarray) -> np.ndarray:
    """Probability of each class, by the machine's own means or by calibrated scores."""
    if calibration is None:
        return _unweighted(machine, machine.predict_proba(points))
    return of_scores(machine, calibration, machine.scores(points))


def of_scores(machine: Any, calibration: Calibration, scores: np.ndarray) -> np.ndarray:
    """Probability of each class by the scores of a machine."""
    return _unweighted(machine, calibration.probability(scores, machine.coding_))


def _unweighted(machine: Any, P: np.ndarray) -> np.ndarray:
    # A machine that took some rows for several has the probabilities of such rows.
    weights = getattr(machine, "class_weight", None)
    return P if weights is None else unweighted(P, machine.classes_, weights)


@dataclass(frozen=True, eq=False)
class Sought:
    """What is known before anything is fitted to all rows: a machine with λ for them, and their points."""

    question: Question
    columns: Columns
    points: np.ndarray  # of the rows, to learn from
    machine: KernelMachine
    found: Found
    loss_trials: tuple[LossTrial, ...]
    remarks: tuple[str, ...] = ()

    @property
    def slow(self) -> str:
        """What is cut short if its fit takes too long, in words."""
        return f"the fit of {type(self.machine).__name__} to all rows"

    def by_least_squares(self, seed: int) -> Sought:
        """With the machine of the squared loss, for which the kernel was found."""
        best = self.found.best
        machine = least_squares(self.question, best.kernel, best.mu, seed)
        if self.question.class_weight is not None:
            machine.set_params(class_weight=dict(self.question.class_weight))
        return replace(self, machine=machine)

    def fit(self, seconds: float, seed: int) -> Learned:
        """The machine by itself, as exactly as so many seconds allow."""
        device, y = self.question.device, self.question.y
        found = None if device is None else one_on(device, self.machine, self.points, y, seconds)
        machine, said = found or fit_alone(self.machine, self.points, y, seconds)
        return self.fitted(machine, seed, said)

    def fitted(self, machine: KernelMachine, seed: int, remarks: tuple[str, ...] = ()) -> Learned:
        """With a machine that was fitted to the rows, or to more; calibrated where that is needed."""
        calibration = None
        if self.question.classes is not None:
            calibration = calibrated(machine, self.points, self.question.y, seed, self.question.units)
        remarks = (*self.remarks, *remarks)
        return Learned(self.columns, machine, calibration, self.found, self.loss_trials, remarks)


def seek(
    question: Question, seconds: float, seed: int, progress: Progress, crew: Crew, deadline: Deadline
) -> Sought:
    """Search with as much work as an ordinary machine does in so many seconds, and leave time for the fit."""
    prepared = {
        outliers: Columns(outliers, texts=question.texts).fit(question.table, question.codes())
        for outliers in ("keep", "squash")
    }
    points = {outliers: question.points(c) for outliers, c in prepared.items()}
    with one_thread() if len(question.y) < SMALL else nullcontext():
        clock = deadline.clock(_SEARCH_MOST * seconds)
        found, said = _found(question, prepared, points, (seconds, clock, seed, progress), crew)
        if clock.ended:
            deadline.cut_short(THE_SEARCH)
        best, columns, X = found.best, prepared[found.best.outliers], points[found.best.outliers]
        if question.texts:
            found, columns = _with_helpful_texts(found, columns, question)
            best, X = found.best, question.points(columns)
        if has_forest(best.kernel):
            codes, labels = question.codes(), question.classes is not None
            best = replace(best, kernel=regrown(best.kernel, X, codes, labels, question.units, seed))
            found = replace(found, best=best)
        progress("Losses")
        clock = deadline.clock(_LOSSES * seconds)
        chosen = choose(question, best.kernel, best.mu, X, clock, seed, crew)
        if clock.ended:
            deadline.cut_short(THE_LOSSES)
        sought = Sought(question, columns, X, chosen.machine, found, chosen.trials, said)
        if chosen.seconds > (1 - SEARCH - _LOSSES) * seconds:
            said = (*said, f"{type(chosen.machine).__name__} {_TOO_SLOW}")
            sought = replace(sought.by_least_squares(seed), remarks=said)
        elif question.class_weight is not None:
            chosen.machine.set_params(class_weight=dict(question.class_weight))
        return sought


def learn(
    question: Question,
    seconds: float,
    seed: int,
    progress: Progress,
    crew: Crew = HERE,
    deadline: Deadline | None = None,
) -> Learned:
    """Search and fit with as much work as an ordinary machine does in so many seconds.

    The crew tries candidates; the machine is fitted in this process.
    """
    own = Deadline(seconds) if deadline is None else deadline
    sought = seek(question, seconds, seed, progress, crew, own)
    progress("Fitting")
    with one_thread() if len(question.y) < SMALL else nullcontext():
        share = (1 - SEARCH - _LOSSES) * seconds
        found: list[Learned] = []
        # The least that a fit may take: what is begun then is mostly done.
        with own.stage(sought.slow, None if quadratic(sought.machine) else max(2 * share, _LEAST_FIT)):
            found.append(sought.fit(share, seed))
        if not found:
            sought = sought.by_least_squares(seed)
            found.append(sought.fit(share, seed))
    [learned] = found
    return learned if deadline is not None else replace(learned, remarks=(*learned.remarks, *own.remarks()))


def _found(
    question: Question,
    prepared: Mapping[str, Columns],
    points: Mapping[str, np.ndarray],
    means: tuple[float, Clock, int, Progress],
    crew: Crew,
) -> tuple[Found, tuple[str, ...]]:
    """The kernel: of the numbers, then of the texts beside them; and what is to be said of the search."""
    (seconds, clock, seed, progress), codes = means, question.codes()
    texts, d = question.texts, prepared["keep"].width
    numbers = {o: X[:, :d].astype(float) for o, X in points.items()} if texts else points
    share = SEARCH - _TEXTS if texts else SEARCH
    # Rows that are left out together are a matter of the CPU.
    device = question.device if alone(question.units) else None
    sizes = share * seconds, len(codes), d, codes.shape[1]
    effort = Effort.within(*sizes)
    effort = effort if device is None else effort.with_device(device, *sizes)
    if texts:
        # Weights of texts beside the numbers are found on rows whose targets a forest would know.
        effort = replace(effort, trees=0)
    labels, asked = question.classes is not None, question.metric.name
    engine = None if device is None or effort.by_folds else device.engine
    search = KernelSearch(
        numbers, codes, effort, clock, seed, progress, labels, question.units, crew, asked, engine
    )
    before = search.run() if d or not texts else None
    said = () if device is None or engine is None else searched_on(device, effort, search.no_room)
    if not texts:
        assert before is not None
        return before, said
    best = None if before is None else before.best
    beside = TextSearch(search, best, points[best.outliers if best else "keep"], d, _TEXTS * seconds).run()
    return (beside if before is None else replace(beside, trials=before.trials + beside.trials)), said


def _with_helpful_texts(found: Found, columns: Columns, question: Question) -> tuple[Found, Columns]:
    """What was found, and columns, without texts that no term of the kernel looks at."""
    kernel, d = found.best.kernel, columns.width
    used = sorted({bag[1] for _, term in kernel_terms(kernel) if (bag := bag_of(term)) is not None})
    names = tuple(columns.texts[place - d] for place in used)
    kernel = moved(kernel, {place: d + i for i, place in enumerate(used)})
    found = replace(found, best=replace(found.best, kernel=kernel))
    return found, columns.with_texts(names, question.table)


def refit(question: Question, learned: Learned, seconds: float, seed: int, progress: Progress) -> Learned:
    """The same kernel, loss and nλ on other rows: no second search."""
    columns = Columns(learned.columns.outliers, texts=question.texts).fit(question.table, question.codes())
    if question.texts:
        columns = columns.with_texts(learned.columns.texts, question.table)
    columns = columns.with_outputs_of(learned.columns, question.table, question.codes())
    X, n = question.points(columns), len(question.y)
    machine = for_rows(learned.machine, learned.machine.plan_.examples, n)
    sought = Sought(question, columns, X, machine, learned.found, learned.loss_trials, learned.remarks)
    progress("Fitting")
    return sought.fit(seconds, seed)
