"""`run_stream`: the straight line from a stream to a machine that has learned it."""

from __future__ import annotations

import csv
import io
import numbers
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer import _resolve
from mercer.estimators.inputs import Labelled
from mercer.io import ModelFileError, load, save
from mercer.losses.regression import ResidualLoss
from mercer.online.drift import MeanShift
from mercer.online.encoding import Encoding
from mercer.online.machine import OnlineMachine
from mercer.online.tally import Tally
from mercer.tables.reading import Table
from mercer.tables.reading.objects import as_word
from mercer.tables.reading.writing import as_text
from mercer.tables.stream.learning import Batch, learn
from mercer.tables.stream.source import Rows, labels_of, numbers_of, rows_of
from mercer.tables.stream.streamed import Streamed


def run_stream(
    machine: OnlineMachine,
    source: Any,
    *,
    target: str = "y",
    batch: int = 256,
    limit: int | None = None,
    kinds: Mapping[str, str] | None = None,
    ignore: Iterable[str] = (),
    standardise: bool = True,
    classes: Any = None,
    window: int = 1000,
    every: int = 10_000,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
    skip: bool = True,
    drift: Any = None,
    on_drift: str = "report",
    predictions: str | os.PathLike[str] | None = None,
    raw: bool = False,
    progress: Callable[[Streamed], object] | None = None,
    form: str | None = None,
) -> Streamed:
    """Let a machine learn a stream: every example is predicted first, then learned.

    Parameters
    ----------
    machine : OnlineKernelRegressor or OnlineKernelClassifier
        It learns, and may have learned before.
    source : path, binary file, table, iterable of dicts or of pairs (x, y), or a tuple (X, y)
        CSV, JSON lines and Parquet files are read batch by batch and may be larger than memory; a binary
        file, such as ``sys.stdin.buffer``, line by line. X is an array or a data frame; in pairs x is a dict,
        a vector, or an object the kernel takes.
    target : str
        The column to predict; for pairs, what y is called. Rows without it are predicted and not learned.
    batch : int
        Rows that are read and learned at a time. Predictions are those of one row after another; only means,
        deviations and (in the first batch) the kernel's width and the labels are those of the batch.
    limit : int, optional
        End after so many rows.
    kinds, ignore
        What columns shall be, and which are not looked at; see `mercer.tables.read`.
    standardise : bool
        See `mercer.online.Encoding`: numbers are standardised as they come, words become coordinates. A
        regressor whose loss looks at y − f(x) only learns (y − centre)/scale, with the mean and deviation of
        the first batch; predictions and measures are in the units of y.
    classes : labels to expect, optional
    window : int
        How many examples are "late" in `tally.late`.
    every : int
        Rows between two checkpoints, and between two lines of `tally.history`.
    checkpoint : path, optional
        A file for all there is to know, written in one step every so many rows and at the end.
    resume : bool
        Go on from the checkpoint, if it is there: exactly as if there had been no interruption.
    skip : bool
        With `resume`, leave out the rows that were learned. False: the source has only new ones.
    drift : None, True or a detector
        True is ``MeanShift()``. A detector has `update(loss)` and `drift_detected`, as river's have; those
        can't be kept in a checkpoint.
    on_drift : "report" or "restart"
        Note where it was, or let the machine forget everything as well.
    predictions : path, optional
        A CSV file that grows by a line a row: number of the row, what came, what was predicted and, where
        there is one, its probability.
    raw : bool
        Write words to that file as they are, even those that a spreadsheet would take for formulas.
    progress : function, optional
        Called with the `Streamed` after every batch.
    form : "csv" or "jsonl", optional
        Of a binary file.

    Returns
    -------
    Streamed

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C, once the batch is learned and the checkpoint written.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import OnlineKernelRegressor
    >>> X = np.random.default_rng(0).uniform(0, 6, (3000, 1))
    >>> streamed = run_stream(OnlineKernelRegressor(), (X, np.sin(X[:, 0])))
    >>> streamed.position, streamed.tally.late["MAE"] < 0.05
    (3000, True)
    >>> bool(abs(streamed.predict([{"x1": 1.0}])[0] - np.sin(1.0)) < 0.05)
    True
    """
    if not isinstance(machine, OnlineMachine):
        raise TypeError(f"machine must be OnlineKernelRegressor() or …Classifier(), got {machine!r}")
    if on_drift not in ("report", "restart"):
        raise ValueError(f"on_drift must be 'report' or 'restart', got {on_drift!r}")
    for name, value in (("batch", batch), ("every", every), ("limit", 1 if limit is None else limit)):
        if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 1:
            raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")
    if resume and checkpoint is None:
        raise ValueError("resume=True needs checkpoint=, the file to go on from")
    detector = MeanShift() if drift is True else None if drift is False else drift
    if detector is not None and not hasattr(detector, "update"):
        raise TypeError(f"drift must be True, None or a detector, such as MeanShift(); got {drift!r}")
    if checkpoint is not None and detector is not None and not isinstance(detector, MeanShift):
        raise ValueError(
            f"a {type(detector).__name__} can't be kept in a checkpoint, which holds mercer's own data: use "
            "drift=MeanShift(), or no checkpoint"
        )
    task = "classification" if isinstance(machine, Labelled) else "regression"
    state = Streamed(machine, target, batch, Tally(task, window), drift=detector)
    if resume and Path(checkpoint or "").exists():
        state = _resumed(state, checkpoint)
    vectors = _resolve.kernel_of(machine.kernel).vectors
    rows = rows_of(
        source,
        target=target,
        size=batch,
        start=state.position if skip else 0,
        kinds=kinds,
        form=form,
        vectors=vectors,
        ignore=ignore,
    )
    if not machine._begun:
        clone(machine)._rule()  # before any row is read, so that no row is blamed
        machine._budget()
    with _interruptible() as interrupt, _written(predictions, state, raw) as out:
        while limit is None or state.position < limit:
            try:
                with interrupt.at_once():
                    part = next(rows, None)
            except KeyboardInterrupt:
                if checkpoint is not None:
                    _keep(state, checkpoint, out)
                raise KeyboardInterrupt(_advice(state, checkpoint)) from None
            if part is None:
                break
            if limit is not None and state.position + len(part) > limit:
                part = _first(part, limit - state.position)
            _step(state, part, out, classes, on_drift, standardise)
            noted = state.position // every > (state.position - len(part)) // every
            if noted:
                state.tally.note()
            if progress is not None:
                progress(state)
            stop = interrupt.wanted  # asked once: what is said below must be true
            if checkpoint is not None and (noted or stop):
                _keep(state, checkpoint, out)
            if stop:
                raise KeyboardInterrupt(_advice(state, checkpoint))
        if checkpoint is not None:
            _keep(state, checkpoint, out)
    return state


