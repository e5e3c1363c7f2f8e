"""`mercer demo`: the main job on data that come with scikit-learn."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from mercer.cli.console import fail, progress, require_writable

if TYPE_CHECKING:
    from mercer.report.demo import Demo
    from mercer.report.demo.scores import Score


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the report page.")] = Path(
        "demo-report.html"
    ),
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Decides the splits and the noise.")] = 0,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress, no tables: only the page.")
    ] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer examples: a few seconds.")] = False,
) -> None:
    """Fit and tune on built-in data, show test errors beside scikit-learn's, and write a report page."""
    require_writable(output)
    with progress(1, quiet=quiet) as step:
        step("Starting")
        try:
            from mercer.report import demo as job
        except ImportError as missing:
            fail(str(missing))
    command = [
        "mercer",
        "demo",
        "--output",
        output.name,
        "--seed",
        str(seed),
        *(["--quick"] if quick else []),
    ]
    with progress(job.STEPS, quiet=quiet) as step:
        found = job.run(seed, quick=quick, progress=step, command=shlex.join(command))
    try:
        found.report.write(output)
    except OSError as error:
        fail(f"{output} can't be written: {error.strerror or error}")
    if not quiet:
        _show(found, output)


def _show(found: Demo, output: Path) -> None:
    # Wide enough for the tables when the output is not a terminal.
    console = Console() if Console().is_terminal else Console(width=100)
    console.print(_table("Regression, test set", ("data", "R²", "RMSE"), found.regression, 3))
    console.print()
    console.print(
        _table("Classification, test set", ("data", "accuracy", "log loss"), found.classification, 4)
    )
    console.print()
    console.print(f"Report: {output} ({found.seconds:.0f} s)", highlight=False, markup=False, soft_wrap=True)


def _table(title: str, names: tuple[str, str, str], scores: list[Score], figures: int) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column(names[0])
    table.add_column("model")
    for name in (*names[1:], "seconds"):
        table.add_column(name, justify="right", no_wrap=True)
    for s in scores:
        table.add_row(s.data, s.model, *s.cells(figures), style="bold" if s.ours else None)
    return table
