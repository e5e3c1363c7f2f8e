"""The command: what it prints, where, and with which exit code."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

import mercer
from mercer.cli import main
from mercer.cli.app import app
from mercer.report import demo as job


@pytest.fixture
def call():
    return lambda *arguments: CliRunner().invoke(app, list(arguments))


def test_version(call):
    result = call("--version")
    assert result.exit_code == 0 and result.stdout.strip() == f"mercer {mercer.__version__}"


def test_python_m_mercer():
    result = subprocess.run(
        [sys.executable, "-m", "mercer", "--version"], capture_output=True, text=True, check=True
    )
    assert mercer.__version__ in result.stdout


def test_demo_writes_the_page_and_prints_the_tables(call, tmp_path):
    page = tmp_path / "page.html"
    result = call("demo", "--quick", "--output", str(page), "--seed", "3")
    assert result.exit_code == 0, result.output
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>") and "mercer demo --output page.html --seed 3 --quick" in text
    for words in ("diabetes", "digits", "Mercer KernelRidge", "scikit-learn SVC", "log loss", str(page)):
        assert words in result.stdout, words


@pytest.fixture
def instant(monkeypatch):
    """The demo with nothing in it."""

    def run(seed, *, quick, progress, command):
        progress("working")
        return job.Demo([], [], mercer.report.Report(f"seed {seed}"), 0.0)

    monkeypatch.setattr(job, "run", run)


def test_quiet_says_nothing(call, instant, tmp_path):
    result = call("demo", "-q", "-o", str(tmp_path / "page.html"))
    assert result.exit_code == 0 and result.output == ""
    assert "seed 0" in (tmp_path / "page.html").read_text()


def test_a_page_that_cannot_be_written_is_an_error_before_any_work(call, monkeypatch, tmp_path):
    def worked(*_, **__):
        raise AssertionError("work was done")

    monkeypatch.setattr(job, "run", worked)
    missing = call("demo", "-o", str(tmp_path / "missing" / "page.html"))
    folder = call("demo", "-o", str(tmp_path))
    assert missing.exit_code == folder.exit_code == 1
    assert "there is no folder" in missing.stderr and "is a folder" in folder.stderr


def test_a_write_that_fails_is_an_error(call, instant, monkeypatch, tmp_path):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("mercer.report.page.write_atomically", full)
    result = call("demo", "-q", "-o", str(tmp_path / "page.html"))
    assert result.exit_code == 1 and "No space left on device" in result.stderr


@pytest.mark.parametrize(
    "arguments", [["demo", "--seed", "x"], ["demo", "--seed", "-1"], ["nothing"], ["demo", "extra"]]
)
def test_what_is_not_understood_is_refused(call, arguments):
    assert call(*arguments).exit_code == 2


def test_main_returns_the_exit_code(capsys):
    assert main(["--version"]) == 0
    assert main(["nothing"]) == 2


def test_without_typer_it_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "typer", None)
    monkeypatch.delitem(sys.modules, "mercer.cli.app")
    assert main(["--version"]) == 1
    assert "pip install 'mercer[cli,plot]'" in capsys.readouterr().err
