"""What a stream has taught: a machine that goes on learning, and what it leaves on disk to go on with."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from mercer._state import COUNT, NUMBER, ONE_OR_MORE, POSITIVE, require
from mercer.estimators.answers import Labelled
from mercer.io import ModelFileError, load, save
from mercer.online.machine import OnlineMachine
from mercer.online.streams import LEVELS, Encoding, MeanShift, Metrics
from mercer.tables.reading import Table
from mercer.tables.reading.objects import as_word
from mercer.tables.reading.writing import as_text
from mercer.tables.stream.learning import Foretold
from mercer.tables.stream.source import StreamBatch, as_rows


@dataclass(eq=False)
class Streamed:
    """A machine and where it is in its stream; `mercer.tables.stream.run_stream` makes one, files keep it.

    Attributes
    ----------
    machine : OnlineKernelRegressor or OnlineKernelClassifier
    target : str
        What it predicts; the column of that name was y.
    batch : int
        Rows that were learned at a time.
    position : int
        Rows of the stream so far.
    metrics : Metrics
        What predictions were worth, each made before its row was learned: `total`, `late`, `history`.
    encoding : Encoding or None
        From columns to points; None where points are what the kernel takes: objects, or rows of a table.
    drift : MeanShift or None
    drifts : list of int
        Rows at which the stream was found to have changed.
    restarts : int
        How often the machine began again.
    labels : list
        Those it knew before it did.
    kinds : dict
        What columns are.
    written : int
        Bytes of the file of predictions so far.
    centre, scale : float
        The machine learns (y − centre)/scale: mean and deviation of numbers in the first batch, 0 and 1
        where y is not standardised.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import OnlineKernelRegressor
    >>> from mercer.tables import run_stream
    >>> X = np.random.default_rng(0).uniform(0, 6, (1000, 1))
    >>> streamed = run_stream(OnlineKernelRegressor(), (X, np.sin(X[:, 0])))
    >>> streamed.position, streamed.predict([{"x1": 1.0}]).shape
    (1000, (1,))
    """

    machine: OnlineMachine
    target: str
    batch: int
    metrics: Metrics
    encoding: Encoding | None = None
    drift: Any = None
    position: int = 0
    drifts: list[int] = field(default_factory=list)
    restarts: int = 0
    labels: list[Any] = field(default_factory=list)
    kinds: dict[str, str] = field(default_factory=dict)
    written: int = 0
    centre: float = 0.0
    scale: float = 1.0

    @property
    def task(self) -> str:
        """ "classification" or "regression" """
        return "classification" if isinstance(self.machine, Labelled) else "regression"

    def points(self, X: Any) -> Any:
        """Points of the machine: X as a table, if the stream was one."""
        if not self.kinds:
            return X
        table = X if isinstance(X, Table) else Table.of(X, kinds=self.kinds)
        return as_rows(table) if self.encoding is None else self.encoding.transform(table.columns)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What became of columns with more words than there are coordinates for."""
        crowded = () if self.encoding is None else self.encoding.crowded
        return tuple(
            f"column {name!r} has many different words: the first {LEVELS - 1} have a coordinate each, all "
            "others share one. For names or free text give a kernel on strings in Python, such as "
            f"columns({name!r}, BagOfWords().normalize()), or leave the column out (ignore=, --ignore)"
            for name in crowded
        )

    def predict(self, X: Any) -> np.ndarray:
        """Predictions for the rows of a table (a Table, data frame, dict of columns, list of dicts)."""
        machine: Any = self.machine
        return self.in_units(machine.predict(self.points(X)))

    def in_units(self, said: np.ndarray) -> np.ndarray:
        """What the machine predicts, in the units of y."""
        return said if self.task == "classification" else said * self.scale + self.centre

    @property
    def classes_(self) -> np.ndarray | None:
        """The labels met so far; None of a regression, and before there were any."""
        return getattr(self.machine, "classes_", None)

    @available_if(lambda self: hasattr(self.machine, "predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes, where the machine has them."""
        machine: Any = self.machine
        return machine.predict_proba(self.points(X))

    def __str__(self) -> str:
        said = ", ".join(f"{name} {value:.4g}" for name, value in self.metrics.total.items())
        return f"{type(self.machine).__name__} after {self.position:,} rows: {said or 'nothing learned'}"

    holds = {
        "batch": ONE_OR_MORE,
        **dict.fromkeys(("position", "restarts", "written"), COUNT),
        "drift": (None, MeanShift),
        "centre": NUMBER,
        "scale": POSITIVE,
    }

    def check_state(self) -> None:
        """Refuse a machine that takes other points, or has another task."""
        fine = all(type(n) is int for n in self.drifts) and self.metrics.task == self.task
        require(fine, "the state of a stream makes no sense")
        width = getattr(self.machine, "n_features_in_", None)
        same = self.encoding is None or width in (None, self.encoding.width)
        require(same, "the columns of a stream make other points than its machine takes")


class Predictions:
    """A CSV file that grows; after an interruption it is cut to where the checkpoint was."""

    def __init__(self, file: Any, raw: bool):
        self._file, self._word = file, str if raw else as_text

    def add(self, state: Streamed, part: StreamBatch, done: Foretold) -> None:
        """A line for each example of a batch."""
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
        """Have all of it on disk; its length."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._file.tell()


@contextmanager
def written_to(path: Any, state: Streamed, raw: bool) -> Iterator[Predictions | None]:
    """The file of predictions, if one is wanted; it goes on where it was at the checkpoint."""
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
        yield Predictions(file, raw)


@dataclass
class Keeper:
    """The checkpoint, if one was asked for."""

    state: Streamed
    path: Any
    out: Predictions | None

    def keep(self) -> None:
        """Write all there is to know."""
        if self.path is None:
            return
        if self.out is not None:
            self.state.written = self.out.flush()
        save(self.state, self.path)

    def advice(self) -> str:
        """What somebody who interrupts should know."""
        rows = f"{self.state.position:,} rows are learned"
        if self.path is None:
            return f"{rows}, but no checkpoint was asked for"
        return f"{rows} and kept in {self.path}; resume=True (--resume) goes on there"


def resumed(asked: Streamed, path: Any) -> Streamed:
    """The state in a checkpoint, if it is one of this machine; which takes over what that one has learned."""
    found = load(path)
    if not isinstance(found, Streamed):
        raise ModelFileError(f"{path} holds a {type(found).__name__}, not the state of a stream")
    for what, one, other in (
        ("the target", found.target, asked.target),
        ("batch", found.batch, asked.batch),
        ("window", found.metrics.window, asked.metrics.window),
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
