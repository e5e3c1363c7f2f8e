"""One call from a table to a model."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mercer.rows import Rows
from mercer.rows.placing import is_of_dask
from mercer.selection.crew import HERE, ClusterCrew, Crew
from mercer.tables.model.conformal import Conformal
from mercer.tables.model.deadline import Deadline
from mercer.tables.model.evaluation import Tested, evaluate
from mercer.tables.model.evidence import gather
from mercer.tables.model.forests import without_forests
from mercer.tables.model.gaps import Known
from mercer.tables.model.large import Allowance, LargeTable, LargeTask, fit_large, too_large
from mercer.tables.model.learn import Learned, Question
from mercer.tables.model.model import Model
from mercer.tables.model.preferences import Preferences
from mercer.tables.model.search import Progress
from mercer.tables.model.task import Target, column_of_target, missing, target_of
from mercer.tables.model.texts import free_texts
from mercer.tables.model.together import Together
from mercer.tables.reading import Table
from mercer.tables.reading.from_memory import with_dates
from mercer.tables.reading.places import Place, is_place, place_of

_FEWEST = 10


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
        Called with a line of text now and then.
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
    if not minutes > 0:
        raise ValueError(f"minutes must be positive, got {minutes!r}")
    if not isinstance(random_state, int | np.integer) or not 0 <= random_state < 2**32:
        raise ValueError(f"random_state must be a whole number from 0 to 2**32 − 1, got {random_state!r}")
    seed, ignored = int(random_state), _ignored(ignore, y, target, groups)
    wanted = Preferences(metric, threshold, class_weight, costs)
    X = place_of(X) if is_place(X) else X
    crew = HERE if client is None else ClusterCrew(client)
    if (why := _why_by_parts(X, memory, checkpoint)) is not None:
        name = _named(y, target, groups)
        source = _in_parts(X, kinds or {}, ignored, name if task == "regression" else None)
        tell = progress or (lambda text: None)
        allowance = Allowance.of(memory)
        means = (float(minutes), seed, allowance, checkpoint, tell, why, crew)
        return fit_large(LargeTask(source, name, task, groups, *means, wanted))
    started = time.monotonic()
    held, from_file = _held(X, kinds), isinstance(X, Place)
    X = held if from_file else X
    table, asked, name, labels = _asked(X, held.drop(*ignored), y, target, task, groups)
    if not from_file:  # whoever goes on with their arrays meanwhile shall not change what is learned
        table = table.take(np.arange(len(table)))
    _require_rows(table)
    texts = free_texts(table)
    together = Together.of(table, labels, texts, asked.y)
    table, asked, together = _testable(table, asked, together)
    together.require_some()
    classes = np.unique(asked.y) if asked.task == "classification" else None
    question = wanted.on(Question(table, asked.y, asked.task, classes, together.units, texts))
    tell = progress or (lambda text: None)
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
    if together.groups is None and conformal is not None and conformal.gaps is not None:
        remarks += conformal.gaps.remarks()
    evidence = gather(question, result, learned, conformal, remarks, together, *times, decided)
    columns, machine, calibration = learned.columns, learned.machine, learned.calibration
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


def _ignored(ignore: Any, y: Any, target: str | None, groups: Any) -> tuple[str, ...]:
    """Names of columns that are not looked at; fails if one of them is needed."""
    names = (ignore,) if isinstance(ignore, str) else tuple(ignore)
    if (name := target if y is None else y if isinstance(y, str) else None) in names:
        raise ValueError(f"ignore: {name!r} is the target")
    if isinstance(groups, str) and groups in names:
        raise ValueError(f"ignore: {groups!r} is the column of groups, which is not learned from anyway")
    return names


def _held(X: Any, kinds: Mapping[str, str] | None) -> Table:
    """The table in memory. What kinds the columns of a Table are was decided by a reader, or who made it."""
    if isinstance(X, Place):
        return X.whole(kinds)
    if is_of_dask(X) or isinstance(X, Rows):
        what = "rows of numbers" if isinstance(X, Rows) else "collections of Dask's"
        raise ValueError(
            f"{what} are not taken here, but by machines such as KernelRidge: mercer.fit takes the path of a "
            "file, a folder of Parquet files (to_parquet writes one), or a table that is in memory"
        )
    if isinstance(X, Table):
        return X if not kinds else Table.of(X, kinds=kinds)
    return with_dates(Table.of(X, kinds=kinds), kinds or {})


def _asked(
    X: Any, table: Table, y: Any, target: str | None, task: str | None, groups: Any
) -> tuple[Table, Target, str, np.ndarray | None]:
    """The table, its target and the labels of its groups, without rows that have no target."""
    if isinstance(y, str) or y is None:
        name = y if isinstance(y, str) else target
        if name is None:
            raise ValueError("which column is the target? Give y, an array or the name of a column")
        values, table = _truth_values(X, name, table[name]), table.drop(name)
    else:
        name, values = str(target or _name_of(y) or "y"), y
        if name in table and _same(table[name], y):
            raise ValueError(
                f"the table still holds the column {name!r}, which is what y is called: it would be learned "
                f"from itself. Say mercer.fit(table, {name!r}), or drop it from the table"
            )
        if len(np.atleast_1d(np.asarray(values))) != len(table):
            raise ValueError(f"the table has {len(table):,} rows, y has {np.size(values):,}")
    if isinstance(groups, str):
        if groups == name:
            raise ValueError(f"{groups!r} is the target: it can't also say which rows belong together")
        groups, table = table[groups], table.drop(groups)
    labels = None if groups is None else np.asarray(groups)
    if labels is not None and labels.shape != (len(table),):
        raise ValueError(f"the table has {len(table):,} rows, groups is an array of shape {labels.shape}")
    table, values, kept = _complete(table, values, name)
    return table, target_of(values, task, name), name, labels if labels is None else labels[kept]


def _testable(table: Table, asked: Target, together: Together) -> tuple[Table, Target, Together]:
    """Without labels that can't be on both sides of a split."""
    if asked.task == "regression":
        return table, asked, together
    units = together.units
    labels, place = np.unique(asked.y, return_inverse=True)
    sets = np.array([len(np.unique(units[place == k])) for k in range(len(labels))])
    single = sets[place] == 1
    if not single.any():
        return table, asked, together
    if (sets > 1).sum() < 2:
        label = labels[sets.argmin()].item()
        often = "once" if (place == sets.argmin()).sum() == 1 else "in equal rows, or rows of one group, only"
        raise ValueError(
            f"the label {label!r} occurs {often}: a model can't be tested on it. Drop that row, or merge the "
            "label with another one"
        )
    words = ", ".join(map(repr, np.unique(asked.y[single])[:5].tolist()))
    why = (
        "once" if (np.bincount(place)[place][single] == 1).all() else "once (or in rows that belong together)"
    )
    remark = f"labels that occur {why} can't be tested, so their rows were left out: {words}"
    kept = Target(asked.task, asked.y[~single], asked.remark)
    return _remarked(table.take(~single), remark), kept, together.take(~single)


