"""The house: what the source tree promises to everybody who opens a file of it."""

import ast
from pathlib import Path

import pytest

import house

ROOT = Path(__file__).resolve().parents[1]
# Functions that may be longer, or have more branches, than others, each with its reason.
EXCEPTIONS: dict[str, str] = {}
MOST_EXCEPTIONS = 5


def test_solvers_speak_to_operators_only():
    assert house.looks_inside() == []


def test_nothing_private_is_read_across_rooms():
    assert house.private_across_rooms() == []


def test_no_class_name_twice():
    assert house.classes_twice() == {}


def test_functions_are_short():
    assert len(EXCEPTIONS) <= MOST_EXCEPTIONS and all(EXCEPTIONS.values())
    assert set(house.long_functions()) == set(EXCEPTIONS)


def test_functions_have_few_branches():
    """ruff counts them; what it is told to overlook must be named above."""
    configuration = (ROOT / "pyproject.toml").read_text()
    assert '"C901"' in configuration and "max-complexity = 15" in configuration
    overlooked = [
        f"{path.relative_to(house.SOURCE)}"
        for path in house.SOURCE.rglob("*.py")
        if "noqa: C901" in path.read_text(encoding="utf-8")
    ]
    assert {name.partition(":")[0] for name in EXCEPTIONS} >= set(overlooked)


def test_every_room_has_its_place():
    """import-linter's layers name every room, so that none can be built beside the line."""
    configuration = (ROOT / "pyproject.toml").read_text()
    assert "exhaustive = true" in configuration


# -- the reading itself: a tree that breaks each promise is found out -----------------------------------


@pytest.fixture
def tree(tmp_path):
    def write(**files):
        for name, text in files.items():
            path = tmp_path / (name.replace("__", "/") + ".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return write


def test_what_a_solver_may_not_read(tree):
    source = tree(
        solvers__a="def f(K):\n    return K.kernel, K.shape, K.X\n", kernels__b="def g(k):\n    return k.X\n"
    )
    assert house.looks_inside(source) == ["solvers/a.py:2 .kernel", "solvers/a.py:2 .X"]


def test_what_is_private(tree):
    source = tree(
        a__one="class A:\n    def f(self):\n        self._x = 1\n        return self._x\n",
        b__two="from mercer.a.one import A, _hidden\n\ndef f(a):\n    return a._x, a.__dict__, a._foreign\n",
        b__three="from mercer.b.two import _own\n",
    )
    assert house.private_across_rooms(source) == ["b/two.py:1 mercer.a.one: _hidden", "b/two.py:4 ._x"]


def test_names_and_lengths(tree):
    long = "def f():\n" + "    x = 1\n\n" * 60 + "def g():\n    '''" + "a\n" * 80 + "    '''\n"
    source = tree(a__one="class A: ...\n", b__two=f"class A: ...\n{long}")
    assert house.classes_twice(source) == {"A": ["a/one.py", "b/two.py"]}
    assert house.long_functions(source) == {"b/two.py:f": 61}


def test_the_reading_can_be_printed(capsys):
    house.main()
    assert "lines:" in capsys.readouterr().out


# -- tests beside what they test ---------------------------------------------------------------------------


def covered() -> dict[str, str]:
    """File of the source → what tests it, where that is not the test of the same name beside it."""
    return dict(
        line.split(" ← ") for line in (ROOT / "tests" / "covered.txt").read_text().splitlines() if line
    )


def test_every_file_has_its_test():
    listed, missing = covered(), []
    for path, _, tree in house.modules():
        where = Path(path)
        if where.name in ("__init__.py", "__main__.py") or not _has_code(tree):
            continue
        twin = ROOT / "tests" / where.parent / f"test_{where.stem.removeprefix('_')}.py"
        if str(where) in listed:
            assert not twin.exists(), f"{where} has a test of its own: take it off the list"
            named = listed[str(where)].split(", ")
            assert named and all((ROOT / "tests" / name).exists() for name in named), f"{where}: {named}"
        elif not twin.exists():
            missing.append(str(where))
    assert missing == [], "write tests/…/test_<name>.py, or say in tests/covered.txt which test covers it"
    gone = [name for name in listed if not (house.SOURCE / name).exists()]
    assert gone == [], "tests/covered.txt names files that are no more"


def _has_code(tree: ast.Module) -> bool:
    return any(isinstance(node, (ast.FunctionDef, ast.ClassDef)) for node in ast.walk(tree))
