"""The figure of nearest neighbours: one panel for each R, on the Axes that were given."""

import matplotlib
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier

matplotlib.use("Agg")

from mercer import KernelNeighborsClassifier, plot
from mercer.kernels import Polynomial


@pytest.fixture
def plane():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(c, 0.8, (20, 2)) for c in ((0, 0), (2, 0), (0, 2))])
    return X, np.repeat(["a", "b", "c"], 20)


def panels(count):
    return Figure(layout="constrained").subplots(1, count, squeeze=False)[0]


def test_one_panel_for_each(plane):
    machine = KernelNeighborsClassifier(Polynomial(2)).fit(*plane)
    before = machine.n_neighbors_
    given = panels(3)
    drawn = plot.neighbours(machine, *plane, (1, 7, 60), given, resolution=25)
    assert list(drawn) == list(given)
    assert [ax.get_title() for ax in drawn] == ["R = 1", "R = 7", "R = 60"]
    assert machine.n_neighbors_ == before
    assert [ax.get_legend() is not None for ax in drawn] == [False, False, True]
    # One neighbour knows every example; all of them say the same everywhere, so there is no border.
    assert len(drawn[0].collections) > len(drawn[2].collections)


def test_one_number_and_axes_alone(plane):
    machine = KernelNeighborsClassifier().fit(*plane)
    ax = plot.axes()
    assert plot.neighbours(machine, *plane, [3], ax, resolution=10)[0] is ax


def test_no_axes_means_new_ones(plane):
    from matplotlib import pyplot

    drawn = plot.neighbours(KernelNeighborsClassifier().fit(*plane), *plane, resolution=10)
    assert len(drawn) == 3 and all(isinstance(ax, Axes) for ax in drawn)
    pyplot.close(drawn[0].figure)


def test_errors_against_their_number(plane):
    from mercer import KernelNeighborsRegressor

    X, y = plane
    machine = KernelNeighborsClassifier(max_neighbors=30).fit(X, y)
    ax = plot.axes()
    assert plot.neighbour_errors(machine, ax) is ax
    curve, chosen = ax.lines
    np.testing.assert_array_equal(
        curve.get_xydata(), np.column_stack([np.arange(1, 31), machine.loo_errors_])
    )
    assert chosen.get_xydata().tolist() == [[machine.n_neighbors_, machine.loo_errors_.min()]]
    label = ax.get_legend().get_texts()[0].get_text()
    assert label == f"R = {machine.n_neighbors_}: {machine.loo_errors_.min():.1%}"
    regressor = KernelNeighborsRegressor(max_neighbors=30).fit(X, X[:, 0])
    assert plot.neighbour_errors(regressor, plot.axes()).get_ylabel() == "squared error, left out"
    with pytest.raises(ValueError, match="no leave-one-out errors to draw"):
        plot.neighbour_errors(KernelNeighborsClassifier(n_neighbors=3).fit(X, y), plot.axes())


def test_what_can_not_be_drawn(plane):
    machine = KernelNeighborsClassifier().fit(*plane)
    with pytest.raises(ValueError, match="from 1 to the 60 examples, got 61"):
        plot.neighbours(machine, *plane, (1, 61), panels(2))
    with pytest.raises(ValueError, match="whole numbers"):
        plot.neighbours(machine, *plane, (1.5,), panels(1))
    with pytest.raises(ValueError, match="2 numbers of neighbours need as many Axes, got 3"):
        plot.neighbours(machine, *plane, (1, 2), panels(3))
    with pytest.raises(ValueError, match="empty"):
        plot.neighbours(machine, *plane, ())
    with pytest.raises(ValueError, match="two features"):
        plot.neighbours(machine, plane[0][:, :1], plane[1], (1,), panels(1))
    with pytest.raises(NotFittedError):
        plot.neighbours(KernelNeighborsClassifier(), *plane, (1,), panels(1))
    # Another library's machine would answer with its own R, whatever the title says.
    with pytest.raises(TypeError, match="for a KernelNeighborsClassifier, got KNeighborsClassifier"):
        plot.neighbours(KNeighborsClassifier().fit(*plane), *plane, (1,), panels(1))
