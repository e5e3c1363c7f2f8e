"""`mercer demo`: the main job on two real tables that come with scikit-learn."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from mercer import tables
from mercer.cli.console import fail, printable, stdout
from mercer.cli.options import Quiet
from mercer.cli.replacing import Force

# Name, the target's name, and what it says.
_TABLES = (("breast_cancer", "diagnosis"), ("diabetes", "progression"))
_NEW_ROWS = 5
# A folder with this file is the demo's own.
_MARK = ".mercer-demo"


def demo(
    folder: Annotated[
        Path, typer.Option("--folder", help="Where to write tables, models and reports.")
    ] = Path("demo"),
    minutes: Annotated[float, typer.Option("--minutes", min=0.01, help="For each of two tables.")] = 1.0,
    seed: Annotated[
        int, typer.Option("--seed", min=0, max=2**32 - 1, help="Decides splits and subsamples.")
    ] = 0,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Write two real tables as files, and run `mercer fit` and `mercer predict` on them."""
    from mercer.cli.fit import fit
    from mercer.cli.predict import predict

    if folder.exists() and not folder.is_dir():
        fail(f"{folder} is a file; name a folder to write to")
    folder.mkdir(parents=True, exist_ok=True)
    mark = folder / _MARK
    if not (force or mark.is_file()) and any(folder.iterdir()):
        fail(f"{folder} has other files than those of mercer demo: say --force to add to them, or --folder")
    mark.write_text("Made by mercer demo, which may replace what is here.\n", encoding="utf-8")
    for name, target in _TABLES:
        table, new = _split(name, target, seed)
        paths = folder / f"{name}.csv", folder / f"{name}-new.csv"
        tables.write(table, paths[0])
        tables.write(new, paths[1])
        model, report, out = (folder / f"{name}{end}" for end in (".mercer", ".html", "-predicted.csv"))
        _say(quiet, ["fit", paths[0], "--target", target, "--minutes", f"{minutes:g}", "--seed", seed])
        results = {"output": model, "report": report, "force": True}
        fit(table=paths[0], target=target, minutes=minutes, seed=seed, quiet=quiet, **results)
        _say(quiet, ["predict", model, paths[1], "--output", out])
        predict(model_file=model, table=paths[1], output=out, force=True, quiet=quiet)
        if not quiet:
            stdout().print(printable(out.read_text(encoding="utf-8"), "\n"), highlight=False, markup=False)


def _say(quiet: bool, words: list[Any]) -> None:
    if not quiet:
        command = shlex.join(["mercer", *map(str, words)])
        stdout().print(f"\n$ {command}", style="bold", highlight=False, markup=False, soft_wrap=True)


def _split(name: str, target: str, seed: int) -> tuple[Any, Any]:
    """A table of scikit-learn's, and a few rows of it held back, without the target."""
    import numpy as np
    from sklearn import datasets

    # Unscaled: as it was measured.
    bunch = datasets.load_diabetes(scaled=False) if name == "diabetes" else datasets.load_breast_cancer()
    y = bunch.target if name == "diabetes" else bunch.target_names[bunch.target].astype(object)
    columns = {str(c): bunch.data[:, j] for j, c in enumerate(bunch.feature_names)}
    table = tables.Table.of({**columns, target: y})
    order = np.random.default_rng(seed).permutation(len(table))
    return table.take(np.sort(order[_NEW_ROWS:])), table.take(order[:_NEW_ROWS]).drop(target)