def _complete(table: Table, values: Any, name: str) -> tuple[Table, Any, np.ndarray]:
    """Without the rows that have no target; and which rows those are that have one."""
    array = column_of_target(values, name)
    absent = missing(array)
    if not absent.any() or absent.all():
        return table, values, np.ones(len(table), dtype=bool)
    first, count = int(absent.argmax()) + 1, int(absent.sum())
    rows = f"row {first:,}, without {name!r}, was" if count == 1 else f"{count:,} rows without {name!r} were"
    remark = f"{rows} left out" + (f", the first of them row {first:,}" if count > 1 else "")
    return _remarked(table.take(~absent), remark), array[~absent], ~absent


def _remarked(table: Table, remark: str) -> Table:
    return Table(table.columns, len(table), (*table.remarks, remark))


def _same(column: np.ndarray, y: Any) -> bool:
    """Does a column hold just what y holds?"""
    return Table({"y": column}) == Table.of({"y": np.ravel(y)})


def _name_of(y: Any) -> str:
    """What a series, or the one column of a data frame, is called; empty if it has no name."""
    names = list(y.columns) if hasattr(y, "columns") else [getattr(y, "name", None)]
    return "" if len(names) != 1 or names[0] is None else str(names[0])


def _truth_values(X: Any, name: str, words: np.ndarray) -> np.ndarray:
    """The target of a data frame as truth values, if it has them: in a `Table` they are words."""
    try:
        given = np.asarray(X[name])
    except (KeyError, IndexError, TypeError, ValueError):
        return words
    return given if given.dtype.kind == "b" and given.shape == words.shape else words


def _require_rows(table: Table) -> None:
    if not table.names:
        raise ValueError("there is no column besides the target")
    if len(table) < _FEWEST:
        raise ValueError(
            f"{len(table)} rows are too few to choose and test a model on; {_FEWEST} is the least"
        )