# -- a batch --------------------------------------------------------------------------------------


def _step(state: Streamed, part: Rows, out: Any, classes: Any, on_drift: str, standardise: bool) -> None:
    known = np.array([v is not None for v in part.y]) if part.y.dtype.kind == "O" else part.y == part.y
    as_targets = labels_of if state.task == "classification" else numbers_of
    try:
        y = as_targets(part.y[known], state.target)
        if standardise:
            _settle(state, y)
        X = _points(state, part, standardise)
        done = _predicted_and_learned(state, X, y, known, classes)
    except ValueError as error:
        where = f"rows {state.position + 1:,} to {state.position + len(part):,}"
        raise type(error)(f"{where}: {error}") from error
    if out is not None:
        out.add(state, part, done)
    values = done.values
    state.tally.update(values)
    first = state.position
    state.position += len(part)
    changed = state.drift is not None and _changed(state, values, first + 1 + np.flatnonzero(known))
    if changed and on_drift == "restart" and state.machine._begun:
        machine: Any = state.machine
        state.labels = machine.classes_.tolist() if state.task == "classification" else []
        machine._forget()
        state.restarts += 1


def _settle(state: Streamed, y: np.ndarray) -> None:
    """Units for numbers, where a machine begins: far from 0, f would be busy with a constant for long."""
    machine: Any = state.machine
    if state.task == "classification" or machine._begun or not len(y):
        return
    if isinstance(machine._loss(), ResidualLoss):  # others, such as that of counts, mean what y is
        with np.errstate(over="ignore", invalid="ignore"):
            centre, scale = float(y.mean()), float(y.std())
        if np.isfinite([centre, scale]).all():
            # Numbers that are all alike have no deviation, up to rounding.
            state.centre, state.scale = centre, scale if scale > 1e-12 * abs(centre) else 1.0


def _points(state: Streamed, part: Rows, standardise: bool) -> Any:
    if not isinstance(part.X, Table):
        return part.X
    columns = part.X.columns
    if state.encoding is None:
        if not columns:
            raise ValueError(f"there is no column but {state.target!r} to learn from")
        state.encoding = Encoding.begin(columns, standardise)
        state.kinds = {name: part.X.kind(name) for name in part.X.names}
    state.encoding.learn(columns)
    return state.encoding.transform(columns)


def _predicted_and_learned(state: Streamed, X: Any, y: np.ndarray, known: np.ndarray, classes: Any) -> Batch:
    """The whole batch predicted, and learned where y is known."""
    machine: Any = state.machine
    classes = [*(() if classes is None else classes), *state.labels] or None
    if known.all():
        return learn(machine, X, y, classes, state.centre, state.scale)
    prediction = np.full(len(known), None, dtype=object)
    rest = np.flatnonzero(~known)
    if machine._begun:
        said = machine.predict(X[rest] if isinstance(X, np.ndarray) else [X[i] for i in rest])
        prediction[rest] = state.in_units(said)
    if not known.any():
        return Batch(prediction, None, np.zeros((0, 2)))
    some = np.flatnonzero(known)
    points = X[some] if isinstance(X, np.ndarray) else [X[i] for i in some]
    done = learn(machine, points, y, classes, state.centre, state.scale)
    prediction[some] = done.prediction
    return Batch(prediction, None, done.values)


