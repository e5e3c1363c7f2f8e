"""From a table that does not fit in memory to a model: look, search on a sample, fit to all rows, test."""

from __future__ import annotations

import tempfile
import time
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from mercer._notice import Notice
from mercer.engines import Engine
from mercer.selection.crew import HERE, Crew
from mercer.solvers.journal import Journal
from mercer.tables.model.columns import Columns
from mercer.tables.model.conformal import Conformal
from mercer.tables.model.deadline import Deadline
from mercer.tables.model.device import at_home
from mercer.tables.model.evaluation import OURS, Tested, answers_of, importances
from mercer.tables.model.evidence import gather
from mercer.tables.model.large.allowance import Allowance, amount
from mercer.tables.model.large.last import engine_of, error_on, fit_last, with_probabilities
from mercer.tables.model.large.look import Overview, look
from mercer.tables.model.large.sides import LEARN, Sides
from mercer.tables.model.large.source import LargeTable, SampledTable
from mercer.tables.model.large.stored import Answered, Kept, PointsOfRows, keep, share_on_disk
from mercer.tables.model.large.timing import Prospect, Timetable
from mercer.tables.model.learn import Learned, Question, learn
from mercer.tables.model.model import Model
from mercer.tables.model.preferences import Preferences
from mercer.tables.model.search import Progress
from mercer.tables.model.task import Target, numbers_of, target_of
from mercer.tables.model.texts import free_texts
from mercer.tables.model.together import Together
from mercer.tables.reading import Table
from mercer.tables.reading.objects import as_word

# Of the rows of a sample those that are learned from, at least.
_LEARNED = 0.6
_FEWEST, _FEWEST_OF_A_SIDE = 200, 10
# So many rows of the sample that are not learned from are enough to test by.
_ENOUGH_TESTED = 300
# Rows with levels that were never seen are mentioned if there are so many.
_UNSEEN = 0.05
# Of the time, for the models beside it and the importance of columns.
_TESTING = 0.15


@dataclass(frozen=True, eq=False)
class LargeTask:
    """What is asked of a large table, and what may be spent on it."""

    source: LargeTable
    target: str
    task: str | None
    groups: str | None
    minutes: float
    seed: int
    allowance: Allowance
    checkpoint: Any
    tell: Progress
    why: str  # it is read part by part
    crew: Crew = HERE  # who tries candidates, and passes over the rows
    wanted: Preferences = field(default_factory=Preferences)
    engine: Engine | None = None  # a GPU; None: the CPU, or the cluster


def fit_large(asked: LargeTask) -> Model:
    """The model, with its evidence."""
    started = time.monotonic()
    journal = Journal(asked.checkpoint)  # what is wrong with it is said before the search
    journal.try_out()
    journal.drop()
    seen = look(asked.source, asked.target, int(asked.allowance.rows / _LEARNED), asked.seed, asked.tell)
    sample = _Drawn.of(seen, asked)
    prospect = _prospect(asked, seen, sample, time.monotonic() - started)
    seconds = prospect.times.search(prospect.worth)
    learned = learn(sample.question, seconds, asked.seed, asked.tell, asked.crew)
    with tempfile.TemporaryDirectory(prefix="mercer-", ignore_cleanup_errors=True) as folder:
        kept, share = _kept(asked, seen, sample, learned, prospect.worth, Path(folder))
        choice, test = (sample.asked_of(drawn) for drawn in (kept.choice, kept.test))
        _require(min(len(choice.y), len(test.y)), "chosen by, or tested on")
        best, said = _best(asked, learned, kept, choice, prospect)
    columns = copy(best.columns)
    columns.schema_ = seen.schema(columns.schema_)
    best = replace(best, columns=columns)
    remarks = [*_remarks(asked, seen, sample, kept, share), *said, *_unseen(best, test)]
    model = _model(asked, (sample, test), best, kept, remarks, started)
    return replace(model, evidence=replace(model.evidence, rows=seen.rows - kept.left))


