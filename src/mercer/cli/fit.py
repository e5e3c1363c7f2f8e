"""`mercer fit`: a table and a target in, a model and a report out."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import mercer
from mercer import tables
from mercer.cli.console import fail, note, print_json, require_apart, spinner, stdout
from mercer.cli.judging import Judging
from mercer.cli.options import (
    AsJson,
    Memory,
    Minutes,
    Quiet,
    Seed,
    Selection,
    Target,
    Task,
    column_option,
    option,
    spoken,
    with_options,
)
from mercer.cli.replacing import Force, model_of, page_of, require_free
from mercer.tables.model.device import checked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mercer.tables.model import Model
    from mercer.tables.reading import Table


@dataclass(frozen=True)
class Roles:
    """What the target is, and what it is predicted from."""

    task: Annotated[
        Task | None, option("--task", help="Numbers or labels? By default guessed from the target.")
    ] = None
    ignore: Annotated[
        list[str] | None, column_option("--ignore", help="Do not look at this column. May be repeated.")
    ] = None
    group: Annotated[
        str | None,
        column_option(
            "--group",
            help="Rows with the same value here belong together (a patient, a day): they are learned from or "
            "tested on together. It is not learned from.",
        ),
    ] = None

    def columns(self, data: Table, target: str, said: Iterable[str]) -> Table:
        """Those that are meant; names that are not there are errors, not silence."""
        ignore = self.ignore or []
        for name in (target, *said, *([] if self.group is None else [self.group])):
            data[name]
        if target in ignore:
            fail(f"--ignore {target}: this is the target")
        if self.group == target:
            fail(f"--group {self.group}: this is the target")
        if self.group in ignore:
            fail(f"--ignore {self.group}: this is the column of groups, which is not learned from anyway")
        return data.drop(*ignore)


@dataclass(frozen=True)
class Results:
    """The files that are written."""

    output: Annotated[
        Path | None, option("--output", "-o", help="Where to write the model; by default TABLE.mercer.")
    ] = None
    report: Annotated[
        Path | None, option("--report", help="Where to write the report; by default beside the model.")
    ] = None
    no_report: Annotated[bool, typer.Option("--no-report", help="Write no report.")] = False
    force: Force = False

    def model_and_page(self, source: Selection, target: str) -> tuple[Path, Path | None]:
        """Where the two go; fails if that is not possible."""
        output = source.result(self.output, ".mercer")
        page = None if self.no_report else self.report or output.with_suffix(".html")
        name = source.title
        require_apart(output, *source.files)
        require_free(output, self.force, model_of(name, target))
        if page is not None:
            require_apart(page, *source.files, output)
            require_free(page, self.force, page_of(name, target))
            if find_spec("matplotlib") is None:
                fail("the report needs Matplotlib: pip install 'mercer[plot]', or say --no-report")
        return output, page


@with_options
def fit(
    source: Selection,
    target: Target,
    roles: Roles,
    results: Results,
    judging: Judging,
    memory: Memory = None,
    checkpoint: Annotated[
        Path | None,
        option(
            "--checkpoint",
            help="A file in which a fit by parts notes how far it is; the same command goes on from there.",
        ),
    ] = None,
    engine: Annotated[
        Literal["auto", "cpu", "cuda"],
        option("--engine", help="cuda: with a GPU; cpu: without; by default with one if there is one."),
    ] = "auto",
    minutes: Minutes = 2.0,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Choose, fit and test a kernel machine for a table; write the model and a report."""
    output, page = results.model_and_page(source, target)
    name = source.title
    _require(engine)
    with spinner(quiet, 60 * minutes, as_json) as step:
        step(f"Reading {name}")
        data, more = _data(source, roles, target, memory, quiet)
        if checkpoint is not None:
            more["checkpoint"] = checkpoint
        with _going_on(checkpoint):
            model = mercer.fit(
                data,
                target=target,
                task=roles.task,
                minutes=minutes,
                random_state=seed,
                groups=roles.group,
                progress=step,
                **judging.asked(),
                **more,
                engine=engine,
            )
        said = _said(target, minutes, seed, memory, engine)
        if any("interrupted" in said for said in model.evidence.cut):
            note("interrupted: what was learned by then is kept, and its notes say what was left out")
        command = shlex.join(
            ["mercer", "fit", "-" if source.is_piped else name, *said, *spoken(source, roles, judging)]
        )
        model = replace(model, evidence=replace(model.evidence, command=command, source=name))
        mercer.save(model, output)
        if page is not None:
            _draw(model, output, page, step)
    if as_json:
        from mercer.cli.show import facts

        print_json(facts(model) | {"output": output, "report": page})
    elif not quiet:
        _show(model, output, page)


def _said(target: str, minutes: float, seed: int, memory: str | None, engine: str) -> list[str]:
    """Options that decide what comes out, as they are written."""
    said = ["--target", target, "--minutes", f"{minutes:g}", "--seed", str(seed)]
    said += [] if memory is None else ["--memory", memory]
    return said + ([] if engine == "auto" else ["--engine", engine])


def _require(engine: str) -> None:
    """What is asked for is here: else that is said before anything is read."""
    try:
        checked(engine)
    except (ImportError, RuntimeError) as error:
        fail(str(error).replace("engine='cpu'", "--engine cpu"))


def _data(
    source: Selection, roles: Roles, target: str, memory: str | None, quiet: bool
) -> tuple[Any, dict[str, Any]]:
    """The table, or, if it does not fit in memory, where it is; and what else is to be said of it."""
    if (why := source.why_by_parts(memory)) is None:
        with source.file() as file:
            return roles.columns(source.read(file, source.kinds), target, source.kinds), {}
    from mercer.tables.model.large import LargeTable

    if not quiet:
        note(f"{source.name} is read part by part: {why}")
    for head in source.place.parts(source.kinds):
        roles.columns(head, target, source.kinds)
        break
    return LargeTable(source.place, source.kinds, roles.ignore or ()), {"memory": memory}


@contextmanager
def _going_on(checkpoint: Path | None) -> Iterator[None]:
    """Whoever interrupts a fit that notes how far it is learns how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        if checkpoint is None or not checkpoint.exists():
            raise
        raise KeyboardInterrupt(f"the same command goes on from {checkpoint}") from None


def _draw(model: Model, output: Path, page: Path, step: Callable[[str], None]) -> None:
    step("Drawing the report")
    try:
        tables.model_report(model).write(page)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"{output} is written, {page} is not") from None
    except (ValueError, OSError, ImportError) as error:
        fail(f"{output} is written, but {page} is not: {error}")


def _show(model: Model, output: Path, page: Path | None) -> None:
    from mercer.cli.show import line, show_model, size

    console = stdout()
    show_model(console, model)
    console.print()
    line(console, f"Model: {output} ({size(output.stat().st_size)}), made in {model.evidence.seconds:.0f} s")
    if page is not None:
        line(console, f"Report: {page}")
