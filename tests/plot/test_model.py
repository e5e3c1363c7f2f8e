"""Figures of a model: marks are where the numbers are, and names are shown letter by letter."""

import numpy as np
import pytest

from mercer import plot
from mercer.plot.text import plain, shortened
from mercer.tables.model.evidence import Importance, Score

HOSTILE = "$\\frac{ <b>a</b> $x_1$ \x01"


def _texts(ax):
    """All words of a figure, as they are drawn."""
    ax.figure.canvas.draw()
    ticks = [t.get_text() for t in (*ax.get_xticklabels(), *ax.get_yticklabels())]
    return [*ticks, *(t.get_text() for t in ax.texts), ax.get_xlabel(), ax.get_ylabel()]


def test_names_are_no_mathematics():
    assert plain("a $x$ b") == r"a \$x\$ b" and plain("$\x00") == r"\$�"
    assert len(shortened("x" * 80, 24)) == 24 and shortened("a  b\n c", 9) == "a b c"
    ax = plot.importance([Importance(HOSTILE, 1.0, 0.1, 2.0)], plot.axes())
    assert "&lt;b&gt;a&lt;/b&gt;" in plot.to_svg(ax) and "frac" in plot.to_svg(ax)
    ax = plot.dependence(np.arange(3.0), np.ones((3, 2)), [HOSTILE, "b"], plot.axes())
    assert "frac" in plot.to_svg(ax)


def test_contenders():
    scores = [Score("RMSE", 54.0, 51.0, 57.0, False), Score("RMSE", 77.02, 73.0, 81.0, False)]
    ax = plot.contenders(["this model", "always the mean"], scores, plot.axes())
    lines = [line.get_xdata() for line in ax.lines]
    np.testing.assert_array_equal(lines[0], [51, 57])
    np.testing.assert_array_equal(lines[1], [54])
    assert {"this model", "54.0", "77.0", "RMSE (smaller is better)"} <= set(_texts(ax))
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the first one on top


def test_contenders_in_per_cent():
    scores = [Score("error rate", 0.0, 0.0, 0.02, False), Score("error rate", 0.373, 0.33, 0.41, False)]
    ax = plot.contenders(["this model", "other"], scores, plot.axes())
    assert {"0.0 %", "37.3 %", "0 %", "20 %"} <= set(_texts(ax)) and ax.get_xlim()[0] < 0


def test_prediction_band():
    y = np.linspace(0, 10, 50)
    ax = plot.prediction_band(y, y + 1, 2.0, plot.axes())
    (band,) = ax.collections
    corners = band.get_paths()[0].vertices
    np.testing.assert_allclose(np.unique(np.abs(corners[:, 1] - corners[:, 0]).round(9)), 2.0)
    assert not plot.prediction_band(y, y, np.inf, plot.axes()).collections


def test_of_many_points_some_are_drawn():
    y = np.arange(5000.0)
    ax = plot.prediction_band(y, 2 * y, None, plot.axes())
    drawn = ax.lines[-1]
    assert len(drawn.get_xdata()) == len(set(drawn.get_xdata())) == 2000
    np.testing.assert_array_equal(drawn.get_ydata(), 2 * drawn.get_xdata())


@pytest.mark.parametrize("errors", [np.zeros(30), np.r_[np.linspace(-1, 1, 99), 1e6], np.array([0.5, -0.25])])
def test_every_error_is_counted(errors):
    ax = plot.error_histogram(errors, 1.0, plot.axes())
    # The last patch is the band of the interval.
    heights = [p.get_height() for p in ax.patches if p.get_height() >= 1 or p.get_height() == 0]
    assert sum(heights[: len(ax.patches) - 1]) == len(errors)
    assert len(ax.patches) % 2 == 0  # an odd number of bars and the band


def test_reliability():
    ax = plot.reliability([(0.6, 0.5, 12), (0.95, 0.97, 300)], plot.axes())
    dots = ax.collections[-1]
    np.testing.assert_allclose(dots.get_offsets(), [[0.6, 0.5], [0.95, 0.97]])
    small, large = dots.get_sizes()
    assert small < large
    low, high = ax.collections[0].get_segments()[0][:, 1]
    assert low == pytest.approx(0.5 - 1.96 * np.sqrt(0.25 / 12)) and high == pytest.approx(1 - low)


def test_importance_and_length_scales():
    items = [
        Importance("age", 2.0, 0.1, 1.5),
        Importance("sex", 0.5, 0.2, 40.0),
        Importance("id", 0, 0, None),
    ]
    ax = plot.importance(items, plot.axes(), unit="error rate")
    assert [p.get_width() for p in ax.patches] == [2.0, 0.5, 0]
    assert "200 %" in _texts(ax) and ax.get_xlabel() == "growth of the error rate"
    ax = plot.length_scales(items, plot.axes())
    np.testing.assert_allclose(ax.lines[-1].get_xdata(), [1.5, 40])
    assert {"age", "sex", "id", "2", "5", "10"} <= set(_texts(ax))
    assert plot.length_scales(items[2:], plot.axes()).lines[:] == []


def test_loo_curve():
    lams, loo = np.logspace(-4, 4, 33), (np.linspace(-4, 4, 33)) ** 2 + 0.3
    loo[0] = np.inf
    ax = plot.loo_curve(lams[::-1], loo[::-1], 1.0, plot.axes())
    assert ax.lines[-1].get_xydata().tolist() == [[1.0, pytest.approx(0.3)]]
    assert len(ax.lines[0].get_xdata()) == 32 and ax.get_ylim()[1] < 1.3
    assert len(plot.loo_curve(lams, loo, None, plot.axes()).lines) == 1


def test_coverage():
    ax = plot.coverage([(0.5, 0.53), (0.9, 0.88)], 200, plot.axes())
    np.testing.assert_allclose(ax.lines[-1].get_xydata(), [[0.5, 0.53], [0.9, 0.88]])
    assert {"50 %", "90 %"} <= set(_texts(ax))


def test_dependence_on_dates():
    days = np.datetime64("2023-01-01", "us") + np.arange(100).astype("timedelta64[D]")
    ax = plot.dependence(days, np.arange(100.0)[:, None], ax=plot.axes(), band=np.zeros((100, 2)))
    assert {"Feb", "Mar"} <= set(_texts(ax)) and len(ax.collections) == 1


def test_dependence_of_probabilities():
    curves = np.full((20, 3), 1 / 3)
    ax = plot.dependence(np.arange(20.0), curves, ["a", "b", "c"], plot.axes(), share=True)
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["a", "b", "c"]
    assert "100 %" in _texts(ax) and ax.get_ylim() == (-0.03, 1.03)
    words = np.array(["red", HOSTILE], dtype=object)
    ax = plot.dependence(words, curves[:2], ["a", "b", "c"], plot.axes(), share=True)
    assert ax.get_xlim() == (-0.03, 1.03) and "red" in _texts(ax)
