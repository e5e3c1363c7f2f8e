"""Every example runs as a script, without a display, and leaves its figure."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


def test_there_are_examples():
    assert len(EXAMPLES) >= 4


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.stem)
def test_example(script, tmp_path):
    figure = tmp_path / "figure.png"
    environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    subprocess.run(
        [sys.executable, "-W", "error", str(script), "--output", str(figure)],
        cwd=tmp_path,
        env=environment,
        check=True,
        timeout=120,
    )
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert os.listdir(tmp_path) == [figure.name]