def _changed(state: Streamed, values: np.ndarray, rows: np.ndarray) -> bool:
    """Tell the detector what was lost; is there a change?"""
    losses = 1 - values[:, 0] if state.task == "classification" else values[:, 0]
    before = len(state.drifts)
    for row, loss in zip(rows.tolist(), losses.tolist()):
        state.drift.update(loss)
        if state.drift.drift_detected:
            state.drifts.append(row)
    return len(state.drifts) > before


def _first(part: Rows, n: int) -> Rows:
    return Rows(part.X.take(slice(n)) if isinstance(part.X, Table) else part.X[:n], part.y[:n])


# -- checkpoints ----------------------------------------------------------------------------------


def _keep(state: Streamed, path: Any, out: Any) -> None:
    if out is not None:
        state.written = out.flush()
    save(state, path)


def _resumed(asked: Streamed, path: Any) -> Streamed:
    """The state in a checkpoint, if it is one of this machine; which takes over what that one has learned."""
    found = load(path)
    if not isinstance(found, Streamed):
        raise ModelFileError(f"{path} holds a {type(found).__name__}, not the state of a stream")
    for what, one, other in (
        ("the target", found.target, asked.target),
        ("batch", found.batch, asked.batch),
        ("window", found.tally.window, asked.tally.window),
        ("the machine", type(found.machine).__name__, type(asked.machine).__name__),
        *_differences(found.machine, asked.machine),
        ("drift", type(found.drift).__name__, type(asked.drift).__name__),
    ):
        if one != other:
            raise ValueError(
                f"{path} is of another stream: {what} was {one}, and is {other}. Ask for the same again, or "
                "begin with another checkpoint"
            )
    asked.machine.__dict__.update(found.machine.__dict__)
    found.machine = asked.machine
    return found


def _differences(one: OnlineMachine, other: OnlineMachine) -> Iterator[tuple[str, str, str]]:
    """The machines' parameters in words; a generator of random numbers has none."""
    for name, value in one.get_params(deep=False).items():
        values = [value, getattr(other, name, None)]
        if name == "random_state":
            values = [v if v is None or isinstance(v, int) else type(v).__name__ for v in values]
        yield f"the machine's {name}", repr(values[0]), repr(values[1])


def _advice(state: Streamed, checkpoint: Any) -> str:
    if checkpoint is None:
        return f"{state.position:,} rows are learned, but no checkpoint was asked for"
    return (
        f"{state.position:,} rows are learned and kept in {checkpoint}; resume=True (--resume) goes on there"
    )


class _Interrupt:
    """Ctrl-C, which waits for the end of a batch; but not for input, which may never come."""

    wanted = False
    _waiting = False

    def __call__(self, *_: Any) -> None:
        if self.wanted or self._waiting:
            raise KeyboardInterrupt
        self.wanted = True

    @contextmanager
    def at_once(self) -> Iterator[None]:
        self._waiting = True
        try:
            yield
        finally:
            self._waiting = False


@contextmanager
def _interruptible() -> Iterator[_Interrupt]:
    interrupt = _Interrupt()
    if threading.current_thread() is not threading.main_thread():
        yield interrupt  # only the main thread hears signals
        return
    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield interrupt
    finally:
        signal.signal(signal.SIGINT, before)


# -- predictions ----------------------------------------------------------------------------------


class _Predictions:
    """A CSV file that grows; after an interruption it is cut to where the checkpoint was."""

    def __init__(self, file: Any, raw: bool):
        self._file, self._word = file, str if raw else as_text

    def add(self, state: Streamed, part: Rows, done: Batch) -> None:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if self._file.tell() == 0:
            sure = state.task == "classification" and done.probability is not None
            writer.writerow(["row", self._word(state.target), "prediction", *["probability"] * sure])
        columns = [part.y.tolist(), done.prediction.tolist()]
        columns += [] if done.probability is None else [done.probability.tolist()]
        for i, row in enumerate(zip(*columns), state.position + 1):
            writer.writerow([i, *("" if v is None or v != v else self._word(as_word(v)) for v in row)])
        self._file.write(text.getvalue().encode())

    def flush(self) -> int:
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._file.tell()


@contextmanager
def _written(path: Any, state: Streamed, raw: bool) -> Iterator[_Predictions | None]:
    if path is None:
        yield None
        return
    goes_on = state.written and Path(path).exists()
    if goes_on and os.path.getsize(path) < state.written:
        raise ValueError(f"{path} is shorter than it was at the checkpoint: is it another file?")
    with open(path, "r+b" if goes_on else "wb") as file:
        if goes_on:
            file.truncate(state.written)
            file.seek(state.written)
        yield _Predictions(file, raw)
