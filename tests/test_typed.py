"""What a checker of types says to people who use the library, where it is installed."""

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src"
SCRIPT = """
import mercer
from mercer import KernelRidge, kernels

ridge = KernelRidge(kernels.Gaussian(1.0), lam=0.1)
reveal_type(ridge)                                      # KernelRidge
reveal_type(ridge.fit([[0.0], [1.0]], [0.0, 1.0]))      # KernelRidge
reveal_type(kernels.Gaussian(1.0) + kernels.Linear())   # algebra.Sum
reveal_type(mercer.selection.Path)                      # selection
reveal_type(mercer.tables.read)                         # Table
reveal_type(mercer.fit)                                 # Model
mercer.fit({}, "y", minuten=1.0)                        # error
mercer.KernelRigde()                                    # error
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """Lines of mypy about that script, in an environment where mercer is installed and nothing else is."""
    folder = tmp_path_factory.mktemp("typed")
    venv.create(folder / "environment", symlinks=True)
    base = {"base": str(folder / "environment"), "platbase": str(folder / "environment")}
    packages = Path(sysconfig.get_path("purelib", "venv", base))
    (packages / "mercer.pth").write_text(f"{SOURCE}\n", encoding="utf-8")
    python = next((folder / "environment").glob("[bS]*/python*"))
    (folder / "script.py").write_text(SCRIPT, encoding="utf-8")
    words = [
        sys.executable,
        "-m",
        "mypy",
        "--python-executable",
        str(python),
        "--cache-dir",
        str(folder / "cache"),
    ]
    words += ["--config-file=", "--disable-error-code=import-untyped", "--hide-error-context", "script.py"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    return done.stdout.splitlines(), done.stderr


def test_types_are_seen(said):
    lines, errors = said
    assert errors == "" and not [line for line in lines if "py.typed" in line], lines
    notes = [line.partition("note: Revealed type is ")[2].strip('"') for line in lines if "Revealed" in line]
    wanted = [line.partition("# ")[2] for line in SCRIPT.splitlines() if line.startswith("reveal_type")]
    assert len(notes) == len(wanted)
    for note, words in zip(notes, wanted, strict=True):
        assert words in note, f"{note}, not {words}"


def test_mistakes_are_seen(said):
    wrong = [int(line.split(":")[1]) for line in said[0] if " error: " in line]
    assert wrong == [i for i, line in enumerate(SCRIPT.splitlines(), 1) if line.endswith("# error")]
