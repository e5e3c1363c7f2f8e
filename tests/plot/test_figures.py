"""Figures: what is drawn is what was asked for, on the Axes that were given, and nothing global changes."""

import matplotlib
import numpy as np
import pytest
from matplotlib.axes import Axes

matplotlib.use("Agg")

from mercer import KernelLogistic, KernelRegressor, KernelRidge, KernelSVC, plot
from mercer.functions import KernelFunction
from mercer.kernels import Gaussian, Linear
from mercer.losses import Quantile
from mercer.selection import path
from mercer.solvers import CG, GradientDescent


@pytest.fixture
def line():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 6, (40, 1))
    return X, np.sin(X[:, 0]) + 0.1 * rng.standard_normal(40)


@pytest.fixture
def plane():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(c, 0.4, (20, 2)) for c in ((0, 0), (2, 0), (0, 2))])
    return X, np.repeat(["a", "b", "c"], 20)


def _legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_lam_path_draws_the_errors_and_marks_their_minimum(line):
    p = path(KernelRidge(Gaussian(1.0)), *line, lams=np.logspace(-6, 0, 13)[::-1])
    ax = plot.lam_path(p, plot.axes())
    curve, mark = ax.lines
    np.testing.assert_array_equal(curve.get_xdata(), np.sort(p.lams))
    np.testing.assert_array_equal(curve.get_ydata(), p.loo_mse[::-1])
    assert mark.get_xdata() == [p.best_lam] and mark.get_ydata() == [p.loo_mse.min()]
    assert ax.get_xscale() == "log"


def test_curves_share_axes(line):
    ax = plot.axes()
    for sigma, colour in zip((0.5, 1.0), plot.COLOURS, strict=False):
        assert (
            plot.lam_path(path(KernelRidge(Gaussian(sigma)), *line), ax, label=f"{sigma}", colour=colour)
            is ax
        )
    assert [text.split(":")[0] for text in _legend(ax)] == ["0.5", "1.0"]


def test_regression_1d_draws_the_machine(line):
    X, y = line
    machine = KernelRidge(Gaussian(1.0)).fit(X, y)
    ax = plot.regression_1d(machine, X, y, plot.axes(), truth=np.sin)
    points, truth, fitted = ax.lines
    np.testing.assert_array_equal(np.sort(points.get_xdata()), np.sort(X[:, 0]))
    np.testing.assert_allclose(truth.get_ydata(), np.sin(truth.get_xdata()))
    np.testing.assert_allclose(fitted.get_ydata(), machine.predict(fitted.get_xdata()[:, None]))
    plot.regression_1d(machine, X, y, ax, points=False, label="again")
    assert _legend(ax)[-1] == "again"
    with pytest.raises(ValueError, match="one feature"):
        plot.regression_1d(machine, np.zeros((3, 2)), np.zeros(3), plot.axes())


def test_predicted_vs_true():
    ax = plot.predicted_vs_true([1.0, 2.0, 3.0], [1.5, 2.0, 2.5], plot.axes(), label="m")
    np.testing.assert_array_equal(ax.lines[-1].get_ydata(), [1.5, 2.0, 2.5])
    plot.predicted_vs_true([1.0], [1.0], plot.axes())  # one point has no diagonal of its own


@pytest.mark.parametrize("classes", [2, 3])
def test_decision_regions(plane, classes):
    X, y = plane[0][: 20 * classes], plane[1][: 20 * classes]
    machine = KernelLogistic(Gaussian(1.0), lam=1e-3).fit(X, y)
    ax = plot.decision_regions(machine, X, y, plot.axes(), resolution=30)
    assert _legend(ax) == ["a", "b", "c"][:classes]
    assert sum(len(line.get_xdata()) for line in ax.lines) == len(X)
    assert {line.get_marker() for line in ax.lines} == set("os^"[:classes])


def test_decision_regions_without_probabilities(plane):
    from sklearn.svm import SVC

    X, y = plane
    assert plot.decision_regions(SVC().fit(X, y), X, y, plot.axes(), resolution=20).collections


def test_decision_regions_refuses_what_it_cannot_draw(plane):
    X, y = plane
    machine = KernelLogistic().fit(X, y)
    with pytest.raises(ValueError, match="two features"):
        plot.decision_regions(machine, X[:, :1], y, plot.axes())
    machine.classes_ = np.arange(7)
    with pytest.raises(ValueError, match="at most 6 classes"):
        plot.decision_regions(machine, X, y, plot.axes())


def test_confusion_counts():
    ax = plot.confusion([0, 0, 1, 2], [0, 1, 1, 2], plot.axes())
    counts = {tuple(int(v) for v in text.get_position()): text.get_text() for text in ax.texts}
    assert counts == {(0, 0): "1", (1, 0): "1", (1, 1): "1", (2, 2): "1"}  # (predicted, true)
    assert len(ax.patches) == 4


