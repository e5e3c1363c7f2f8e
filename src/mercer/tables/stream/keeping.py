"""What a stream leaves on disk: its checkpoint, and its predictions."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mercer.io import ModelFileError, load, save
from mercer.online.machine import OnlineMachine
from mercer.tables.reading.objects import as_word
from mercer.tables.reading.writing import as_text
from mercer.tables.stream.learning import Foretold
from mercer.tables.stream.source import StreamBatch
from mercer.tables.stream.streamed import Streamed


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
