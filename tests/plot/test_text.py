"""Names in figures: none is lost from a legend, none is read as mathematics, none is too long."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from mercer import KernelLogistic, KernelRidge, KernelSVC, plot
from mercer.kernels import Spectrum
from mercer.plot.text import caption, plain

NAMES = [("_hidden", "b"), (r"$\foo{$", "5$ and 6$"), ("", " "), ("x" * 300, "y z " * 100)]


def shown(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def drawn(ax):
    """Draw it: what Matplotlib can't read as mathematics fails only here."""
    ax.figure.draw_without_rendering()
    return ax


@pytest.mark.parametrize("names", NAMES)
def test_every_class_is_in_the_legend(plane, names):
    X, y = plane[0][:40], np.repeat(names, 20)
    machine, expected = KernelLogistic(lam=0.01).fit(X, y), sorted(map(plain, np.unique(y)))
    assert len(set(expected)) == 2 and max(map(len, expected)) < 30
    assert sorted(shown(drawn(plot.decision_regions(machine, X, y, plot.axes(), resolution=8)))) == expected
    assert sorted(shown(drawn(plot.cloud(X, y, plot.axes())))) == expected
    (ax,) = plot.probability_fields(machine, X, y, plot.axes(), resolution=8)
    assert sorted(shown(drawn(ax))) == expected
    (ax,) = plot.nearest(X, y, [0.0, 0.0], (3,), plot.axes())
    assert sorted(shown(drawn(ax))) == sorted([*expected, "x"])
    row = plot.class_probabilities(machine, X, y, Figure().subplots(1, 3), resolution=8)
    assert sorted(ax.get_title() for ax in row[:2]) == expected
    drawn(row[0])
    ticks = drawn(plot.confusion(y, y, plot.axes())).get_xticklabels()
    assert sorted(text.get_text() for text in ticks) == expected
    on_a_line = KernelLogistic(lam=0.01).fit(X[:, :1], y)
    ax = drawn(plot.probability_1d({"_m $": on_a_line}, X[:, :1], y, plot.axes(), resolution=8))
    assert sorted(shown(ax)) == sorted([r" _m \$", *expected])


def test_names_that_callers_give(line):
    machine = KernelRidge(lam=0.01).fit(*line)
    assert shown(drawn(plot.regression_1d(machine, *line, plot.axes(), label="_f$"))) == [
        "examples",
        r" _f\$",
    ]
    (ax,) = plot.regressions({"5$": machine, "_": machine}, *line, plot.axes())
    assert shown(drawn(ax)) == ["examples", r"5\$", " _"]  # made plain twice, and changed once
    ax = plot.image_sheet(np.eye(4)[None], ["two\n$lines"], plot.axes())
    assert drawn(ax).texts[0].get_text() == "two\n\\$lines"


def test_letters_speak_for_a_class():
    words = ["banana", "bandana", "kernel", "colonel"]
    machine = KernelSVC(Spectrum(2), lam=0.01).fit(words, ["_f", "_f", "5$", "5$"])
    assert shown(drawn(plot.letters(machine, words, plot.axes()))) == ["for _f", r"for 5\$"]


def test_plain_names():
    assert plain("_") == " _" and plain("") == "''" and plain(" ") == "' '" and plain(3) == "3"
    assert plain(plain("5$ _")) == plain("5$ _") and plain(plain("_5$")) == plain("_5$")
    assert caption(None) is None and caption("a" * 99) == "a" * 30 + "…" + "a" * 29