def test_image_sheet():
    ax = plot.image_sheet(np.zeros((5, 8, 8)), list("abcde"), plot.axes(), columns=3)
    assert [text.get_text() for text in ax.texts] == list("abcde") and len(ax.images) == 5
    with pytest.raises(ValueError):
        plot.image_sheet(np.zeros((2, 8, 8)), ["one"], plot.axes())


@pytest.mark.parametrize("solver", [CG(), GradientDescent(max_iter=500, tol=1e-4), "cholesky"])
def test_convergence_ends_where_the_solver_did(line, solver):
    solution = KernelRidge(Gaussian(1.0), lam=0.1, solver=solver).fit(*line).solution_
    (curve,) = plot.convergence(solution, plot.axes()).lines
    assert curve.get_xdata()[-1] == solution.iterations
    assert (curve.get_ydata() > 0).all()


def test_function_1d_draws_terms():
    f = KernelFunction(Gaussian(1.0), [[0.0], [2.0]], [1.0, -2.0])
    grid = np.linspace(-2, 4, 30)
    ax = plot.function_1d(f, grid, plot.axes(), terms=True)
    np.testing.assert_allclose(ax.lines[-1].get_ydata(), ax.lines[1].get_ydata() + ax.lines[2].get_ydata())
    machine = KernelRidge(Linear()).fit(grid[:, None], grid)
    with pytest.raises(TypeError, match="bumps"):
        plot.function_1d(machine.function_, grid, plot.axes(), terms=True)


def test_no_axes_means_new_ones(line):
    from matplotlib import pyplot

    before = dict(matplotlib.rcParams)
    ax = plot.lam_path(path(KernelRidge(), *line))
    assert isinstance(ax, Axes) and pyplot.get_fignums()
    pyplot.close(ax.figure)
    plot.axes()
    assert not pyplot.get_fignums()
    assert dict(matplotlib.rcParams) == before


def test_only_this_room_imports_matplotlib():
    from pathlib import Path

    import mercer

    root = Path(mercer.__file__).parent
    for file in root.rglob("*.py"):
        if file.parent.name != "plot":
            text = file.read_text(encoding="utf-8")
            imports = [
                s for s in text.splitlines() if s.strip().startswith(("import matplotlib", "from matplotlib"))
            ]
            # Annotations may name Axes; they are read by type checkers only.
            assert all("Axes" in s and s.startswith("    ") for s in imports), file


def test_margin_rings_the_support_vectors(plane):
    X, y = plane[0][:40], plane[1][:40]
    machine = KernelSVC.from_C(1.0, kernel=Gaussian(1.0)).fit(X, y)
    ax = plot.margin(machine, X, y, plot.axes(), resolution=30)
    np.testing.assert_array_equal(ax.lines[-1].get_xydata(), X[machine.support_])
    assert _legend(ax) == ["a", "b", "support vectors"]
    with pytest.raises(ValueError, match="between two classes, and here are 3"):
        plot.margin(KernelSVC().fit(*plane), *plane, plot.axes())


def test_quantiles_draws_bands_and_the_middle(line):
    machine = KernelRegressor(loss=Quantile([0.9, 0.1, 0.5]), lam=0.01).fit(*line)
    ax = plot.quantiles(machine, *line, plot.axes(), resolution=50)
    assert _legend(ax) == ["0.1 to 0.9", "0.5"]
    x = np.linspace(line[0].min(), line[0].max(), 50)[:, None]
    np.testing.assert_allclose(ax.lines[0].get_ydata(), machine.predict(x)[:, 2])
    edges = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert edges.max() >= machine.predict(x)[:, 0].max() - 1e-12
    assert edges.min() <= machine.predict(x)[:, 1].min() + 1e-12
    with pytest.raises(ValueError, match="fitted with a Quantile loss, not Squared"):
        plot.quantiles(KernelRidge().fit(*line), *line, plot.axes())
    with pytest.raises(ValueError, match="one feature"):
        plot.quantiles(machine, np.zeros((3, 2)), np.zeros(3), plot.axes())


def test_features_with_names_are_no_matter_here(plane, line):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(plane[0][:40], columns=["u", "v"])
    machine = KernelSVC.from_C(1.0, kernel=Gaussian(1.0)).fit(frame, plane[1][:40])
    assert plot.margin(machine, frame, plane[1][:40], plot.axes(), resolution=10).lines
    frame = pandas.DataFrame(line[0], columns=["x"])
    fan = KernelRegressor(loss=Quantile([0.1, 0.9]), lam=0.01).fit(frame, line[1])
    assert plot.quantiles(fan, frame, line[1], plot.axes(), resolution=10).collections
