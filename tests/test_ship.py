"""What is shipped: the wheel's checks find what is wrong, and what is said in several places agrees."""

import importlib.util
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import distributions
from pathlib import Path

import pytest

import mercer

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "ship" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


try_wheel, first_hour, notes = script("try_wheel"), script("first_hour"), script("notes")


# -- the wheel ---------------------------------------------------------------------------------------------


@pytest.fixture
def package(tmp_path):
    """A small package, and a function that makes wheels of some of its files and others."""
    source = tmp_path / "src" / "mercer"
    for name in ("__init__.py", "py.typed", "lab/static/index.html"):
        path = source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('__version__ = "1.0.0"\n')

    def wheel(leave_out=(), add=()):
        path = tmp_path / "mercer-1.0.0-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as archive:
            inside = {f"mercer/{p.relative_to(source).as_posix()}" for p in source.rglob("*") if p.is_file()}
            about = {"mercer-1.0.0.dist-info/METADATA", "mercer-1.0.0.dist-info/licenses/LICENSE"}
            for name in sorted((inside | about | set(add)) - set(leave_out)):
                archive.writestr(name, "x")
        return list(try_wheel.wrong_files(path, source))

    return wheel


def test_a_whole_wheel_is_silent(package):
    assert package() == []


@pytest.mark.parametrize(
    "leave_out, add, said",
    [
        (["mercer/py.typed"], [], "mercer/py.typed is missing"),
        (["mercer/lab/static/index.html"], [], "mercer/lab/static/index.html is missing"),
        (["mercer-1.0.0.dist-info/licenses/LICENSE"], [], "the licence is missing"),
        ([], ["tests/test_a.py"], "tests/test_a.py does not belong there"),
        ([], ["mercer/__pycache__/a.pyc"], "mercer/__pycache__/a.pyc does not belong there"),
    ],
)
def test_what_is_wrong_with_a_wheel_is_found(package, leave_out, add, said):
    assert said in package(leave_out, add)


@pytest.fixture
def environment(tmp_path):
    """Distributions as an installer leaves them: mercer, what it needs, and what its extras need."""

    def put(name, modules, *requires):
        about = tmp_path / f"{name}-1.0.dist-info"
        about.mkdir()
        lines = [f"Requires-Dist: {line}" for line in requires]
        (about / "METADATA").write_text(
            "\n".join(["Metadata-Version: 2.1", f"Name: {name}", "Version: 1.0", *lines])
        )
        (about / "RECORD").write_text("".join(f"{module},,\n" for module in modules))
        for module in modules:  # some readers of RECORD leave out what is not there
            (tmp_path / module).parent.mkdir(exist_ok=True)
            (tmp_path / module).touch()

    put("mercer", ["mercer/__init__.py"], "base", "draw>=1; extra == 'plot'", "mercer[plot]; extra == 'all'")
    put("base", ["base/__init__.py", "google/a.py"], "never; python_version < '3'")
    put("draw", ["draw.py", "_draw.cpython-313-x.so", "google/b.py"], "lines[fast]")
    put("lines", ["lines/__init__.py"], "quick; extra == 'fast'")
    put("quick", ["quick/__init__.py"])
    put("other", ["other/__init__.py"])
    return list(distributions(path=[str(tmp_path)]))


def test_what_comes_with_an_extra(environment):
    assert try_wheel.closure(environment, set()) == {"mercer", "base"}
    assert try_wheel.closure(environment, {"plot"}) == {"mercer", "base", "draw", "lines", "quick"}
    assert try_wheel.closure(environment, {"all"}) == try_wheel.closure(environment, {"plot"})


def test_what_does_not_come_with_it_is_hidden(environment):
    # A folder that two distributions share is there with either.
    assert try_wheel.hidden_beside(environment, set()) == {"draw", "_draw", "lines", "quick", "other"}
    assert try_wheel.hidden_beside(environment, {"plot"}) == {"other"}


