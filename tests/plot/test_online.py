"""Online machines drawn: bumps add up to f, curves are means of errors, terms lie where they were met."""

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

matplotlib.use("Agg")

from mercer import OnlineKernelClassifier, OnlineKernelRegressor, plot
from mercer.functions import section
from mercer.kernels import Gaussian
from mercer.online import InverseRootStep, Oldest, Projection, krls, regret

K = Gaussian(0.6)
GRID = np.linspace(-2, 4, 60)


def stream(n=400):
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (n, 1))
    return X, np.sin(2 * X[:, 0])


def legend_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def curves(ax):
    return [np.asarray(line.get_ydata()) for line in ax.lines if len(line.get_xdata()) == len(GRID)]


# -- bumps ---------------------------------------------------------------------------------------------


def test_bumps_are_those_of_the_text():
    """Three points, +, −, +, with the hinge loss: each adds η y k(x,·) and shrinks the rest by 1 − 2ηλ."""
    X, y, lam, eta = [[0.0], [1.0], [2.5]], [1, -1, 1], 0.1, 1.0
    machine = OnlineKernelClassifier(K, "hinge", lam=lam, step=eta, budget=None)
    axes = plot.bumps(machine, X, y, Figure().subplots(1, 3), grid=GRID)
    shrink = 1 - 2 * eta * lam
    # f(1) = 0.8 k(0, 1) < 1 for −1, and f(2.5) < 1 for +1: each is an error of the margin.
    for t, ax in enumerate(axes):
        *drawn, f = curves(ax)
        terms = [eta * y[i] * shrink ** (t - i) * section(K, X[i])(GRID[:, None]) for i in range(t + 1)]
        for curve, term in zip(drawn, terms):
            np.testing.assert_allclose(curve, term, atol=1e-12)
        assert len(drawn) == t + 1 + (t > 0)  # and what f was before
        np.testing.assert_allclose(f, np.sum(terms, axis=0), atol=1e-12)
        assert ax.get_title() == f"after {t + 1} example{'s' * (t > 0)}"
    assert len({ax.get_ylim() for ax in axes}) == 1
    assert legend_of(axes[2]) == ["f before", "f"]
    assert len({line.get_color() for line in axes[2].lines if line.get_marker() == "o"}) == 3


def test_one_panel_is_the_last():
    machine = OnlineKernelRegressor(K, lam=0.1, step=0.3, budget=None)
    X, y = [[0.0], [1.0], [2.5]], [1.0, -0.5, 2.0]
    row = plot.bumps(machine, X, y, Figure().subplots(1, 3), grid=GRID)
    (one,) = plot.bumps(machine, X, y, plot.axes(), grid=GRID)
    np.testing.assert_allclose(curves(one)[-1], curves(row[2])[-1])
    np.testing.assert_allclose(curves(one)[-1], machine.fit(X, y).predict(GRID[:, None]))
    assert one.get_title() == "after 3 examples"


def test_an_example_without_loss_adds_no_bump():
    machine = OnlineKernelClassifier(K, "hinge", lam=0.01, step=2.0, budget=None)
    axes = plot.bumps(machine, [[0.0], [9.0], [0.0]], [1, -1, 1], Figure().subplots(1, 3), grid=GRID)
    assert len(curves(axes[2])) == len(curves(axes[1]))


def test_bumps_on_new_axes():
    from matplotlib import pyplot

    axes = plot.bumps(OnlineKernelRegressor(K), [[0.0], [1.0]], [1.0, 2.0])
    assert len(axes) == 2
    pyplot.close(axes[0].figure)


def test_bumps_refuse_what_they_cannot_draw():
    machine = OnlineKernelRegressor(K)
    with pytest.raises(ValueError, match="one function of one variable"):
        plot.bumps(machine, np.zeros((2, 2)), [0.0, 1.0], plot.axes())
    with pytest.raises(ValueError, match="up to 8 examples"):
        plot.bumps(machine, *stream(9), plot.axes())
    with pytest.raises(ValueError, match="2 outputs"):
        plot.bumps(machine, [[0.0], [1.0]], np.eye(2), plot.axes())
    with pytest.raises(ValueError, match="3 examples need 3 Axes"):
        plot.bumps(machine, *stream(3), Figure().subplots(1, 2))
    with pytest.raises(TypeError, match="only a sum of kernels has bumps"):
        plot.bumps(OnlineKernelRegressor(K, representation="features"), *stream(2), plot.axes())


