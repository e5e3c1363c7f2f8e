"""Separation in whole numbers: always one of a vector and a proof."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from mercer.theory.learnability import exact
from mercer.theory.learnability.exact import (
    integer_rows,
    nonnegative,
    proves,
    separate,
    separates,
    whole_multiples,
)


def rows_of(X):
    return integer_rows([[*row, 1] for row in X])


def test_integer_rows():
    rows = integer_rows([[0.5, Fraction(1, 3)], [2, np.float32(0.25)], [np.int64(3), 0]])
    assert rows.tolist() == [[3, 2], [8, 1], [3, 0]]


@given(st.data())
def test_a_vector_or_a_proof(data):
    d = data.draw(st.integers(1, 4))
    n = data.draw(st.integers(1, 8))
    entries = st.integers(-3, 3)
    rows = np.array(
        data.draw(st.lists(st.lists(entries, min_size=d, max_size=d), min_size=n, max_size=n)), dtype=object
    )
    y = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    found = separate(rows, y)
    if found:
        assert separates(found.w, rows, y) and found.weights is None
    else:
        assert proves(found.weights, rows, y) and found.w is None


@pytest.mark.parametrize("d", [1, 2, 3])
def test_as_a_linear_programme_sees_it(d):
    rng = np.random.default_rng(d)
    for _ in range(60):
        X, y = rng.standard_normal((d + 4, d)), rng.random(d + 4) < 0.5
        signed = np.c_[X, np.ones(len(X))] * np.where(y, 1, -1)[:, None]
        theirs = linprog(np.zeros(d + 1), -signed, -np.ones(len(X)), bounds=(None, None)).status == 0
        assert bool(separate(rows_of(X), y)) == theirs


def test_many_points_go_through_floating_point(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3))
    y = X @ [1.0, -2.0, 0.5] > 0.1
    calls = []
    simplex = exact._simplex
    monkeypatch.setattr(exact, "_simplex", lambda rows, y: calls.append(len(rows)) or simplex(rows, y))
    rows = rows_of(X)
    assert separates(separate(rows, y).w, rows, y) and calls == []
    y[np.argmax(np.abs(X @ [1.0, -2.0, 0.5] - 0.1))] ^= True
    found = separate(rows, y)
    assert proves(found.weights, rows, y) and max(calls) <= 20


def test_many_points_too_close_for_floats():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2))
    last = X[np.argmax(X[:, 0])]
    beyond = [np.nextafter(last[0], 9), last[1]]
    y = np.r_[np.ones(200, bool), False]
    rows = rows_of([*X, beyond])  # separated from its neighbour by the last bit of a coordinate
    assert separates(separate(rows, y).w, rows, y)
    rows = rows_of([*X, last])
    assert proves(separate(rows, y).weights, rows, y)


def test_proofs_are_points_in_both_hulls():
    X = [[0, 0], [2, 2], [0, 2], [2, 0]]
    y = np.array([True, True, False, False])
    u = np.array(separate(rows_of(X), y).weights)
    both = [sum(u[i] * X[i][j] for i in range(4) if y[i]) for j in range(2)]
    assert both == [1, 1] and sum(u[y]) == sum(u[~y]) == 1


def test_too_close_to_call_is_called_exactly():
    w = (10**17, -(10**17), 1)
    features = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [1.0, 1.0, -1.0]])
    rows = features.astype(int).tolist()
    assert nonnegative(features, w, 0, lambda i: rows[i]).tolist() == [True, True, False]


def test_whole_multiples():
    mixed = np.array([[Fraction(1, 3), 0.5], [2, 2**80]], dtype=object)
    for X, expected, multiple in (
        (np.array([[1, -2]]), [[1, -2]], 1),
        (np.array([[0.5, -2.0], [0.75, 0.0]]), [[2, -8], [3, 0]], 4),
        (mixed, [[2, 3], [12, 6 * 2**80]], 6),
    ):
        values, common = whole_multiples(X)
        assert values.tolist() == expected and common == multiple
