"""`mercer stream`: a table that is learned row by row, from a file of any size or from standard input."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import mercer
from mercer import tables
from mercer.cli.console import fail, print_json, require_apart, require_writable, spinner, stdout
from mercer.cli.options import (
    AsJson,
    Quiet,
    Raw,
    Seed,
    Source,
    Target,
    Task,
    column_option,
    option,
    with_options,
)
from mercer.cli.replacing import Force, require_free, stream_of

if TYPE_CHECKING:
    from mercer.tables.stream import Streamed


# What happens when the budget is full; what is done about a change in the stream.
Policy = Literal["merge", "projection", "oldest", "smallest", "random", "window", "forgetron", "none"]
Drift = Literal["report", "restart"]


@dataclass(frozen=True)
class Parts:
    """What the machine is made of."""

    kernel: Annotated[str, typer.Option("--kernel", help="By name: gaussian, laplacian, …")] = "gaussian"
    loss: Annotated[str | None, option("--loss", help="By name: squared, huber, logistic, hinge, …")] = None
    budget: Annotated[int, typer.Option("--budget", min=1, help="How many terms f may have.")] = 500
    policy: Annotated[Policy, typer.Option("--policy", help="What happens to the one too many.")] = "merge"
    step: Annotated[float | None, option("--step", help="Length of the steps, η.")] = None
    lam: Annotated[float | None, option("--lam", help="λ: how f shrinks.")] = None
    averaging: Annotated[
        bool, typer.Option("--averaging", help="Predict with the mean of all functions so far.")
    ] = False
    seed: Seed = 0

    def machine(self, task: str) -> Any:
        """One that has learned nothing."""
        from mercer import OnlineKernelClassifier, OnlineKernelRegressor, online

        rule = "AtRandom" if self.policy == "random" else self.policy.capitalize()
        budget = None if self.policy == "none" else getattr(online, rule)(self.budget)
        options = {"loss": self.loss, "step": self.step, "lam": self.lam}
        said: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
        cls = OnlineKernelClassifier if task == "classification" else OnlineKernelRegressor
        return cls(self.kernel, budget=budget, averaging=self.averaging, random_state=self.seed, **said)


@dataclass(frozen=True)
class CourseOptions:
    """How the rows are gone through, and what is looked at on the way."""

    task: Annotated[
        Task | None, option("--task", help="Numbers or labels? By default guessed from the first rows.")
    ] = None
    classes: Annotated[str | None, option("--classes", metavar="A,B,…", help="Labels to expect.")] = None
    ignore: Annotated[
        list[str] | None, column_option("--ignore", help="Do not look at this column. May be repeated.")
    ] = None
    batch: Annotated[int, typer.Option("--batch", min=1, help="Rows read and learned at a time.")] = 256
    window: Annotated[int, typer.Option("--window", min=1, help="How many rows are 'the last'.")] = 1000
    drift: Annotated[Drift | None, option("--drift", help="Watch for change: report it, or begin again.")] = (
        None
    )

    def options(self) -> dict[str, Any]:
        """As `run_stream` takes them."""
        return {
            "classes": None if self.classes is None else [c.strip() for c in self.classes.split(",")],
            "ignore": self.ignore or (),
            "batch": self.batch,
            "window": self.window,
            "drift": self.drift is not None,
            "on_drift": self.drift or "report",
        }


@dataclass(frozen=True)
class Files:
    """What is written, and what is gone on from."""

    output: Annotated[
        Path | None, option("--output", "-o", help="Where to write the model; by default TABLE.mercer.")
    ] = None
    checkpoint: Annotated[Path | None, option("--checkpoint", help="A file to go on from after an end.")] = (
        None
    )
    every: Annotated[int, typer.Option("--every", min=1, help="Rows between two checkpoints.")] = 10_000
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint, if it is there.")] = (
        False
    )
    no_skip: Annotated[
        bool, typer.Option("--no-skip", help="With --resume: all rows are new, leave none out.")
    ] = False
    predictions: Annotated[
        Path | None,
        option(
            "--predictions",
            metavar="OUT.csv",
            help="A line a row: what came, and what was predicted before it was learned.",
        ),
    ] = None
    raw: Raw = False
    force: Force = False

    def before(self, table: Path, output: Path, target: str) -> Any:
        """What the checkpoint holds if the stream goes on; fails if a file is in the way."""
        written = [path for path in (output, self.checkpoint, self.predictions) if path is not None]
        for i, path in enumerate(written):
            require_writable(path)
            require_apart(path, table, *(p for p in written[:i] if p != output or path == self.predictions))
        if self.resume and self.checkpoint is None:
            raise typer.BadParameter("it needs --checkpoint, the file to go on from", param_hint="--resume")
        if self.no_skip and not self.resume:
            raise typer.BadParameter("it says what --resume shall do, and needs it", param_hint="--no-skip")
        if not (self.resume and self.checkpoint is not None and self.checkpoint.exists()):
            for path in written:
                hint = ", --resume to go on from it" * (path == self.checkpoint)
                # A stream may be ended after it has made this file, and before it has kept anything.
                begun = self.resume and path == self.predictions
                require_free(path, self.force, lambda path: begun and not path.stat().st_size, hint)  # noqa: B023
            return None

        before = mercer.load(self.checkpoint)
        require_free(output, self.force, stream_of(target))
        if self.predictions is not None:  # which the checkpoint speaks of
            size = getattr(before, "written", 0)
            begun = getattr(before, "position", 0) > 0

            def mine(path: Path) -> bool:
                return (size > 0 or not begun) and size <= path.stat().st_size

            require_free(self.predictions, self.force, mine)
        return before

    def options(self) -> dict[str, Any]:
        """As `run_stream` takes them."""
        same = ("checkpoint", "every", "resume", "predictions", "raw")
        return {name: getattr(self, name) for name in same} | {"skip": not self.no_skip}


@with_options
def stream(
    source: Source,
    target: Target,
    parts: Parts,
    course: CourseOptions,
    files: Files,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Learn a table row by row, each predicted before it is learned; write the model."""
    if source.is_query:
        fail("a stream comes from a file or from standard input (-), not from a query")
    output = source.result(files.output, ".mercer")
    before = files.before(source.table, output, target)
    with spinner(quiet, as_json=as_json) as say:
        say(f"Reading {source.name}")

        source.mention()
        rows: Any = sys.stdin.buffer if source.is_piped else source.table
        task = course.task or getattr(before, "task", None)
        if task is None:
            task, rows = _guessed(rows, target, course.batch, source)
        began, first = time.perf_counter(), getattr(before, "position", 0)

        def progress(state: Streamed) -> None:
            seconds = max(time.perf_counter() - began, 1e-9)
            say(
                f"{state.position:,} rows, {(state.position - first) / seconds:,.0f} a second; "
                f"last {_said(state.metrics.recent)}"
            )

        state = tables.run_stream(
            parts.machine(task),
            rows,
            target=target,
            limit=source.limit,
            kinds=source.kinds,
            form=source.form,
            progress=progress,
            **course.options(),
            **files.options(),
        )
        seconds = time.perf_counter() - began
        if not state.position:
            fail(f"{source.name} has no rows to learn from")
        if not state.metrics.count:
            fail(f"the target {target!r} is missing in all {state.position:,} rows: nothing is learned")
        mercer.save(state, output)
    facts = state_facts(state, first, seconds)
    written = {"output": output, "checkpoint": files.checkpoint, "predictions": files.predictions}
    if as_json:
        print_json(facts | written)
    elif not quiet:
        _show(state, facts, source.name, output, files.predictions)


