"""`mercer export`: the machine of a model as an ONNX graph."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mercer.cli.console import fail, print_json, require_apart, stdout
from mercer.cli.options import AsJson, ModelFile, Quiet, beside, load_model
from mercer.cli.replacing import Force, require_free


def export(
    model_file: ModelFile,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where to write it; by default MODEL.onnx.", show_default=False),
    ] = None,
    float32: Annotated[bool, typer.Option("--float32", help="Numbers in and out are float32.")] = False,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write the machine of a model as an ONNX graph.

    Its input is what the columns of a table become, numbers only; words, dates and gaps are prepared by
    model.columns.transform in Python.
    """
    output = output or beside(model_file, ".onnx")
    require_apart(output, model_file)
    require_free(output, force)
    model = load_model(model_file)
    from mercer.onnx import to_onnx

    try:
        graph = to_onnx(model, output, dtype="float32" if float32 else "float64")
    except TypeError as error:  # a part that has no ONNX version
        fail(str(error))
    inputs = model.columns.get_feature_names_out().tolist()
    outputs = [value.name for value in graph.graph.output]
    if as_json:
        print_json({"output": output, "inputs": inputs, "outputs": outputs})
    elif not quiet:
        from mercer.cli.show import line, size

        console = stdout()
        line(console, f"ONNX: {output} ({size(output.stat().st_size)})")
        line(console, f"Input X, prepared columns: {', '.join(inputs)}")
        line(console, f"Outputs: {', '.join(outputs)}")
