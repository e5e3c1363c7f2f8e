"""Edits against the recursion that defines them; a witness that they make no kernel; machines."""

import warnings
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer import KernelRidge, KernelSVC
from mercer.kernels import EditDistance, check
from mercer.kernels.strings import edit
from mercer.testing import check_kernel


@cache
def edits(x, z):
    if not x or not z:
        return len(x) + len(z)
    if x[0] == z[0]:
        return edits(x[1:], z[1:])
    return 1 + min(edits(x[1:], z), edits(x, z[1:]), edits(x[1:], z[1:]))


@pytest.fixture(params=["compiled", "numpy"])
def way(request, monkeypatch):
    if request.param == "numpy":
        monkeypatch.setattr(edit, "_code", lambda: None)
    return request.param


def test_kitten(way):
    for x, z, apart in (
        ("kitten", "sitting", 3),
        ("saturday", "sunday", 3),
        ("flaw", "lawn", 2),
        ("", "abc", 3),
    ):
        assert np.isclose(EditDistance(2.0)([x], [z])[0, 0], np.exp(-apart / 2))


words = st.lists(st.text("abc", max_size=7), min_size=1, max_size=6)


@settings(deadline=None)
@given(words, words, st.floats(0.1, 10))
def test_recursion(X, Z, width):
    kernel = EditDistance(width)
    assert np.allclose(kernel(X, Z), [[np.exp(-edits(x, z) / width) for z in Z] for x in X], rtol=1e-12)
    K = kernel(X)
    assert np.array_equal(K, K.T) and np.array_equal(np.diag(K), kernel.diag(X))
    assert np.allclose(K, kernel(X, list(X)))


def test_recursion_by_numpy(monkeypatch):
    monkeypatch.setattr(edit, "_code", lambda: None)
    test_recursion()


def test_more_strings_than_lanes(way):
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("ab"), size)) for size in rng.integers(0, 9, 40)]
    expected = np.array([[np.exp(-edits(x, z)) for z in X] for x in X])
    assert np.allclose(EditDistance()(X), expected)
    assert np.allclose(EditDistance()(X, X[:3]), expected[:, :3])
    assert np.allclose(EditDistance()(X[:3], X), expected[:3])


def test_no_kernel_and_a_witness():
    X = ["a", "ab", "ba", "aba", "bab"]
    verdict = check(EditDistance(8.0), X)
    assert not verdict.ok and verdict.by == "witness" and verdict.value < 0
    K = np.exp(-np.array([[edits(x, z) for z in verdict.points] for x in verdict.points]) / 8)
    assert np.isclose(verdict.c @ K @ verdict.c, verdict.value) and EditDistance().rule() is None


def test_laws_where_it_is_one():
    check_kernel(EditDistance(0.5), ["", "a", "b", "ab", "ba", "abc", "cab", "aaaa"])


def test_any_letters():
    assert EditDistance()([["to", "be"], ["to", "bee"]])[0, 1] == EditDistance()(["äb", "äc"])[0, 1]
    assert EditDistance()([b"ab"], [b""])[0, 0] == np.exp(-2.0)


@pytest.mark.parametrize("X, words", [([None], "missing"), ([3], "int"), (["a", b"a"], "one kind")])
def test_what_is_no_string_is_refused(X, words):
    with pytest.raises(ValueError, match=f"EditDistance.*{words}"):
        EditDistance()(X)


def test_width():
    with pytest.raises(ValueError, match="width must be a positive number"):
        EditDistance(0)(["a"])


def test_machines():
    rng = np.random.default_rng(0)
    X = [word + "".join(rng.choice(list("xy"), 2)) for word in ["kernel", "string"] * 15]
    y = [0, 1] * 15
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it may be no kernel
        machine = KernelSVC(EditDistance(3.0)).fit(X[:20], y[:20])
        ridge = KernelRidge(EditDistance(1.0), lam=1e-3).fit(X[:20], y[:20])
    assert machine.predict(X[20:]).tolist() == y[20:]
    assert np.abs(ridge.predict(X[20:]) - y[20:]).max() < 0.3
