"""Integrals over polygons against closed forms and against fine grids."""

import numpy as np
import pytest

from mercer.voronoi.cells import Rectangle, Rings, unit_cells
from mercer.voronoi.density import PixelDensity

WIDE = np.array([1.0, 0.6])


def rings(*polygons):
    owner = np.repeat(np.arange(len(polygons)), [len(p) for p in polygons])
    return Rings(np.concatenate(polygons).astype(float), owner, len(polygons))


def pixels(seed=0, shape=(7, 11)):
    values = np.random.default_rng(seed).random(shape)
    values[values < 0.2] = 0
    return values


def overlap_moments(values, size, left, right, bottom, top):
    """∫ρ, ∫ρx, ∫ρy, ∫ρx², ∫ρy² over an upright rectangle, pixel by pixel."""
    rows, columns = values.shape
    x = np.clip(np.linspace(0, size[0], columns + 1), left, right)
    y = np.clip(np.linspace(0, size[1], rows + 1), bottom, top)
    X, Y = ([np.diff(t**m) / m for m in (1, 2, 3)] for t in (x, y))
    pairs = [(0, 0), (1, 0), (0, 1), (2, 0), (0, 2)]
    return [Y[j] @ values @ X[i] for i, j in pairs]


def test_upright_rectangles():
    values = pixels()
    rho = PixelDensity(values, WIDE)
    for left, right, bottom, top in ((0, 1, 0, 0.6), (0.13, 0.77, 0.05, 0.51), (0.31, 0.32, 0.2, 0.21)):
        corners = np.array([[left, bottom], [right, bottom], [right, top], [left, top]])
        found = rho.peak * rho.moments(rings(corners))[0]
        exact = overlap_moments(values, WIDE, left, right, bottom, top)
        np.testing.assert_allclose(found, exact, rtol=1e-12, atol=1e-16)


def test_a_triangle_of_uniform_density():
    rho = PixelDensity(np.full((1, 1), 3.0), np.array([1.0, 1.0]))
    a, b = 0.8, 0.5
    found = rho.peak * rho.moments(rings(np.array([[0, 0], [a, 0], [0, b]])))[0]
    area = a * b / 2
    np.testing.assert_allclose(
        found, 3 * area * np.array([1, a / 3, b / 3, a * a / 6, b * b / 6]), rtol=1e-13
    )


def test_slanted_polygons_against_a_fine_grid():
    values = pixels(1)
    rho = PixelDensity(values, WIDE)
    centres = np.random.default_rng(2).random((9, 2)) * WIDE
    found = rho.peak * rho.moments(unit_cells(centres, WIDE))
    n = 1100
    x, y = (np.arange(n) + 0.5) / n * WIDE[0], (np.arange(n) + 0.5) / n * WIDE[1]
    X, Y = (t.ravel() for t in np.meshgrid(x, y))
    mass = values[(np.arange(n) * 7) // n][:, (np.arange(n) * 11) // n].ravel() * WIDE.prod() / n**2
    nearest = ((X[:, None] - centres[:, 0]) ** 2 + (Y[:, None] - centres[:, 1]) ** 2).argmin(axis=1)
    for column, f in enumerate((1, X, Y, X**2, Y**2)):
        np.testing.assert_allclose(found[:, column], np.bincount(nearest, mass * f), atol=5e-5)


@pytest.mark.parametrize("k", [1, 5, 300])
def test_cells_share_all_there_is(k):
    values = pixels(3, (40, 30))
    rho = PixelDensity(values, WIDE)
    parts = rho.moments(unit_cells(np.random.default_rng(k).random((k, 2)) * WIDE, WIDE))
    np.testing.assert_allclose(
        rho.peak * parts.sum(axis=0), overlap_moments(values, WIDE, 0, 1, 0, 0.6), rtol=1e-11
    )
    assert rho.peak * rho.mass == pytest.approx(values.mean() * WIDE.prod(), rel=1e-12)


def test_a_function_is_averaged_over_pixels():
    box = Rectangle(((1, 3), (-1, 0)))
    rho = PixelDensity.of(lambda p: p[:, 0] ** 3 + p[:, 1] ** 2, box, resolution=8)
    assert rho.values.shape == (4, 8)
    x, y = np.linspace(1, 3, 9), np.linspace(-1, 0, 5)
    exact = np.diff(x**4) / (4 * 0.25) + (np.diff(y**3) / (3 * 0.25))[:, None]
    np.testing.assert_allclose(rho.peak * rho.values, exact, rtol=1e-12)  # Gauss' rule is exact for cubics


def test_many_points_come_in_parts(monkeypatch):
    import sys

    whole = PixelDensity.of(lambda p: p[:, 0], Rectangle(((0, 1), (0, 1))), 20)
    monkeypatch.setattr(sys.modules["mercer.voronoi.density"], "_AT_ONCE", 100)
    calls = []
    parts = PixelDensity.of(lambda p: (calls.append(len(p)), p[:, 0])[1], Rectangle(((0, 1), (0, 1))), 20)
    assert len(calls) == 20 and max(calls) <= 100
    np.testing.assert_array_equal(whole.values, parts.values)


def test_samples_follow_the_density():
    values = np.array([[1.0, 0.0, 3.0], [0.0, 4.0, 2.0]])
    rho = PixelDensity(values, np.array([1.0, 0.5]))
    points = rho.sample(20_000, np.random.default_rng(0))
    column, row = (points / rho.pixel).astype(int).T
    counts = np.zeros((2, 3))
    np.add.at(counts, (row, column), 1)
    expected = 20_000 * values / values.sum()
    assert (np.abs(counts - expected) <= 4 * np.sqrt(expected)).all()
    within = points / rho.pixel % 1
    np.testing.assert_allclose(within.mean(axis=0), 0.5, atol=0.01)  # uniform within a pixel


def test_images_come_back_as_they_were():
    image = np.array([[1, 2], [3, 4]], dtype=np.uint8)
    rho = PixelDensity.of(image, Rectangle(((0, 1), (0, 1))), 1)
    np.testing.assert_allclose(rho.image(), image)
    np.testing.assert_allclose(rho.values[0] * rho.peak, [3, 4])  # the lowest row
