"""One call from a table to a model."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mercer._notice import line_teller
from mercer._params import require_positive
from mercer.selection.crew import HERE, ClusterCrew, Crew
from mercer.tables.model.asking import (
    columns_ignored,
    require_rows,
    table_held,
    testable,
    what_is_asked,
)
from mercer.tables.model.conformal import Conformal
from mercer.tables.model.deadline import Deadline
from mercer.tables.model.device import at_home, checked, gpu_for
from mercer.tables.model.evaluation import Tested, evaluate
from mercer.tables.model.evidence import gather
from mercer.tables.model.forests import without_forests
from mercer.tables.model.gaps import Known
from mercer.tables.model.large import Allowance, LargeTable, LargeTask, fit_large, too_large
from mercer.tables.model.learn import Learned, Question
from mercer.tables.model.model import Model
from mercer.tables.model.preferences import Preferences
from mercer.tables.model.search import Progress
from mercer.tables.model.task import Target
from mercer.tables.model.texts import free_texts
from mercer.tables.model.together import Together
from mercer.tables.reading.places import Place, is_place, place_of


def fit(
    X: Any,
    y: Any = None,
    *,
    target: str | None = None,
    task: str | None = None,
    minutes: float = 2.0,
    random_state: int = 0,
    groups: Any = None,
    ignore: Sequence[str] = (),
    kinds: Mapping[str, str] | None = None,
    memory: Any = None,
    checkpoint: Any = None,
    progress: Progress | None = None,
    client: Any = None,
    metric: str | None = None,
    threshold: float | str | None = None,
    class_weight: Any = None,
    costs: Any = None,
    engine: Any = "auto",
) -> Model:
    """Choose, fit and test a kernel machine for a table.

    The columns are encoded (`mercer.tables.Columns`). Families of kernels, from linear and quadratic ones to
    Laplacians, are tried on a few rows; the best get length scales by the gradient of the exact leave-one-out
    error on more, round ones a metric from the gradients of what was fitted. What does about equally well on
    rows that took no part is averaged, a forest as one more term of the kernel; λ is looked at again on more
    rows, the loss is chosen by cross-validation. With few rows all these ways are judged in folds.

    Everything is tested on rows that took no part, beside a constant, a linear model and gradient boosting;
    then the machine is fitted to all rows. Up to some 40,000 rows, as time and memory allow, it is exact: one
    factorisation serves the machine that is tested and the one that is kept. The remarks say what stands for
    all rows otherwise.

    Columns of names or free text are tried beside the others, by the tf–idf cosine of their words and of
    parts of words, and learned from if they help beyond noise; `Model.words` says which words carry it.

    Equal rows (in all columns that are learned from, whatever their targets) and rows of one group are on one
    side of every split: of tests, folds, leave-one-out, calibration. Bounds and intervals count them once.

    A table elsewhere (in files, or a query's) that would not fit in memory is read part by part: the search
    is made on rows drawn at random, and the machine is fitted to all others, with Nyström centres, by passes
    over them (`Passes`). The remarks say so.

    Parameters
    ----------
    X : table
        DataFrame, array, dict of columns, list of records: anything `mercer.tables.Table.of` takes. Or where
        it is: the path of a file that `mercer.tables.read` takes; a folder, a pattern ("part-*.csv") or a
        list of Parquet, Arrow or CSV files of the same columns; a ``pyarrow.dataset.Dataset``; a relation of
        DuckDB's, or the text of a query ("select … from 'a.parquet'").
    y : array or str
        The target, or the name of the column of X that holds it.
    target : str, optional
        The name of the target (of a column of X, if y is not given).
    task : "regression" or "classification", optional
        Guessed from the target otherwise.
    minutes : float
        How long it may take: the call ends by 1.2 × the minutes + 10 seconds. What is tried is decided from
        the size of the table and a forecast of operations; the clock comes last, and cuts short what is not
        done by then, on a machine that is slow or busy. The model's remarks name what was cut. At first a
        model is made of few rows and one width, which takes seconds: it is what remains if there is no time
        for a better one. Ctrl-C keeps what there is, too. Tables read part by part take longer, as reading
        does.
    random_state : int
        Decides splits and subsamples. The same table, number and minutes give the same model, bit for bit, on
        the same machine with the same versions and number of threads, unless the clock or free memory cut
        something short, which the remarks say; elsewhere sums are rounded in another order, and a search may
        end elsewhere.
    groups : str or array, optional
        Rows that belong together (of a patient, a household, a day): the name of a column of X, which is then
        not learned from, or one label a row. A row whose label is missing has no group.
    ignore : list of str
        Columns of X that are not looked at: numbers of rows, or what is not known when predictions are
        needed.
    kinds : mapping from names to kinds, optional
        What columns are, whatever they look like: ``{"zip": "text"}``; see `mercer.tables.read`.
    memory : str or number, optional
        Of a table elsewhere: what may be taken, such as "2GB". A table that would take more is read part by
        part, and sample and centres are as many as fit; about 250 MB are needed in any case. Half of what is
        free if None, and four fifths of it for a table as a whole.
    checkpoint : path or Checkpoint, optional
        Where the fit to all rows of a table that does not fit notes how far it is. The same call after
        whatever ended it searches again (to the same end, if `memory` is given) and goes on from there.
    progress : function, optional
        Called with a line of text now and then; whoever listens to `mercer.progress` if None.
    client : distributed.Client, optional
        A Dask cluster that the search is shared out over: test parts and candidates are tried there, each on
        one core, and found again if a worker is lost. What is tried, and so what is found, is the same as
        without, to rounding. Texts are compared, and machines fitted, in this process; of a table that does
        not fit in memory the machine of all rows is fitted there, if workers see the folder for temporary
        files.

    metric : str, optional
        What it is judged by first, in comparisons and in all that is shown. Of labels "accuracy" (the
        default), "balanced_accuracy", "log_loss", "auc" or "average_precision", of numbers "rmse" (the
        default), "mae" or "r2": as scikit-learn has them. AUC and average precision of several labels are the
        mean over one against the rest, average precision of two is that of the rarer one.
    threshold : float or "auto", optional
        Of two labels: the second (as they are sorted) is predicted where its probability is at least this.
        "auto" takes that with the best accuracy or balanced accuracy (whichever is the metric; of metrics
        that do not look at predicted labels the latter), or with the least `costs`, on the rows that took no
        part; each of those is tested with one that was found on others.
    class_weight : "balanced" or mapping of labels to weights, optional
        What rows of a label weigh in the last fit and in its calibration; 1 if not named. Kernel, loss and
        λ are looked for without. Probabilities remain those of labels as frequent as they are; without
        `threshold` and `costs` the label with the largest product of weight and probability is predicted.
    costs : mapping or matrix, optional
        What errors cost: ``{(true, predicted): cost}``, errors that are not named costing 1, or a matrix with
        a row for each true label. The label with the least expected cost, by the probabilities, is predicted.

    engine : "auto", "cpu", "cuda" or Cuda
        Where it is computed. "cuda": a GPU looks for length scales and compares kernels on many more rows
        (up to 40,000, as time allows), and the machine is exact as long as the matrix fits there (130,000
        rows in 141 GB), with up to 100,000 centres beyond; what is small stays with the CPU. "auto": so, if
        there are a GPU, torch, Triton and 5,000 rows or more. The model is the same kind of thing, and
        predicts anywhere; a remark says what the GPU did. Its last digits may differ from run to run, and a
        search may then end elsewhere. `mercer.engines.Cuda` chooses one of several GPUs.

    Returns
    -------
    Model
        ``print(model.summary())``, ``model.predict(table)``, ``mercer.save(model, path)``.

    Examples
    --------
    >>> import numpy as np, mercer
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0, 6, 120)
    >>> table = {"x": x, "colour": rng.choice(["red", "blue"], 120)}
    >>> model = mercer.fit(table, np.sin(x) + 0.1 * rng.standard_normal(120), minutes=0.1)
    >>> model.evidence.importance[0].column
    'x'
    >>> low, high = model.predict_interval([{"x": 1.5, "colour": "red"}])[0]
    >>> bool(low < np.sin(1.5) < high)
    True
    """
    require_positive(minutes, "minutes")
    if not isinstance(random_state, int | np.integer) or not 0 <= random_state < 2**32:
        raise ValueError(f"random_state must be a whole number from 0 to 2**32 − 1, got {random_state!r}")
    seed, ignored = int(random_state), columns_ignored(ignore, y, target, groups)
    wanted = Preferences(metric, threshold, class_weight, costs)
    checked(engine, client)
    X = place_of(X) if is_place(X) else X
    crew = HERE if client is None else ClusterCrew(client)
    if (why := _why_by_parts(X, memory, checkpoint)) is not None:
        name = _named(y, target, groups)
        source = _in_parts(X, kinds or {}, ignored, name if task == "regression" else None)
        tell = progress or line_teller()
        allowance = Allowance.of(memory)
        means = (float(minutes), seed, allowance, checkpoint, tell, why, crew)
        gpu = gpu_for(engine, np.inf, client)
        return fit_large(LargeTask(source, name, task, groups, *means, wanted, gpu))
    started = time.monotonic()
    held, from_file = table_held(X, kinds), isinstance(X, Place)
    X = held if from_file else X
    table, asked, name, labels = what_is_asked(X, held.drop(*ignored), y, target, task, groups)
    if not from_file:  # whoever goes on with their arrays meanwhile shall not change what is learned
        table = table.take(np.arange(len(table)))
    require_rows(table)
    texts = free_texts(table)
    together = Together.of(table, labels, texts, asked.y)
    table, asked, together = testable(table, asked, together)
    together.require_some()
    classes = np.unique(asked.y) if asked.task == "classification" else None
    question = wanted.on(Question(table, asked.y, asked.task, classes, together.units, texts))
    question = replace(question, engine=gpu_for(engine, len(table), client))
    tell = progress or line_teller()
    return _answered(question, wanted, (name, asked, together), (float(minutes), seed, started), tell, crew)


def _answered(
    question: Question,
    wanted: Preferences,
    target: tuple[str, Target, Together],
    times: tuple[float, int, float],
    tell: Progress,
    crew: Crew,
) -> Model:
    """The model of a table in memory, tested; `times` are minutes, seed and when it began."""
    minutes, seed, started = times
    result, learned = evaluate(question, Deadline(60 * minutes, started), seed, tell, crew)
    try:
        return _known(question, wanted, target, times, tell, result, learned)
    except KeyboardInterrupt:  # the model is there: what is known of it takes seconds, and is looked at again
        tell("Interrupted: the model is kept")
        return _known(question, wanted, target, times, tell, result, learned)


def _known(
    question: Question,
    wanted: Preferences,
    target: tuple[str, Target, Together],
    times: tuple[float, int, float],
    tell: Progress,
    result: Tested,
    learned: Learned,
) -> Model:
    """A model that was learned and tested, with what is known of it."""
    (name, asked, together), (_, seed, _) = target, times
    result, decided = wanted.decided(question, result, seed)
    conformal = _conformal(question, result, learned, seed) if question.classes is None else None
    tell("What is known of it")
    remarks = [*question.table.remarks, f"{asked.task}: {asked.remark}", *together.remarks(), *result.remarks]
    remarks += _what_others_see(learned)
    if question.engine is not None and question.device is None:
        remarks.append(f"the GPU was not used: of {len(question.y):,} rows the CPU is done sooner")
    if together.groups is None and conformal is not None and conformal.gaps is not None:
        remarks += conformal.gaps.remarks()
    evidence = gather(question, result, learned, conformal, remarks, together, *times, decided)
    columns, machine, calibration = learned.columns, at_home(learned.machine), learned.calibration
    schema = columns.schema_
    return Model(
        asked.task, name, schema, columns, machine, calibration, conformal, evidence, decided.decision
    )


def _why_by_parts(X: Any, memory: Any, checkpoint: Any) -> str | None:
    """Why a table is read part by part; None if it is held as a whole."""
    place = X.place if isinstance(X, LargeTable) else X if isinstance(X, Place) else None
    if place is None and memory is not None:
        raise ValueError("memory is for tables in files, and this one is in memory already")
    why = None if place is None else too_large(place, memory)
    if why is None and checkpoint is not None:
        raise ValueError(
            "checkpoint is for tables in files that do not fit in memory; memory='500MB' reads one by parts"
        )
    return "as asked" if why is None and isinstance(X, LargeTable) else why


def _in_parts(X: Any, kinds: Mapping[str, str], ignored: Sequence[str], number: str | None) -> LargeTable:
    """The table to be read part by part, `number` being a column that must be numbers."""
    given = X if isinstance(X, LargeTable) else LargeTable(X)
    # Numbers that are written as words are then refused by their line.
    said = {} if number is None else {number: "number"}
    return LargeTable(given.place, {**given.kinds, **kinds, **said}, (*given.without, *ignored))


def _named(y: Any, target: str | None, groups: Any) -> str:
    """The name of the target of a table that is read part by part."""
    name = y if isinstance(y, str) else target
    if name is None or not (y is None or isinstance(y, str)):
        raise ValueError("the table does not fit in memory: y must be the name of one of its columns")
    if not (groups is None or isinstance(groups, str)):
        raise ValueError("the table does not fit in memory: groups must be the name of one of its columns")
    return name


def _conformal(question: Question, result: Any, learned: Learned, seed: int) -> Conformal:
    """Intervals from the errors on rows that took no part, and from where all rows lie."""
    errors = result.gain * (question.y[result.rows] - result.predicted)
    points, best, units = question.points(learned.columns), learned.found.best, question.units
    # Of texts there are no coordinates to cut blocks by; a forest knows the answers of the rows it has seen.
    known = None if learned.columns.texts else Known(points, question.y, units, best.mu)
    rows, kernel = result.rows, without_forests(best.kernel)
    return Conformal.of(errors, points[rows], kernel, seed, units[rows], known, rows)


def _what_others_see(learned: Learned) -> list[str]:
    """Where there are texts: that boosting does not know them, lest it be thought to have failed on them."""
    columns = learned.columns
    if not columns.texts or not columns.width:
        return []
    names = ", ".join(map(repr, columns.texts))
    return [
        f"the linear model beside it learns from the words in {names}, too, gradient boosting from the other "
        "columns only"
    ]