# -- the sample -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Drawn:
    """The rows of the sample that are learned from, and how any rows become a question."""

    question: Question
    answered: Answered
    target: Target
    sides: Sides
    together: Together
    labels: tuple[str, ...]  # that are too rare to be learned
    others: tuple[str, ...]  # columns that are no features
    spare: SampledTable  # rows of the sample that have nothing to do with those learned from
    numbers: np.ndarray  # of the rows that are learned from, in the whole table

    @classmethod
    def of(cls, seen: Overview, asked: LargeTask) -> _Drawn:
        _require_targets(seen, asked.target)
        drawn, rows = seen.sample.table, seen.sample.rows
        target = target_of(drawn[asked.target], asked.task, asked.target)
        if target.task == "regression":
            numbers_of(seen.columns[asked.target].range, asked.target)
        others = (asked.target, *(() if asked.groups is None else (asked.groups,)))
        if asked.groups == asked.target:
            raise ValueError(f"{asked.groups!r} is the target: it can't also say which rows belong together")
        table = drawn.drop(*others)
        if not table.names:
            raise ValueError("there is no column besides the target")
        texts = free_texts(table)
        groups = None if asked.groups is None else drawn[asked.groups]
        together = Together.of(table, groups, texts, target.y)
        together.require_some()
        names = [] if together.codes else list(table.names)
        sides = Sides(seen.rows, names, asked.groups, asked.seed)
        units = sides.units(drawn, rows)
        mine = np.flatnonzero(sides.of(units) == LEARN)[: asked.allowance.rows]
        _require(len(mine), "learned from")
        free = ~np.isin(units, units[mine])
        y, classes, rare = target.y, None, np.zeros(0)
        if target.task == "classification":
            found, counts = np.unique(y[mine], return_counts=True)
            classes, rare = found[counts >= 2], np.setdiff1d(y, found[counts >= 2])
            if len(classes) < 2:
                raise ValueError(
                    f"of {asked.target!r} a sample has one label only: there is nothing to learn"
                )
            mine, free = mine[np.isin(y[mine], classes)], free & np.isin(y, classes)
        spare = SampledTable(sides.tested, asked.seed)
        spare.add(drawn.take(free), rows[free])
        question = Question(table.take(mine), y[mine], target.task, classes, _numbered(units[mine]), texts)
        question = replace(asked.wanted.on(question), engine=asked.engine)
        answered = Answered(asked.target, classes)
        labels = tuple(map(str, rare))
        return cls(question, answered, target, sides, together, labels, others, spare, rows[mine])

    def asked_of(self, drawn: SampledTable) -> Question:
        """Rows that were kept aside as a question of their own."""
        table, question = drawn.table, self.question
        y, _ = self.answered.of(table[self.answered.name])
        units = _numbered(self.sides.units(table, drawn.rows))
        return replace(question, table=table.drop(*self.others), y=y, units=units)


def _require_targets(seen: Overview, target: str) -> None:
    """Refuse tables that have too few rows, or a target in too few, or the same one in all rows drawn."""
    if not seen.rows:
        all_of = f"the target {target!r} is missing in all {seen.absent:,} rows" if seen.absent else ""
        raise ValueError(all_of or "there are no rows")
    if seen.rows < _FEWEST:
        raise ValueError(
            f"{seen.rows} rows with a target are too few for a fit by parts, which needs {_FEWEST}: with "
            "more memory (memory=, --memory), or if none is said, the table is read as a whole"
        )
    values = seen.sample.table[target]
    others = seen.columns[target].count_beside(values[0])
    if others and (values == values[0]).all():
        raise ValueError(
            f"the target {target!r} is {as_word(values[0])!r} in all {len(values):,} rows drawn at random, "
            f"and something else in {others} of {seen.rows:,}: that is too rare to be learned"
        )


def _require(rows: int, what: str) -> None:
    """Refuse tables of so few groups, or different rows, that a part of them is empty."""
    if rows < _FEWEST_OF_A_SIDE:
        raise ValueError(
            f"only {rows} rows are left to be {what}: rows that belong together stay together, and there are "
            "too few different ones"
        )


