"""Gap-weighted subsequences against all of them listed, and against exact fractions."""

import math
from collections import defaultdict
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import GridSearchCV

import mercer
from mercer import KernelRidge, KernelSVC
from mercer.engines import Tiled
from mercer.kernels import Gaussian, MeanEmbedding, Subsequence, check, columns
from mercer.kernels.strings import subsequence
from mercer.kernels.strings.letters import letters
from mercer.testing import check_kernel

DNA = ["ACGTACGT", "ACGT", "TTTTTTT", "", "A", "GATTACA", "CATTAGA", "ACGTTGCAACGTA"]


def listed(x, length, decay):
    """{subsequence: Σ λ^stretch}, by listing every choice of places."""
    out = defaultdict(int)
    for places in combinations(range(len(x)), length):
        out[tuple(x[i] for i in places)] += decay ** (places[-1] - places[0] + 1)
    return out


def by_listing(x, z, length, decay, blended=False):
    total = 0
    for q in range(1 if blended else length, length + 1):
        a, b = listed(x, q, decay), listed(z, q, decay)
        total += sum(a[u] * b[u] for u in a if u in b)
    return total


def exactly(x, z, length, decay):
    """The same by the definition's recursion, in whatever numbers `decay` is one of."""
    M = [[int(a == b) for b in z] for a in x]
    for _ in range(length - 1):
        D = [[0] * (len(z) + 1) for _ in range(len(x) + 1)]
        for i in range(len(x)):
            for j in range(len(z)):
                before = decay * (D[i][j + 1] + D[i + 1][j]) - decay * decay * D[i][j]
                D[i + 1][j + 1] = M[i][j] + before
        M = [[D[i][j] if a == b else 0 for j, b in enumerate(z)] for i, a in enumerate(x)]
    return sum(map(sum, M)) * decay ** (2 * length)


def root(number):
    """√ of a fraction, good to 50 digits."""
    scale = 10**50
    while number * scale < 10**50:
        scale *= scale
    return Fraction(math.isqrt(int(number * scale * scale)), scale)


@pytest.fixture(params=["compiled", "numpy"])
def way(request, monkeypatch):
    if request.param == "numpy":
        monkeypatch.setattr(subsequence, "_code", lambda name: None)
    return request.param


def test_cat_car_bat(way):
    """The example of Lodhi et al. (2002), section 3, with λ = 0.5."""
    lam = 0.5
    K = Subsequence(2, lam)(["cat", "car", "bat", "bar"])
    own, shared = 2 * lam**4 + lam**6, lam**4
    expected = [
        [own, shared, shared, 0],
        [shared, own, 0, shared],
        [shared, 0, own, shared],
        [0, shared, shared, own],
    ]
    assert np.allclose(K, expected, rtol=1e-15)
    assert np.isclose(Subsequence(2, lam).normalize()(["cat"], ["car"])[0, 0], 1 / (2 + lam**2))


def test_science_is_organized_knowledge():
    """From the same paper, its longer example.

    For single letters it prints the value of two; the cosine of the counts of letters is 0.849.
    """
    s, t = "science is organized knowledge", "wisdom is organized life"
    published = {1: 0.849, 2: 0.580, 3: 0.478, 4: 0.439, 5: 0.406, 6: 0.370}
    for length, value in published.items():
        assert abs(Subsequence(length, 0.5).normalize()([s], [t])[0, 0] - value) < 1e-3


words = st.lists(st.text("abc", max_size=8), min_size=1, max_size=5)


@settings(deadline=None)
@given(words, words, st.integers(1, 4), st.floats(0.01, 1.0), st.booleans())
def test_all_listed(X, Z, length, decay, blended):
    kernel = Subsequence(length, decay, blended)
    expected = [[by_listing(x, z, length, decay, blended) for z in Z] for x in X]
    assert np.allclose(kernel(X, Z), expected, rtol=1e-12)
    own = [by_listing(x, x, length, decay, blended) for x in X]
    assert np.allclose(kernel.diag(X), own, rtol=1e-12)
    assert np.allclose(np.diag(kernel(X)), own, rtol=1e-12)
    assert np.array_equal(kernel(X), kernel(X).T)


