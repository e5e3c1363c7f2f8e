"""`run_stream`: the straight line from a stream to a machine that has learned it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from mercer import _resolve
from mercer._params import require_count
from mercer._threads import on_signals
from mercer.estimators.answers import Labelled
from mercer.losses.regression import ResidualLoss
from mercer.online.machine import OnlineMachine
from mercer.online.streams import Encoding, MeanShift, Metrics
from mercer.tables.reading import Table
from mercer.tables.stream.learning import Foretold, learn
from mercer.tables.stream.source import StreamBatch, as_rows, labels_of, numbers_of, rows_of
from mercer.tables.stream.streamed import Keeper, Streamed, resumed, written_to


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
        See `mercer.online.Encoding`: numbers are standardised as they come, words become coordinates. For a
        kernel on named columns (``columns("text", BagOfWords().normalize())``) rows stay what they are. A
        regressor whose loss looks at y − f(x) only learns (y − centre)/scale, with the mean and deviation of
        the first batch; predictions and measures are in the units of y.
    classes : labels to expect, optional
    window : int
        How many of the last examples `metrics.recent` is of.
    every : int
        Rows between two checkpoints, and between two lines of `metrics.history`.
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
    form : Format, or the name or ending of one ("csv"), optional
        Of a file, by default as it looks.

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
    >>> streamed.position, streamed.metrics.recent["MAE"] < 0.05
    (3000, True)
    >>> bool(abs(streamed.predict([{"x1": 1.0}])[0] - np.sin(1.0)) < 0.05)
    True
    """
    if not isinstance(machine, OnlineMachine):
        raise TypeError(f"machine must be OnlineKernelRegressor() or …Classifier(), got {machine!r}")
    for name, count in (("batch", batch), ("every", every), ("limit", 1 if limit is None else limit)):
        require_count(count, name, 1)
    if on_drift not in ("report", "restart"):
        raise ValueError(f"on_drift must be 'report' or 'restart', got {on_drift!r}")
    if resume and checkpoint is None:
        raise ValueError("resume=True needs checkpoint=, the file to go on from")
    task = "classification" if isinstance(machine, Labelled) else "regression"
    detector = _detector(drift, checkpoint is not None)
    state = Streamed(machine, target, batch, Metrics(task, window), drift=detector)
    if resume and Path(checkpoint or "").exists():
        state = resumed(state, checkpoint)
    rows = rows_of(
        source,
        target=target,
        size=batch,
        start=state.position if skip else 0,
        kinds=kinds,
        form=form,
        vectors=_resolve.kernel_of(machine.kernel).vectors,
        ignore=ignore,
    )
    if not machine.begun:
        machine.validate()  # before any row is read, so that no row is blamed
    restarts, interrupt = on_drift == "restart", _Interrupt()
    with on_signals(interrupt, signal.SIGINT), written_to(predictions, state, raw) as out:
        keeper = Keeper(state, checkpoint, out)
        if not state.position:
            keeper.keep()  # so that whoever is ended before the first checkpoint can be taken up, too
        run = _Run(state, keeper, interrupt, limit, every, progress, classes, restarts, standardise)
        for part in run.parts(rows):
            run.learn(part)
            run.after(part)
        keeper.keep()
    return state


def _detector(drift: Any, kept: bool) -> Any:
    """What watches for change, if anything does."""
    detector = MeanShift() if drift is True else None if drift is False else drift
    if detector is not None and not hasattr(detector, "update"):
        raise TypeError(f"drift must be True, None or a detector, such as MeanShift(); got {drift!r}")
    if kept and detector is not None and not isinstance(detector, MeanShift):
        raise ValueError(
            f"a {type(detector).__name__} can't be kept in a checkpoint, which holds mercer's own data: use "
            "drift=MeanShift(), or no checkpoint"
        )
    return detector


