"""The mismatch kernel against all strings of its alphabet."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from mercer import KernelSVC
from mercer.kernels import Mismatch, Spectrum, check
from mercer.kernels.strings import mismatch
from mercer.testing import check_kernel

# "x" is a letter that no alphabet here has.
strings = st.lists(st.text("abcx", max_size=7), min_size=1, max_size=5)
sizes = st.tuples(st.integers(1, 4), st.integers(0, 3)).filter(lambda km: km[1] <= km[0])


def apart(u, v):
    return sum(a != b for a, b in zip(u, v, strict=True))


def brute_features(x, k, m, alphabet):
    parts = [x[i : i + k] for i in range(len(x) - k + 1)]
    found = {u: sum(apart(u, v) <= m for v in parts) for u in map("".join, product(alphabet, repeat=k))}
    return {u: c for u, c in found.items() if c}


def brute(X, k, m, alphabet):
    found = [brute_features(x, k, m, alphabet) for x in X]
    return np.array([[sum(c * b.get(u, 0) for u, c in a.items()) for b in found] for a in found], float)


@settings(deadline=None, max_examples=150)
@given(X=strings, km=sizes, alphabet=st.sampled_from(["ab", "cab", "a", ""]))
def test_every_string_of_the_alphabet_is_counted(X, km, alphabet):
    k = Mismatch(*km, alphabet=alphabet)
    expected = brute(X, *km, alphabet)
    assert k(X).tolist() == expected.tolist()
    assert k.diag(X).tolist() == np.diag(expected).tolist()
    tokens = Mismatch(*km, alphabet=tuple(alphabet))
    assert tokens([list(x) for x in X]).tolist() == expected.tolist()
    as_bytes = Mismatch(*km, alphabet=alphabet.encode())
    assert as_bytes([x.encode() for x in X]).tolist() == expected.tolist()


@settings(deadline=None, max_examples=60)
@given(X=strings, km=sizes)
def test_every_feature_is_spelled(X, km):
    k = Mismatch(*km, alphabet="abc")
    points = k.points(X)
    words, found = k.spelled(points), k.counts(points)
    assert set(words) == set(found.vocabulary.tolist())
    for i, x in enumerate(X):
        here = slice(*found.starts[i : i + 2])
        pairs = zip(found.ids[here].tolist(), found.values[here], strict=True)
        assert {words[u]: c for u, c in pairs} == brute_features(x, *km, "abc")


def test_spelled_of_other_kinds():
    assert set(Mismatch(1, 1, b"ab").spelled(np.array([b"a"], object)).values()) == {"b'a'", "b'b'"}
    one = np.empty(1, object)
    one[0] = ("to",)
    assert set(Mismatch(1, 1, ("to", 3)).spelled(one).values()) == {"('to',)", "(3,)"}


def test_without_mismatches_it_is_the_spectrum_kernel():
    X = ["gattaca", "tacat", "", "ga"]
    assert Mismatch(3, 0).resolve(X)(X).tolist() == Spectrum(3)(X).tolist()


def test_a_worked_example():
    # aa: {aa, ab, ba}, ab: {ab, aa, bb}, bb: {bb, ab, ba}.
    K = Mismatch(2, 1, "ab")(["aa", "ab", "bb", "aab"])
    assert K.tolist() == [[3, 2, 2, 5], [2, 3, 2, 5], [2, 2, 3, 4], [5, 5, 4, 10]]


@pytest.mark.parametrize(
    "X, alphabet",
    [
        (["tac", "", "gé"], "acgté"),
        ([b"tac", b"g"], b"acgt"),
        ([["to", "be"], [3, "be"], [1]], (1, 3, "be", "to")),
        (["", ""], ""),
    ],
)
def test_the_alphabet_is_that_of_the_data(X, alphabet):
    k = Mismatch(2, 1)
    assert k.unresolved() == ["alphabet"]
    resolved = k.resolve(X)
    assert resolved.alphabet == alphabet and type(resolved.alphabet) is type(alphabet)
    assert resolved.resolve(["z"]) is resolved
    assert k.normalize().resolve(X) == resolved.normalize()
    with pytest.raises(ValueError, match="leaves alphabet to the data"):
        k(X)


def test_strings_of_weight_zero_do_not_count():
    assert Mismatch(2, 1).resolve(["ab", "xyz"], np.array([1.0, 0.0])).alphabet == "ab"


def test_unknown_letters_are_mismatches_or_errors():
    X = ["ab", "xb", "xx"]
    assert (
        Mismatch(2, 1, "ab")(X).tolist() == brute(X, 2, 1, "ab").tolist() == [[3, 2, 0], [2, 2, 0], [0, 0, 0]]
    )
    with pytest.raises(ValueError, match="string 1 has the letter 'x', which is not in the alphabet 'ab'"):
        Mismatch(2, 1, "ab", unknown="error")(X)
    assert Mismatch(2, 1, "ab", unknown="error")(["ab"]).tolist() == [[3]]


def test_too_many_features_are_refused_with_their_number(monkeypatch):
    k = Mismatch(8, 4, "ACDEFGHIKLMNPQRSTVWY")
    one = sum(c * 19**j for j, c in enumerate([1, 8, 28, 56, 70]))
    with pytest.raises(
        ValueError, match=rf"string of 2,007 letters would have up to {2000 * one:,} features"
    ):
        k(["A" * 2007])
    with pytest.raises(ValueError, match="within 90 mismatches"):
        Mismatch(90, 90, "ACGT")(["A" * 90])
    monkeypatch.setattr(mismatch, "available_memory", lambda: 1000)
    with pytest.raises(ValueError, match=r"up to 57 features, and all 2 strings 114,"):
        Mismatch(6, 1, "ACGT")(["ACGTACGT"] * 2)


def test_features_made_in_parts_are_the_same(monkeypatch):
    rng = np.random.default_rng(1)
    X = ["".join(rng.choice(list("ACGTN"), size=n)) for n in rng.integers(0, 30, 100)]
    k = Mismatch(4, 2, "ACGT")
    K = k(X)
    monkeypatch.setattr("mercer.kernels.counts._IN_PART", 1000)
    assert k(X).tolist() == K.tolist()
    monkeypatch.setattr(mismatch, "_LISTED", 0)
    assert k(X).tolist() == K.tolist()


def test_laws():
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("ACGT"), size=n)) for n in (0, 1, *rng.integers(2, 15, 20))]
    for k in (
        Mismatch(2, 1),
        Mismatch(3, 2, "ACG"),
        Mismatch(3, 1).normalize(),
        Mismatch(2, 1) + Spectrum(2),
    ):
        check_kernel(k, X)
    assert check(Mismatch(2, 1, "ab")).by == "rule"
    assert clone(Mismatch(2, 1, "ab")) == Mismatch(2, 1, "ab") != Mismatch(2, 1, "abc")
    assert eval(repr(Mismatch(3, 2, ("a", 1), "error"))) == Mismatch(3, 2, ("a", 1), "error")


@pytest.mark.parametrize(
    "k, words",
    [
        (Mismatch(0, 0), "length must be a whole number of at least 1"),
        (Mismatch(2, -1), "mismatches must be a whole number of at least 0"),
        (Mismatch(2, 3), "3 mismatches in substrings of 2 letters"),
        (Mismatch(2, 1.0), "mismatches must be a whole number"),
        (Mismatch(2, 1, "aba"), "a letter twice"),
        (Mismatch(2, 1, 5), "alphabet must be text, bytes or a tuple of tokens, got 5"),
        (Mismatch(2, 1, (1.5,)), "alphabet"),
        (Mismatch(2, 1, "ab", "ignore"), "unknown must be 'mismatch' or 'error'"),
        (Mismatch(2, 1, b"ab"), "the strings are text, and the alphabet is bytes"),
    ],
    ids=repr,
)
def test_what_is_refused(k, words):
    with pytest.raises(ValueError, match=words):
        k(["ab"])


def test_a_machine_finds_its_alphabet():
    X = ["abab", "baba", "ababab", "ccdd", "dcdc", "cdcdcd"]
    machine = KernelSVC(Mismatch(3, 1).normalize(), lam=0.01).fit(X, [1, 1, 1, 2, 2, 2])
    assert machine.kernel_.kernel.alphabet == "abcd"
    assert machine.predict(["abz", "dcdz"]).tolist() == [1, 2]


def test_an_alphabet_of_many_tokens():
    """Its letters are counted once, not once for each other."""
    size = 20_000
    k = Mismatch(2, 1, alphabet=tuple(range(size)))
    # Of two that share a letter: all in that place, the two in the other; of two that share none: two.
    expected = [[2 * size - 1, size, 2], [size, 2 * size - 1, 2], [2, 2, 2 * size - 1]]
    assert np.array_equal(k([[5, 7], [5, 9], [0, size - 1]]), expected)