def test_all_listed_by_numpy(monkeypatch):
    monkeypatch.setattr(subsequence, "_code", lambda name: None)
    test_all_listed()


def test_many_strings_of_all_lengths(way):
    """More than are compared at a time, on either side."""
    rng = np.random.default_rng(0)
    X, Z = (["".join(rng.choice(list("abc"), size)) for size in rng.integers(0, 12, n)] for n in (45, 37))
    kernel = Subsequence(3, 0.6)
    expected = np.array([[float(exactly(x, z, 3, 0.6)) for z in Z] for x in X])
    for rows, width in ((45, 37), (45, 3), (2, 37), (1, 1)):
        part = kernel(X[:rows], Z[:width])
        assert np.allclose(part, expected[:rows, :width], rtol=1e-12, atol=1e-15)
    own = np.array([[float(exactly(x, z, 3, 0.6)) for z in X] for x in X])
    assert np.allclose(kernel(X), own, rtol=1e-12, atol=1e-15)
    assert np.allclose(kernel.diag(X), np.diag(own), rtol=1e-12, atol=1e-15)


def test_prepared_points_give_the_same():
    kernel = Subsequence(2, 0.7)
    P = kernel.prepared(kernel.points(DNA))
    assert letters(P) is P
    assert np.array_equal(kernel.pairwise(P, P), kernel(DNA))
    assert np.array_equal(kernel.pairwise(P[2:5], P), kernel(DNA[2:5], DNA))
    assert np.array_equal(kernel.diagonal(P), kernel.diag(DNA))


# -- numbers beyond floats ---------------------------------------------------------------------------


def of_blocks(n, m, length, decay):
    """Σ λ^stretch of aⁱbʲ, i + j = length, in aⁿbᵐ: from how far the first a and the last b are out."""

    p, q = Fraction(decay).as_integer_ratio()

    def half(size, count):
        terms = (math.comb(w - 1, count - 1) * p**w * q ** (size - w) for w in range(1, size + 1))
        return Fraction(sum(terms), q**size)

    def alone(size):
        spread = range(length, size + 1)
        terms = ((size - w + 1) * math.comb(w - 2, length - 2) * p**w * q ** (size - w) for w in spread)
        return Fraction(sum(terms), q**size)

    return [alone(m), *(half(n, i) * half(m, length - i) for i in range(1, length)), alone(n)]


@pytest.mark.parametrize(
    "length, decay, size",
    [(200, 1, 300), (200, Fraction(15, 16), 300), (100, Fraction(1, 1024), 120), (3, 1, 300)],
)
def test_normalised_where_values_are_no_floats(length, decay, size):
    """Too many subsequences, or so long ones that λ to their lengths is nothing."""
    sizes = [(size, size), (size - 50, size - 30)]
    with np.errstate(all="raise", under="ignore"):
        N = Subsequence(length, float(decay)).normalize()(["a" * n + "b" * m for n, m in sizes])
    F = [of_blocks(n, m, length, decay) for n, m in sizes]
    for i, f in enumerate(F):
        for j, g in enumerate(F):
            inner, a, b = (Fraction(sum(p * q for p, q in zip(u, v))) for u, v in ((f, g), (f, f), (g, g)))
            assert abs(N[i, j] - float(inner / root(a * b))) < 1e-12


def test_large_values_are_binomials():
    """With λ = 1, a string of n equal letters has C(n, p) equal subsequences."""
    n, p = 400, 70
    with np.errstate(all="raise"):
        K = Subsequence(p, 1.0)(["a" * n, "a" * (n - 9)])
    expected = [[math.comb(a, p) * math.comb(b, p) for b in (n, n - 9)] for a in (n, n - 9)]
    assert np.allclose(K / np.array(expected, float), 1, rtol=1e-11)