@dataclass
class _Run:
    """A stream that is gone through: batches, what is learned from each, and what is done between two."""

    state: Streamed
    keeper: Keeper
    interrupt: _Interrupt
    limit: int | None
    every: int
    progress: Callable[[Streamed], object] | None
    classes: Any
    restarts: bool
    standardise: bool

    def parts(self, rows: Iterator[StreamBatch]) -> Iterator[StreamBatch]:
        """Batches up to the limit. Ctrl-C while nothing comes ends them at once, with a checkpoint."""
        while self.limit is None or self.state.position < self.limit:
            try:
                with self.interrupt.at_once():
                    part = next(rows, None)
            except KeyboardInterrupt:
                self._stop()
            if part is None:
                return
            most = len(part) if self.limit is None else self.limit - self.state.position
            yield part if len(part) <= most else part.first(most)

    def learn(self, part: StreamBatch) -> None:
        """A batch: predicted, learned, measured, watched for change."""
        state = self.state
        known = np.array([v is not None for v in part.y]) if part.y.dtype.kind == "O" else part.y == part.y
        as_targets = labels_of if state.task == "classification" else numbers_of
        try:
            y = as_targets(part.y[known], state.target)
            if self.standardise:
                _settle(state, y)
            X = _points(state, part, self.standardise)
            done = _predicted_and_learned(state, X, y, known, self.classes)
        except ValueError as error:
            where = f"rows {state.position + 1:,} to {state.position + len(part):,}"
            raise type(error)(f"{where}: {error}") from error
        if self.keeper.out is not None:
            self.keeper.out.add(state, part, done)
        state.metrics.update(done.values)
        first = state.position
        state.position += len(part)
        if _changed(state, done.values, first + 1 + np.flatnonzero(known)) and self.restarts:
            machine: Any = state.machine
            if machine.begun:
                state.labels = machine.classes_.tolist() if state.task == "classification" else []
                machine.forget()
                state.restarts += 1

    def after(self, part: StreamBatch) -> None:
        """Note measures, tell how far it is, keep a checkpoint, stop: as it is due."""
        position = self.state.position
        noted = position // self.every > (position - len(part)) // self.every
        if noted:
            self.state.metrics.note()
        if self.progress is not None:
            self.progress(self.state)
        if self.interrupt.wanted:
            self._stop()
        if noted:
            self.keeper.keep()

    def _stop(self) -> NoReturn:
        self.keeper.keep()
        raise KeyboardInterrupt(self.keeper.advice()) from None


def _settle(state: Streamed, y: np.ndarray) -> None:
    """Units for numbers, where a machine begins: far from 0, f would be busy with a constant for long."""
    machine: Any = state.machine
    if state.task == "classification" or machine.begun or not len(y):
        return
    # Other losses than those of a difference, such as that of counts, mean what y is.
    if isinstance(_resolve.loss_of(machine.loss), ResidualLoss):
        with np.errstate(over="ignore", invalid="ignore"):
            centre, scale = float(y.mean()), float(y.std())
        if np.isfinite([centre, scale]).all():
            # Numbers that are all alike have no deviation, up to rounding.
            state.centre, state.scale = centre, scale if scale > 1e-12 * abs(centre) else 1.0


def _points(state: Streamed, part: StreamBatch, standardise: bool) -> Any:
    if not isinstance(part.X, Table):
        return part.X
    columns = part.X.columns
    if not state.kinds:
        if not columns:
            raise ValueError(f"there is no column but {state.target!r} to learn from")
        state.kinds = {name: part.X.kind(name) for name in part.X.names}
        if _resolve.kernel_of(state.machine.kernel).vectors:
            state.encoding = Encoding.begin(columns, standardise)
    if state.encoding is None:
        return as_rows(part.X)
    state.encoding.learn(columns)
    return state.encoding.transform(columns)


def _predicted_and_learned(
    state: Streamed, X: Any, y: np.ndarray, known: np.ndarray, classes: Any
) -> Foretold:
    """The whole batch predicted, and learned where y is known."""
    machine: Any = state.machine
    classes = [*(() if classes is None else classes), *state.labels] or None
    if known.all():
        return learn(machine, X, y, classes, state.centre, state.scale)
    prediction = np.full(len(known), None, dtype=object)
    rest = np.flatnonzero(~known)
    if machine.begun:
        said = machine.predict(X[rest] if isinstance(X, np.ndarray) else [X[i] for i in rest])
        prediction[rest] = state.in_units(said)
    if not known.any():
        return Foretold(prediction, None, np.zeros((0, 2)))
    some = np.flatnonzero(known)
    points = X[some] if isinstance(X, np.ndarray) else [X[i] for i in some]
    done = learn(machine, points, y, classes, state.centre, state.scale)
    prediction[some] = done.prediction
    return Foretold(prediction, None, done.values)


def _changed(state: Streamed, values: np.ndarray, rows: np.ndarray) -> bool:
    """Tell the detector what was lost, if there is one; is there a change?"""
    if state.drift is None:
        return False
    losses = 1 - values[:, 0] if state.task == "classification" else values[:, 0]
    before = len(state.drifts)
    for row, loss in zip(rows.tolist(), losses.tolist()):
        state.drift.update(loss)
        if state.drift.drift_detected:
            state.drifts.append(row)
    return len(state.drifts) > before


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
