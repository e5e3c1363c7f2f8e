"""How commands fail, and what they print for machines and on terminals."""

import json
import warnings

import numpy as np
import pytest
import typer

from mercer._notice import Notice
from mercer.cli import main
from mercer.cli.console import fail, guarded, plain, printable, spinner
from mercer.tables.reading import Table, write


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("it is\nwrong"), "it is wrong"),
        (ImportError("install it"), "install it"),
        (OSError(28, "No space left on device", "a.csv"), "a.csv: No space left on device"),
        (OSError(28, "No space left on device"), "No space left on device"),
        (MemoryError(), "there is not enough memory"),
    ],
)
def test_errors_become_a_line(error, said, capsys):
    def command(as_json=False):
        raise error

    for as_json in (False, True):
        with pytest.raises(typer.Exit) as left:
            guarded(command)(as_json=as_json)
        assert left.value.exit_code == 1
        written = capsys.readouterr()
        assert written.out == ""
        assert (json.loads(written.err)["error"] if as_json else written.err) == (
            said if as_json else f"mercer: {said}\n"
        )


def test_the_advice_is_an_option_of_the_command(capsys):
    def command(limit):
        raise MemoryError

    with pytest.raises(typer.Exit):
        guarded(command)(limit=None)
    assert capsys.readouterr().err == "mercer: there is not enough memory; --limit reads fewer rows\n"


def test_what_is_a_mistake_of_ours_is_not_hidden():
    with pytest.raises(ZeroDivisionError):
        guarded(lambda: 1 / 0)()
    with pytest.raises(BrokenPipeError):
        guarded(lambda: (_ for _ in ()).throw(BrokenPipeError()))()


def test_interruption(capsys):
    def command():
        raise KeyboardInterrupt

    with pytest.raises(typer.Exit) as left:
        guarded(command)()
    assert left.value.exit_code == 130 and "interrupted" in capsys.readouterr().err
    with pytest.raises(typer.Exit):
        guarded(lambda: fail("no"))()


def test_warnings_are_notes(capsys):
    def command():
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn("slow\ngoing", UserWarning, stacklevel=1)

    guarded(command)()
    assert capsys.readouterr().err == "mercer: slow going\n"


def test_plain():
    value = {"a": np.array([1.0, np.nan, np.inf]), 2: (np.int64(3), np.bool_(True)), "c": "x", "d": None}
    assert plain(value) == {"a": [1.0, None, None], "2": [3, True], "c": "x", "d": None}


def test_the_spinner_shows_the_line_and_the_time_on_terminals_only(monkeypatch, capsys):
    with spinner(False) as step:
        step("Reading")
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("FORCE_COLOR", "1")
    with spinner(False, 120) as step:
        step("Reading [b].csv")
    shown = capsys.readouterr().err
    assert "Reading [b].csv" in shown and "of about 120 s" in shown
    with spinner(True, 120) as step:
        step("Reading")
    assert capsys.readouterr().err == ""


def test_where_there_is_no_terminal_lines_come_now_and_then(monkeypatch, capsys):
    """At what is new after five seconds, at the same after thirty; a notice at once, with a new forecast."""
    now = [0.0]
    monkeypatch.setattr("mercer.cli.console.monotonic", lambda: now[0])

    def told(*steps, **more):
        now[0] = 0.0
        with spinner(False, 120, **more) as step:
            for now[0], text in steps:
                step(text)
        return capsys.readouterr().err.splitlines()

    steps = [
        (1.0, "Reading a.csv"),
        (6.0, "Looking at all rows: 1"),
        (20.0, "Looking at all rows: 2"),
        (37.0, "Looking at all rows: 3"),
        (38.0, Notice("reading takes long", 240.0)),
        (39.0, "Losses"),
        (43.0, "Fitting to all rows: pass 1"),
        (50.0, "About 90 s left, fitting to all rows: pass 2"),
        (250.0, "Testing"),
    ]
    said = [
        "mercer: 6 of about 120 s: Looking at all rows: 1",
        "mercer: 37 of about 120 s: Looking at all rows: 3",
        "mercer: reading takes long",
        "mercer: 43 of about 240 s: Fitting to all rows: pass 1",
        "mercer: 250 s: Testing",
    ]
    assert told(*steps) == said
    assert told(*steps, as_json=True) == ["mercer: reading takes long"]
    monkeypatch.setenv("FORCE_COLOR", "1")
    shown = "".join(told((1.0, "Reading"), (2.0, Notice("reading takes long", 240.0)), (3.0, "Losses")))
    assert "mercer: reading takes long" in shown and "of about 240 s" in shown


def test_wrong_usage_with_json_is_json(capsys):
    assert main(["fit", "houses.csv", "--json"]) == 2
    written = capsys.readouterr()
    assert written.out == "" and "--target" in json.loads(written.err)["error"]
    assert main(["info", "nowhere.mercer", "--json"]) == 1
    assert "nowhere.mercer" in json.loads(capsys.readouterr().err)["error"]


HOSTILE = "\x1b]0;owned\x07 \x9b31m\r\x08 \u202egnp.exe \udc80\u2028 Köln 東京 👩\u200d🔬"


def test_nothing_from_a_file_commands_the_terminal(capsys, tmp_path, call):
    """Names of columns, labels, messages: what a terminal obeys is spelt out, what people write is not."""
    shown = printable(HOSTILE)
    assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in shown)
    assert "\u202e" not in shown and "\udc80" not in shown and "\\x1b]0;owned\\x07" in shown
    assert shown.endswith("Köln 東京 👩\u200d🔬")
    with pytest.raises(typer.Exit):
        guarded(lambda: fail(f"no column {HOSTILE}"))()
    warned = capsys.readouterr().err
    assert "\x1b" not in warned and "\x9b" not in warned and "\\x1b]0;" in warned
    name, label = "size\x1b]0;owned\x07", "a\x1b[2Jb"
    rng = np.random.default_rng(0)
    x = rng.normal(size=40)
    table = Table.of({name: x, "y": np.where(x > 0, label, "c")})
    csv, model = write(table, tmp_path / "t.csv"), tmp_path / "m.mercer"
    for words in (
        ("fit", csv, "-t", "y", "-o", model, "--minutes", 0.01, "--no-report"),
        ("info", model),
        ("fit", csv, "-t", "nothing", "-o", model),
        ("stream", csv, "-t", "y", "-o", tmp_path / "s.mercer"),
        ("info", tmp_path / "s.mercer"),
        ("predict", model, csv, "-o", tmp_path / "out.csv", "--proba"),
    ):
        said = call(*words).output
        assert said and "\x1b" not in said and "\x07" not in said
