"""Clusters drawn: cells by predict, iterations from the start of the run, classes counted."""

import matplotlib
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

matplotlib.use("Agg")

from mercer import KernelKMeans, plot
from mercer.kernels import Gaussian, Linear

RNG = np.random.default_rng(0)
Y = np.repeat(["a", "b", "c"], 20)
X = np.repeat([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]], 20, axis=0) + RNG.standard_normal((60, 2))


@pytest.fixture(scope="module", params=[Linear(), Gaussian()], ids=["linear", "gaussian"])
def machine(request):
    return KernelKMeans(request.param, 3, init="random", n_init=1, random_state=1).fit(X)


def markers(ax):
    return [line for line in ax.lines if line.get_markersize() < 9]


def test_cells(machine):
    ax = plot.axes()
    assert plot.cluster_cells(machine, X, ax, resolution=40) is ax
    for j, line in enumerate(markers(ax)):
        np.testing.assert_array_equal(line.get_xydata(), X[machine.labels_ == j])
    centres = [line.get_xydata()[0] for line in ax.lines if line.get_markersize() == 9]
    if hasattr(machine, "centroids_"):
        np.testing.assert_allclose(centres, machine.centroids_)
    else:
        assert not centres
    assert ax.get_title() == f"energy {plot.style.number(machine.inertia_)}"
    assert len(ax.collections) == 6  # a region and its border for each


def test_iterations(machine):
    for t in (0, 1, machine.n_iter_):
        ax = plot.cluster_cells(machine, X, plot.axes(), iteration=t, resolution=20)
        assert sum(len(line.get_xdata()) for line in markers(ax)) == 60
        assert ax.get_title().startswith("start, energy" if t == 0 else f"iteration {t}, energy")
    assert ax.get_title().endswith(f"energy {plot.style.number(machine.inertia_)}")
    assert machine.max_iter == 300 and machine.init == "random"


def test_more_clusters_than_colours():
    machine = KernelKMeans(Linear(), 8, random_state=0).fit(X)
    lines = markers(plot.cluster_cells(machine, X, plot.axes(), resolution=20))
    assert len({(line.get_color(), line.get_marker()) for line in lines}) == 8


def test_classes(machine):
    ax = plot.cluster_classes(machine.labels_, Y, plot.axes())
    heights = np.array([bar.get_height() for bar in ax.patches]).reshape(3, 3)
    expected = [[np.sum((c == Y) & (machine.labels_ == j)) for j in range(3)] for c in "abc"]
    np.testing.assert_array_equal(heights, expected)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b", "c"]
    many = plot.cluster_classes(np.arange(24) % 3, np.arange(24) % 12, plot.axes())
    assert len({bar.get_facecolor() for bar in many.patches}) == 12


def test_energy(machine):
    (curve,) = plot.cluster_energy(machine, plot.axes()).lines
    np.testing.assert_array_equal(curve.get_ydata(), machine.energies_)


def test_refusals(machine):
    with pytest.raises(ValueError, match="two features"):
        plot.cluster_cells(machine, X[:, :1], plot.axes())
    for iteration in (-1, 1.5):
        with pytest.raises(ValueError, match="whole number of at least 0, the start"):
            plot.cluster_cells(machine, X, plot.axes(), iteration=iteration)
    for draw in (lambda m: plot.cluster_cells(m, X, plot.axes()), plot.cluster_energy):
        with pytest.raises(NotFittedError):
            draw(KernelKMeans())
    with pytest.raises(ValueError, match="one cluster and one class a point"):
        plot.cluster_classes([0, 1], ["a"], plot.axes())
    with pytest.raises(ValueError, match="at most 12 classes can be told apart, got 13"):
        plot.cluster_classes(np.zeros(13, dtype=int), np.arange(13), plot.axes())


def test_features_with_names():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["u", "v"])
    machine = KernelKMeans(n_clusters=2, random_state=0).fit(frame)
    assert plot.cluster_cells(machine, frame, plot.axes(), iteration=1, resolution=10).collections
