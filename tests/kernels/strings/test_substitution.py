"""Substrings compared by a matrix, against the double sum."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from mercer import KernelSVC
from mercer.kernels import Spectrum, Substitution, check
from mercer.kernels.strings import substitution
from mercer.testing import check_kernel

strings = st.lists(st.text("abcd", max_size=7), min_size=1, max_size=5)


def alike(seed, size=4, rank=4):
    A = np.random.default_rng(seed).standard_normal((size, rank))
    return A @ A.T


def brute(X, M, alphabet, k):
    at = {letter: i for i, letter in enumerate(alphabet)}

    def value(x, z):
        return sum(
            np.prod([M[at[x[i + t]], at[z[j + t]]] for t in range(k)])
            for i in range(len(x) - k + 1)
            for j in range(len(z) - k + 1)
        )

    return np.array([[value(x, z) for z in X] for x in X], float)


@settings(deadline=None, max_examples=100)
@given(X=strings, k=st.integers(1, 3), seed=st.integers(0, 20), rank=st.integers(1, 4))
def test_all_pairs_of_substrings(X, k, seed, rank):
    M = alike(seed, rank=rank)
    kernel, expected = Substitution(M, "bdac", k), brute(X, M, "bdac", k)
    tolerance = 1e-12 * max(np.abs(expected).max(), np.abs(M).max() ** k)
    np.testing.assert_allclose(kernel(X), expected, rtol=1e-9, atol=100 * tolerance)
    np.testing.assert_allclose(kernel.diag(X), np.diag(expected), rtol=1e-9, atol=100 * tolerance)
    tokens = Substitution(M, tuple("bdac"), k)([list(x) for x in X])
    np.testing.assert_allclose(tokens, expected, rtol=1e-9, atol=100 * tolerance)
    as_bytes = Substitution(M, b"bdac", k)([x.encode() for x in X])
    np.testing.assert_allclose(as_bytes, expected, rtol=1e-9, atol=100 * tolerance)


def test_letters_that_are_alike_only_to_themselves():
    X = ["gattaca", "tacat", "", "ga"]
    kernel = Substitution(np.eye(4), "acgt", 3)
    assert kernel(X).tolist() == Spectrum(3)(X).tolist()
    assert kernel.spelled(kernel.points(X)) == Spectrum(3).spelled(Spectrum(3).points(X))


def test_letters_that_cannot_be_told_apart():
    M = np.kron(np.eye(2), np.ones((2, 2)))  # a is b, and c is d
    assert Substitution(M, "abcd", 2)(["abab"], ["ba", "dc", "aaaa"]).round(9).tolist() == [[3, 0, 9]]


def test_laws():
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("abcd"), size=n)) for n in (0, 1, *rng.integers(2, 15, 20))]
    for k in (Substitution(alike(1), "abcd", 1), Substitution(alike(2, rank=2), "abcd", 3).normalize()):
        check_kernel(k, X)
    assert check(Substitution(alike(3), "abcd")).by == "rule"
    k = Substitution(alike(3), "abcd", 2)
    assert clone(k) == k != Substitution(alike(4), "abcd", 2)


def test_features_made_in_parts_are_the_same(monkeypatch):
    rng = np.random.default_rng(1)
    X = ["".join(rng.choice(list("abcd"), size=n)) for n in rng.integers(0, 30, 20)]
    k = Substitution(alike(5), "abcd", 2)
    K = k(X)
    monkeypatch.setattr("mercer.kernels.counts._IN_PART", 50)
    np.testing.assert_allclose(k(X), K, rtol=1e-12)


@pytest.mark.parametrize(
    "k, words",
    [
        (Substitution(np.eye(3), "ab"), r"2×2 for the 2 letters of the alphabet; got shape \(3, 3\)"),
        (Substitution([[1, np.nan], [np.nan, 1]], "ab"), "must hold finite numbers"),
        (Substitution([[1, 2], [0, 1]], "ab"), "must be symmetric"),
        (Substitution([[1, 2], [2, 1]], "ab"), "has the eigenvalue -1; add 1 to its diagonal"),
        (Substitution(np.eye(2), "aa"), "a letter twice"),
        (Substitution(np.eye(2), None), "alphabet must be text, bytes or a tuple"),
        (Substitution(np.eye(2), "ab", 0), "length must be a whole number"),
        (Substitution(np.eye(2), b"ab"), "the strings are text, and the alphabet is bytes"),
        (
            Substitution(np.eye(2), "ax"),
            "string 0 has the letter 'b', which is not in the alphabet 'ax'; add it",
        ),
    ],
)
def test_what_is_refused(k, words):
    with pytest.raises(ValueError, match=words):
        k(["ab"])


def test_too_many_features_are_refused_with_their_number(monkeypatch):
    monkeypatch.setattr(substitution, "available_memory", lambda: 1000)
    with pytest.raises(ValueError, match=r"a string has 4\^4 features.*too many for 2 strings"):
        Substitution(np.eye(4), "abcd", 4)(["abcd", "a"])


def test_a_machine_uses_what_letters_have_in_common():
    M = np.kron(np.eye(2), np.full((2, 2), 0.9)) + 0.1 * np.eye(4)
    machine = KernelSVC(Substitution(M, "abcd", 2).normalize(), lam=0.01).fit(
        ["aa", "aaa", "cc", "ccc"], [1, 1, 2, 2]
    )
    assert machine.predict(["bb", "dd"]).tolist() == [1, 2]
