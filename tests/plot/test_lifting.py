"""The lift: what is drawn in space is φ(x), and the plane parts it as the curve parts the points."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import make_circles, make_moons

from mercer import plot
from mercer.features import RandomFourierFeatures
from mercer.kernels import Gaussian, Polynomial


@pytest.fixture
def rings():
    return make_circles(60, noise=0.05, factor=0.4, random_state=0)


def two():
    figure = Figure(figsize=(8, 4))
    return [figure.add_subplot(1, 2, 1), figure.add_subplot(1, 2, 2, projection="3d")]


def raised(ax):
    """Points that are drawn in space, class after class."""
    return np.concatenate([np.column_stack(line.get_data_3d()) for line in ax.lines])


def test_the_default_is_the_map_of_the_text(rings, monkeypatch):
    X, y = rings
    axes, surfaces = two(), []
    monkeypatch.setattr(axes[1], "plot_surface", lambda *grid, **look: surfaces.append(grid))
    flat, space = plot.lift(X, y, axes=axes)
    by_hand = np.column_stack([X[:, 0] ** 2, np.sqrt(2) * X[:, 0] * X[:, 1], X[:, 1] ** 2])
    drawn = raised(space)
    np.testing.assert_allclose(drawn, np.vstack([by_hand[y == 0], by_hand[y == 1]]), atol=1e-12)
    # The surface that is drawn is flat, and has one ring on each side.
    plane = np.column_stack([part.ravel() for part in surfaces[0]])
    plane = plane[np.isfinite(plane).all(axis=1)]
    normal = np.linalg.svd(plane - plane.mean(axis=0))[2][-1]
    np.testing.assert_allclose((plane - plane.mean(axis=0)) @ normal, 0, atol=1e-6)
    side = (drawn - plane.mean(axis=0)) @ normal
    assert (side[: (y == 0).sum()] > 0).all() != (side[(y == 0).sum() :] > 0).all()
    assert space.get_title() == "a plane gets 100 % right"
    assert (space.get_xlabel(), space.get_ylabel(), space.get_zlabel()) == ("x₁²", "√2·x₁·x₂", "x₂²")
    # No line does better than three quarters on rings.
    assert int(flat.get_title().split()[3]) < 75


def test_the_curve_parts_the_points(rings):
    X, y = rings
    flat, _ = plot.lift(X, y, axes=two())
    curve = np.concatenate([path.vertices for path in flat.collections[-1].get_paths()])
    radius, edge = np.linalg.norm(X, axis=1), np.linalg.norm(curve, axis=1)
    assert radius[y == 1].max() < edge.min() and edge.max() < radius[y == 0].min()


@pytest.mark.parametrize(
    "phi", [Polynomial(3, c=1.0), RandomFourierFeatures(Gaussian(0.5), 60, random_state=0)]
)
def test_of_many_coordinates_height_is_the_distance_from_the_plane(phi):
    X, y = make_moons(60, noise=0.05, random_state=0)
    space = two()[1]
    (space,) = plot.lift(X, y, phi, space)
    assert space.get_title() == "a plane gets 100 % right" and space.get_zlabel() == "distance from it"
    below, above = (np.asarray(line.get_data_3d()[2]) for line in space.lines)
    assert below.max() < 0 < above.min()


def test_any_function_lifts(rings):
    X, y = rings
    (space,) = plot.lift(X, y, lambda x: np.column_stack([x, (x**2).sum(axis=1)]), two()[1])
    drawn = raised(space)
    np.testing.assert_allclose(drawn[:, 2], (drawn[:, :2] ** 2).sum(axis=1))
    assert space.get_title() == "a plane gets 100 % right"


def test_what_cannot_be_lifted(rings):
    X, y = rings
    with pytest.raises(ValueError, match="two classes"):
        plot.lift(X, np.arange(60) % 3, axes=two())
    with pytest.raises(ValueError, match="at least three coordinates"):
        plot.lift(X, y, lambda x: x, two())
    with pytest.raises(ValueError, match="not a polynomial"):
        plot.lift(X, y, Gaussian(1.0), two())
    with pytest.raises(TypeError, match="feature map, a kernel or a function"):
        plot.lift(X, y, 3, two())
    with pytest.raises(ValueError, match='projection="3d"'):
        plot.lift(X, y, axes=plot.axes())
    with pytest.raises(ValueError, match="two features"):
        plot.lift(X[:, :1], y, axes=two())


def test_without_axes(rings):
    from matplotlib import pyplot

    drawn = plot.lift(*rings)
    assert len(drawn) == 2 and hasattr(drawn[1], "zaxis")
    pyplot.close(drawn[0].figure)
