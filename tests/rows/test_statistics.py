"""A pass over rows: against NumPy on all of them at once, whatever the shards."""

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from mercer.rows import ArrayRows, Categories, ColumnMoments, Sample, Standardise, describe
from mercer.rows.base import Shard

numbers = st.floats(-1e6, 1e6, width=32) | st.just(np.nan)


@given(
    values=arrays(np.float64, st.tuples(st.integers(1, 60), st.just(2)), elements=numbers),
    cuts=st.lists(st.integers(0, 60), max_size=4),
)
@settings(max_examples=60, deadline=None)
def test_moments(values, cuts):
    edges = [0, *sorted(min(c, len(values)) for c in cuts), len(values)]
    parts = [ColumnMoments.of(values[a:b]) for a, b in itertools.pairwise(edges)]
    found = sum(parts[1:], parts[0])
    for j in range(2):
        known = values[~np.isnan(values[:, j]), j]
        assert found.count[j] == len(known) and found.missing[j] == len(values) - len(known)
        if len(known):
            size = np.abs(known).max() + 1e-300
            assert np.isclose(found.mean[j], known.mean(), rtol=0, atol=1e-12 * size)
            assert np.isclose(np.sqrt(found.variance[j]), known.std(), rtol=1e-9, atol=1e-7 * size)
            assert found.least[j] == known.min() and found.most[j] == known.max()


def test_far_from_zero():
    """Numbers in float32 that are far from 0, many of them: sums of squares in float32 would be nonsense."""
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((200_000, 2)) * [1.0, 30.0] + [1e4, 1e6]).astype(np.float32)
    about = describe(ArrayRows(X, rows=1777), sample=0)
    assert np.allclose(about.X.mean, X.mean(axis=0, dtype=np.float64), rtol=1e-14)
    assert np.allclose(about.X.deviation, X.std(axis=0, dtype=np.float64), rtol=1e-12)
    assert len(about.sample.rows) == 0 and about.y is None and about.categories is None
    rows = ArrayRows(X, rows=1777).standardised(about)
    Z = np.concatenate([rows.shard(k).X for k in range(len(rows.sizes))])
    assert Z.dtype == np.float32 and rows.names is None
    assert np.allclose(Z.mean(axis=0, dtype=float), 0, atol=1e-6) and np.allclose(Z.std(axis=0), 1, atol=1e-4)
    assert np.array_equal(pickle.loads(pickle.dumps(about.standardiser())).points(X[:5]), Z[:5])


def test_constant_columns():
    X = np.stack([np.full(5000, 0.1), np.full(5000, 1e9) + 1e-7, np.zeros(5000), np.arange(5000.0)], axis=1)
    rows = ArrayRows(X, rows=700).standardised()
    Z = rows.take(np.arange(5000)).X
    assert not Z[:, :3].any() and np.isclose(Z[:, 3].std(), 1)
    new = Standardise(np.array([1.0]), np.array([0.0])).points(np.array([[5.0]]))
    assert new.tolist() == [[0.0]]  # it says nothing that a machine could have learned from


@pytest.mark.parametrize("size", [1, 10, 400, 1000])
def test_the_sample_does_not_depend_on_the_cut(size):
    X = np.arange(900.0)[:, None]
    y = np.arange(900)
    found = [describe(ArrayRows(X, y, y + 1.0, rows=rows), sample=size).sample for rows in (900, 70, 7)]
    for sample in found:
        assert len(sample.rows) == min(size, 900)
        assert np.array_equal(sample.index, found[0].index) and np.array_equal(
            sample.rows.X[:, 0], sample.index
        )
        assert np.array_equal(sample.rows.y, sample.index) and np.array_equal(sample.rows.w, sample.index + 1)
    other = describe(ArrayRows(X, y, rows=70), sample=size, seed=1).sample
    assert size > 900 or not np.array_equal(other.index, found[0].index)


def test_the_sample_is_uniform():
    counts = np.zeros(50)
    for seed in range(2000):
        counts[Sample.of(Shard(np.zeros((50, 1))), 5, seed).index] += 1
    assert stats.chisquare(counts).pvalue > 1e-3
    neighbours = [
        np.diff(np.sort(Sample.of(Shard(np.zeros((50, 1))), 2, seed).index))[0] for seed in range(2000)
    ]
    assert abs(np.mean(neighbours) - 17) < 1  # (50 + 1)/3: places do not attract or avoid each other


def test_quantiles():
    X = np.random.default_rng(0).exponential(size=(60_000, 1))
    about = describe(ArrayRows(X, rows=5000))
    assert np.allclose(about.quantile([0.25, 0.5]), np.quantile(X, [0.25, 0.5], axis=0), atol=0.03)
    X[::2] = np.nan
    assert np.isclose(describe(ArrayRows(X, rows=5000)).quantile(0.5)[0], np.nanmedian(X), atol=0.04)


def test_categories():
    y = np.random.default_rng(0).choice(["u", "v", "w"], 1000, p=[0.7, 0.2, 0.1])
    about = describe(ArrayRows(np.zeros((1000, 1)), y, rows=90))
    values, counts = np.unique(y, return_counts=True)
    assert (
        about.categories.counts == dict(zip(values.tolist(), counts.tolist())) and about.categories.complete
    )
    assert about.y is None
    many = describe(ArrayRows(np.zeros((1000, 1)), np.arange(1000) // 2, rows=90), categories=20)
    assert not many.categories.complete and len(many.categories.counts) == 20 and many.y.mean[0] == 249.5
    fractions = describe(ArrayRows(np.zeros((4, 1)), np.array([0.5, 1, 1, np.nan])))
    assert not fractions.categories.complete and fractions.y.missing[0] == 1
    assert Categories.of(np.array(["a", None, "a"], dtype=object)).counts == {"a": 2}
    several = describe(ArrayRows(np.zeros((4, 1)), np.ones((4, 2))))
    assert several.categories is None and several.y.mean.tolist() == [1.0, 1.0]