def _guessed(rows: Any, target: str, batch: int, source: Source) -> tuple[str, Any]:
    """The task, and the stream with the rows that were looked at put back in front."""
    from mercer.tables.model.task import target_of
    from mercer.tables.reading.reading import LOOK, batches

    size = batch if source.is_piped else LOOK
    tables = batches(rows, size, kinds=source.kinds, form=source.form)
    head = next(tables, None)
    if head is None:
        fail("there are no rows to learn from")
    y = head[target]
    if y.dtype.kind == "O":
        task = "classification"
    else:
        try:
            task = target_of(y[y == y], name=target).task
        except ValueError:  # all alike so far
            task = "regression"
    return task, chain([head], tables) if source.is_piped else rows


def state_facts(state: Streamed, first: int, seconds: float) -> dict[str, Any]:
    """What is known of a stream, of which `first` rows were learned before."""
    machine: Any = state.machine
    return {
        "task": state.task,
        "target": state.target,
        "rows": state.position,
        "now": state.position - first,
        "learned": state.metrics.count,
        "total": state.metrics.total,
        "late": state.metrics.recent,
        "window": state.metrics.window,
        "drifts": state.drifts,
        "restarts": state.restarts,
        "remarks": state.remarks,
        "terms": machine.n_terms_,
        "updates": machine.n_updates_,
        "kernel": str(machine.kernel_ if machine.begun else machine.kernel),
        "seconds": seconds,
        "rows_per_second": (state.position - first) / max(seconds, 1e-9),
    }


def _said(measures: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.4g}" for name, value in measures.items())


def show_state(console: Any, state: Streamed, facts: dict[str, Any], source: str) -> None:
    """What the machine is, and what its predictions were worth."""
    from mercer.cli.show import line
    from mercer.online.budgets import budget_of

    rows = f"{state.position:,} row{'s' * (state.position != 1)}{source}"
    line(console, f"{state.task.capitalize()} of {state.target}: {rows}")
    machine: Any = state.machine
    loss = machine.loss_ if machine.begun else machine.loss
    terms = f"{facts['terms']:,} terms, {facts['updates']:,} updates"
    rule = f"{facts['kernel']}, {loss}, {budget_of(machine.budget)}"
    line(console, f"{type(machine).__name__}: {rule}; {terms}")
    late = min(state.metrics.window, state.metrics.count)
    line(console, f"Each row predicted before it was learned: {_said(facts['total'])}")
    line(console, f"The last {late:,} rows: {_said(facts['late'])}")
    if state.drift is not None:
        rows = ", ".join(f"{row:,}" for row in state.drifts[:10]) + (", …" if len(state.drifts) > 10 else "")
        again = f"; begun again {state.restarts} times" if state.restarts else ""
        line(console, f"Changes found at row {rows}{again}" if rows else "No change found")
    for remark in state.remarks:
        line(console, f"Note: {remark}", "dim")


def _show(state: Streamed, facts: dict[str, Any], name: str, output: Path, predictions: Path | None) -> None:
    from mercer.cli.show import line, size

    console = stdout()
    show_state(console, state, facts, f" of {name}")
    speed = f"{facts['rows_per_second']:,.0f} a second"
    line(console, f"{facts['now']:,} rows in {facts['seconds']:.1f} s, {speed}")
    line(console, f"Model: {output} ({size(output.stat().st_size)})")
    if predictions is not None:
        line(console, f"Predictions: {predictions}")