def _numbered(units: np.ndarray) -> np.ndarray:
    return np.unique(units, return_inverse=True)[1]


# -- all rows ---------------------------------------------------------------------------------------


def _prospect(asked: LargeTask, seen: Overview, sample: _Drawn, reading: float) -> Prospect:
    """What can be done in the time, now that it is known how long reading takes; it is said at once."""
    question = sample.question
    classes = 1 if question.classes is None else len(question.classes)
    rows = max(seen.rows - sample.sides.tested * 3 // 2, 1)
    width = Columns(texts=question.texts).fit(question.table, question.codes()).width
    times = Timetable(asked.minutes, reading, asked.checkpoint is not None)
    shape = rows, width, classes if classes > 2 else 1
    found = Prospect(times, asked.allowance, shape, len(question.y))
    if found.words:
        asked.tell(Notice(found.words, times.total(found.worth) if times.slow else None))
    return found


def _kept(
    asked: LargeTask, seen: Overview, sample: _Drawn, learned: Learned, passes: bool, folder: Path
) -> tuple[Kept, float]:
    """Rows to choose and to test by; and the others as points on disk, unless there are texts among them.

    Without passes rows of the sample test, and the file is not read again; unless they are too few, or
    nobody has counted the rows of labels that are too rare.
    """
    if not passes:
        left = seen.rows_beside(asked.target, sample.question.classes)
        if left is not None and len(sample.spare.rows) >= _ENOUGH_TESTED:
            return Kept(sample.spare, sample.spare, left=left), 1.0
        return keep(asked.source, sample.answered, sample.sides, None, folder, 1.0, asked.tell), 1.0
    columns, encoded = learned.columns, None
    share = share_on_disk(folder, seen.rows, columns.width)
    if not columns.texts and share * seen.rows >= len(sample.question.y):
        encoded = PointsOfRows.of(columns, sample.numbers, sample.question.points(columns))
    return keep(asked.source, sample.answered, sample.sides, encoded, folder, share, asked.tell), share


def _best(
    asked: LargeTask, learned: Learned, kept: Kept, choice: Question, prospect: Prospect
) -> tuple[Learned, list[str]]:
    """The machine of all rows if it is better than that of the sample; and what is to be said about it."""
    first = [prospect.words] * bool(prospect.words)
    if prospect.times.decided:
        first.append("the time that reading took decided how much was tried: another run may end elsewhere")
    if not prospect.worth:
        return learned, first
    if kept.folder is None:
        why = (
            "texts are compared in memory only"
            if learned.columns.texts
            else "the disk has no room for points"
        )
        return learned, [*first, f"the model is that of these rows, and not of all, as {why}"]
    n = kept.learned
    prospect = replace(prospect, shape=(n, *prospect.shape[1:]))
    centres = prospect.centres
    engine, unseen = (asked.engine, []) if asked.engine else engine_of(asked.crew, kept.folder)
    machine = fit_last(learned, kept.rows(centres), centres, asked.checkpoint, asked.tell, engine)
    first += unseen
    last = with_probabilities(learned, machine, choice)
    before, after = error_on(learned, choice), error_on(last, choice)
    what = "root mean squared error" if choice.classes is None else "error rate"
    said = (
        f"{what} on {len(choice.y):,} rows that were kept aside to choose: {before:.4g} of a machine fitted "
        f"to {learned.machine.plan_.examples:,} rows, "
        f"{after:.4g} of one with {machine.plan_.unknowns:,} centres fitted to {n:,} by passes over them"
    )
    if after <= before:
        passes, ended = machine.solution_.iterations, not machine.solution_.converged
        left = f"the passes were ended after {passes}, not quite at the minimum: see the solver's words"
        return last, [*first, said, *[left] * ended]
    more = f": more centres may make the second the better, and {prospect.advice}" if prospect.advice else ""
    return learned, [*first, said, f"the first was kept{more}"]


def _remarks(asked: LargeTask, seen: Overview, sample: _Drawn, kept: Kept, share: float) -> list[str]:
    """How it was done, and what was not."""
    out = [
        f"{asked.why}: it was read part by part, in about {amount(asked.allowance.expected)}; kernel, loss "
        f"and λ were looked for on {len(sample.question.y):,} rows drawn at random",
        f"{sample.target.task}: {sample.target.remark}",
        "the models beside it learned from the rows drawn at random only",
    ]
    if asked.allowance.expected > asked.allowance.allowed:
        out.append(f"{amount(asked.allowance.allowed)} are not enough for a fit")
    if seen.absent:
        first = f"the first of them row {seen.first_absent:,}"
        out.append(f"{seen.absent:,} rows without {asked.target!r} were left out, {first}")
    if kept.left:
        words = ", ".join(map(repr, sample.labels[:5])) or "not in the sample"
        out.append(f"{kept.left:,} rows of labels too rare to be learned and tested were left out: {words}")
    if share < 1:
        out.append(f"the disk has room for the points of {share:.0%} of the rows only, drawn at random")
    if asked.groups is not None:
        out.append("rows of one group were kept on one side of every split; equal rows of several were not")
    elif sample.sides.names:
        out.append("rows that are equal in all columns were kept on one side of every split")
    else:
        out.append("there are so few possible rows that equal ones were not kept together in tests")
    return [*sample.question.table.remarks, *out]


def _unseen(best: Learned, test: Question) -> list[str]:
    """Of categories with many levels, those of which the rows drawn have too few."""
    return [
        f"{name!r}: {share:.0%} of the test rows have a level that is not among the rows drawn at random; "
        "they are taken for average ones"
        for name, share in best.columns.unseen(test.table).items()
        if share > _UNSEEN
    ]


# -- what is known of it ----------------------------------------------------------------------------


def _model(
    asked: LargeTask,
    questions: tuple[_Drawn, Question],
    best: Learned,
    kept: Kept,
    remarks: list[str],
    started: float,
) -> Model:
    """Test it, and gather what is known."""
    asked.tell("Testing")
    sample, test = questions
    whole, tested = _both(test, sample.question), np.arange(len(test.y))
    part = (tested, np.arange(len(test.y), len(whole.y)), best)
    # What is left to do here is short beside the passes over all rows.
    last = Deadline(max(_TESTING * 60 * asked.minutes, 10.0))
    others = answers_of(part, whole, last.seconds, last)
    predicted, probability = others.pop(OURS)
    importance = importances([part], whole, 60 * asked.minutes, asked.seed, last)
    drawn = "" if kept.test.count == len(test.y) else f" (drawn from {kept.test.count:,})"
    how = f"{len(test.y):,} rows held out of search and fit{drawn}"
    streamed = best.machine.plan_.examples
    result = Tested(how, tested, predicted, probability, others, importance, 1.0, best.remarks, streamed)
    result, decided = asked.wanted.decided(whole, result, asked.seed)
    conformal = None
    if test.classes is None:
        points, kernel = best.columns.transform(test.table), best.found.best.kernel
        conformal = Conformal.of(test.y - predicted, points, kernel, asked.seed, test.units)
    asked.tell("What is known of it")
    remarks = [*remarks, *best.remarks]
    times, together = (float(asked.minutes), asked.seed, started), sample.together
    evidence = gather(whole, result, best, conformal, remarks, together, *times, decided)
    columns, machine, calibration = best.columns, at_home(best.machine), best.calibration
    made = (
        asked.target,
        columns.schema_,
        columns,
        machine,
        calibration,
        conformal,
        evidence,
        decided.decision,
    )
    return Model(test.task, *made)


def _both(test: Question, sample: Question) -> Question:
    """Rows to test and rows of the sample, one below the other; units of the two are different ones."""
    units = np.concatenate([test.units, sample.units + test.units.max() + 1])
    table = Table.joined([test.table, sample.table])
    return replace(sample, table=table, y=np.concatenate([test.y, sample.y]), units=units)
