"""Losses over the 0–1 loss: every curve bounds it, and is the formula times its factor."""

from functools import partial

import numpy as np
import pytest

from mercer import plot
from mercer.losses import EpsilonInsensitive, Hinge, Huber, Multinomial, Poisson, Quantile

FORMULAS = {
    "Hinge": lambda m: np.maximum(0, 1 - m),
    "Logistic": lambda m: np.log1p(np.exp(-m)) / np.log(2),
    "SquaredHinge": lambda m: np.maximum(0, 1 - m) ** 2,
    "Exponential": lambda m: np.exp(-m),
    "Squared": lambda m: (1 - m) ** 2,
    "Absolute": lambda m: np.abs(1 - m),
}


def curves(ax):
    return {line.get_label(): line.get_data() for line in ax.lines[2:]}


@pytest.mark.parametrize("kinds", [None, ["squared", "absolute", "logistic"]])
def test_every_curve_is_its_formula_and_bounds_the_step(kinds):
    ax = plot.losses(ax=plot.axes()) if kinds is None else plot.losses(kinds, plot.axes())
    found = curves(ax)
    assert len(found) == (4 if kinds is None else 3)
    for label, (m, values) in found.items():
        np.testing.assert_allclose(values, FORMULAS[label.partition(" ")[0]](m), rtol=1e-9)
        assert (values >= (m <= 0) - 1e-12).all()
    assert all(("×" in label) == label.startswith("Logistic") for label in found)


def test_the_step_is_the_01_loss():
    step = plot.losses(["hinge"], plot.axes()).lines[1]
    assert step.get_drawstyle() == "steps-pre"
    np.testing.assert_array_equal(step.get_xydata(), [[-2.5, 1], [0, 1], [2.5, 0]])


def test_scaled_where_needed():
    ax = plot.losses([Huber(0.1), EpsilonInsensitive(0.5), "logistic"], plot.axes(), limits=(-1, 2))
    for label, (m, values) in curves(ax).items():
        assert (values >= (m <= 0) - 1e-12).all() and values[m == 0] == pytest.approx(1), label
        assert "×" in label
    assert "Logistic × 1.44" in curves(ax)


def test_one_loss_and_one_of_ones_own():
    assert list(curves(plot.losses(Hinge(), plot.axes()))) == ["Hinge"]

    def cubed(y, s):
        return np.maximum(0, 1 - y * s) ** 3

    m, values = curves(plot.losses(cubed, plot.axes()))["cubed"]
    np.testing.assert_allclose(values, np.maximum(0, 1 - m) ** 3)


@pytest.mark.parametrize(
    "kinds, options, message",
    [
        ([Multinomial()], {}, "several scores at once"),
        ([Poisson()], {}, "labels ±1"),
        ([Quantile(0.9)], {}, "differently"),
        ([EpsilonInsensitive(1.5)], {}, "no multiple of it bounds"),
        ([], {}, "between one and"),
        (["hinge"], {"limits": (1, 2)}, "between them"),
        (["hinges"], {}, "hinge"),
    ],
)
def test_what_cannot_be_compared(kinds, options, message):
    with pytest.raises(ValueError, match=message):
        plot.losses(kinds, plot.axes(), **options)


def test_partials_and_limits():
    def power(p, y, s):
        return np.exp(-p * y * s)

    ax = plot.losses([partial(power, 1.0)], plot.axes())
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["0–1", "power"]
    np.testing.assert_allclose(ax.lines[2].get_ydata(), np.exp(-ax.lines[2].get_xdata()))
    for limits in ((-np.inf, 1), (-1, np.nan), (-1e308, 1e308), (-1, 1, 2)):
        with pytest.raises(ValueError, match="limits must be two numbers"):
            plot.losses(ax=plot.axes(), limits=limits)
    with pytest.raises(ValueError, match="not finite at all margins"):
        plot.losses(["exponential"], plot.axes(), limits=(-1000, 1))
    with pytest.raises(ValueError, match="resolution must be a whole number"):
        plot.losses(ax=plot.axes(), resolution=1)
