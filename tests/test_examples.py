"""The gallery: every script leaves a figure that can be read, and every figure of the texts has a script."""

import ast
import os
import re
import runpy
import subprocess
import sys
from itertools import chain
from pathlib import Path

import matplotlib
import pytest
from matplotlib import pyplot

from mercer import plot

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "examples").glob("**/plot_*.py"))
PAGE = (ROOT / "docs" / "figures.md").read_text(encoding="utf-8")

# The captions of the texts, counted by hand.
CAPTIONS = {"[001]": ["4.1"], "[003]": [f"12.{i}" for i in range(1, 20)], "[004]": ["1"]}

each_script = pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem.removeprefix("plot_"))


def parsed(script):
    return ast.parse(script.read_text(encoding="utf-8"))


def calls_of(script):
    """The names of `mercer.plot` that a script uses."""
    nodes = (node for node in ast.walk(parsed(script)) if isinstance(node, ast.Attribute))
    return {node.attr for node in nodes if isinstance(node.value, ast.Name) and node.value.id == "plot"}


def rows_of(page):
    """(text, figure, calls, scripts) for every row of the tables."""
    found = []
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        scripts = re.findall(r"\(gallery/(plot_\w+)\.rst\)", cells[-1])
        if line.startswith("|") and scripts:
            calls = re.findall(r"`plot\.(\w+)`", cells[-2])
            found.append((cells[0], cells[1], calls, scripts))
    return found


ROWS = rows_of(PAGE)


def texts_cut_off(figure):
    """What is written in a figure and reaches beyond its edge; not ticks, as some are never drawn."""
    figure.canvas.draw()
    renderer, (width, height) = figure.canvas.get_renderer(), figure.canvas.get_width_height()
    ticks = chain.from_iterable(
        tick.findobj(matplotlib.text.Text) for tick in figure.findobj(matplotlib.axis.Tick)
    )
    passed_over = {id(text) for text in ticks}
    for text in figure.findobj(matplotlib.text.Text):
        if id(text) not in passed_over and text.get_visible() and text.get_text().strip():
            box = text.get_window_extent(renderer)
            if box.x0 < -2 or box.y0 < -2 or box.x1 > width + 2 or box.y1 > height + 2:
                yield text.get_text()


@pytest.fixture
def no_figures(monkeypatch):
    """pyplot without a display, and without figures before and after."""
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.setattr(pyplot, "show", lambda *args, **kwargs: None)
    before = matplotlib.get_backend()
    pyplot.switch_backend("Agg")
    pyplot.close("all")
    yield
    pyplot.close("all")
    pyplot.switch_backend(before)


@each_script
def test_a_script_leaves_a_figure_and_nothing_else(script, tmp_path, monkeypatch, no_figures):
    """In this process: starting another one, with all that is imported, takes longer than most scripts."""
    monkeypatch.chdir(tmp_path)
    neighbours = sorted(os.listdir(script.parent))
    runpy.run_path(str(script), run_name="__main__")
    figures = [pyplot.figure(number) for number in pyplot.get_fignums()]
    assert figures, "no figure was left open"
    for figure in figures:
        assert figure.axes and all(ax.has_data() for ax in figure.axes if ax.get_visible())
        assert not list(texts_cut_off(figure))
    assert os.listdir(tmp_path) == []
    assert sorted(os.listdir(script.parent)) == neighbours


@each_script
def test_a_script_is_a_lesson(script):
    """A title and two paragraphs or more; then code that is run from top to bottom, without options."""
    tree, source = parsed(script), script.read_text(encoding="utf-8")
    title, line, *rest = (ast.get_docstring(tree) or "\n").splitlines()
    assert title.strip() and set(line) == {"="} and len(line) >= len(title)
    paragraphs = [part for part in "\n".join(rest).split("\n\n") if len(part.split()) >= 20]
    assert len(paragraphs) >= 2
    assert "argparse" not in source and "__main__" not in source
    assert "plt.show()" in source  # for those who run it by hand


def test_a_script_runs_by_itself(tmp_path):
    environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    script = next(path for path in SCRIPTS if path.stem == "plot_quantiles")
    command = [sys.executable, "-W", "error", str(script)]
    subprocess.run(command, cwd=tmp_path, env=environment | {"MPLBACKEND": "Agg"}, check=True, timeout=120)
    assert os.listdir(tmp_path) == []


def test_the_list_names_every_script_and_no_other():
    named = set(chain.from_iterable(scripts for *_, scripts in ROWS))
    assert named == {script.stem for script in SCRIPTS}


@pytest.mark.parametrize("text", CAPTIONS)
def test_every_caption_of_the_texts_has_a_row(text):
    listed = {figure for row_text, figure, *_ in ROWS if row_text == text}
    assert not set(CAPTIONS[text]) - listed


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}-{row[1]}")
def test_a_row_says_the_truth(row):
    """Its calls are those of `mercer.plot`, its scripts make them and name the figure they reproduce."""
    text, figure, calls, names = row
    scripts = [script for script in SCRIPTS if script.stem in names]
    assert calls and set(calls) <= set(plot.__all__)
    assert set(calls) <= set().union(*(calls_of(script) for script in scripts))
    for script in scripts:
        lesson = ast.get_docstring(parsed(script))
        if figure in CAPTIONS.get(text, ()):
            assert re.search(rf"Figures? [^\n]*\b{re.escape(figure)}\b[^\n]* of \{text[:-1]}\]", lesson)
