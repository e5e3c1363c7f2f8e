"""`mercer info`: what a model file holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mercer.cli.console import print_json, stdout
from mercer.cli.options import AsJson, ModelFile, load_model


def info(model_file: ModelFile, as_json: AsJson = False) -> None:
    """Say what a model is, which columns it needs, how good it is and how that was tested."""
    model = load_model(model_file)
    file = _file(model_file)
    if as_json:
        from mercer.cli.facts import facts

        print_json(facts(model) | {"file": file})
        return
    from mercer.cli.show import line, show_columns, show_model, size

    console = stdout()
    show_model(console, model)
    console.print()
    show_columns(console, model.schema.columns, model.evidence.dropped)
    if model.classes_ is not None:
        line(
            console,
            f"Classes: {', '.join(map(str, model.classes_[:20]))}{', …' * (len(model.classes_) > 20)}",
        )
    console.print()
    line(
        console,
        f"File: {model_file}, {size(file['bytes'])}, format {file['format']}, written by mercer "
        f"{file['mercer']}; fitted in {model.evidence.seconds:.0f} s with seed {model.evidence.seed}",
    )


def _file(path: Path) -> dict[str, Any]:
    """Size and versions, as the file says them; it has been read once already, and is sound."""
    from mercer.io.archive import Reader

    with open(path, "rb") as file:
        structure = Reader(file).structure()
    return {
        "path": path,
        "bytes": path.stat().st_size,
        "format": structure["version"],
        "mercer": structure["mercer"],
    }
