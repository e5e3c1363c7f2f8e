"""`mercer stream`: a table that is learned row by row, from a file of any size or from standard input."""

from __future__ import annotations

import sys
import time
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mercer.cli.console import fail, note, print_json, require_apart, require_writable, spinner, stdout
from mercer.cli.fit import Task, _columns
from mercer.cli.options import STDIN, AsJson, Form, Limit, Quiet, Raw, TableFile, Text, beside, name_of
from mercer.cli.replacing import Force, require_free

if TYPE_CHECKING:
    from mercer.tables.stream import Streamed


class Policy(StrEnum):
    """What happens when the budget is full."""

    merge = "merge"
    projection = "projection"
    oldest = "oldest"
    smallest = "smallest"
    random = "random"
    window = "window"
    forgetron = "forgetron"
    none = "none"


class Drift(StrEnum):
    """What is done about a change in the stream."""

    report = "report"
    restart = "restart"


def stream(
    table: TableFile,
    target: Annotated[
        str,
        typer.Option(
            "--target",
            "-t",
            metavar="COLUMN",
            help="What shall be predicted.",
            autocompletion=_columns,
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Where to write the model; by default TABLE.mercer.", show_default=False
        ),
    ] = None,
    task: Annotated[
        Task | None,
        typer.Option(
            "--task", help="Numbers or labels? By default guessed from the first rows.", show_default=False
        ),
    ] = None,
    kernel: Annotated[str, typer.Option("--kernel", help="By name: gaussian, laplacian, …")] = "gaussian",
    loss: Annotated[
        str | None,
        typer.Option("--loss", help="By name: squared, huber, logistic, hinge, …", show_default=False),
    ] = None,
    budget: Annotated[int, typer.Option("--budget", min=1, help="How many terms f may have.")] = 500,
    policy: Annotated[Policy, typer.Option("--policy", help="What happens to the one too many.")] = (
        Policy.merge
    ),
    step: Annotated[
        float | None, typer.Option("--step", help="Length of the steps, η.", show_default=False)
    ] = None,
    lam: Annotated[float | None, typer.Option("--lam", help="λ: how f shrinks.", show_default=False)] = None,
    averaging: Annotated[
        bool, typer.Option("--averaging", help="Predict with the mean of all functions so far.")
    ] = False,
    classes: Annotated[
        str | None,
        typer.Option("--classes", metavar="A,B,…", help="Labels to expect.", show_default=False),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option("--checkpoint", help="A file to go on from after an end.", show_default=False),
    ] = None,
    every: Annotated[int, typer.Option("--every", min=1, help="Rows between two checkpoints.")] = 10_000,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint, if it is there.")] = (
        False
    ),
    no_skip: Annotated[
        bool, typer.Option("--no-skip", help="With --resume: all rows are new, leave none out.")
    ] = False,
    predictions: Annotated[
        Path | None,
        typer.Option(
            "--predictions",
            metavar="OUT.csv",
            help="A line a row: what came, and what was predicted before it was learned.",
            show_default=False,
        ),
    ] = None,
    batch: Annotated[int, typer.Option("--batch", min=1, help="Rows read and learned at a time.")] = 256,
    window: Annotated[int, typer.Option("--window", min=1, help="How many rows are 'the last'.")] = 1000,
    drift: Annotated[
        Drift | None,
        typer.Option("--drift", help="Watch for change: report it, or begin again.", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, max=2**32 - 1, help="Of random choices.")] = 0,
    limit: Limit = None,
    form: Form = None,
    text: Text = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            "--ignore",
            metavar="COLUMN",
            help="Do not look at this column. May be repeated.",
            autocompletion=_columns,
            show_default=False,
        ),
    ] = None,
    raw: Raw = False,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Learn a table row by row, each predicted before it is learned; write the model."""
    output = output or beside(table, ".mercer")
    written = [path for path in (output, checkpoint, predictions) if path is not None]
    for i, path in enumerate(written):
        require_writable(path)
        require_apart(path, table, *(p for p in written[:i] if p != output or path == predictions))
    goes_on = resume and checkpoint is not None and checkpoint.exists()
    if not goes_on:
        for path in written:
            require_free(path, force, hint=", --resume to go on from it" * (path == checkpoint))
    if resume and checkpoint is None:
        raise typer.BadParameter("it needs --checkpoint, the file to go on from", param_hint="--resume")
    if no_skip and not resume:
        raise typer.BadParameter("it says what --resume shall do, and needs it", param_hint="--no-skip")
    if form is not None and table != STDIN:
        raise typer.BadParameter("it is for a table on standard input (-)", param_hint="--format")
    with spinner(quiet) as say:
        say(f"Reading {name_of(table)}")
        import mercer
        from mercer.tables.stream import run_stream

        if table == STDIN and sys.stdin.isatty():
            note("reading the table from standard input; Ctrl-D ends it")
        kinds = dict.fromkeys(text or (), "text")
        source: Any = sys.stdin.buffer if table == STDIN else table
        before = mercer.load(checkpoint) if goes_on and checkpoint else None
        if goes_on:
            _require_own(before, target, output, predictions, force)
        asked = task.value if task is not None else getattr(before, "task", None)
        if asked is None:
            asked, source = _guessed(source, target, batch, kinds, form)
        machine = _machine(asked, kernel, loss, budget, policy, step, lam, averaging, seed)
        began, first = time.perf_counter(), getattr(before, "position", 0)

        def progress(state: Streamed) -> None:
            seconds = max(time.perf_counter() - began, 1e-9)
            late = ", ".join(f"{name} {value:.4g}" for name, value in state.tally.late.items())
            say(f"{state.position:,} rows, {(state.position - first) / seconds:,.0f} a second; last {late}")

        state = run_stream(
            machine,
            source,
            target=target,
            batch=batch,
            limit=limit,
            kinds=kinds,
            ignore=ignore or (),
            classes=None if classes is None else [c.strip() for c in classes.split(",")],
            window=window,
            every=every,
            checkpoint=checkpoint,
            resume=resume,
            skip=not no_skip,
            drift=drift is not None,
            on_drift="report" if drift is None else drift.value,
            predictions=predictions,
            raw=raw,
            progress=progress,
            form=None if form is None else form.value,
        )
        seconds = time.perf_counter() - began
        if not state.position:
            fail(f"{name_of(table)} has no rows to learn from")
        if not state.tally.count:
            fail(f"the target {target!r} is missing in all {state.position:,} rows: nothing is learned")
        mercer.save(state, output)
    facts = state_facts(state, first, seconds) | {"output": output, "checkpoint": checkpoint}
    if as_json:
        print_json(facts | {"predictions": predictions})
    elif not quiet:
        _show(state, facts, name_of(table), predictions)


def _require_own(before: Any, target: str, output: Path, predictions: Path | None, force: bool) -> None:
    """What a stream that goes on replaces: its own model, and the predictions its checkpoint speaks of."""
    import mercer
    from mercer.tables.stream import Streamed

    def own(path: Path) -> bool:
        try:
            found = mercer.load(path)
        except mercer.io.ModelFileError:
            return False
        return isinstance(found, Streamed) and found.target == target

    require_free(output, force, own)
    if predictions is not None:
        written = getattr(before, "written", 0)
        require_free(predictions, force, lambda path: 0 < written <= path.stat().st_size)


def _guessed(source: Any, target: str, batch: int, kinds: dict, form: Any) -> tuple[str, Any]:
    """The task, and the stream with the rows that were looked at put back in front."""
    from mercer.tables.model.task import target_of
    from mercer.tables.reading.stream import LOOK, batches

    is_file = isinstance(source, Path)
    tables = batches(
        source, LOOK if is_file else batch, kinds=kinds, form=None if form is None else form.value
    )
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
    return task, source if is_file else chain([head], tables)


def _machine(task, kernel, loss, budget, policy, step, lam, averaging, seed) -> Any:
    from mercer import OnlineKernelClassifier, OnlineKernelRegressor, online

    kinds = {
        Policy.merge: online.Merge,
        Policy.projection: online.Projection,
        Policy.oldest: online.Oldest,
        Policy.smallest: online.Smallest,
        Policy.random: online.AtRandom,
        Policy.window: online.Window,
        Policy.forgetron: online.Forgetron,
    }
    rule = kinds[policy](budget) if policy in kinds else None
    options = {"loss": loss, "step": step, "lam": lam}
    said = {name: value for name, value in options.items() if value is not None}
    cls = OnlineKernelClassifier if task == "classification" else OnlineKernelRegressor
    return cls(kernel, budget=rule, averaging=averaging, random_state=seed, **said)


def state_facts(state: Streamed, first: int, seconds: float) -> dict[str, Any]:
    machine: Any = state.machine
    begun = machine._begun
    return {
        "task": state.task,
        "target": state.target,
        "rows": state.position,
        "now": state.position - first,
        "learned": state.tally.count,
        "total": state.tally.total,
        "late": state.tally.late,
        "window": state.tally.window,
        "drifts": state.drifts,
        "restarts": state.restarts,
        "terms": machine._learner.size if begun else 0,
        "updates": machine.n_updates_,
        "kernel": str(machine.kernel_) if begun else str(machine.kernel),
        "seconds": seconds,
        "rows_per_second": (state.position - first) / max(seconds, 1e-9),
    }


def show_state(console: Any, state: Streamed, facts: dict[str, Any], source: str) -> None:
    """What the machine is, and what its predictions were worth."""
    from mercer.cli.show import line

    def said(measures: dict[str, float]) -> str:
        return ", ".join(f"{key} {value:.4g}" for key, value in measures.items())

    rows = f"{state.position:,} row{'s' * (state.position != 1)}{source}"
    line(console, f"{state.task.capitalize()} of {state.target}: {rows}")
    machine: Any = state.machine
    loss = machine.loss_ if machine._begun else machine.loss
    rule = f"{facts['terms']:,} terms, {facts['updates']:,} updates"
    line(console, f"{type(machine).__name__}: {facts['kernel']}, {loss}, {machine._budget()}; {rule}")
    late = min(state.tally.window, state.tally.count)
    line(console, f"Each row predicted before it was learned: {said(facts['total'])}")
    line(console, f"The last {late:,} rows: {said(facts['late'])}")
    if state.drift is not None:
        rows = ", ".join(f"{row:,}" for row in state.drifts[:10]) + (", …" if len(state.drifts) > 10 else "")
        again = f"; begun again {state.restarts} times" if state.restarts else ""
        line(console, f"Changes found at row {rows}{again}" if rows else "No change found")


def _show(state: Streamed, facts: dict[str, Any], name: str, predictions: Path | None) -> None:
    from mercer.cli.show import line, size

    console = stdout()
    show_state(console, state, facts, f" of {name}")
    line(
        console,
        f"{facts['now']:,} rows in {facts['seconds']:.1f} s, {facts['rows_per_second']:,.0f} a second",
    )
    output = facts["output"]
    line(console, f"Model: {output} ({size(output.stat().st_size)})")
    if predictions is not None:
        line(console, f"Predictions: {predictions}")
