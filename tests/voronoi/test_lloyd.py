"""Lloyd's algorithm against closed forms, brute force, Monte Carlo, and the bound of Fejes Tóth."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import brentq

from mercer.voronoi import hexagon_bound, lloyd


def bumps(x):
    """Two bumps on a floor."""
    a = np.exp(-np.sum((x - [0.25, 0.3]) ** 2, axis=1) / 0.02)
    b = np.exp(-np.sum((x - [0.7, 0.6]) ** 2, axis=1) / 0.05)
    return 0.05 + a + 0.5 * b


def squared_distances(points, centres):
    return np.sum((points[:, None] - centres) ** 2, axis=2)


def rectangle_energy(a, b):
    """∫|x − middle|² over a rectangle of sides a, b."""
    return a * b * (a * a + b * b) / 12


# What is known in closed form


@pytest.mark.parametrize(
    "density, mass, centroid",
    [
        (None, 1.0, (1 / 2, 1 / 2)),
        (lambda x: x[:, 0], 1 / 2, (2 / 3, 1 / 2)),
        (lambda x: x[:, 0] * x[:, 1] ** 2, 1 / 6, (2 / 3, 3 / 4)),
        (np.array([[0, 0], [4, 0]]), 1.0, (1 / 4, 1 / 4)),  # mass in the lower left quarter
        (np.array([[3.0], [1.0]]), 2.0, (1 / 2, 5 / 8)),  # the first row is the top
    ],
)
def test_one_centre_is_the_centroid(density, mass, centroid):
    found = lloyd(density, 1, random_state=0, tol=1e-14)
    np.testing.assert_allclose(found.centres[0], centroid, atol=2e-5)
    assert found.masses[0] == pytest.approx(mass, rel=1e-4)
    assert found.converged and found.n_iter == 1


def test_one_centre_has_the_energy_of_the_square():
    assert lloyd(None, 1).energy == pytest.approx(1 / 6, rel=1e-13)
    wide = lloyd(None, 1, rectangle=((2, 5), (0, 2)))
    assert wide.energy == pytest.approx(rectangle_energy(3, 2), rel=1e-12)


def test_two_centres_halve_the_square():
    found = lloyd(None, [[0.3, 0.45], [0.6, 0.5]], tol=1e-15)
    assert found.energy == pytest.approx(2 * rectangle_energy(1, 0.5), rel=1e-10)
    np.testing.assert_allclose(found.centres, [[0.25, 0.5], [0.75, 0.5]], atol=1e-5)
    np.testing.assert_allclose(found.masses, 0.5, atol=1e-5)


def test_a_row_of_squares():
    start = [[0.4, 0.5], [1.6, 0.4], [2.5, 0.6], [3.4, 0.5]]
    found = lloyd(None, start, rectangle=((0, 4), (0, 1)), tol=1e-15)
    assert found.energy == pytest.approx(4 / 6, rel=1e-9)
    np.testing.assert_allclose(found.centres[:, 0], [0.5, 1.5, 2.5, 3.5], atol=1e-4)


def test_strips_of_a_density_in_one_variable():
    """Lloyd–Max for ρ(x) = x on [0, 1]: b = (c₁ + c₂)/2, c₁ = 2b/3, c₂ = ⅔ (1 − b³)/(1 − b²)."""
    first, second = (lambda b: 2 * b / 3), (lambda b: 2 / 3 * (1 - b**3) / (1 - b**2))
    b = brentq(lambda b: (first(b) + second(b)) / 2 - b, 0.1, 0.9)
    found = lloyd(lambda x: x[:, 0], [[0.2, 0.5], [0.6, 0.5]], tol=1e-15, resolution=512)
    np.testing.assert_allclose(found.centres, [[first(b), 0.5], [second(b), 0.5]], atol=1e-5)
    np.testing.assert_allclose(found.masses, [b**2 / 2, (1 - b**2) / 2], atol=1e-5)


def test_smooth_functions_to_second_order():
    centres = np.random.default_rng(0).random((12, 2))
    energies = [lloyd(bumps, centres, max_iter=0, resolution=r).energy for r in (64, 128, 256, 1024)]
    errors = np.abs(np.array(energies[:-1]) / energies[-1] - 1)
    assert errors[2] < 5e-5
    assert (errors[:-1] / errors[1:] > 3).all()


# What is known by other means


def test_energies_and_masses_by_brute_force():
    found = lloyd(bumps, 15, random_state=0)
    t = (np.arange(500) + 0.5) / 500
    grid = np.stack(np.meshgrid(t, t), axis=-1).reshape(-1, 2)
    rho = bumps(grid) / len(grid)
    for frame, energy in ((0, found.energies[0]), (-1, found.energy)):
        D = squared_distances(grid, found.frames[frame])
        assert energy == pytest.approx(rho @ D.min(axis=1), rel=1e-4)
    nearest = D.argmin(axis=1)
    masses = np.bincount(nearest, rho)
    np.testing.assert_allclose(found.masses, masses, rtol=5e-3)
    assert found.masses.sum() == pytest.approx(rho.sum(), rel=1e-5)
    centroids = np.column_stack([np.bincount(nearest, rho * grid[:, j]) / masses for j in (0, 1)])
    np.testing.assert_allclose(found.centres, centroids, atol=2e-3)


def test_energy_by_monte_carlo():
    found = lloyd(bumps, 10, random_state=0)
    rng = np.random.default_rng(0)
    points = rng.random((200_000, 2))
    values = bumps(points) * squared_distances(points, found.centres).min(axis=1)
    error = values.std() / np.sqrt(len(values))
    assert abs(values.mean() - found.energy) < 4 * error
    assert error < 0.01 * found.energy


def test_units_do_not_matter():
    rng = np.random.default_rng(0)
    image, start = rng.random((6, 9)), rng.random((8, 2))
    plain = lloyd(image, start, max_iter=20)
    left, bottom, scale = 100.0, -7.0, 50.0
    large = lloyd(
        1e200 * image,
        start * scale + [left, bottom],
        rectangle=((left, left + scale), (bottom, bottom + scale)),
        max_iter=20,
    )
    np.testing.assert_allclose(large.centres, plain.centres * scale + [left, bottom], rtol=1e-9)
    np.testing.assert_allclose(large.energies, 1e200 * scale**4 * plain.energies, rtol=1e-9)
    np.testing.assert_allclose(large.masses, 1e200 * scale**2 * plain.masses, rtol=1e-9)
    np.testing.assert_allclose(large.density, 1e200 * image, rtol=1e-14)


# What must always be true

images = arrays(
    float,
    st.tuples(st.integers(1, 6), st.integers(1, 6)),
    elements=st.one_of(st.just(0.0), st.floats(0.01, 10)),
).filter(lambda image: image.any())
starts = st.lists(st.tuples(*[st.sampled_from(np.linspace(0, 1, 9))] * 2), min_size=1, max_size=12)


@settings(max_examples=60)
@given(images, starts)
def test_the_energy_never_rises(image, start):
    rectangle = ((0.0, 1.0), (0.0, 1.0))
    found = lloyd(image, start, rectangle=rectangle, max_iter=15, tol=0, random_state=0)
    assert (np.diff(found.energies) <= 0).all()
    assert (found.energies > 0).all()
    assert found.frames.shape == (found.n_iter + 1, len(start), 2)
    assert ((found.frames >= 0) & (found.frames <= 1)).all()
    assert found.masses.sum() == pytest.approx(image.mean(), rel=1e-9)
    # And each is the energy of its frame: the mean over pixels refined 40-fold.
    n = 40
    rows, columns = image.shape
    x, y = (np.arange(columns * n) + 0.5) / (columns * n), (np.arange(rows * n) + 0.5) / (rows * n)
    grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    rho = np.kron(image[::-1], np.ones((n, n))).ravel()
    rough = np.mean(rho * squared_distances(grid, found.centres).min(axis=1))
    assert rough == pytest.approx(found.energy, rel=0.02, abs=1e-5 * image.mean())


@given(st.lists(st.tuples(st.floats(0, 3), st.floats(0, 1)), min_size=1, max_size=20))
def test_nothing_is_below_the_bound(centres):
    rectangle = ((0, 3), (0, 1))
    energy = lloyd(None, centres, rectangle=rectangle, max_iter=0).energy
    assert energy >= hexagon_bound(len(centres), rectangle)


def test_empty_cells_move_where_the_mass_is():
    image = np.zeros((10, 10))
    image[:, :3] = 1
    start = [[0.9, 0.1], [0.95, 0.5], [0.9, 0.9], [0.1, 0.5], [0.1, 0.5]]
    found = lloyd(image, start, random_state=0)
    assert (found.masses > 0.02).all() and found.converged
    assert (found.centres[:, 0] < 0.3).all()
    assert (np.diff(found.energies) <= 0).all()
    assert found.energies[-1] < 0.3 * found.energies[0]


def test_coincident_starting_points_part():
    found = lloyd(None, np.full((6, 2), 0.5), random_state=0)
    assert found.energies[0] == pytest.approx(1 / 6)
    assert (found.masses > 0.1).all() and found.converged


def test_more_centres_than_pixels():
    found = lloyd([[0.0, 1.0]], 9, random_state=0)
    assert (found.masses > 0).all() and (found.centres[:, 0] > 0.5).all()


def test_far_tails():
    found = lloyd(lambda x: np.exp(-np.sum((x - 0.5) ** 2, axis=1) / 2e-3), 40, random_state=0, max_iter=50)
    assert (np.diff(found.energies) <= 0).all()
    inside = np.linalg.norm(found.centres - 0.5, axis=1) < 0.2
    assert inside.all()


# Uniform density: hexagons


@pytest.mark.parametrize("seed", range(3))
def test_the_uniform_density_tends_to_hexagons(seed):
    k = 120
    found = lloyd(None, k, random_state=seed)
    first, last = found.cells(0), found.cells()
    assert first.hexagons < 0.5 < 0.65 < last.hexagons
    assert last.inner.sum() > 70
    ratio = found.energies / hexagon_bound(k)
    assert ratio[0] > 1.2
    assert 1 < ratio[-1] < 1.04
    np.testing.assert_allclose(last.areas, 1 / k, rtol=0.35)
    assert abs(last.areas[last.inner] * k - 1).mean() < 0.08


def test_the_bound_is_that_of_a_regular_hexagon():
    """∫|x|² over a regular hexagon of area 1, by six triangles of height h and base 2h/√3."""
    h = np.sqrt(np.sqrt(3) / 6)
    y = np.linspace(0, h, 20_001)
    width = 2 * y / np.sqrt(3)
    strip = 6 * (width * y**2 + width**3 / 12)  # ∫ (x² + y²) dx across a triangle
    assert np.trapezoid(strip, y) == pytest.approx(hexagon_bound(1), rel=1e-7)
    assert hexagon_bound(10, ((0, 2), (0, 3))) == pytest.approx(3.6 * hexagon_bound(1))


# Seeds


def test_the_first_seed_follows_the_density():
    image = np.array([[1.0, 3.0]])
    right = sum(lloyd(image, 1, max_iter=0, random_state=s).centres[0, 0] > 0.5 for s in range(200))
    assert abs(right - 150) < 4 * np.sqrt(200 * 0.75 * 0.25)


def test_the_next_seed_follows_density_times_squared_distance():
    """Three thin columns, the first seed at one of them: chances of the others go with mass × distance²."""
    image = np.zeros((1, 101))
    image[0, [0, 20, 100]] = 50, 1, 1  # nearly always the first seed comes from the left column
    thin = ((0, 1), (0, 0.01))
    pairs = np.array(
        [lloyd(image, 2, rectangle=thin, max_iter=0, random_state=s).centres[:, 0] for s in range(300)]
    )
    left = pairs[pairs[:, 0] < 0.02, 1]
    far, near = (left > 0.9).sum(), ((left > 0.1) & (left < 0.3)).sum()
    share = 0.99**2 / (0.99**2 + 0.2**2)
    assert far + near > 250
    # Wider than chance alone: distances within the columns vary, and seeds come from a sample.
    assert abs(far / (far + near) - share) < 0.05


def test_random_state_decides():
    a, b, c = (lloyd(bumps, 5, random_state=s, max_iter=3).centres for s in (1, 1, 2))
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(a, c)
    lloyd(bumps, 5, random_state=np.random.default_rng(0), max_iter=1)


# The result, and refusals


def test_what_comes_back():
    start = np.random.default_rng(0).random((7, 2))
    kept = start.copy()
    found = lloyd(None, start, max_iter=5)
    np.testing.assert_array_equal(start, kept)
    np.testing.assert_allclose(found.frames[0], start, rtol=1e-15)
    np.testing.assert_array_equal(found.frames[-1], found.centres)
    assert len(found.energies) == len(found.frames) == found.n_iter + 1 == 6
    assert not found.converged and "not converged after 5 iterations" in str(found)
    assert found.rectangle == ((0, 1), (0, 1)) and found.density.shape == (1, 1)
    np.testing.assert_allclose(found.cells().areas, found.masses, rtol=1e-12)
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.n_iter = 3
    with pytest.raises(ValueError, match="read-only"):
        found.centres[0] = 0
    assert "converged after" in str(lloyd(None, 2, random_state=0))


def test_starting_where_it_ended_changes_nothing():
    found = lloyd(None, 10, random_state=0)
    again = lloyd(None, found.centres)
    assert again.n_iter == 0 and again.converged
    np.testing.assert_array_equal(again.centres, found.centres)


def test_tol_zero_ends_at_rounding():
    found = lloyd(None, 5, random_state=0, tol=0, max_iter=5000)
    assert found.converged and found.n_iter < 5000


@pytest.mark.parametrize(
    "density, message",
    [
        (lambda x: x[:, 0] - 0.5, "never negative"),
        (lambda x: np.where(x[:, 0] > 0.5, np.nan, 1.0), "not finite"),
        (lambda x: np.zeros(len(x)), "zero everywhere"),
        (lambda x: 1.0, "vectorised"),
        (lambda x: x, "vectorised"),
        ([[1.0, -1.0]], "never negative"),
        ([[1.0, np.nan]], "not finite"),
        ([[1.0, np.inf]], "not finite"),
        (np.zeros((3, 3)), "zero everywhere"),
        (np.ones(4), "2-D array"),
        (np.ones((0, 4)), "2-D array"),
        (np.ones((2, 2, 3)), "2-D array"),
        ([["a", "b"]], "2-D array"),
        ("uniform", "2-D array"),
    ],
)
def test_bad_densities(density, message):
    with pytest.raises(ValueError, match=message):
        lloyd(density, 2, resolution=16)


@pytest.mark.parametrize("k", [0, -1, 2.5, True, None, "4"])
def test_bad_numbers_of_centres(k):
    with pytest.raises(ValueError, match="number of centres must be a whole number of at least 1"):
        lloyd(None, k)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"max_iter": -1}, "max_iter must be a whole number of at least 0"),
        ({"resolution": 0}, "resolution must be a whole number of at least 1"),
        ({"tol": -1e-3}, "tol must be a number of at least 0"),
        ({"tol": np.nan}, "tol must be a number of at least 0"),
        ({"rectangle": ((0, 0), (0, 1))}, "left < right"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        lloyd(None, 2, **options)


def test_starting_points_outside():
    with pytest.raises(ValueError, match="outside of the rectangle"):
        lloyd(None, [[0.5, 0.5], [2.0, 0.5]])
    with pytest.raises(ValueError, match="at least 1"):
        hexagon_bound(0)
