"""Local alignments against all of them listed, and against the best one (Smith and Waterman)."""

import math
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mercer
from mercer import KernelRidge, KernelSVC
from mercer.kernels import LocalAlignment, check
from mercer.kernels.strings import alignment
from mercer.testing import check_kernel

DNA = np.array([[3.0, -1, 0.5, -1], [-1, 3, -1, 0.5], [0.5, -1, 3, -1], [-1, 0.5, -1, 3]])
WORDS = ["ACGT", "", "A", "GATTACA", "CATTAGA", "TTTT", "ACG"]


def scores_listed(x, z, S, alphabet, opening, extension):
    """The score of every local alignment: all choices of as many places in x as in z."""

    def cost(places):
        passed = [b - a - 1 for a, b in pairwise(places)]
        return sum(opening + extension * (g - 1) for g in passed if g)

    for size in range(1, min(len(x), len(z)) + 1):
        for i in combinations(range(len(x)), size):
            for j in combinations(range(len(z)), size):
                pairs = sum(S[alphabet.index(x[p])][alphabet.index(z[q])] for p, q in zip(i, j))
                yield pairs - cost(i) - cost(j)


@pytest.fixture(params=["compiled", "numpy"])
def way(request, monkeypatch):
    if request.param == "numpy":
        monkeypatch.setattr(alignment, "_code", lambda name: None)
    return request.param


words = st.lists(st.text("ACGT", max_size=4), min_size=1, max_size=3)
costs = st.floats(0, 5)


@settings(deadline=None, max_examples=40)
@given(words, words, costs, costs, st.floats(0.05, 2))
def test_all_listed(X, Z, opening, extension, beta):
    kernel = LocalAlignment(DNA, "ACGT", opening, extension, beta)
    expected = [
        [1 + sum(math.exp(beta * s) for s in scores_listed(x, z, DNA, "ACGT", opening, extension)) for z in Z]
        for x in X
    ]
    assert np.allclose(kernel(X, Z), expected, rtol=1e-11)
    K = kernel(X)
    assert np.array_equal(K, K.T) and np.allclose(np.diag(K), kernel.diag(X), rtol=1e-13)


def test_scores_beyond_what_logarithms_hold_are_refused():
    for kernel in (LocalAlignment(1e308 * np.eye(2), "ab", beta=100), LocalAlignment(np.eye(2), "ab", 1e101)):
        with pytest.raises(ValueError, match="beta times scores and costs must be below"):
            kernel.normalize()(["ab"])


def test_all_listed_by_numpy(monkeypatch):
    monkeypatch.setattr(alignment, "_code", lambda name: None)
    test_all_listed()


def test_best_alignment(way):
    """log k / β tends to the largest score."""
    kernel = LocalAlignment(DNA, "ACGT", 2.0, 1.0, beta=200.0, log=True)
    for x, z in (("GATTACA", "CATTAGA"), ("ACGT", "TTTT"), ("ACG", "AG")):
        best = max(0.0, *scores_listed(x, z, DNA, "ACGT", 2.0, 1.0))
        assert abs(kernel([x], [z])[0, 0] - best) < 0.05


def test_logarithms_where_floats_overflow(way):
    x = "ACGT" * 15
    kernel = LocalAlignment(DNA, "ACGT", 11.0, 1.0, beta=5.0)
    with pytest.raises(ValueError, match="too large for a float.*normalize"):
        kernel([x])
    log = kernel.replace(log=True)
    assert np.allclose(kernel.normalize()([x, "A"])[0, 0], 1)
    assert 180 < log([x])[0, 0] < 180.1  # 60 letters of score 3, and other alignments
    small = [x[:40], x[:30]]
    assert np.allclose(5 * log(small), np.log(kernel(small)), rtol=1e-12)


def test_both_ways_of_adding_up_agree(monkeypatch):
    X = ["GATTACA" * 12, "CATTAGA" * 11]
    kernel = LocalAlignment(DNA, "ACGT", 2.0, 0.5, 0.7, log=True)
    K = kernel(X)
    monkeypatch.setattr(alignment, "_code", lambda name: None)
    assert np.allclose(kernel(X), K, rtol=1e-13)


def test_laws_and_when_it_is_a_kernel():
    kernel = LocalAlignment(DNA, "ACGT", 2.0, 0.5, 0.3)
    assert "positive semidefinite" in kernel.rule()
    check_kernel(kernel, WORDS)
    check_kernel(kernel.normalize(), WORDS)
    swapped = LocalAlignment([[0.0, 3.0], [3.0, 0.0]], "AB", beta=1.0)
    assert swapped.rule() is None
    verdict = check(swapped, ["A", "B"])
    assert not verdict.ok and verdict.by == "witness"
    assert kernel.replace(log=True).rule() is None


def test_any_letters():
    S = np.array([[2.0, -1.0], [-1.0, 2.0]])
    text = LocalAlignment(S, "äö", 1.0, 1.0, 1.0)(["äöä", "öä"])
    assert np.array_equal(text, LocalAlignment(S, b"ab", 1.0, 1.0, 1.0)([b"aba", b"ba"]))
    tokens = LocalAlignment(S, ["to", "be"], 1.0, 1.0, 1.0)
    assert np.array_equal(text, tokens([["to", "be", "to"], ["be", "to"]]))


@pytest.mark.parametrize(
    "X, words",
    [([None], "missing"), (["AXC"], "'X', which is not in the alphabet"), ([b"AC"], "strings are bytes")],
)
def test_strings_refused(X, words):
    with pytest.raises(ValueError, match=f"LocalAlignment.*{words}"):
        LocalAlignment(DNA, "ACGT")(X)


@pytest.mark.parametrize(
    "change, words",
    [
        ({"scores": DNA[:3]}, "4×4 for the 4 letters"),
        ({"scores": [[1.0], [1.0, 2.0]]}, "4×4 for the 4 letters"),
        ({"scores": "AC"}, "must hold finite numbers"),
        ({"alphabet": [["A"], ["C"]]}, "tokens are text"),
        ({"scores": DNA + np.arange(4)}, "symmetric"),
        ({"scores": DNA * np.nan}, "finite"),
        ({"alphabet": "AACG"}, "twice"),
        ({"alphabet": ""}, "alphabet must have letters"),
        ({"alphabet": 4}, "alphabet must be text"),
        ({"opening": -1.0}, "opening"),
        ({"beta": 0.0}, "beta"),
        ({"log": "yes"}, "log must be True or False"),
    ],
)
def test_parameters_refused(change, words):
    with pytest.raises(ValueError, match=words):
        LocalAlignment(DNA, "ACGT").replace(**change)(["A"])


def test_machines(tmp_path):
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("ACGT"), 3)) + ("GATTACA" if i % 2 else "CCGGCC") for i in range(30)]
    y = np.arange(30) % 2
    kernel = LocalAlignment(DNA, "ACGT", 4.0, 1.0, 0.3).normalize()
    machine = KernelSVC(kernel).fit(X[:20], y[:20])
    assert (machine.predict(X[20:]) == y[20:]).all()
    mercer.save(machine, tmp_path / "machine.mercer")
    again = mercer.load(tmp_path / "machine.mercer")
    assert np.array_equal(again.decision_function(X), machine.decision_function(X))
    ridge = KernelRidge(kernel, lam=1e-3).fit(X[:20], y[:20])
    assert np.abs(ridge.predict(X[20:]) - y[20:]).max() < 0.5
