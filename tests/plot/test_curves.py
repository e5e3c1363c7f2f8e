"""Figures of curves: what is drawn is what was asked for, on the Axes that were given."""

import numpy as np
import pytest

from mercer import KernelRegressor, KernelRidge, plot
from mercer.functions import KernelFunction
from mercer.kernels import Gaussian, Linear
from mercer.losses import Quantile
from mercer.selection import path
from mercer.solvers import CG, GradientDescent


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


def test_regressions_on_one_axes_or_a_panel_each(line):
    from matplotlib.figure import Figure

    X, y = line
    machines = {f"σ = {s}": KernelRidge(Gaussian(s), lam=1e-3).fit(X, y) for s in (0.1, 1.0, 10.0)}
    (ax,) = plot.regressions(machines, X, y, plot.axes(), truth=np.sin)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["examples", "truth", *machines]
    drawn = plot.regressions(machines, X, y, Figure().subplots(1, 3), truth=np.sin)
    assert [panel.get_title() for panel in drawn] == list(machines)
    for j, machine in enumerate(machines.values()):
        together, alone = ax.lines[2 + j], drawn[j].lines[-1]
        for curve in (together, alone):
            x, f = curve.get_data()
            np.testing.assert_allclose(f, machine.function_(x[:, None]) + machine.intercept_, atol=1e-9)
        assert together.get_color() == alone.get_color()
    with pytest.raises(ValueError, match="3 machines need as many Axes, or one"):
        plot.regressions(machines, X, y, Figure().subplots(1, 2))
    with pytest.raises(ValueError, match="at most 6 curves"):
        plot.regressions([KernelRidge().fit(X, y)] * 7, X, y, plot.axes())


def test_residuals_reach_from_the_points_to_the_curve(line):
    X, y = line
    machine = KernelRidge(lam=1e-2).fit(X, y)
    ax = plot.regression_1d(machine, X, y, plot.axes(), residuals=True)
    segments = np.array(ax.collections[0].get_segments())
    np.testing.assert_allclose(segments[:, :, 0], np.repeat(X, 2, axis=1))
    np.testing.assert_allclose(np.sort(segments[:, :, 1]), np.sort(np.column_stack([y, machine.predict(X)])))
