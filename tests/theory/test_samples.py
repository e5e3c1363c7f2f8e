"""Two-sample and independence tests, against their definitions, exact enumeration, and what must be true."""

from itertools import combinations, permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.stats import binom, kstest

from mercer.engines import Engine
from mercer.kernels import (
    Finite,
    FunctionKernel,
    Gaussian,
    Laplacian,
    Linear,
    MeanEmbedding,
    Polynomial,
    Spectrum,
)
from mercer.kernels.door import NotAKernel
from mercer.theory import HSICTest, MMDTest, hsic_test, mmd_test, samples

RNG = np.random.default_rng(0)
REPETITIONS, EXCHANGES = 1000, 99
NAMES = Path(__file__).resolve().parents[3] / "shared" / "data" / "text" / "names_nationality.npz"


def unbiased_mmd(K, first):
    """From sums over all pairs, one by one."""
    others = [i for i in range(len(K)) if i not in first]
    n, m = len(first), len(others)
    xx = sum(K[i, j] for i in first for j in first if i != j) / (n * (n - 1))
    yy = sum(K[i, j] for i in others for j in others if i != j) / (m * (m - 1))
    return xx + yy - 2 * sum(K[i, j] for i in first for j in others) / (n * m)


def biased_mmd(K, first):
    others = [i for i in range(len(K)) if i not in first]
    means = [K[np.ix_(a, b)].mean() for a, b in ((first, first), (others, others), (first, others))]
    return means[0] + means[1] - 2 * means[2]


points = st.lists(st.lists(st.integers(-4, 4), min_size=2, max_size=2), min_size=2, max_size=5)
words = st.lists(st.text("ab", max_size=4), min_size=2, max_size=5)
kernels = st.sampled_from([Gaussian(2.0), Linear(), Polynomial(2, 1.0), Laplacian(1.5)])


@settings(max_examples=40, deadline=None)
@given(points, points, kernels)
def test_mmd_is_what_it_is(X, Y, kernel):
    K, first = kernel(np.array(X + Y, float)), list(range(len(X)))
    size = np.abs(K).max() + 1
    for estimator, expected in (("unbiased", unbiased_mmd(K, first)), ("biased", biased_mmd(K, first))):
        found = mmd_test(X, Y, kernel, estimator=estimator, n_permutations=20)
        assert np.isclose(found.statistic, expected, atol=1e-12 * size)
        every = [
            (unbiased_mmd if estimator == "unbiased" else biased_mmd)(K, list(part))
            for part in combinations(range(len(K)), len(X))
        ]
        assert all(np.isclose(every, value, atol=1e-12 * size).any() for value in found.null)
        assert found.p_value == (1 + np.sum(found.null >= found.statistic)) / 21


@settings(max_examples=30, deadline=None)
@given(words, words)
def test_mmd_of_strings(X, Y):
    K = Spectrum(2, blended=True)(X + Y)
    found = mmd_test(X, Y, Spectrum(2, blended=True), n_permutations=5)
    assert np.isclose(found.statistic, unbiased_mmd(K, list(range(len(X)))), atol=1e-10)


def test_p_values_are_those_of_all_exchanges():
    X, Y = RNG.standard_normal((4, 1)), RNG.standard_normal((5, 1)) + 1.0
    K = Gaussian(1.0)(np.vstack([X, Y]))
    every = np.array([unbiased_mmd(K, list(part)) for part in combinations(range(9), 4)])
    exact = np.mean(every >= every[0] - 1e-12)
    p = mmd_test(X, Y, Gaussian(1.0), n_permutations=20_000).p_value
    assert abs(p - exact) < 4 * np.sqrt(exact * (1 - exact) / 20_000) + 1e-4


def test_the_witness():
    X, Y = RNG.standard_normal((30, 2)), RNG.standard_normal((20, 2)) + [1.0, 0.0]
    found = mmd_test(X, Y, estimator="biased", n_permutations=10)
    k = found.kernel
    Z = RNG.standard_normal((7, 2))
    assert np.allclose(found.witness(Z), k(Z, X).mean(axis=1) - k(Z, Y).mean(axis=1))
    assert np.isclose(found.witness.squared_norm(), found.statistic)
    assert np.isclose(found.statistic, MeanEmbedding(k).squared_distance([X], [Y])[0, 0])
    left, right = found.witness([[-1.0, 0.0], [2.0, 0.0]])
    assert left > 0 > right


