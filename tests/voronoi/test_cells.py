"""Cells against definitions (closer than all others) and against SciPy with mirrored points."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import ConvexHull, Voronoi

from mercer.voronoi import cells

RECTANGLE = ((-1.0, 3.0), (10.0, 11.5))


def random_points(k, rectangle=((0, 1), (0, 1)), seed=0):
    low, high = np.array(rectangle, dtype=float).T
    return np.random.default_rng(seed).uniform(low, high, (k, 2))


def crosses(polygon, points):
    """For each point and edge: positive where the point is on the left."""
    a, b = polygon, np.roll(polygon, -1, axis=0)
    (ux, uy), v = (b - a).T, points[:, None, :] - a
    return ux * v[..., 1] - uy * v[..., 0]


def mirrored_areas(points, rectangle):
    """Reflections at the four sides make the rectangle's sides edges of the diagram."""
    copies = [points]
    for axis, sides in enumerate(rectangle):
        for side in sides:
            copy = points.copy()
            copy[:, axis] = 2 * side - copy[:, axis]
            copies.append(copy)
    diagram = Voronoi(np.vstack(copies))
    regions = [diagram.regions[r] for r in diagram.point_region[: len(points)]]
    return np.array([ConvexHull(diagram.vertices[r]).volume for r in regions])


@pytest.mark.parametrize("rectangle", [((0, 1), (0, 1)), RECTANGLE, ((0, 100), (0, 1))])
@pytest.mark.parametrize("k", [1, 2, 3, 17, 150])
def test_areas_are_those_of_mirrored_points(k, rectangle):
    points = random_points(k, rectangle)
    found = cells(points, rectangle)
    np.testing.assert_allclose(found.areas, mirrored_areas(points, rectangle), rtol=1e-7)
    np.testing.assert_allclose(found.areas, [ConvexHull(p).volume for p in found], rtol=1e-9)
    np.testing.assert_array_equal(found.sides, [len(ConvexHull(p).vertices) for p in found])


def test_points_lie_in_the_cell_of_the_nearest_centre():
    centres = random_points(30, RECTANGLE)
    points = random_points(2000, RECTANGLE, seed=1)
    nearest = np.linalg.norm(points[:, None] - centres, axis=2).argmin(axis=1)
    for i, polygon in enumerate(cells(centres, RECTANGLE)):
        inside = (crosses(polygon, points) >= 0).all(axis=1)
        np.testing.assert_array_equal(inside, nearest == i)


def test_polygons_are_convex_and_hold_their_centres():
    centres = random_points(80)
    for centre, polygon in zip(centres, cells(centres), strict=True):
        assert (crosses(polygon, polygon) >= -1e-12).all()  # counter-clockwise, no corner outside of an edge
        assert (crosses(polygon, centre[None]) > 0).all()
        assert (polygon >= 0).all() and (polygon <= 1).all()


coordinate = st.one_of(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.floats(0, 1, allow_subnormal=False))


@given(st.lists(st.tuples(coordinate, coordinate), min_size=1, max_size=25))
def test_areas_sum_to_the_rectangle(points):
    left, bottom, width, height = -2.0, 5.0, 3.0, 0.5
    rectangle = ((left, left + width), (bottom, bottom + height))
    found = cells(np.array(points) * [width, height] + [left, bottom], rectangle)
    assert found.areas.sum() == pytest.approx(width * height, rel=1e-9)
    assert (found.areas >= 0).all() and len(found) == len(points)


def test_a_board_of_squares():
    side = (np.arange(5) + 0.5) / 5
    found = cells(np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2))
    np.testing.assert_allclose(found.areas, 1 / 25, rtol=1e-12)
    assert (found.sides == 4).all()
    assert found.inner.sum() == 9
    assert found.hexagons == 0


def test_a_honeycomb():
    step = 0.1
    rows = [
        np.column_stack([np.arange(0.05 * (j % 2), 1.01, step), np.full(11 - j % 2, y)])
        for j, y in enumerate(np.arange(0, 1, step * np.sqrt(3) / 2))
    ]
    found = cells(np.vstack(rows))
    assert found.hexagons == 1
    # The outermost inner cells of the honeycomb touch nothing, so all inner ones are regular.
    area = np.sqrt(3) / 2 * step**2
    regular = found.areas[found.inner]
    np.testing.assert_allclose(np.median(regular), area, rtol=1e-12)
    edges = found[int(np.flatnonzero(found.inner & np.isclose(found.areas, area))[0])]
    np.testing.assert_allclose(
        np.linalg.norm(edges - np.roll(edges, 1, axis=0), axis=1), step / np.sqrt(3), rtol=1e-10
    )


def test_coincident_centres_have_one_cell():
    found = cells([[0.2, 0.5], [0.8, 0.5], [0.2, 0.5]])
    np.testing.assert_allclose(found.areas, [0.5, 0.5, 0.0])
    assert found[2].shape == (0, 2) and found.sides[2] == 0 and not found.inner.any()
    assert np.isnan(found.hexagons)


def test_centres_on_the_border_and_in_corners():
    found = cells([[0, 0], [1, 0], [1, 1], [0, 1], [0.5, 0]])
    assert found.areas.sum() == pytest.approx(1)
    assert (found.areas > 0).all()


def test_results_are_read_only():
    found = cells(random_points(5))
    for array in (found.areas, found.sides, found.inner, found[0]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize(
    "rectangle",
    [((0, 1), (1, 1)), ((1, 0), (0, 1)), (0, 1), ((0, np.inf), (0, 1)), ((0, np.nan), (0, 1)), "square", None]
    + [((1e20, 1e20 + 1), (0, 1))],
)
def test_bad_rectangles(rectangle):
    with pytest.raises(ValueError, match="left < right and bottom < top"):
        cells([[0.5, 0.5]], rectangle)


@pytest.mark.parametrize(
    "centres, message",
    [
        ([0.5, 0.5], r"shape \(k, 2\)"),
        ([[0.5, 0.5, 0.5]], r"shape \(k, 2\)"),
        (np.empty((0, 2)), r"shape \(k, 2\)"),
        ([[0.5, np.nan]], "finite"),
        ([[0.5, 0.5], [0.5, 1.5]], r"1 of 2 centres lie outside .* the first at \[0.5, 1.5\]"),
    ],
)
def test_bad_centres(centres, message):
    with pytest.raises(ValueError, match=message):
        cells(centres)
