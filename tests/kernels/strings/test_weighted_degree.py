"""The weighted degree kernel against its sums."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer import KernelSVC
from mercer.kernels import Spectrum, WeightedDegree, check
from mercer.testing import check_kernel

strings = st.lists(st.text("abé", max_size=8), min_size=1, max_size=5)


def brute(X, D, S):
    def value(x, z):
        total = 0.0
        for d in range(1, D + 1):
            for i in range(len(x) - d + 1):
                for j in range(len(z) - d + 1):
                    if x[i : i + d] == z[j : j + d] and abs(i - j) <= S:
                        total += 2 * (D - d + 1) / (D * (D + 1)) * (S + 1 - abs(i - j)) / (S + 1)
        return total

    return np.array([[value(x, z) for z in X] for x in X])


@settings(deadline=None, max_examples=150)
@given(X=strings, D=st.integers(1, 5), S=st.integers(0, 3))
def test_substrings_at_places(X, D, S):
    k, expected = WeightedDegree(D, S), brute(X, D, S)
    np.testing.assert_allclose(k(X), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(k.diag(X), np.diag(expected), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(k([list(x) for x in X]), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(k([x.encode("latin-1") for x in X]), expected, rtol=1e-12, atol=1e-12)


def test_worked_examples():
    # Degree 3: weights 1/2, 1/3, 1/6. The first three letters agree, and so does the last one.
    assert WeightedDegree(3)(["ACGTT"], ["ACGAT"])[0, 0] == pytest.approx(4 / 2 + 2 / 3 + 1 / 6)
    # One place further on in the other string: half of what it is in the same place.
    assert WeightedDegree(3, 1)(["ACG"], ["TACG"])[0, 0] == pytest.approx((3 / 2 + 2 / 3 + 1 / 6) / 2)
    assert WeightedDegree(3)(["ACG"], ["TACG"])[0, 0] == 0


def test_strings_are_aligned_at_their_first_letters():
    assert WeightedDegree(1)(["ab"], ["abab", "bab", "", "a"]).tolist() == [[2, 0, 0, 1]]


def test_many_shifts_come_close_to_the_spectrum_kernel():
    X = ["abc", "bca", "cabb"]
    np.testing.assert_allclose(WeightedDegree(1, 10**4)(X), Spectrum(1)(X), rtol=1e-3)


@pytest.mark.parametrize("D, S", [(1, 0), (3, 0), (3, 2)])
def test_every_feature_is_spelled(D, S):
    k = WeightedDegree(D, S)
    X = k.points(["abca", "bcab", "", "a"])
    words = k.spelled(X)
    assert set(words) == set(k.counts(X).vocabulary.tolist())
    assert len(set(words.values())) == len(words) if S == 0 else True
    first = k.counts(X[3:])
    spelled = {words[u] for u in first.ids.tolist()}
    assert spelled == ({"a at 0"} if S == 0 else {"a at 0–0", "a at 0–1", "a at 0–2"})


def test_places_of_spelled_features():
    k = WeightedDegree(2)
    X = k.points(["abab"])
    assert sorted(k.spelled(X).values()) == [
        "a at 0", "a at 2", "ab at 0", "ab at 2", "b at 1", "b at 3", "ba at 1",
    ]  # fmt: skip


def test_laws():
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("ACGT"), size=n)) for n in (0, 1, *rng.integers(2, 15, 20))]
    for k in (WeightedDegree(1), WeightedDegree(4), WeightedDegree(3, 2), WeightedDegree(5, 1).normalize()):
        check_kernel(k, X)
    assert check(WeightedDegree()).by == "rule"


def test_features_made_in_parts_are_the_same(monkeypatch):
    rng = np.random.default_rng(1)
    X = ["".join(rng.choice(list("ACGT"), size=n)) for n in rng.integers(0, 30, 40)]
    K = WeightedDegree(4, 2)(X)
    monkeypatch.setattr("mercer.kernels.counts._IN_PART", 300)
    assert WeightedDegree(4, 2)(X).tolist() == K.tolist()


@pytest.mark.parametrize(
    "k, words",
    [
        (WeightedDegree(0), "degree must be a whole number of at least 1"),
        (WeightedDegree(2.0), "degree must be a whole number"),
        (WeightedDegree(2, -1), "shifts must be a whole number of at least 0"),
        (WeightedDegree(2, True), "shifts must be a whole number"),
    ],
    ids=repr,
)
def test_what_is_refused(k, words):
    with pytest.raises(ValueError, match=words):
        k(["ab"])
    with pytest.raises(ValueError, match="WeightedDegree takes text"):
        WeightedDegree()(["ab", None])


def test_a_machine_learns_places():
    X = ["aabbb", "aabab", "aaaab", "bbaab", "bbbab", "bbaaa"]
    machine = KernelSVC(WeightedDegree(3), lam=0.01).fit(X, [1, 1, 1, 2, 2, 2])
    assert machine.predict(["aabaa", "bbbbb"]).tolist() == [1, 2]
