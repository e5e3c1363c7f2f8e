"""Leaving blocks out in closed form, distances from what is known, and intervals in gaps between rows."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

import mercer
from hasty import in_haste
from mercer import KernelRidge
from mercer._state import check, try_out
from mercer.kernels import BagOfWords, Gaussian, Laplacian
from mercer.tables.model.conformal import Conformal
from mercer.tables.model.gaps import MOST, Gaps, Known, LeftOut, blocks, lengths

KERNEL = Gaussian(1.0).scaled([0.8, 0.6])


def smooth(X):
    return np.sin(2.5 * X[:, 0]) * np.cos(3 * X[:, 1])


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 5, (n, 2))
    return X, smooth(X) + 0.1 * rng.standard_normal(n)


# -- closed forms ------------------------------------------------------------------------------------


@pytest.mark.parametrize("mu", [1e-3, 0.3])
@pytest.mark.parametrize("kind", ["one each", "pairs", "blocks of several sizes"])
def test_left_out_is_refitted(mu, kind):
    """Errors and distances of machines that were fitted without the block, one after the other."""
    n = 24
    X, y = rows(n)
    labels = {
        "one each": np.arange(n),
        "pairs": np.random.default_rng(1).permutation(n) // 2,
        "blocks of several sizes": np.r_[np.zeros(9), np.ones(4), np.full(4, 7), np.full(7, 3)].astype(int),
    }[kind]
    errors, power = LeftOut(KERNEL, X, y, mu).without(labels)
    for label in np.unique(labels):
        out = labels == label
        rest = KernelRidge(KERNEL, lam=mu / (~out).sum(), representation="full").fit(X[~out], y[~out])
        np.testing.assert_allclose(errors[out], y[out] - rest.predict(X[out]), atol=1e-8)
        std = rest.posterior("exact", scale=1.0).std(X[out])
        np.testing.assert_allclose(power[out], std**2, atol=1e-8)


def test_power_is_the_variance_of_the_posterior():
    X, y = rows(60)
    new = rows(40, 1)[0] * 3  # near and far
    machine = KernelRidge(KERNEL, lam=0.02 / 60, representation="full").fit(X, y)
    found = Gaps(KERNEL, X, 0.02, 0.01, 1.0, 0.0, 0.0)
    variance = machine.posterior("exact", scale=1.0).std(new) ** 2
    np.testing.assert_allclose(found.power(new), variance, atol=1e-9)
    np.testing.assert_allclose(found.widening(new), np.sqrt((0.02 + variance) / 0.03))
    np.testing.assert_allclose(replace(found, exponent=2.0).widening(new), (0.02 + variance) / 0.03)
    assert found.power(new[:0]).shape == (0,)


def test_many_points_are_looked_at_in_parts(monkeypatch):
    found = Gaps(KERNEL, rows(60)[0], 0.02, 0.01, 1.0, 0.0, 0.0)
    new = rows(50, 1)[0]
    at_once = found.power(new)
    monkeypatch.setattr("mercer.tables.model.gaps._AT_ONCE", 60 * 7)
    np.testing.assert_allclose(found.power(new), at_once, rtol=1e-9, atol=1e-12)


# -- blocks ------------------------------------------------------------------------------------------


def test_blocks_are_of_neighbours_and_of_one_size():
    X, _ = rows(320)
    found = list(blocks(X, np.arange(320)))
    assert [labels.max() + 1 for labels in found] == [8, 16, 32, 64]
    for labels in found:
        assert np.bincount(labels).tolist() == [320 // (labels.max() + 1)] * (labels.max() + 1)
        spread = np.mean([X[labels == b].var(axis=0).sum() for b in range(labels.max() + 1)])
        assert spread < 2.5 / (labels.max() + 1) * X.var(axis=0).sum()


def test_units_stay_whole_in_blocks():
    units = np.random.default_rng(0).integers(0, 70, 300)
    for labels in blocks(rows(300)[0], units):
        for unit in np.unique(units):
            assert len(np.unique(labels[units == unit])) == 1


def test_too_few_for_blocks():
    assert list(blocks(rows(31)[0], np.arange(31))) == []
    assert len(list(blocks(rows(64)[0], np.arange(64) // 2))) == 1


def test_lengths_are_the_shortest_of_a_sum():
    X = rows(3)[0]
    both = Gaussian(1.0).scaled([2.0, 0.5]) + 3 * Laplacian(1.0).scaled([1.0, 4.0])
    assert lengths(both, X).tolist() == [1.0, 0.5]
    assert lengths(Gaussian(3.0), X).tolist() == [1.0, 1.0]


# -- intervals ---------------------------------------------------------------------------------------


def intervals(X, y, kernel=KERNEL, mu=0.02, gaps=True):
    """Those of a machine that learned all rows, from its leave-one-out errors; and the machine."""
    machine = KernelRidge(kernel, lam=mu / len(y), representation="full").fit(X, y)
    known, every = Known(X, y, np.arange(len(y)), mu), np.arange(len(y))
    errors = machine.loo_residuals()
    found = Conformal.of(errors, X, kernel, 0, every, known if gaps else None, every if gaps else None)
    return found, machine


def covered(found, machine, X, y):
    return np.mean(np.abs(y - machine.predict(X)) <= found.half_width(X, 0.9))


def test_gaps_are_covered():
    """A map with its middle missing."""
    X, y = rows(900)
    middle = (np.abs(X - 2.5) < 1.3).all(axis=1)
    there, new = ~middle, rows(3000, 1)[0]
    inside = (np.abs(new - 2.5) < 1.3).all(axis=1)
    truth = smooth(new) + 0.1 * np.random.default_rng(2).standard_normal(len(new))
    plain, machine = intervals(X[there], y[there], gaps=False)
    aware, _ = intervals(X[there], y[there])
    assert covered(plain, machine, new[inside], truth[inside]) < 0.75
    assert covered(aware, machine, new[inside], truth[inside]) > 0.85
    # Among the others nothing is paid for it.
    assert 0.86 < covered(aware, machine, new[~inside], truth[~inside]) < 0.94
    widths = [found.half_width(new[~inside], 0.9).mean() for found in (plain, aware)]
    assert widths[1] < 1.05 * widths[0]


def test_ordinary_coverage():
    """Known errors and new rows from one source, again and again."""
    seen = []
    for seed in range(8):
        X, y = rows(150, seed)
        found, machine = intervals(X, y)
        assert found.gaps is not None
        seen.append(covered(found, machine, *rows(300, 100 + seed)))
    assert abs(np.mean(seen) - 0.9) < 0.04


def test_growth_follows_errors_of_blocks():
    """The kernel takes f for smoother than it is: what it says of gaps is too little, and is corrected."""
    rng = np.random.default_rng(0)
    X = np.sort(rng.uniform(0, 30, 300))[:, None]
    y = np.sin(3 * X[:, 0]) + 0.01 * rng.standard_normal(300)
    known, every = Known(X, y, np.arange(300), 1e-4), np.arange(300)
    small, large = (Gaps.of(Gaussian(1.5), known, every, np.full(300, s))[0] for s in (1e-3, 10.0))
    assert small.exponent == 2.0 and large.exponent == 1.0


def test_distances_from_at_most_so_many():
    X, y = rows(MOST + 200)
    tested = np.arange(100, 700)
    found, wide = Gaps.of(KERNEL, Known(X, y, np.arange(len(y)), 0.02), tested, np.ones(600))
    assert len(found.points) == MOST and wide.shape == (600,)
    np.testing.assert_array_equal(found.points[:600], X[tested])
    # At a tested row, judged as if it had not been there, intervals are wider than with it.
    assert (wide >= found.widening(X[tested]) - 1e-9).all()


def test_copies_are_no_neighbours():
    """Every row twice, with twice the noise, says as much as once, if both are left out together."""
    X, y = rows(100)
    two = np.tile(np.arange(100), 2)
    once = LeftOut(KERNEL, X, y, 0.02).without(np.arange(100))
    twice = LeftOut(KERNEL, X[two], y[two], 0.04).without(two)
    for expected, found in zip(once, twice):
        np.testing.assert_allclose(found[:100], expected, atol=1e-8)


def test_a_matrix_that_is_not_definite_says_nothing():
    X, y = rows(120)
    X[1:] = X[0]  # one point, 120 times
    known, every = Known(X, y, np.arange(120), 1e-300), np.arange(120)
    found = Conformal.of(np.ones(120), X, KERNEL, 0, every, known, every)
    assert found.gaps is None and found.half_width(X[:1], 0.9)[0] == 1


@pytest.mark.parametrize(
    "n, errors", [(20, np.ones(20)), (100, np.zeros(100))], ids=["few rows", "no errors"]
)
def test_where_nothing_can_be_known(n, errors):
    X, y = rows(n)
    found = Conformal.of(errors, X, KERNEL, 0, None, Known(X, y, np.arange(n), 0.1), np.arange(n))
    assert found.gaps is None and found.even


def test_range_of_widths():
    X, y = rows(400)
    found, _ = intervals(X, y)
    low, high = found.usual(0.9)
    new = found.half_width(rows(1000, 1)[0], 0.9)
    assert 0.7 < np.mean((low <= new) & (new <= high)) < 0.9
    assert intervals(X[:20], y[:20])[0].usual(0.5)[0] == intervals(X[:20], y[:20])[0].usual(0.5)[1]


# -- remarks -----------------------------------------------------------------------------------------


def test_remark_where_rows_cluster():
    rng = np.random.default_rng(0)
    place = rng.uniform(0, 100, (32, 2)).repeat(10, axis=0)
    X, level = place + 0.01 * rng.standard_normal((320, 2)), rng.standard_normal(32).repeat(10)
    y = level + 0.05 * rng.standard_normal(320)
    clustered = Gaps.of(Gaussian(1.0), Known(X, y, np.arange(320), 0.1), np.arange(320), np.ones(320))[0]
    assert clustered.apart > 5 * clustered.near
    assert "rows cluster" in clustered.remarks()[0] and "groups=" in clustered.remarks()[0]
    X, y = rows(320)
    y = np.random.default_rng(1).standard_normal(320)  # noise is as large anywhere
    even = Gaps.of(KERNEL, Known(X, y, np.arange(320), 1.0), np.arange(320), np.ones(320))[0]
    assert even.remarks() == []


# -- models ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table():
    X, y = rows(150)
    return {"east": X[:, 0], "north": X[:, 1]}, y


@pytest.fixture(scope="module")
def model(table):
    with in_haste():
        return mercer.fit(*table, minutes=1e-3)


def test_a_model_comes_back(model, table, tmp_path):
    assert model.conformal.gaps is not None
    path = tmp_path / "model.mercer"
    mercer.save(model, path)
    again = mercer.load(path)
    expected = model.predict_interval(table[0])
    np.testing.assert_array_equal(again.predict_interval(table[0]), expected)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_allclose(other.predict_interval(table[0]), expected)
    # What is computed from the points is no part of it.
    assert len(pickle.dumps(model.conformal.gaps)) < 20_000


def test_groups_need_no_hint(table):
    """Whole groups are tested already."""
    X, y = table
    codes = np.arange(150) // 3
    with in_haste():
        model = mercer.fit(X, y + 3 * np.sin(codes), minutes=1e-3, groups=codes)
    assert not any("rows cluster" in remark for remark in model.evidence.remarks)


def test_texts_have_no_distances(review_model):
    assert review_model.columns.texts and review_model.conformal.gaps is None


@pytest.mark.parametrize(
    "change, match",
    [
        ({"points": np.full((3, 2), np.nan)}, "points of a Gaps is not"),
        ({"points": np.zeros(3)}, "points of a Gaps is not"),
        ({"points": np.zeros((0, 2))}, "distances are measured from"),
        ({"points": np.zeros((MOST + 1, 2))}, "distances are measured from"),
        ({"mu": 0.0}, "mu of a Gaps is not"),
        ({"mu": np.inf}, "mu of a Gaps is not"),
        ({"ordinary": -1.0}, "ordinary of a Gaps is not"),
        ({"exponent": 50.0}, "exponent of a Gaps is not"),
        ({"near": np.nan}, "near of a Gaps is not"),
        ({"kernel": 3}, "kernel of a Gaps is not"),
    ],
)
def test_hostile_gaps(model, change, match):
    check(model.conformal.gaps)
    try_out(model.conformal.gaps)
    with pytest.raises(ValueError, match=match):
        check(replace(model.conformal.gaps, **change))


def test_a_kernel_of_other_points(model):
    gaps = model.conformal.gaps
    with pytest.raises(ValueError):
        try_out(replace(gaps, kernel=Gaussian(1.0).scaled([1.0, 1.0, 1.0])))
    for other in ({"kernel": BagOfWords()}, {"points": np.zeros((3, 5)), "kernel": Gaussian(1.0)}):
        conformal = replace(model.conformal, gaps=replace(gaps, **other))
        with pytest.raises(ValueError, match="takes other points"):
            check(replace(model, conformal=conformal))


@pytest.mark.parametrize("usual", [(2.0, 1.0), (0.0, 1.0), (np.nan, 1.0)])
def test_hostile_ranges(model, usual):
    with pytest.raises(ValueError, match="not in order"):
        check(replace(model.conformal, eight_in_ten=usual))
