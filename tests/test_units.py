"""Rows that belong together: found, and dealt out together."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_matrix

from mercer import _units as units
from mercer._units import equal_rows, few_codes, folds, held_out, joined, row_bits, units_of

FEW_VALUES = arrays(
    float,
    st.tuples(st.integers(2, 30), st.integers(1, 3)),
    elements=st.sampled_from([0.0, -0.0, 0.5, np.nan]),
)


def same(numbers):
    """Which pairs are together."""
    return numbers[:, None] == numbers[None, :]


@given(FEW_VALUES)
def test_equal_rows_are_those_that_are_equal(X):
    expected = ((X[:, None] == X[None]) | (np.isnan(X[:, None]) & np.isnan(X[None]))).all(axis=2)
    found = equal_rows(X)
    np.testing.assert_array_equal(same(found), expected)
    assert list(dict.fromkeys(found)) == list(range(found.max() + 1))  # in order of appearance
    np.testing.assert_array_equal(same(equal_rows(pd.DataFrame(X))), expected)
    np.testing.assert_array_equal(same(equal_rows(np.where(np.isnan(X), None, X))), expected)
    whole = np.nan_to_num(X, nan=3.0)
    np.testing.assert_array_equal(row_bits(csr_matrix(whole)), row_bits(whole))


@pytest.mark.parametrize(
    "X",
    [
        ["ab", "b", "ab"],
        [(1, "x"), (1, "y"), (1, "x")],
        pd.DataFrame({"a": [1, 2, 1], "b": ["u", "u", "u"]}),
        np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]], dtype=np.float32),
        np.array(["2024-01-01", "2024-01-02", "2024-01-01"], dtype="datetime64[us]"),
        np.array([1 + 2j, 2 + 1j, 1 + 2j]),
        [np.arange(3), np.arange(2), np.arange(3)],
    ],
    ids=["words", "tuples", "frame", "float32", "dates", "complex", "arrays"],
)
def test_points_of_any_kind(X):
    assert equal_rows(X).tolist() == [0, 1, 0]


def test_no_two_of_many_are_taken_for_equal():
    """Whole numbers, small ones, and columns in another order: bits that are alike in most places."""
    grid = np.stack(np.meshgrid(*[np.arange(50.0)] * 3), axis=-1).reshape(-1, 3)
    X = np.vstack([grid, grid * 2.0**-40 + 0.25])
    assert equal_rows(X).max() + 1 == len(np.unique(X, axis=0)) == len(X)


def test_codes():
    """Two columns of bits: new rows will be equal to these. Numbers, or many codes: they need not be."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (60, 2))
    assert few_codes(bits) and (units_of(bits) == np.arange(60)).all()
    assert few_codes(pd.DataFrame({"a": rng.choice(["u", "v"], 60), "b": rng.choice([0.0, np.nan], 60)}))
    assert not few_codes(bits + 0.5) and units_of(bits + 0.5).max() == 3
    assert not few_codes(rng.integers(0, 40, 100)) and not few_codes(rng.integers(0, 2, (60, 6)))
    assert not few_codes(csr_matrix(bits))


@given(
    st.lists(st.tuples(st.integers(0, 5), st.sampled_from([None, "a", "b", "c"])), min_size=1, max_size=20)
)
def test_groups_that_share_a_row_are_one(pairs):
    """Against joining pairs of rows until nothing changes."""
    X = np.array([[x + 0.5] for x, _ in pairs])
    labels = np.array([g for _, g in pairs], dtype=object)
    linked = (X == X.T) | np.array([[a is not None and a == b for b in labels] for a in labels])
    for _ in pairs:
        linked = linked | (linked.astype(int) @ linked.astype(int) > 0)
    np.testing.assert_array_equal(same(units_of(X, labels)), linked)


def test_groups_are_one_label_a_row():
    with pytest.raises(ValueError, match="groups must be one label a row, 3 of them"):
        units_of(np.eye(3), ["a", "b"])
    nan = units_of(np.eye(3) + 0.5, np.array([1.0, np.nan, 1.0]))
    assert nan.tolist() == [0, 1, 0]
    assert joined(np.arange(2), np.array([-1, -1])).tolist() == [0, 1]


SETS = st.lists(st.integers(0, 12), min_size=8, max_size=60).filter(lambda u: len(set(u)) >= 5)


@given(SETS, st.integers(2, 5), st.integers(0, 3))
def test_folds_keep_units_together(sets, k, seed):
    parts = np.array(sets)
    made = folds(parts, k, random_state=seed)
    np.testing.assert_array_equal(np.sort(np.concatenate([test for _, test in made])), np.arange(len(parts)))
    for train, test in made:
        assert len(test) and not set(parts[train]) & set(parts[test])
        assert len(train) + len(test) == len(parts)
    largest = np.bincount(parts).max()
    sizes = [len(test) for _, test in made]
    assert max(sizes) - min(sizes) <= largest  # the largest first, each where there is the most room
    train, test = held_out(parts, len(parts) // 3, random_state=seed)
    assert len(test) and len(train) and not set(parts[train]) & set(parts[test])


def test_folds_keep_shares_of_classes():
    """Pairs of rows, a tenth of them of the second class: two pairs a fold."""
    pairs = np.repeat(np.arange(100), 2)
    labels = np.repeat(np.arange(100) % 10 == 0, 2)
    for _, test in folds(pairs, 5, labels, 1):
        assert len(test) == 40 and labels[test].sum() == 4
    _, test = held_out(pairs, 40, labels, 1)
    assert len(test) == 40 and labels[test].sum() == 4
    assert units.fewest_in_a_class(labels, pairs) == 10


def test_a_class_of_two_units_is_on_both_sides():
    parts = np.repeat(np.arange(12), 3)
    labels = np.isin(parts, [4, 7]) & (np.arange(36) % 3 == 0)  # among others in two large units
    for train, _ in folds(parts, 5, labels, 0):
        assert labels[train].any() and not labels[train].all()


def test_too_few_units():
    with pytest.raises(ValueError, match="3 folds need as many"):
        folds(np.array([0, 0, 1, 1]), 3)
    with pytest.raises(ValueError, match="all rows are equal"):
        folds(np.zeros(4, dtype=int), 2)


def test_one_of_each():
    parts = np.array([3, 3, 3, 0, 1, 1])
    assert [units.count(parts[units.one_each(parts, s)]) for s in range(5)] == [3] * 5
    assert len({tuple(units.one_each(parts, s)) for s in range(30)}) == 6  # any row of each
    assert units.one_each(np.arange(4)).tolist() == [0, 1, 2, 3]
    assert [rows.tolist() for rows in units.by_size(parts)] == [[[3]], [[4, 5]], [[0, 1, 2]]]
