"""Options that travel together: objects for commands, one option each for people."""

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from mercer.cli.options import Selection, beside, option, spoken, with_options


@dataclass(frozen=True)
class Size:
    width: Annotated[int, typer.Argument()]
    deep: Annotated[bool, typer.Option("--deep")] = False
    colours: Annotated[list[str] | None, option("--colour", "-c", help="One of them.")] = None


def test_each_field_is_an_option_of_its_own():
    seen = []

    @with_options
    def draw(size: Size, title: Annotated[str, typer.Option("--title")] = "none"):
        """Draw it."""
        seen.append((size, title))

    assert list(inspect.signature(draw).parameters) == ["width", "deep", "colours", "title"]
    app = typer.Typer()
    app.command()(draw)
    result = CliRunner().invoke(app, ["3", "--deep", "-c", "red", "--colour", "blue"])
    assert result.exit_code == 0, result.output
    assert seen == [(Size(3, True, ["red", "blue"]), "none")]
    assert CliRunner().invoke(app, ["x"]).exit_code == 2
    draw(width=4, title="two")  # from Python: what is not said is as it would be
    assert seen[1:] == [(Size(4), "two")]


def test_what_was_said_can_be_said_again():
    source = Selection(Path("a.csv"), limit=5, text=["zip", "no one"], query="select 1")
    words = ["--limit", "5", "--text", "zip", "--text", "no one", "--query", "select 1"]
    assert spoken(source) == words and spoken(Selection(Path("a.csv"))) == []


def test_a_source_knows_its_name_and_its_kinds():
    source = Selection(Path("a/b.csv.gz"), text=["x"], number=["y"])
    assert source.name == "a/b.csv.gz" and source.kinds == {"x": "text", "y": "number"}
    assert source.result(None, ".mercer") == Path("b.mercer") == beside(Path("b.csv"), ".mercer")
    assert Selection(Path("-"), form="csv").result(None, ".mercer") == Path("table.mercer")
    with pytest.raises(typer.BadParameter, match="standard input"):
        Selection(Path("a.csv"), form="csv")
