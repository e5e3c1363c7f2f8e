"""The objective surface: trials where they were, the best marked, values that a fresh fit confirms."""

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")

from sklearn.svm import SVR

from mercer import KernelRidge, plot
from mercer.kernels import Gaussian, Laplacian, Linear
from mercer.plot.tuning import Chart
from mercer.selection import path, tune

RNG = np.random.default_rng(0)
X = RNG.uniform(-3, 3, (60, 2))
Y = np.sin(2 * X[:, 0]) * X[:, 1] + 0.1 * RNG.standard_normal(60)


@pytest.fixture(scope="module")
def exact():
    return tune(KernelRidge(), X, Y, trials=20)


@pytest.fixture(scope="module")
def folds():
    space = {"C": (0.1, 1000.0), "gamma": (1e-3, 1e2), "kernel": ["rbf", "sigmoid"], "epsilon": (0.01, 0.09)}
    return tune(SVR(), X, Y, space=space, trials=20)


@pytest.fixture(scope="module")
def kernels():
    space = {"kernel": {Gaussian(): None, Laplacian(): None, Linear(): {}}, "lam": None}
    return tune(KernelRidge(), X, Y, space=space, trials=30)


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def line(ax, label):
    return next(line for line in ax.lines if line.get_label().startswith(label))


