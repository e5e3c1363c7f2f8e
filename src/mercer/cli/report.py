"""`mercer report`: the page of a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mercer import tables
from mercer.cli.console import print_json, printable, require_apart, require_writable, spinner
from mercer.cli.options import AsJson, ModelFile, Quiet, beside, load_model
from mercer.cli.replacing import Force, page_of, require_free


def report(
    model_file: ModelFile,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where to write it; by default MODEL.html.", show_default=False),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write the report page of a model: one HTML file that stands alone."""
    output = output or beside(model_file, ".html")
    require_apart(output, model_file)
    require_writable(output)
    with spinner(quiet, as_json=as_json) as step:
        model = load_model(model_file)
        require_free(output, force, page_of(model.evidence.source or "", str(model.target)))
        step("Drawing the report")

        tables.model_report(model).write(output)
    if as_json:
        print_json({"report": output, "bytes": output.stat().st_size})
    elif not quiet:
        typer.echo(f"Report: {printable(str(output))}")
