"""The command and its subcommands. A new one is a function in a file of its own and a line below."""

from __future__ import annotations

from typing import Annotated

import typer

import mercer
from mercer.cli import demo, export, fit, game, info, lab, predict, report, serve, stream
from mercer.cli.console import guarded

app = typer.Typer(
    help="Learning with kernels, from ten points on a blackboard to data that fills a machine.",
    epilog="Exit codes: 0 done, 1 it could not be done (stderr says why), 2 wrong usage, 130 interrupted.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"mercer {mercer.__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and leave."
        ),
    ] = False,
) -> None:
    pass


app.command("fit")(guarded(fit.fit))
app.command("predict")(guarded(predict.predict))
app.command("stream")(guarded(stream.stream))
app.command("info")(guarded(info.info))
app.command("report")(guarded(report.report))
app.command("serve")(guarded(serve.serve))
app.command("export")(guarded(export.export))
app.command("demo")(guarded(demo.demo))
app.command("game")(guarded(game.game))
app.command("lab")(guarded(lab.lab))
