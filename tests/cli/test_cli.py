"""The command as a whole: what it is called, how it starts, how it is misunderstood."""

import subprocess
import sys

import pytest

import mercer
from mercer.cli import main


def test_version(call):
    result = call("--version")
    assert result.exit_code == 0 and result.stdout.strip() == f"mercer {mercer.__version__}"


def test_python_m_mercer():
    result = subprocess.run(
        [sys.executable, "-m", "mercer", "--version"], capture_output=True, text=True, check=True
    )
    assert mercer.__version__ in result.stdout


def test_help_names_the_commands_and_the_exit_codes(call):
    text = call("--help").stdout
    for words in ("fit", "predict", "stream", "info", "report", "serve", "export", "demo", "130 interrupted"):
        assert words in text, words


def test_help_imports_nothing_heavy():
    code = (
        "import sys\nfrom mercer.cli import main\nmain(['fit', '--help'])\n"
        "heavy = 'numpy scipy sklearn pyarrow duckdb matplotlib starlette'.split()\n"
        "sys.exit(' '.join(set(heavy) & set(sys.modules)) or 0)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr


def test_columns_complete_in_a_shell(fitted):
    words = {
        "_MERCER_COMPLETE": "complete_bash",
        "COMP_WORDS": f"mercer fit {fitted.csv} --target s",
        "COMP_CWORD": "4",
    }
    code = f"import os, sys; os.environ.update({words!r}); from mercer.cli import main; sys.exit(main([]))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.stdout.split() == ["size", "sold"], found.stderr


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


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_interrupted_while_a_command_is_imported(options, monkeypatch, capsys):
    """Before there is a command that could answer."""

    class Interrupting:
        def find_spec(self, name, path=None, target=None):
            if name == "mercer.cli.app":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "mercer.cli.app", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupting(), *sys.meta_path])
    assert main(["fit", "table.csv", *options]) == 130
    assert "interrupted; nothing was written" in capsys.readouterr().err