def test_the_width_comes_from_both_samples():
    X, Y = RNG.standard_normal((30, 2)), 5 * RNG.standard_normal((20, 2))
    expected = Gaussian().resolve(np.vstack([X, Y]))
    assert mmd_test(X, Y, n_permutations=1).kernel == mmd_test(Y, X, n_permutations=1).kernel == expected
    many = RNG.standard_normal((1500, 1))
    widths = [
        mmd_test(*np.split(many[order], 2), n_permutations=1).kernel for order in (..., RNG.permutation(1500))
    ]
    assert widths[0] == widths[1]  # although it is found from 1000 of the points


def test_linear_time():
    X, Y = RNG.standard_normal((11, 2)), RNG.standard_normal((9, 2))
    found = mmd_test(X, Y, Gaussian(1.0), estimator="linear", random_state=3)
    assert len(found.null) == 0 and "normal approximation" in str(found)
    rng = np.random.default_rng(3)
    a, b = X[rng.permutation(11)[:8]], Y[rng.permutation(9)[:8]]

    def k(x, z):
        return np.exp(-((x - z) ** 2).sum() / 2)

    terms = [k(a[i], a[i + 4]) + k(b[i], b[i + 4]) - k(a[i], b[i + 4]) - k(a[i + 4], b[i]) for i in range(4)]
    assert np.isclose(found.statistic, np.mean(terms))
    whole = [
        mmd_test(X, Y, Gaussian(1.0), estimator="linear", random_state=seed).statistic for seed in range(2000)
    ]
    assert np.isclose(np.mean(whole), mmd_test(X, Y, Gaussian(1.0)).statistic, atol=4 * np.std(whole) / 44)
    strings = mmd_test(
        ["ab", "abab", "aab", "b"] * 3, ["bb", "ba", "bbb", "a"] * 3, Spectrum(1), estimator="linear"
    )
    assert 0 <= strings.p_value <= 1


