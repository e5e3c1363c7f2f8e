"""The spectrum kernel against lists of substrings."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer import KernelSVC
from mercer.kernels import Spectrum, check
from mercer.testing import check_kernel

strings = st.lists(st.text("abé😀", max_size=9), min_size=1, max_size=6)


def grams(x, lengths):
    return Counter((n, x[i : i + n]) for n in lengths for i in range(len(x) - n + 1))


def brute(X, lengths):
    found = [grams(x, lengths) for x in X]
    return np.array([[sum(c * b[u] for u, c in a.items()) for b in found] for a in found], float)


@settings(deadline=None, max_examples=100)
@given(X=strings, length=st.integers(1, 4), blended=st.booleans())
def test_counts_of_substrings(X, length, blended):
    lengths = range(1, length + 1) if blended else [length]
    k = Spectrum(length, blended)
    expected = brute(X, lengths)
    assert k(X).tolist() == expected.tolist()
    assert k.diag(X).tolist() == np.diag(expected).tolist()
    assert k([list(x) for x in X]).tolist() == expected.tolist()
    as_bytes = [x.replace("😀", "c").encode("latin-1") for x in X]
    assert k(as_bytes).tolist() == expected.tolist()


def test_worked_examples():
    # Shawe-Taylor and Cristianini's table: bar, bat, car, cat share one substring of two letters, or none.
    words = ["bar", "bat", "car", "cat"]
    assert Spectrum(2)(words).tolist() == [[2, 1, 1, 0], [1, 2, 0, 1], [1, 0, 2, 1], [0, 1, 1, 2]]
    assert Spectrum(3)(["statistics"], ["computation"]).tolist() == [[2.0]]  # tat, ati


def test_short_strings_have_no_features():
    X = ["", "a", "ab", "abc"]
    assert Spectrum(3)(X).tolist() == np.diag([0, 0, 0, 1]).tolist()
    assert Spectrum(3).normalize()(X).tolist() == np.diag([0, 0, 0, 1]).tolist()


@settings(deadline=None, max_examples=40)
@given(X=strings, length=st.integers(1, 3), blended=st.booleans())
def test_every_feature_is_spelled(X, length, blended):
    k = Spectrum(length, blended)
    points = k.points(X)
    words, found = k.spelled(points), k.counts(points)
    assert set(words) == set(found.vocabulary.tolist())
    lengths = range(1, length + 1) if blended else [length]
    for i, x in enumerate(X):
        here = slice(*found.starts[i : i + 2])
        pairs = zip(found.ids[here].tolist(), found.values[here], strict=True)
        assert {words[u]: c for u, c in pairs} == {u: c for (_, u), c in grams(x, lengths).items()}


def test_laws():
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("ACGT"), size=n)) for n in (0, 1, *rng.integers(2, 15, 20))]
    for k in (
        Spectrum(1),
        Spectrum(2),
        Spectrum(3, True),
        Spectrum(2).normalize(),
        2 * Spectrum(1) + Spectrum(2),
    ):
        check_kernel(k, X)
    assert check(Spectrum(2)).by == "rule"


@pytest.mark.parametrize("length", [0, -1, 1.5, True, "3", None])
def test_a_length_is_a_count(length):
    with pytest.raises(ValueError, match="Spectrum: length must be a whole number"):
        Spectrum(length)(["ab"])


def test_blended_is_a_flag():
    with pytest.raises(ValueError, match="blended must be True or False"):
        Spectrum(2, 1)(["ab"])


def test_a_machine_learns_strings():
    X = ["abab", "baba", "ababab", "ccdd", "dcdc", "cdcdcd"]
    machine = KernelSVC(Spectrum(2), lam=0.01).fit(X, [1, 1, 1, 2, 2, 2])
    assert machine.predict(["aba", "dcd"]).tolist() == [1, 2]
