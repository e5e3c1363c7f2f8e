"""Shattering, learning a rectangle, failure rates: what is drawn is what was computed."""

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle as Drawn

matplotlib.use("Agg")

from mercer import plot
from mercer.theory.learnability import Box, HalfSpaces, Intervals, Rectangles, UniformBox, simulate


def positives(ax):
    return ax.collections[0].get_offsets()


def _turn(corners):
    (a, b), (c, d) = np.diff(corners[:3], axis=0)
    return a * d - b * c


def test_every_labelling_is_a_panel():
    axes = plot.shattering(HalfSpaces(2), [[0, 0], [0, 1], [1, 0], [1, 1]], Figure().subplots(4, 4))
    titles = [ax.get_title() for ax in axes]
    assert len(titles) == 16 and [t for t in titles if "none" in t] == ["-++-: none", "+--+: none"]
    for ax, title in zip(axes, titles, strict=True):
        assert len(positives(ax)) == title.count("+")
        framed = to_rgba(ax.spines["left"].get_edgecolor()) == to_rgba(plot.COLOURS[1])
        assert framed == ("none" in title) == (not ax.images)


def test_regions_hold_the_positive_points_only():
    X = np.array([[0, 0], [4, 1], [1, 4]])
    for H in (HalfSpaces(2), Rectangles(2)):
        for ax in plot.shattering(H, X, Figure().subplots(2, 4)):
            image = ax.images[0]
            left, right, bottom, top = image.get_extent()
            inside = np.asarray(image.get_array())
            for x, sign in zip(X, ax.get_title(), strict=True):
                column = int((x[0] - left) / (right - left) * inside.shape[1])
                row = int((x[1] - bottom) / (top - bottom) * inside.shape[0])
                assert (inside[row, column, 3] > 0) == (sign == "+")


def test_on_the_line():
    axes = plot.shattering(Intervals(), [1, 2, 3], Figure().subplots(2, 4))
    assert [ax.get_title() for ax in axes if not ax.images] == ["+-+: none"]
    assert len(plot.shattering(Intervals(), [1, 2])) == 4


def test_what_can_not_be_drawn():
    with pytest.raises(ValueError, match="up to 5 points in one or two dimensions"):
        plot.shattering(HalfSpaces(3), [[0, 0, 0]])
    with pytest.raises(ValueError, match="8 labellings need 8 Axes, got 4"):
        plot.shattering(Intervals(), [1, 2, 3], Figure().subplots(1, 4))
    with pytest.raises(ValueError, match="in the plane"):
        plot.learned_rectangle(Box((0,), (1,)), [[0.5]], [1])


def test_a_learned_rectangle():
    rng = np.random.default_rng(0)
    target = Box((0.2, 0.3), (0.8, 0.7))
    X = rng.uniform(size=(60, 2))
    ax = plot.learned_rectangle(target, X, target(X), plot.axes(4, 4))
    drawn = [p for p in ax.patches if isinstance(p, Drawn)]
    fit = Rectangles(2).learn(X, target(X))
    for box, patch in zip((target, fit), drawn, strict=True):
        np.testing.assert_allclose([*patch.get_xy(), patch.get_width()], [*box.low, box.high[0] - box.low[0]])
    # Between them: the target's outline one way round, the fit's the other way, which makes it a hole.
    missed = next(p for p in ax.patches if not isinstance(p, Drawn)).get_path()
    for corners, box in zip(missed.vertices.reshape(2, 5, 2), (target, fit), strict=True):
        np.testing.assert_array_equal([corners.min(axis=0), corners.max(axis=0)], [box.low, box.high])
    turns = [_turn(c) for c in missed.vertices.reshape(2, 5, 2)]
    assert turns[0] * turns[1] < 0
    assert len(positives(ax)) == target(X).sum()
    empty = plot.learned_rectangle(target, [[0, 0], [1, 1]], [0, 0], plot.axes(4, 4))
    assert len(next(p for p in empty.patches if not isinstance(p, Drawn)).get_path().vertices) == 5


def test_failure_rates():
    found = simulate(UniformBox([0, 0], [1, 1]), [20, 50, 100, 200], 0.1, trials=500, random_state=0)
    ax = plot.failure_rates(found, plot.axes(), delta=0.05, H=Rectangles(2))
    measured, bound = ax.lines[0].get_ydata(), ax.lines[1].get_ydata()
    np.testing.assert_array_equal(measured[found.rates > 0], found.rates[found.rates > 0])
    assert np.isnan(measured[found.rates == 0]).all()
    np.testing.assert_array_equal(bound, found.bounds)
    words = [t.get_text() for t in ax.get_legend().get_texts()]
    assert words == ["measured in 500 trials", "bound", "δ = 0.05", "m = 176 suffices"]
    assert ax.get_yscale() == "log"
    assert len(plot.failure_rates(found, plot.axes()).lines) == 2