def test_hidden_modules_are_not_installed():
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'ship')!r})\n"
        "from first_hour import Hidden; sys.meta_path.insert(0, Hidden({'wave'}))\n"
        "import json\n"
        "try: import wave\n"
        "except ModuleNotFoundError as error: print(error.name)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["wave"]


def test_every_extra_of_users_is_used():
    extras = set(PROJECT["optional-dependencies"]) - try_wheel.OF_DEVELOPERS - {"all"}
    assert set().union(*first_hour.USES.values()) == extras


@pytest.mark.parametrize(
    "said, named",
    [
        ("mercer.plot draws with Matplotlib: pip install 'mercer[plot]'", ["plot"]),
        ("mercer: typer is needed here: pip install 'mercer[cli,plot]'", ["cli", "plot"]),
        ('a cluster needs Dask: pip install "mercer[cluster]"', ["cluster"]),
        ("No module named 'matplotlib'", []),
        ("pip install 'mercer[a]' " * 2, []),
        ("words " * 80 + "pip install 'mercer[plot]'", []),
    ],
)
def test_one_sentence_names_the_extra(said, named):
    assert first_hour._asked_for(said) == named


PAGE = """# A page

```python
>>> 1 + 1
2

```

```python
>>> one = 1
>>> raise ImportError("figures need Matplotlib: pip install 'mercer[plot]'")
>>> one + "what follows is not read"
3

```

```python
>>> one
{one}
>>> unknown
1

```
"""


def test_examples_are_read_up_to_what_asks_for_an_extra(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE.format(one=1))
    whole, wrong = first_hour.read(page, set())
    assert whole == 1 and len(wrong) == 1 and "NameError" in wrong[0]
    _, wrong = first_hour.read(page, {"plot"})
    assert "page.md, block 2 asks for ['plot'], which is installed" in wrong
    page.write_text(PAGE.format(one=2))
    _, wrong = first_hour.read(page, set())
    assert any("gave 1" in line for line in wrong)


# -- what is said in several places -------------------------------------------------------------------------


def test_one_version_everywhere():
    version = mercer.__version__
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {version}\n" in citation
    assert f"\nmercer {version}\n" in (ROOT / "docs" / "start.md").read_text(encoding="utf-8")
    heading = "Unreleased" if version.endswith(".dev0") else version
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    body = notes.section(changes, heading)
    # Right after a release nothing has changed yet.
    assert "### Added" in notes.ordered(body) or (heading == "Unreleased" and not body)


def test_a_release_is_said_everywhere(tmp_path):
    for name in ("CHANGELOG.md", "CITATION.cff", "src/mercer/__init__.py", "docs/start.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    notes.release("7.8.9", tmp_path)
    text = {name: (tmp_path / name).read_text(encoding="utf-8") for name in ("CHANGELOG.md", "CITATION.cff")}
    assert re.search(r"^version: 7\.8\.9\ndate-released: \d{4}-\d\d-\d\d$", text["CITATION.cff"], re.M)
    assert notes.section(text["CHANGELOG.md"], "Unreleased") == ""
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert notes.section(text["CHANGELOG.md"], "7.8.9") == notes.ordered(notes.section(changes, "Unreleased"))
    assert try_wheel.version_of(tmp_path / "src" / "mercer") == "7.8.9"


def test_pythons_that_are_named_are_allowed():
    named = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)]
    assert PROJECT["requires-python"] == f">={named[0]}"
    assert f"{sys.version_info.major}.{sys.version_info.minor}" in named


def test_hooks_run_what_make_lint_runs():
    hooks = re.findall(r"entry: \.venv/bin/(.*)$", (ROOT / ".pre-commit-config.yaml").read_text(), re.M)
    lint = (ROOT / "Makefile").read_text().partition("\nlint:")[2].partition("\n\n")[0]
    run = re.findall(r"\$\(BIN\)/(.*)$", lint, re.M)
    assert hooks == [words.removesuffix(" .") for words in run]
    assert "http" not in (ROOT / ".pre-commit-config.yaml").read_text()
