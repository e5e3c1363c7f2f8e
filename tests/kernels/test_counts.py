"""Sparse rows against dense ones."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.kernels import counts
from mercer.kernels.counts import Counts, mix, spread

numbers = st.one_of(st.integers(0, 5), st.integers(0, 2**64 - 1), st.just(2**64 - 1))
rows_of_numbers = st.lists(st.lists(st.tuples(numbers, st.floats(-4, 4, width=16)), max_size=25), max_size=12)


def laid_out(rows):
    starts = np.cumsum([0, *map(len, rows)])
    ids = np.array([k for row in rows for k, _ in row], np.uint64)
    return starts, ids, np.array([v for row in rows for _, v in row], float)


def summed(row):
    total = Counter()
    for k, v in row:
        total[k] += v
    return total


def as_dicts(C):
    return [
        dict(zip(C.ids[a:b].tolist(), C.values[a:b].tolist(), strict=True))
        for a, b in zip(C.starts, C.starts[1:], strict=False)
    ]


def dense(rows):
    return np.array(
        [[sum(v * summed(b)[k] for k, v in summed(a).items()) for b in rows] for a in rows]
    ).reshape(len(rows), len(rows))


@settings(deadline=None, max_examples=150)
@given(rows=rows_of_numbers, at_once=st.sampled_from([1, 7, 1 << 19]))
def test_what_occurs_several_times_is_added_up(rows, at_once):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counts, "_AT_ONCE", at_once)
        starts, ids, values = laid_out(rows)
        C, plain = Counts.of(starts, ids, values), Counts.of(starts, ids)
    assert as_dicts(C) == [dict(summed(row)) for row in rows]
    assert as_dicts(plain) == [dict(Counter(k for k, _ in row)) for row in rows]
    for found in (C, plain):
        assert all(
            (np.diff(found.ids[a:b].astype(object)) > 0).all()
            for a, b in zip(found.starts, found.starts[1:], strict=False)
        )
    np.testing.assert_allclose(C.inner(C), dense(rows), atol=1e-9)
    np.testing.assert_allclose(C.squares(), np.diag(dense(rows)), atol=1e-9)


def test_equal_features_are_added_in_their_order():
    values = np.random.default_rng(0).standard_normal(300) * 10.0 ** np.arange(300 % 17, 317)[:300].clip(
        max=12
    )
    rows = [[(k % 3, v) for k, v in enumerate(values[:n])] for n in (300, 290, 7)]
    C = Counts.of(*laid_out(rows))
    by_feature = [np.add.reduceat([v for k, v in row if k == j], [0])[0] for row in rows for j in range(3)]
    assert C.values.tolist() == by_feature


@settings(deadline=None, max_examples=60)
@given(rows=rows_of_numbers, data=st.data())
def test_rows_are_taken_like_those_of_an_array(rows, data):
    C = Counts.of(*laid_out(rows))
    index = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=8)) if rows else []
    all_rows = as_dicts(C)
    assert as_dicts(C[np.array(index, int)]) == [all_rows[i] for i in index]
    a, b = data.draw(st.tuples(st.integers(0, 12), st.integers(0, 12)))
    assert as_dicts(C[a:b]) == all_rows[a:b]
    assert as_dicts(C[::2]) == all_rows[::2]
    assert len(C) == C.shape[0] == len(rows)


@settings(deadline=None, max_examples=60)
@given(rows=rows_of_numbers, seed=st.integers(0, 99))
def test_beside_is_the_sum_of_both_kernels(rows, seed):
    A = Counts.of(*laid_out(rows))
    B = A[np.random.default_rng(seed).permutation(len(A))].times(np.full(len(A), 0.5))
    both = A.beside(B)
    np.testing.assert_allclose(both.inner(both), A.inner(A) + B.inner(B), atol=1e-9)


def test_joined_puts_features_of_several_kinds_into_each_row():
    first = (np.array([0, 2, 2]), np.array([5, 5], np.uint64), 1.0)
    second = (np.array([0, 1, 3]), np.array([7, 7, 9], np.uint64), 0.5)
    assert as_dicts(Counts.joined([first, second])) == [{5: 2.0, 7: 0.5}, {7: 0.5, 9: 0.5}]
    assert as_dicts(Counts.joined([first, first])) == [{5: 4.0}, {}]


@given(sizes=st.lists(st.integers(0, 9), max_size=12), part=st.integers(1, 20))
def test_made_covers_every_row_once(sizes, part):
    seen = []

    def some(rows):
        assert sum(sizes[rows]) <= part or rows.stop - rows.start == 1
        seen.extend(range(rows.start, rows.stop))
        return Counts.of(
            np.arange(rows.stop - rows.start + 1), np.arange(rows.start, rows.stop).astype(np.uint64)
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counts, "_IN_PART", part)
        C = Counts.made(some, np.array(sizes, int))
    assert sorted(seen) == list(range(len(sizes)))
    assert as_dicts(C) == [{i: 1.0} for i in range(len(sizes))]


def test_a_vocabulary_leaves_out_other_features():
    C = Counts.of(np.array([0, 2, 3]), np.array([3, 8, 2**64 - 1], np.uint64), np.array([1.0, 2.0, 4.0]))
    assert C.vocabulary.tolist() == [3, 8, 2**64 - 1]
    assert C.csr(np.array([8, 9], np.uint64)).toarray().tolist() == [[2, 0], [0, 0]]
    assert C.csr(np.zeros(0, np.uint64)).shape == (2, 0)
    assert C.times(np.array([2.0, 0.0])).squares().tolist() == [20.0, 0.0]


def test_nothing_at_all():
    C = Counts.of(np.zeros(1, int), np.zeros(0, np.uint64))
    assert (len(C), C.squares().tolist(), C.inner(C).shape) == (0, [], (0, 0))
    assert spread(np.zeros(0, int), np.zeros(0, int)).tolist() == []


def test_mix_tells_parts_apart_and_never_changes():
    a = np.arange(2000, dtype=np.uint64)
    pairs = mix(np.repeat(mix(np.uint64(3), a), 50), np.tile(np.arange(50), 2000))
    assert len(np.unique(pairs)) == 100_000
    # Files hold these numbers: they must stay what they are.
    assert int(mix(np.uint64(0), 0)) == 16294208416658607535
    assert int(mix(np.uint64(1), 2)) == 6130108611989264169
