"""The command and its subcommands. A new one is a function in a file of its own and a line below."""

from __future__ import annotations

from typing import Annotated

import typer

import mercer
from mercer.cli import demo

app = typer.Typer(
    help="Learning with kernels, from ten points on a blackboard to data that fills a machine.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"mercer {mercer.__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    pass


app.command("demo")(demo.demo)
