"""The lift: what is drawn in space is φ(x), and the plane parts it as the curve parts the points."""

from itertools import combinations

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.optimize import linprog
from sklearn.datasets import make_circles, make_moons

from mercer import plot
from mercer.features import RandomFourierFeatures
from mercer.kernels import Gaussian, Polynomial
from mercer.plot.bestline import best_line


@pytest.fixture
def rings():
    return make_circles(60, noise=0.05, factor=0.4, random_state=0)


def two():
    figure = Figure(figsize=(8, 4))
    return [figure.add_subplot(1, 2, 1), figure.add_subplot(1, 2, 2, projection="3d")]


def raised(ax):
    """Points that are drawn in space, class after class."""
    return np.concatenate([np.column_stack(line.get_data_3d()) for line in ax.lines])


def best_of_directions(X, y):
    """The best cut of any of many directions: an exhaustive search, apart from the one that is tested."""
    best = 0
    for angle in np.linspace(0, np.pi, 2000, endpoint=False):
        sign = (2 * y - 1)[np.argsort(X @ [np.cos(angle), np.sin(angle)])]
        before = np.concatenate([[0], np.cumsum(sign)])
        best = max(best, np.abs(2 * before - before[-1]).max())
    return (len(y) + best) / 2 / len(y)


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
    assert flat.get_title() == f"the best line gets {100 * best_of_directions(X, y):.0f} % right"


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


def test_the_best_line_of_four_corners():
    X, y = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]), np.array([0, 0, 1, 1])
    for scale, away in ((1.0, 0.0), (1e-6, 0.0), (1.0, 1e6), (1e60, 0.0)):
        flat, _ = plot.lift(scale * X + away, y, axes=two())
        assert flat.get_title() == "the best line gets 75 % right"


@pytest.mark.parametrize("whole", [False, True])
def test_the_best_line_against_linear_programs(whole):
    """The fewest points one must leave out until a line parts the others, by trying all."""
    rng = np.random.default_rng(0)
    for n in (2, 4, 6, 7):
        X = rng.integers(0, 3, (n, 2)).astype(float) if whole else rng.standard_normal((n, 2))
        second = rng.random(n) < 0.5
        most = next(
            n - out
            for out in range(n + 1)
            for left in combinations(range(n), n - out)
            if parted(X[list(left)], second[list(left)])
        )
        assert best_line(X, second) == most


def parted(X, second):
    signed = -np.where(second, 1, -1)[:, None] * np.column_stack([X, np.ones(len(X))])
    found = linprog(np.zeros(3), A_ub=signed, b_ub=-np.ones(len(X)), bounds=[(None, None)] * 3)
    return found.status == 0


def test_of_many_points_the_line_is_called_what_it_is():
    X, y = make_moons(260, noise=0.1, random_state=0)
    flat, _ = plot.lift(X, y, axes=two())
    assert flat.get_title().startswith("the line of an SVM gets 8")


def test_far_from_zero_and_coinciding(rings):
    X, y = rings
    flat, _ = plot.lift(X + 1e6, y, lambda x: np.column_stack([x, ((x - 1e6) ** 2).sum(axis=1)]), two())
    assert flat.get_title() == plot.lift(X, y, axes=two())[0].get_title()
    with pytest.raises(ValueError, match="all points coincide"):
        plot.lift(np.ones((4, 2)), [0, 1, 0, 1], axes=two())
    flat, _ = plot.lift(np.column_stack([X[:, 0], np.full(60, 0.1)]), y, axes=two())
    assert flat.get_title().startswith("the best line")
    with pytest.raises(ValueError, match="differ too much in size"):
        plot.lift(X * [1e-9, 1e9], y, axes=two())
    with pytest.raises(ValueError, match="missing or infinite"):
        plot.lift(X, y, lambda x: np.full((len(x), 3), np.nan), two())
    with pytest.raises(ValueError, match="in the plane, and ax is one with projection"):
        plot.lift(X, y, axes=[two()[1], two()[1]])
