"""Probabilities: curves and images are what predict_proba says, and panels add up to 1."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from mercer import KernelLogistic, plot
from mercer.kernels import Gaussian, Linear
from mercer.plot.style import MANY_COLOURS


def legend_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def row(count):
    return Figure(figsize=(3 * count, 3)).subplots(1, count)


@pytest.fixture
def steps(line):
    X = line[0]
    return X, np.where(X[:, 0] + 0.5 * line[1] > 3, "yes", "no")


def test_the_curve_is_the_probability_of_the_second_class(steps):
    X, y = steps
    machines = [KernelLogistic(Linear(), lam=lam, offset=True).fit(X, y) for lam in (1.0, 0.1, 1e-3)]
    ax = plot.probability_1d(machines, X, y, plot.axes())
    norms = [machine.function_.norm() for machine in machines]
    assert norms == sorted(norms)
    for line, machine in zip(ax.lines[1:4], machines, strict=True):
        x, p = line.get_data()
        # Not predict_proba once more: θ of the function in the space.
        f = machine.function_(x[:, None]) + machine.intercept_
        np.testing.assert_allclose(p, 1 / (1 + np.exp(-f)), atol=1e-9)
        assert x[0] < X.min() and X.max() < x[-1]
    steepness = [np.diff(line.get_ydata()).max() for line in ax.lines[1:4]]
    assert steepness == sorted(steepness)
    assert legend_of(ax)[:3] == [f"‖f‖ = {norm:.3g}" for norm in norms]


def test_examples_stand_at_0_and_at_1(steps):
    X, y = steps
    machine = LogisticRegression().fit(X, y)
    ax = plot.probability_1d(machine, X, y, plot.axes())
    for line, label, height in zip(ax.lines[2:], ("no", "yes"), (0, 1), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), X[y == label, 0])
        assert set(line.get_ydata()) == {height}
    assert legend_of(ax) == ["LogisticRegression", "no", "yes"] and ax.get_ylabel() == "P(yes | x)"


def test_fields_show_the_probability(plane):
    X, y = plane[0][:40], plane[1][:40]
    machines = {str(lam): KernelLogistic(Linear(), lam=lam, offset=True).fit(X, y) for lam in (1.0, 1e-4)}
    drawn = plot.probability_fields(machines, X, y, row(2), resolution=25)
    assert [ax.get_title() for ax in drawn] == ["1.0", "0.0001"]
    shares = []
    for ax, machine in zip(drawn, machines.values(), strict=True):
        U, V = np.meshgrid(np.linspace(*ax.get_xlim(), 25), np.linspace(*ax.get_ylim(), 25))
        p = machine.predict_proba(np.column_stack([U.ravel(), V.ravel()]))[:, 1].reshape(U.shape)
        image = ax.images[0].get_array()
        np.testing.assert_allclose(image[:, :, 3], 0.75 * np.abs(2 * p - 1), atol=1e-9)
        np.testing.assert_allclose(
            image[p < 0.5][:, :3], np.tile(to_rgb(MANY_COLOURS[0]), ((p < 0.5).sum(), 1))
        )
        shares.append(np.mean((p > 0.1) & (p < 0.9)))
    assert shares[1] < shares[0]  # the larger norm is the sharper


def test_panels_of_all_classes_add_up_to_1():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(10), 8)
    X = np.column_stack([np.cos(y * 0.63), np.sin(y * 0.63)]) * 3 + 0.4 * rng.standard_normal((80, 2))
    machine = KernelLogistic(Gaussian(1.0), lam=1e-3).fit(X, y)
    drawn = plot.class_probabilities(machine, X, y, row(11), resolution=15)
    assert [ax.get_title() for ax in drawn] == [*"0123456789", "all"]
    panels = np.array([ax.images[0].get_array()[:, :, 3] for ax in drawn[:10]])
    np.testing.assert_allclose(panels.sum(axis=0), 1, atol=1e-9)
    U, V = np.meshgrid(np.linspace(*drawn[0].get_xlim(), 15), np.linspace(*drawn[0].get_ylim(), 15))
    P = machine.predict_proba(np.column_stack([U.ravel(), V.ravel()]))
    np.testing.assert_allclose(panels[3].ravel(), P[:, 3], atol=1e-9)
    colours = np.array([to_rgb(colour) for colour in MANY_COLOURS[:10]])
    mixed = drawn[10].images[0].get_array().reshape(-1, 3)
    np.testing.assert_allclose(mixed, P @ colours, atol=1e-9)
    np.testing.assert_array_equal(drawn[4].lines[0].get_xydata(), X[y == 4])


def test_spare_panels_of_a_new_figure_are_hidden(plane):
    from matplotlib import pyplot

    X, y = plane
    labels = np.arange(len(y)) % 5
    machine = LogisticRegression().fit(X, labels)
    drawn = plot.class_probabilities(machine, X, labels, resolution=5)
    figure = drawn[0].figure
    assert len(drawn) == 6 and [ax.get_visible() for ax in figure.axes] == [True] * 6 + [False] * 2
    pyplot.close(figure)


def test_classes_that_come_apart():
    drawn = plot.class_separation((0.0, 2.0, 6.0), row(3), n=400, resolution=20)
    right = [int(ax.get_title().split(": ")[1].split()[0]) for ax in drawn]
    # The best that can be done is Φ(ω/2): 50 %, 84 %, 99.9 %.
    assert abs(right[0] - 50) < 8 and abs(right[1] - 84) < 5 and right[2] >= 99
    assert len({ax.get_xlim() for ax in drawn}) == 1
    X = [np.concatenate([line.get_xydata() for line in ax.lines]) for ax in drawn]
    apart = [a.get_xydata()[:, 0].mean() for a in drawn[2].lines]
    assert apart[1] - apart[0] == pytest.approx(6, abs=0.3) and len(X[0]) == 400


@pytest.mark.parametrize("offsets", [(), (-1.0,), (np.nan,)])
def test_offsets_are_distances(offsets):
    with pytest.raises(ValueError, match="offsets must be distances"):
        plot.class_separation(offsets, row(1))


def test_what_has_no_probability(plane, steps):
    X, y = plane
    with pytest.raises(TypeError, match="predict_proba"):
        plot.class_probabilities(SVC().fit(X, y), X, y, row(4))
    with pytest.raises(ValueError, match="two classes, and here are 3"):
        plot.probability_fields(LogisticRegression().fit(X, y), X, y, plot.axes())
    with pytest.raises(TypeError, match="predict_proba"):
        plot.probability_1d(SVC().fit(*steps), *steps, plot.axes())
    with pytest.raises(ValueError, match="at least one"):
        plot.probability_1d([], *steps, plot.axes())
    with pytest.raises(ValueError, match="one feature"):
        plot.probability_1d(LogisticRegression().fit(X[:40], y[:40]), X[:40], y[:40], plot.axes())
    machine = LogisticRegression().fit(X[:40], y[:40])
    for labels, message in ((y[:39], "one label a point"), (np.array(["d"] * 40), "one of the classes")):
        with pytest.raises(ValueError, match=message):
            plot.probability_fields(machine, X[:40], labels, plot.axes())
    with pytest.raises(ValueError, match="need 4 Axes"):
        plot.class_probabilities(LogisticRegression().fit(X, y), X, y, row(3))


def test_machines_of_other_classes_are_not_compared():
    X = np.arange(6.0)[:, None]
    low, high = (LogisticRegression().fit(X, np.repeat(pair, 3)) for pair in (["a", "b"], ["b", "c"]))
    for drawn in (plot.probability_1d, plot.probability_fields):
        with pytest.raises(ValueError):
            drawn([low, high], X, np.full(6, "b"), None)
    with pytest.raises(ValueError, match=r"the same classes: \['a', 'b'\] is not \['b', 'c'\]"):
        plot.probability_1d([low, high], X, np.full(6, "b"), plot.axes())
    ax = plot.probability_1d([low, low], X, np.full(6, "b"), plot.axes())
    np.testing.assert_allclose(
        ax.lines[2].get_ydata(), low.predict_proba(ax.lines[2].get_xdata()[:, None])[:, 1]
    )


def test_no_logarithmic_axes(steps):
    ax = plot.axes()
    ax.set_yscale("log")
    with pytest.raises(ValueError, match="linear axes"):
        plot.probability_1d(LogisticRegression().fit(*steps), *steps, ax)