def test_linear_time_where_nothing_varies():
    same = np.zeros((6, 1))
    assert mmd_test(same, same, estimator="linear").p_value == 1.0
    assert mmd_test(same, same + 1, Gaussian(1.0), estimator="linear").p_value == 0.5 ** (len(same) // 2)


def test_equal_points_are_ties_whatever_rounding_does():
    X = np.repeat([[0.1], [0.7]], 3, axis=0)
    for estimator in ("unbiased", "biased"):
        assert mmd_test(X, X, estimator=estimator).p_value == 1.0
        assert mmd_test(np.zeros((5, 1)), np.zeros((4, 1)), estimator=estimator).p_value == 1.0
        assert hsic_test(np.ones((9, 1)), RNG.random((9, 1)), estimator=estimator).p_value == 1.0


def in_halves(p):
    """Uniform numbers from uniform ranks."""
    return p - np.random.default_rng(9).random(len(p)) / (EXCHANGES + 1)


def assert_uniform(p):
    p = np.array(p)
    for level in (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9):
        low, high = binom.ppf([1e-4, 1 - 1e-4], len(p), level)
        assert low <= np.sum(p <= level) <= high, level
    assert kstest(in_halves(p), "uniform").pvalue > 0.01


@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
def test_p_values_of_mmd_are_uniform_where_nothing_is_to_be_found(estimator):
    rng = np.random.default_rng(1)
    p = []
    for i in range(REPETITIONS):
        X, Y = rng.exponential(size=(12, 1)), rng.exponential(size=(9, 1))
        p.append(
            mmd_test(
                X, Y, estimator=estimator, n_permutations=EXCHANGES, random_state=i, engine=Engine()
            ).p_value
        )
    assert_uniform(p)


def test_p_values_in_linear_time_are_uniform_for_many_points():
    rng = np.random.default_rng(2)
    p = [
        mmd_test(*rng.standard_normal((2, 400, 1)), Gaussian(1.0), estimator="linear", random_state=i).p_value
        for i in range(REPETITIONS)
    ]
    assert kstest(p, "uniform").pvalue > 0.01


@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
def test_p_values_of_hsic_are_uniform_where_nothing_is_to_be_found(estimator):
    rng = np.random.default_rng(3)
    p = []
    for i in range(REPETITIONS):
        X, Y = rng.exponential(size=(12, 1)), rng.standard_normal((12, 2))
        p.append(
            hsic_test(
                X, Y, estimator=estimator, n_permutations=EXCHANGES, random_state=i, engine=Engine()
            ).p_value
        )
    assert_uniform(p)


def power(test, draw, repetitions=50):
    """The share of samples in which something is found, at the level of 5%."""
    rng = np.random.default_rng(4)
    return np.mean([test(*draw(rng), n_permutations=199).p_value <= 0.05 for _ in range(repetitions)])


def test_power_of_mmd():
    def shifted(rng):
        return rng.standard_normal((50, 2)), rng.standard_normal((50, 2)) + [0.8, 0.0]

    def spread(rng):
        return rng.standard_normal((60, 1)), 2 * rng.standard_normal((60, 1))

    def in_words(rng):
        return [
            ["".join(rng.choice(["a", "b"], 20, p=p)) for _ in range(30)] for p in ([0.5, 0.5], [0.65, 0.35])
        ]

    assert power(mmd_test, shifted) > 0.9
    assert power(mmd_test, spread) > 0.9
    assert power(lambda X, Y, **kw: mmd_test(X, Y, Spectrum(2).normalize(), **kw), in_words) > 0.9
    # A linear kernel compares means only, and sees nothing of the spread.
    assert power(lambda X, Y, **kw: mmd_test(X, Y, Linear(), **kw), spread) < 0.25

    def many(rng):
        return rng.standard_normal((3000, 1)), 2 * rng.standard_normal((3000, 1))

    assert power(lambda X, Y, **kw: mmd_test(X, Y, estimator="linear", **kw), many) > 0.9


def test_power_of_hsic():
    def parabola(rng):
        x = rng.uniform(-1, 1, (60, 1))
        return x, x**2 + 0.2 * rng.standard_normal((60, 1))

    assert power(hsic_test, parabola) > 0.9
    assert power(lambda X, Y, **kw: hsic_test(X, Y, Linear(), Linear(), **kw), parabola) < 0.25


def test_hsic_between_words_and_numbers():
    rng = np.random.default_rng(5)
    y = rng.random((50, 1))
    X = ["".join(rng.choice(["a", "b"], 15, p=[v, 1 - v])) for v in y[:, 0]]
    assert hsic_test(X, y, Spectrum(1).normalize()).p_value < 0.01
    assert hsic_test(X, y[rng.permutation(50)], Spectrum(1).normalize()).p_value > 0.05


def biased_hsic(K, L):
    n = len(K)
    H = np.eye(n) - 1 / n
    return np.trace(K @ H @ L @ H) / n**2


def unbiased_hsic(K, L):
    """The mean over all four different points, one by one (Gretton et al., 2007, without equal indices)."""
    n = len(K)
    terms = [K[i, j] * (L[i, j] + L[q, r] - 2 * L[i, q]) for i, j, q, r in permutations(range(n), 4)]
    return np.mean(terms)


pairs = st.lists(
    st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.integers(-3, 3)), min_size=4, max_size=6
)


@settings(max_examples=40, deadline=None)
@given(pairs, kernels, kernels)
def test_hsic_is_what_it_is(rows, kernel_x, kernel_y):
    X, Y = np.array(rows, float)[:, :2], np.array(rows, float)[:, 2:]
    K, L = kernel_x(X), kernel_y(Y)
    size = np.abs(K).max() * np.abs(L).max() + 1
    for estimator, brute in (("biased", biased_hsic), ("unbiased", unbiased_hsic)):
        found = hsic_test(X, Y, kernel_x, kernel_y, estimator=estimator, n_permutations=10)
        assert np.isclose(found.statistic, brute(K, L), atol=1e-11 * size)
        orders = [list(p) for p in permutations(range(len(X)))] if len(X) < 6 else []
        every = [brute(K, L[np.ix_(p, p)]) for p in orders] if estimator == "biased" else []
        assert not every or all(np.isclose(every, v, atol=1e-11 * size).any() for v in found.null)
        assert found.p_value == (1 + np.sum(found.null >= found.statistic)) / 11


