"""Forests as terms: what rows they know, and how they are found among other terms."""

import numpy as np
import pytest

from mercer._units import alone
from mercer.kernels import Forest, Gaussian, Laplacian, Scale, Sum
from mercer.tables.model.forests import grown, has_forest, regrown, without_forests


def rows(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    return X, X[:, :1] + rng.standard_normal((n, 1))


def same(a, b):
    return all(
        np.array_equal(getattr(a, name), getattr(b, name)) for name in ("feature", "threshold", "starts")
    )


def units_it_does_not_know(X, Y, labels, units):
    """Other targets of a unit change a forest that knows them: they move its cuts."""
    as_it_is, unknown = grown(X, Y, labels, units, 0, 30), []
    for unit in np.unique(units):
        others = np.where((units == unit)[:, None], -Y if labels else Y + 100, Y)
        if same(as_it_is, grown(X, others, labels, units, 0, 30)):
            unknown.append(unit)
    return unknown


@pytest.mark.parametrize("labels", [False, True])
def test_a_fifth_of_the_rows_is_not_known_to_it(labels):
    X, Y = rows()
    Y = np.sign(Y) if labels else Y
    assert len(units_it_does_not_know(X, Y, labels, np.arange(40))) == 8


def test_rows_of_a_unit_are_known_together_or_not_at_all():
    X, Y = rows(60)
    units = np.arange(60) // 6
    unknown = units_it_does_not_know(X, Y, False, units)
    assert len(unknown) == 2
    # Every row of theirs for itself, too.
    assert not alone(units)
    as_it_is = grown(X, Y, False, units, 0, 30)
    for row in np.flatnonzero(np.isin(units, unknown)):
        others = Y.copy()
        others[row] += 100
        assert same(as_it_is, grown(X, others, False, units, 0, 30))


def test_the_same_seed_grows_the_same():
    X, Y = rows()
    a, b, c = (grown(X, Y, False, np.arange(40), seed, 10) for seed in (1, 1, 2))
    assert same(a, b) and not same(a, c) and a.trees == 10


def test_targets_may_be_moved_and_scaled_and_come_in_columns():
    """A search knows centred codes, and what is fitted in the end their ±1."""
    X, Y = rows()
    several = np.hstack([Y, X[:, 1:2]])
    for labels, codes in ((False, several), (True, 2.0 * (Y > 0.7) - 1)):
        moved = (codes - codes.mean(axis=0)) / 3.0
        k = [grown(X, made, labels, np.arange(40), 0, 20)(X) for made in (codes, moved)]
        np.testing.assert_allclose(k[0], k[1], atol=0.051)  # rounding may cut one of 20 trees elsewhere
    three = 2.0 * (np.digitize(Y[:, 0], [-0.5, 0.5])[:, None] == np.arange(3)) - 1
    moved = (three - three.mean(axis=0)) / 3.0
    assert same(*(grown(X, made, True, np.arange(40), 0, 10) for made in (three, moved)))


def test_few_rows():
    X, Y = rows(3)
    assert grown(X, Y, False, np.arange(3), 0, 5)(X).shape == (3, 3)
    assert grown(X, np.ones((3, 1)), True, np.array([0, 0, 1]), 0, 5)(X).shape == (3, 3)


# -- among other terms -------------------------------------------------------------------------------

LAPLACIAN, GAUSSIAN = Laplacian(2.0), Gaussian(1.0).scaled([1.0, 2.0, 3.0])


@pytest.fixture(scope="module")
def forest():
    return grown(*rows(), False, np.arange(40), 0, 10)


def kernels(forest):
    """What stands for the forest, and what is left without it."""
    return {
        "a sum": (LAPLACIAN + 0.5 * forest, LAPLACIAN),
        "at the beginning": (forest + LAPLACIAN, LAPLACIAN),
        "in the middle": (0.3 * GAUSSIAN + 0.5 * forest + 0.2 * LAPLACIAN, 0.3 * GAUSSIAN + 0.2 * LAPLACIAN),
        "nested": (Sum(GAUSSIAN, Sum(LAPLACIAN, Scale(forest, 2.0))), GAUSSIAN + LAPLACIAN),
        "two of them": (Sum(Sum(forest, Scale(forest, 0.1)), LAPLACIAN), LAPLACIAN),
        "an average of a mixture": (
            Scale(Sum(0.4 * GAUSSIAN, Scale(forest, 0.2)), 3.0) + 0.5 * LAPLACIAN,
            1.2 * GAUSSIAN + 0.5 * LAPLACIAN,
        ),
        "scales of scales": (Scale(Scale(forest, 2.0), 3.0) + LAPLACIAN, LAPLACIAN),
    }


NAMES = list(kernels(LAPLACIAN))


@pytest.mark.parametrize("name", NAMES)
def test_the_other_terms(name, forest):
    kernel, rest = kernels(forest)[name]
    assert has_forest(kernel) and not has_forest(rest)
    X, _ = rows(20, 1)
    left = without_forests(kernel)
    assert not has_forest(left)
    np.testing.assert_allclose(left(X), rest(X), rtol=1e-12)
    np.testing.assert_array_equal(without_forests(rest)(X), rest(X))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("labels", [False, True])
def test_regrown_replaces_every_forest_and_nothing_else(name, labels, forest):
    kernel, _ = kernels(forest)[name]
    X, Y = rows(50, 3)
    Y = np.sign(Y) if labels else Y
    new = grown(X, Y, labels, np.arange(50), 4, forest.trees)
    again = regrown(kernel, X, Y, labels, np.arange(50), 4)
    Z = rows(20, 1)[0]
    expected = kernels(new)[name][0](Z)
    np.testing.assert_allclose(again(Z), expected, rtol=1e-12)
    assert np.abs(again(Z) - kernel(Z)).max() > 1e-3  # it is another one
    assert not any(same(found, forest) for found in forests_in(again))


def forests_in(kernel):
    if isinstance(kernel, Forest):
        return [kernel]
    return [f for child in kernel.children().values() for f in forests_in(child)]


def test_regrown_without_any_is_the_same_function():
    X, Y = rows()
    kernel = 0.5 * LAPLACIAN + 2.0 * GAUSSIAN
    np.testing.assert_array_equal(regrown(kernel, X, Y, False, np.arange(40), 0)(X), kernel(X))


def test_a_forest_alone_stays(forest):
    """There are no other terms."""
    assert without_forests(forest) is forest
