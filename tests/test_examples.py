"""Every example runs, without a display, and leaves its figure."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


def test_there_are_examples():
    assert len(EXAMPLES) >= 4


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.stem)
def test_example(script, tmp_path, monkeypatch):
    """In this process: starting another one, with all that is imported, takes longer than most examples."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.setattr(sys, "argv", [str(script), "--output", "figure.png"])
    runpy.run_path(str(script), run_name="__main__")
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert os.listdir(tmp_path) == ["figure.png"]
    # Figures that are no longer shown anywhere must not be kept by pyplot, or they add up.
    assert not getattr(sys.modules.get("matplotlib.pyplot"), "get_fignums", list)()


def test_an_example_is_a_script(tmp_path):
    environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    script = next(path for path in EXAMPLES if path.stem == "quantiles")
    subprocess.run(
        [sys.executable, "-W", "error", str(script), "--output", "figure.png"],
        cwd=tmp_path,
        env=environment,
        check=True,
        timeout=120,
    )
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
