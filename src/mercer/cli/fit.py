"""`mercer fit`: a table and a target in, a model and a report out."""

from __future__ import annotations

import shlex
from dataclasses import replace
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mercer.cli.console import fail, print_json, require_apart, spinner, stdout
from mercer.cli.options import (
    AsJson,
    Form,
    Limit,
    Query,
    Quiet,
    TableFile,
    TableName,
    Text,
    beside,
    file_of,
    name_of,
)
from mercer.cli.replacing import Force, model_of, page_of, require_free

if TYPE_CHECKING:
    from mercer.tables.model import Model
    from mercer.tables.reading import Table


class Task(StrEnum):
    """What is asked."""

    regression = "regression"
    classification = "classification"


def _columns(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of columns, for the shell to complete."""
    from mercer.tables.reading import read

    try:
        # The parser stops at the option that waits for its value, and leaves the other words.
        table = ctx.params.get("table") or ctx.args[0]
        names = read(table, limit=5, table=ctx.params.get("table_name")).names
    except Exception:  # a shell that completes is no place for errors
        return []
    return [name for name in names if name.startswith(incomplete)]


def fit(
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
    report: Annotated[
        Path | None,
        typer.Option(
            "--report", help="Where to write the report; by default beside the model.", show_default=False
        ),
    ] = None,
    no_report: Annotated[bool, typer.Option("--no-report", help="Write no report.")] = False,
    task: Annotated[
        Task | None,
        typer.Option(
            "--task", help="Numbers or labels? By default guessed from the target.", show_default=False
        ),
    ] = None,
    minutes: Annotated[float, typer.Option("--minutes", min=0.01, help="About how long it may take.")] = 2.0,
    seed: Annotated[
        int, typer.Option("--seed", min=0, max=2**32 - 1, help="Decides splits and subsamples.")
    ] = 0,
    query: Query = None,
    table_name: TableName = None,
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
    group: Annotated[
        str | None,
        typer.Option(
            "--group",
            metavar="COLUMN",
            help="Rows with the same value here belong together (a patient, a day): they are learned from or "
            "tested on together. It is not learned from.",
            autocompletion=_columns,
            show_default=False,
        ),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Choose, fit and test a kernel machine for a table; write the model and a report."""
    output = output or beside(table, ".mercer")
    page = None if no_report else report or output.with_suffix(".html")
    name = Path(name_of(table)).name  # folders are nobody's business who gets the model
    require_apart(output, table)
    require_free(output, force, model_of(name, target))
    if page is not None:
        require_apart(page, table, output)
        require_free(page, force, page_of(name, target))
        if find_spec("matplotlib") is None:
            fail("the report needs Matplotlib: pip install 'mercer[plot]', or say --no-report")
    with spinner(quiet, 60 * minutes) as step:
        import mercer
        from mercer.tables.reading import read

        step(f"Reading {name}")
        kinds = dict.fromkeys(text or (), "text")
        with file_of(table, form) as file:
            data = read(file, query=query, table=table_name, limit=limit, kinds=kinds)
        data = _chosen(data, target, text or [], ignore or [], group)
        model = mercer.fit(
            data,
            target=target,
            task=task and task.value,
            minutes=minutes,
            random_state=seed,
            groups=group,
            progress=step,
        )
        options = _spoken(target, task, minutes, seed, query, table_name, limit, form, text, ignore, group)
        command = shlex.join(["mercer", "fit", table.name, *options])
        evidence = replace(model.evidence, command=command, source=name)
        model = replace(model, evidence=evidence)
        mercer.save(model, output)
        if page is not None:
            step("Drawing the report")
            try:
                from mercer.tables.report import model_report

                model_report(model).write(page)
            except KeyboardInterrupt:
                raise KeyboardInterrupt(f"{output} is written, {page} is not") from None
            except (ValueError, OSError, ImportError) as error:
                fail(f"{output} is written, but {page} is not: {error}")
    if as_json:
        from mercer.cli.facts import facts

        print_json(facts(model) | {"output": output, "report": page})
    elif not quiet:
        _show(model, output, page)


def _chosen(data: Table, target: str, text: list[str], ignore: list[str], group: str | None) -> Table:
    """The columns that are meant; names that are not there are errors, not silence."""
    for name in (target, *text, *([] if group is None else [group])):
        data[name]
    if target in ignore:
        fail(f"--ignore {target}: this is the target")
    if group == target:
        fail(f"--group {group}: this is the target")
    if group in ignore:
        fail(f"--ignore {group}: this is the column of groups, which is not learned from anyway")
    return data.drop(*ignore)


def _spoken(target, task, minutes, seed, query, table_name, limit, form, text, ignore, group) -> list[str]:
    """The options that decide what the model is, as they would be typed."""
    said = ["--target", target, "--minutes", f"{minutes:g}", "--seed", str(seed)]
    for option, value in (
        ("--task", task),
        ("--query", query),
        ("--table", table_name),
        ("--limit", limit),
        ("--format", form),
        ("--group", group),
    ):
        if value is not None:
            said += [option, str(value)]
    for option, names in (("--text", text), ("--ignore", ignore)):
        for name in names or ():
            said += [option, name]
    return said


def _show(model: Model, output: Path, page: Path | None) -> None:
    from mercer.cli.show import line, show_model, size

    console = stdout()
    show_model(console, model)
    console.print()
    line(console, f"Model: {output} ({size(output.stat().st_size)}), made in {model.evidence.seconds:.0f} s")
    if page is not None:
        line(console, f"Report: {page}")