def test_numbers_on_the_way_may_be_larger_than_the_value():
    """k is 1·λ^{2n} where a string is its only subsequence; tables in between hold squares of binomials."""
    n = 560
    x = "a" * n
    assert np.allclose(Subsequence(n, 1.0)([x]), 1)
    assert np.allclose(Subsequence(n - 1, 1.0)([x]), n * n)


@pytest.mark.parametrize("size, length, decay, word", [(560, 300, 1.0, "large"), (150, 120, 0.001, "small")])
def test_what_is_no_float_is_refused(size, length, decay, word):
    kernel, X = Subsequence(length, decay), ["a" * size]
    with pytest.raises(ValueError, match=rf"too {word} for a float.*normalize"):
        kernel(X)
    with pytest.raises(ValueError, match=rf"too {word} for a float"):
        kernel.diag(X)
    assert np.allclose(kernel.normalize()(X), 1)
    assert np.array_equal(kernel.normalize().diag(["a" * size, "ab"]), [1, 0])


def test_small_but_no_smaller_than_floats():
    """Far gaps underflow to 0 beside values that do not; that is rounding, and no error."""
    kernel = Subsequence(2, 0.01)
    K = kernel(["a" + "b" * 300 + "c", "ac", "a" + "d" * 300 + "c"])
    assert K[0, 1] == K[0, 2] == 0 and np.isclose(K[1, 1], 1e-8)


def test_any_size_by_python_too(monkeypatch):
    x, kernel = "ab" * 20, Subsequence(12, 0.9)
    every = [np.arange(1), np.arange(1)]
    X = letters([x])
    t, u = kernel._of_any_size(X, X, *every)
    expected = float(exactly(x, x, 12, Fraction(9, 10)) / Fraction(9, 10) ** 24)
    assert np.isclose(t[0] * 2.0 ** (512 * int(u[0])), expected, rtol=1e-12)
    monkeypatch.setattr(subsequence, "_code", lambda name: None)
    again = kernel._of_any_size(X, X, *every)
    assert np.allclose(again[0], t, rtol=1e-13) and again[1] == u


# -- as a kernel -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kernel",
    [
        Subsequence(),
        Subsequence(1, 1.0),
        Subsequence(2, 0.3, blended=True),
        Subsequence(3, 0.8).normalize(),
        Subsequence(2, 0.9) + 0.5 * Subsequence(1, 0.9),
    ],
)
def test_laws(kernel):
    check_kernel(kernel, DNA)
    assert check(kernel).by == "rule"


def test_any_letters():
    kernel = Subsequence(2, 0.5)
    text = kernel(["äöü😀", "ä😀"])
    assert np.array_equal(text, kernel([b"abcd", b"ad"]))
    assert np.array_equal(text, kernel([["one", "two", "three", "four"], ["one", "four"]]))
    assert np.array_equal(text, kernel([(1, 2, 3, 4), (1, 4)]))
    assert text[0, 1] == 0.5 ** (4 + 2)


def test_short_and_empty_strings():
    for kernel in (Subsequence(2, 0.5), Subsequence(2, 0.5).normalize()):
        assert not kernel(["", "a"]).any()
    assert Subsequence(2, 0.5, blended=True)(["", "a"]).tolist() == [[0, 0], [0, 0.25]]
    assert Subsequence(2).pairwise(letters([]), letters(["ab"])).shape == (0, 1)


@pytest.mark.parametrize(
    "X, words", [([None, "a"], "missing"), ([1.5], "float"), (["a", b"a"], "one kind"), ("abc", "a list of")]
)
def test_what_is_no_string_is_refused(X, words):
    with pytest.raises(ValueError, match=f"Subsequence.*{words}"):
        Subsequence()(X)


