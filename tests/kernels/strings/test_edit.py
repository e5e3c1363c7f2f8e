"""Edits against the recursion that defines them, and their table row by row; a witness that they make no
kernel; machines."""

import warnings
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer import KernelRidge, KernelSVC
from mercer.kernels import EditDistance, check
from mercer.kernels.strings import edit, edit_loops
from mercer.testing import check_kernel


@cache
def edits(x, z):
    if not x or not z:
        return len(x) + len(z)
    if x[0] == z[0]:
        return edits(x[1:], z[1:])
    return 1 + min(edits(x[1:], z), edits(x, z[1:]), edits(x[1:], z[1:]))


def by_rows(x, z):
    """The same, for strings too long for a recursion: the table of edits, a row at once."""
    x, z, places = np.array(list(x)), np.array(list(z)), np.arange(len(z) + 1)
    row = places
    for i, letter in enumerate(x):
        best = np.minimum(row[1:] + 1, row[:-1] + (z != letter))
        row = np.minimum.accumulate(np.append(i + 1, best) - places) + places
    return row[-1]


@pytest.fixture(params=["compiled", "numpy", "python"])
def way(request, monkeypatch):
    """In machine code, without it, and what becomes machine code as Python runs it."""
    if request.param != "compiled":
        run = None if request.param == "numpy" else edit_loops.edits_of_rows
        monkeypatch.setattr(edit, "_code", lambda: run)
    with np.errstate(all="raise"):
        yield request.param


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


def changed(string, count, rng):
    """A string a few edits away, so that tables have long ways of equal letters."""
    string = list(string)
    for _ in range(count):
        at = rng.integers(len(string) + 1)
        string[at : at + rng.integers(2)] = rng.choice(list("abcd"), rng.integers(2)).tolist()
    return "".join(string)


def test_more_letters_than_a_word_has(way):
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("abc"), size)) for size in (0, 61, 62, 63, 124, 125)]
    Z = [changed(x, 6, rng) for x in X[-3:]]
    assert np.array_equal(EditDistance().edits(X, Z), [[by_rows(x, z) for z in Z] for x in X])


sizes = st.lists(st.integers(0, 200) | st.sampled_from([61, 62, 63, 124, 186, 187]), min_size=1, max_size=5)


@settings(deadline=None, max_examples=40)
@given(sizes, st.integers(0, 40), st.sampled_from([1, 2, 4, 26, 5000]), st.integers(0, 999))
def test_words_of_letters(sizes, count, alphabet, seed):
    rng = np.random.default_rng(seed)
    X = ["".join(map(chr, 97 + rng.integers(0, alphabet, size))) for size in sizes]
    Z = [changed(x, count, rng) for x in X] + X[:1]
    expected = np.array([[by_rows(x, z) for z in Z] for x in X])
    assert np.array_equal(EditDistance().edits(X, Z), expected)
    tokens = [[tuple(10**9 * ord(c) for c in string) for string in strings] for strings in (X, Z)]
    assert np.array_equal(EditDistance().edits(*map(edit.letters, tokens)), expected)


def test_longer_than_is_read_at_once():
    rng = np.random.default_rng(0)
    chunk = edit_loops.CHUNK
    X = [
        "".join(rng.choice(list("ab"), size)) for size in (1, chunk, 0, 2 * chunk + 1, 7, chunk + 1, 700, 90)
    ]
    Z = [changed(X[0], 2, rng), X[6], changed(X[6] * 2, 9, rng)]
    expected = np.array([[by_rows(z, x) for z in Z] for x in X])
    assert np.array_equal(EditDistance().edits(X, Z), expected)
    assert np.array_equal(EditDistance().edits(X, Z * 6), np.tile(expected, 6))
    assert np.array_equal(EditDistance().edits(Z, X), expected.T)


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