def test_invariances():
    X, Y = RNG.standard_normal((30, 2)), RNG.standard_normal((25, 2)) + 0.3
    found = mmd_test(X, Y)
    Q = np.linalg.qr(RNG.standard_normal((2, 2)))[0]
    assert np.isclose(mmd_test(X @ Q + 5.0, Y @ Q + 5.0).statistic, found.statistic)  # rotations, shifts
    assert np.isclose(mmd_test(3 * X, 3 * Y).statistic, found.statistic)  # units
    assert np.isclose(mmd_test(X[::-1], Y[::-1]).statistic, found.statistic)  # order
    assert np.isclose(mmd_test(Y, X).statistic, found.statistic)  # who is first
    constant = mmd_test(X, Y, Gaussian(1.0) + 7.0)
    assert np.isclose(constant.statistic, mmd_test(X, Y, Gaussian(1.0)).statistic)
    x, y = X[:25], np.hstack([X[:25, :1] + Y[:, :1], Y])
    found = hsic_test(x, y)
    order = RNG.permutation(25)
    for other in (hsic_test(y, x), hsic_test(x[order], y[order]), hsic_test(x @ Q + 9.0, 2 * y)):
        assert np.isclose(other.statistic, found.statistic)


def test_far_from_the_origin():
    X, Y = RNG.standard_normal((40, 1)), RNG.standard_normal((30, 1)) + 1.0
    near, far = (mmd_test(X + shift, Y + shift, Linear(), n_permutations=200) for shift in (0.0, 1e5))
    assert np.isclose(near.statistic, far.statistic, rtol=1e-3) and near.p_value == far.p_value


def test_seeds_and_many_exchanges(monkeypatch):
    X, Y = RNG.standard_normal((12, 1)), RNG.standard_normal((9, 1))
    a, b = (mmd_test(X, Y, random_state=seed).null for seed in (1, 2))
    assert np.array_equal(a, mmd_test(X, Y, random_state=1).null) and not np.array_equal(a, b)
    rng = np.random.default_rng(1)
    assert np.array_equal(a, mmd_test(X, Y, random_state=rng).null)
    monkeypatch.setattr(samples, "_ENTRIES", 21 * 13)  # exchanges come in parts then
    assert np.allclose(mmd_test(X, Y, random_state=1).null, a)


def test_single_precision_and_other_forms():
    X, Y = RNG.standard_normal((20, 2)).astype(np.float32), RNG.standard_normal((20, 2)).astype(np.float32)
    found, wide = (mmd_test(*both) for both in ((X, Y), (X.astype(float), Y.astype(float))))
    assert found.statistic == wide.statistic and found.p_value == wide.p_value
    assert np.isclose(mmd_test(csr_array(X), csr_array(Y)).statistic, found.statistic, atol=1e-7)
    assert np.isclose(mmd_test(X.tolist(), Y.tolist(), "gaussian").statistic, found.statistic)
    assert hsic_test(X, Y).statistic == hsic_test(X.astype(float), Y.astype(float)).statistic
    K = Gaussian(1.0)(np.vstack([X, Y]).astype(float))
    by_rows = mmd_test(range(20), range(20, 40), Finite(K))
    assert np.isclose(by_rows.statistic, mmd_test(X, Y, Gaussian(1.0)).statistic)
    sets = [RNG.standard_normal((5, 1)) * s for s in (1, 1, 1, 1, 3, 3, 3, 3)]
    assert mmd_test(sets[:4], sets[4:], MeanEmbedding(Gaussian())).n == 4


def test_in_words():
    X, Y = RNG.standard_normal((40, 1)), RNG.standard_normal((30, 1)) + 2.0
    found = mmd_test(X, Y, Gaussian(1.0), n_permutations=1234)
    assert isinstance(found, MMDTest)
    said = str(found).split("\n")
    assert said[0] == "Two samples of 40 and 30 points, Gaussian(sigma=1.0)"
    assert said[1].startswith("MMD² = ") and "p = 0.0008097 (1,234 exchanges): the samples differ" in said[1]
    assert "no difference found" in str(mmd_test(X, X[::-1]))
    assert "null" not in repr(found)
    found = hsic_test(X, X, Gaussian(1.0), Linear(), n_permutations=99)
    assert isinstance(found, HSICTest)
    assert str(found).startswith("40 pairs, Gaussian(sigma=1.0) and Linear()\nHSIC = ")
    assert str(found).endswith("p = 0.01 (99 exchanges): they depend on each other (at the level of 5%)")
    assert "no dependence found" in str(hsic_test(np.ones((5, 1)), X[:5]))