@pytest.mark.parametrize(
    "kernel, words",
    [
        (Subsequence(0), "length must be a whole number"),
        (Subsequence(2.5), "length must be a whole number"),
        (Subsequence(2, 0.0), "decay must be above 0"),
        (Subsequence(2, 1.1), "decay must be above 0"),
        (Subsequence(2, "a"), "decay must be above 0"),
        (Subsequence(2, 0.5, "yes"), "blended must be True or False"),
    ],
)
def test_parameters_out_of_range(kernel, words):
    with pytest.raises(ValueError, match=words):
        kernel(["ab"])


# -- machines ----------------------------------------------------------------------------------------


def words_with_a_motif(n=60):
    """Strings with "gat" in them, its letters up to one apart, or not."""
    rng = np.random.default_rng(3)
    X, y = [], []
    for i in range(n):
        word = "".join(rng.choice(list("xyz"), 12))
        at = rng.integers(9)
        if i % 2:
            word = word[:at] + ("gat" if i % 4 == 1 else "g" + word[at] + "at") + word[at:]
        X.append(word)
        y.append(i % 2)
    return X, np.array(y)


def test_machines_learn_from_strings(tmp_path):
    X, y = words_with_a_motif()
    machine = KernelSVC(Subsequence(3, 0.6).normalize()).fit(X[:40], y[:40])
    assert (machine.predict(X[40:]) == y[40:]).all()
    mercer.save(machine, tmp_path / "machine.mercer")
    again = mercer.load(tmp_path / "machine.mercer")
    assert np.array_equal(again.decision_function(X), machine.decision_function(X))
    ridge = KernelRidge(Subsequence(3, 0.6), lam=1e-6).fit(X[:40], y[:40])
    assert np.mean((ridge.predict(X[40:]) - y[40:]) ** 2) < 0.05
    K = Subsequence(3, 0.6)(X[:40])
    centred = ridge.predict(X[:40])
    c = np.linalg.solve(
        np.block([[K + 40 * 1e-6 * np.eye(40), np.ones((40, 1))], [np.ones((1, 40)), np.zeros((1, 1))]]),
        np.append(y[:40], 0),
    )
    assert np.allclose(centred, K @ c[:40] + c[40], atol=1e-6)


def test_search_over_its_parameters():
    X, y = words_with_a_motif(40)
    grid = {"kernel__kernel__length": [2, 3], "kernel__kernel__decay": [0.3, 0.8]}
    search = GridSearchCV(KernelSVC(Subsequence(2).normalize()), grid, cv=2).fit(X, y)
    assert search.best_score_ > 0.9


def test_norms_are_found_once(monkeypatch):
    """Of points that meet others again and again, as those of a machine do."""
    X = ["".join(np.random.default_rng(i).choice(list("ab"), 7)) for i in range(20)]
    kernels = [
        Subsequence(2).normalize(),
        MeanEmbedding(Subsequence(2).normalize()),
        (MeanEmbedding(Gaussian(1.0)) * 4.0).exp().normalize(),
        columns("a", Subsequence(2).normalize()) + columns("b", Gaussian(2.0)),
    ]
    sets, rows = [X[i : i + 3] for i in range(18)], [{"a": x, "b": 1.0 * i} for i, x in enumerate(X)]
    numbers = [np.arange(i + 1.0)[:, None] for i in range(18)]
    for kernel, points in zip(kernels, (X, sets, numbers, rows), strict=True):
        points, whole = kernel.points(points), kernel(points)
        A = Tiled().operator(kernel, points)
        new = kernel.prepared(points[:3])
        with monkeypatch.context() as patch:
            patch.setattr(Subsequence, "norms", None)
            patch.setattr(MeanEmbedding, "diagonal", None)
            assert np.allclose(A.facing(new).dense(), whole[:3]) and np.allclose(A.dense(), whole)
            assert np.allclose(A.among(np.array([4, 1])) @ np.ones(len(points)), whole[[4, 1]].sum(axis=1))
