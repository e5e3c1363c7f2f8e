"""`mercer info`: what a model file holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import mercer
from mercer import tables
from mercer._files import open_plain
from mercer.cli.console import print_json, stdout
from mercer.cli.options import AsJson, ModelFile, as_model

if TYPE_CHECKING:
    from mercer.tables.stream import Streamed


def info(model_file: ModelFile, as_json: AsJson = False) -> None:
    """Say what a model is, which columns it needs, how good it is and how that was tested."""

    found = mercer.load(model_file)
    file = _file(model_file)
    if isinstance(found, tables.Streamed):
        _streamed(found, file, as_json)
        return
    model = as_model(found, model_file)
    if as_json:
        from mercer.cli.show import facts

        print_json(facts(model) | {"file": file})
        return
    from mercer.cli.show import line, show_columns, show_model, size

    console = stdout()
    show_model(console, model)
    console.print()
    show_columns(console, model.schema.columns, model.evidence.dropped)
    if model.classes_ is not None:
        line(console, _classes(model.classes_))
    console.print()
    line(
        console,
        f"File: {model_file}, {size(file['bytes'])}, format {file['format']}, written by mercer "
        f"{file['mercer']}; fitted in {model.evidence.seconds:.0f} s with seed {model.evidence.seed}",
    )


def _streamed(state: Streamed, file: dict[str, Any], as_json: bool) -> None:
    """What `mercer stream` left."""
    from mercer.cli.show import line, size
    from mercer.cli.stream import show_state, state_facts

    facts = state_facts(state, state.position, 0.0)
    if as_json:
        left_out = {"now", "seconds", "rows_per_second"}  # of a run, which is over
        known = {name: value for name, value in facts.items() if name not in left_out}
        print_json(known | {"columns": state.kinds, "classes": state.classes_, "file": file})
        return
    console = stdout()
    show_state(console, state, facts, "")
    line(console, f"Columns: {', '.join(f'{name} ({kind})' for name, kind in state.kinds.items())}")
    if state.classes_ is not None:
        line(console, _classes(state.classes_))
    line(console, f"File: {file['path']}, {size(file['bytes'])}, written by mercer {file['mercer']}")


def _classes(classes: Any) -> str:
    return f"Classes: {', '.join(map(str, classes[:20].tolist()))}{', …' * (len(classes) > 20)}"


def _file(path: Path) -> dict[str, Any]:
    """Size and versions, as the file says them; it has been read once already, and is sound."""
    from mercer.io.archive import Reader

    with open_plain(path) as file:
        structure = Reader(file).structure()
    return {
        "path": path,
        "bytes": path.stat().st_size,
        "format": structure["version"],
        "mercer": structure["mercer"],
    }