def test_one_parameter(exact):
    ax = plot.surface(exact, "kernel__sigma", ax=plot.axes())
    trials = line(ax, "trials")
    assert trials.get_xdata().tolist() == [t.params["kernel__sigma"] for t in exact.trials]
    assert trials.get_ydata().tolist() == [-t.score for t in exact.trials]
    best = line(ax, "best")
    assert best.get_xdata() == [exact.best_params["kernel__sigma"]] and best.get_ydata() == [exact.best_value]
    assert labels(ax) == ["interpolated", "trials", f"best: {plot.style.number(exact.best_value)}"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("kernel__sigma", exact.objective)
    assert ax.get_xscale() == ax.get_yscale() == "log"
    # Between the trials the curve is near what a trial there would have given.
    curve = line(ax, "interpolated")
    near = np.abs(np.log10(curve.get_xdata() / exact.best_params["kernel__sigma"])) < 0.3
    for sigma, value in list(zip(curve.get_xdata()[near], curve.get_ydata()[near], strict=True))[::3]:
        assert value == pytest.approx(path(KernelRidge(Gaussian(sigma)), X, Y).loo_mse.min(), rel=0.15)


def test_lam_is_a_path(exact):
    ax = plot.surface(exact, "lam", ax=plot.axes())
    peer = path(KernelRidge(Gaussian(exact.best_params["kernel__sigma"])), X, Y, 100)
    curve = line(ax, "the best trial")
    np.testing.assert_allclose(curve.get_xdata(), peer.lams)
    np.testing.assert_allclose(curve.get_ydata(), peer.loo_mse)
    assert ax.get_xlabel() == "λ" and ax.get_xscale() == "log"


@pytest.mark.parametrize("names", [("kernel__sigma", "lam"), ("lam", "kernel__sigma")])
def test_two_parameters(exact, names):
    ax = plot.surface(exact, *names, plot.axes(), resolution=30)
    assert ax.get_xscale() == ax.get_yscale() == "log" and len(ax.collections) > 4
    best = line(ax, "best")
    assert [*best.get_xdata(), *best.get_ydata()] == [exact.best_params[name] for name in names]
    assert labels(ax)[-1].startswith("best: exact leave-one-out mean squared error")


def test_contours_are_those_of_the_objective(exact):
    """Heights over (σ, λ), against paths for those σ."""
    chart, u = Chart(exact), np.linspace(0.4, 0.6, 9)
    sigmas = [chart.scale("kernel__sigma").value(v) for v in u]
    lams = np.logspace(-6, -2, 7)
    heights = chart.heights({"kernel__sigma": u}, lams)
    truth = np.log10([path(KernelRidge(Gaussian(s)), X, Y, lams).loo_mse for s in sigmas])
    assert np.abs(heights - truth).max() < 0.15 and np.corrcoef(heights.ravel(), truth.ravel())[0, 1] > 0.99


def test_scores_and_choices(folds):
    ax = plot.surface(folds, "C", "gamma", plot.axes(), resolution=20)
    assert labels(ax) == ["trials", f"best: mean r2 over 5 folds {plot.style.number(folds.best_value)}"]
    ax = plot.surface(folds, "epsilon", ax=plot.axes())
    assert ax.get_xscale() == "linear" and line(ax, "best").get_ydata() == [folds.best_score]
    ax = plot.surface(folds, "kernel", ax=plot.axes())
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["rbf", "sigmoid"]
    where = [["rbf", "sigmoid"].index(t.params["kernel"]) for t in folds.trials]
    assert line(ax, "trials").get_xdata().tolist() == where
    with pytest.raises(ValueError, match="'kernel' is a choice: draw it alone"):
        plot.surface(folds, "C", "kernel", plot.axes())
    with pytest.raises(ValueError, match="'nu' was not tuned; what was: C, epsilon, gamma, kernel"):
        plot.surface(folds, "nu", ax=plot.axes())


def test_parameters_that_only_some_trials_have(kernels):
    ax = plot.surface(kernels, "kernel__sigma", ax=plot.axes())
    having = [t for t in kernels.trials if "kernel__sigma" in t.params]
    assert len(line(ax, "trials").get_xdata()) == len(having) < len(kernels.trials)
    ax = plot.surface(kernels, "kernel", ax=plot.axes())
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["Gaussian()", "Laplacian()", "Linear()"]
    assert plot.surface(kernels, "kernel__sigma", "lam", plot.axes(), resolution=20).collections


def test_few_trials_and_failed_ones():
    few = tune(KernelRidge(), X, Y, trials=3)
    ax = plot.surface(few, "kernel__sigma", "lam", plot.axes())
    assert not ax.collections and len(line(ax, "trials").get_xdata()) == 3
    assert "interpolated" not in labels(plot.surface(few, "kernel__sigma", ax=plot.axes()))
    some = tune(
        KernelRidge(), X, Y, space={"lam": (-1.0, 1.0), "kernel__sigma": (0.1, 10.0)}, cv=2, trials=20
    )
    ax = plot.surface(some, "kernel__sigma", "lam", plot.axes(), resolution=20)
    failed = [t for t in some.trials if not t.ok]
    assert failed and len(line(ax, "failed").get_xdata()) == len(failed)


def test_trials_with_different_numbers_of_rows_are_not_mixed():
    Z, z = np.zeros((5000, 1)), np.random.default_rng(0).standard_normal(5000)
    from sklearn.linear_model import Ridge

    tuning = tune(Ridge(), Z, z, space={"alpha": (1e-3, 1e3)}, trials=12, cv=2)
    assert len(tuning.rungs) == 2
    ax = plot.surface(tuning, "alpha", ax=plot.axes())
    assert len(line(ax, "trials").get_xdata()) == sum(t.rows == tuning.rungs[0] for t in tuning.trials)
    assert labels(ax)[-1] == "best, with 5,000 rows"


def within(ax):
    """Is the legend, as it is drawn, inside the figure?"""
    figure = ax.figure
    figure.canvas.draw()
    box, (width, height) = ax.get_legend().get_window_extent(), figure.bbox.size
    return box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width and box.y1 <= height


@pytest.mark.parametrize("size", [(5.2, 3.5), (8, 3), (4, 3), (3, 2.5), (2.2, 2)], ids=str)
def test_the_legend_fits(exact, folds, size):
    tunings = ((exact, ("kernel__sigma", "lam")), (exact, ("lam",)), (folds, ("C", "gamma")), (folds, ("C",)))
    for tuning, names in tunings:
        ax = plot.surface(tuning, *names, ax=plot.axes(*size), resolution=10)
        assert within(ax), names
        words = " ".join(labels(ax)).split()
        assert words[-1] == plot.style.number(tuning.best_value) and "trials" in words
        assert ax.get_window_extent().height > 10  # and the figure is still one


def test_the_legend_fits_on_axes_of_others(exact):
    from matplotlib import pyplot

    figure, both = pyplot.subplots(1, 2, figsize=(7, 3), layout="constrained")
    for ax in both:
        plot.surface(exact, "kernel__sigma", "lam", ax, resolution=10)
    assert within(both[0]) and within(both[1])
    pyplot.close(figure)


def test_many_levels_have_a_legend_that_fits():
    from mercer import KernelRegressor
    from mercer.losses import Quantile

    Z = np.linspace(0, 6, 30)[:, None]
    levels = np.linspace(0.05, 0.95, 11)
    machine = KernelRegressor(loss=Quantile(levels), lam=0.01).fit(Z, np.sin(Z[:, 0]))
    ax = plot.quantiles(machine, Z, np.sin(Z[:, 0]), plot.axes(4, 3))
    assert within(ax) and len(labels(ax)) == 6