@pytest.mark.parametrize(
    "X, Y, options, words",
    [
        (np.ones((1, 1)), np.ones((5, 1)), {}, "2 points of each sample, got 1 and 5"),
        (np.ones((3, 1)), np.ones((5, 1)), {"estimator": "linear"}, "4 points of each sample, got 3 and 5"),
        (np.ones((3, 1)), np.ones((5, 2)), {}, "1 coordinates on one side and 2 on the other"),
        (np.ones((3, 1)), [[1.0], [np.nan]], {}, "NaN"),
        (np.ones(3), np.ones(3), {}, "reshape"),
        (["a", "b"], ["c", "d"], {}, "Gaussian works on numbers"),
        (np.ones((3, 1)), np.ones((3, 1)), {"estimator": "quadratic"}, "'unbiased', 'biased' or 'linear'"),
        (np.ones((3, 1)), np.ones((3, 1)), {"n_permutations": 0}, "n_permutations"),
        (np.ones((3, 3)), np.ones((3, 3)), {"kernel": "precomputed"}, "Finite"),
        (np.full((3, 1), 1e200), np.full((3, 1), 1e200), {"kernel": Linear()}, "too large"),
        (
            np.full((4, 1), 1e200),
            np.full((4, 1), 1e200),
            {"kernel": Linear(), "estimator": "linear"},
            "too large",
        ),
    ],
)
def test_errors_of_mmd(X, Y, options, words):
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=words):
        mmd_test(X, Y, **options)


@pytest.mark.parametrize(
    "X, Y, options, words",
    [
        (np.ones((5, 1)), np.ones((4, 1)), {}, "one y for each x; got 5 and 4"),
        (np.ones((3, 1)), np.ones((3, 1)), {}, "at least four pairs, got 3"),
        (np.ones((4, 1)), [[1.0], [2.0], [3.0], [np.inf]], {}, "NaN or infinity"),
        (np.ones((4, 1)), np.ones((4, 1)), {"estimator": "linear"}, "'unbiased' or 'biased'"),
        (np.ones((4, 1)), np.ones((4, 1)), {"n_permutations": -1}, "n_permutations"),
        (np.ones((4, 1)), list("abcd"), {}, "Gaussian works on numbers"),
    ],
)
def test_errors_of_hsic(X, Y, options, words):
    with pytest.raises(ValueError, match=words):
        hsic_test(X, Y, **options)


def test_what_is_no_kernel_is_refused_unless_it_is_wanted():
    def distance(x, z):
        return float(np.linalg.norm(x - z))

    X = RNG.standard_normal((8, 2))
    with pytest.raises(NotAKernel, match="not positive semidefinite"):
        mmd_test(X, X, distance)
    with pytest.warns(UserWarning, match="no distance"):
        mmd_test(X, X, FunctionKernel(distance, indefinite=True), n_permutations=5)
    with pytest.warns(UserWarning, match="no distance"):
        hsic_test(X, X, kernel_y=FunctionKernel(distance, indefinite=True), n_permutations=5)


@pytest.mark.data
@pytest.mark.skipif(not NAMES.is_file(), reason="the data sets are not beside this checkout")
def test_surnames_of_two_countries():
    with np.load(NAMES, allow_pickle=False) as file:
        text, off, y, classes = (file[name] for name in ("text", "off", "y", "classes"))
    surnames = {}
    for country in ("Italian", "Spanish"):
        rows = np.flatnonzero(classes[y] == country)
        surnames[country] = sorted({text[off[i] : off[i + 1]].tobytes().decode() for i in rows})
    kernel, rng = Spectrum(3, blended=True).normalize(), np.random.default_rng(0)
    italian, spanish = (rng.permutation(surnames[country]).tolist() for country in ("Italian", "Spanish"))
    assert mmd_test(italian[:60], spanish[:60], kernel).p_value < 0.01
    assert mmd_test(italian[:60], italian[60:120], kernel).p_value > 0.05