# -- learning curves -----------------------------------------------------------------------------------


def test_learning_curve_of_numbers():
    X, y = stream()
    machine = OnlineKernelRegressor(K, step=0.3)
    ax = plot.learning_curve(machine, X, y, plot.axes(), window=50, label="m")
    (line,) = ax.lines
    one, errors = machine.clone(), []
    for i in range(100):
        errors.append(y[i] - one.predict_one({"x": X[i, 0]}))
        one.learn_one({"x": X[i, 0]}, y[i])
    at = dict(zip(line.get_xdata().tolist(), line.get_ydata()))
    assert min(at) == 50 and max(at) == 400
    for end in (50, 73, 100):
        assert at[end] == pytest.approx(np.sqrt(np.mean(np.square(errors[end - 50 : end]))))
    assert legend_of(ax) == ["m"]


def test_learning_curve_of_labels_counts_mistakes():
    X, y = stream()
    labels = np.where(y > 0, "up", "down")
    machine = OnlineKernelClassifier(K)
    ax = plot.learning_curve(machine, X, labels, plot.axes(), window=400)
    assert ax.lines[0].get_ydata().tolist() == [machine.fit(X, labels).n_mistakes_ / 400]
    assert ax.get_ylabel() == "wrong labels over 400 examples"
    with pytest.raises(ValueError, match="window must lie between 1 and the 400"):
        plot.learning_curve(machine, X, labels, plot.axes(), window=0)


def test_curves_share_axes_and_are_all_seen():
    ax = plot.axes()
    X, y = stream()
    plot.learning_curve(OnlineKernelRegressor(K), X, y, ax, label="a")
    plot.learning_curve(OnlineKernelRegressor(K), X, 10 * y, ax, label="b")
    assert ax.get_ylim()[0] == 0 and ax.get_ylim()[1] > max(line.get_ydata().max() for line in ax.lines)
    assert legend_of(ax) == ["a", "b"]


# -- regret --------------------------------------------------------------------------------------------


def test_regret_curve():
    found = regret(OnlineKernelRegressor(K, lam=0.01, step=InverseRootStep(0.3), budget=None), *stream())
    ax = plot.regret_curve(found, plot.axes())
    for line, values in zip(ax.lines, (found.regret, found.bound, found.text_bound), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), found.times)
        np.testing.assert_array_equal(line.get_ydata(), values)
    assert ax.get_xscale() == ax.get_yscale() == "log"
    assert legend_of(ax) == [f"regret, as T^{found.exponent:.2f}", "bound", "‖∇‖·‖f*‖·√T (best η)"]


def test_regret_curve_with_a_budget_and_without_a_bound():
    X, y = stream(100)
    found = regret(OnlineKernelRegressor(K, lam=0.01, budget=Oldest(10)), X, y, times=4)
    assert "bound, with the budget's price" in legend_of(plot.regret_curve(found, plot.axes()))
    found = regret(krls(K), X, y, radius=1.0, times=4)
    ax = plot.regret_curve(found, plot.axes())
    assert legend_of(ax) == ["regret"] and ax.get_ylabel() == "regret against ‖f‖ ≤ 1"
    assert ax.get_yscale() == "linear"  # it is negative: the machine is not bound to the ball


# -- budgets -------------------------------------------------------------------------------------------


def test_budget_use_oldest_is_a_band():
    ax = plot.budget_use(OnlineKernelRegressor(K, budget=Oldest(30)), *stream(), plot.axes())
    seen, number = ax.lines[-1].get_data()
    age = np.asarray(seen) - np.asarray(number)
    assert age.min() == 0 and age.max() == 29
    assert ax.get_title() == "30 terms after 400 examples"


def test_budget_use_projection_keeps_what_it_has():
    ax = plot.budget_use(OnlineKernelRegressor(K, budget=Projection(10)), *stream(), plot.axes())
    seen, number = (np.asarray(v) for v in ax.lines[-1].get_data())
    last = number[seen == 400]
    assert len(last) <= 10
    assert all(set(number[seen == t]) <= set(last) for t in np.unique(seen))
    with pytest.raises(ValueError, match="hold no examples"):
        plot.budget_use(OnlineKernelRegressor(K, representation="features"), *stream(), plot.axes())
