"""Choosing centres: m distinct points, drawn by the rule each class states."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from mercer import KernelRidge
from mercer.engines import Tiled
from mercer.features import centres
from mercer.features.centres import (
    Centres,
    KMeansPlusPlus,
    Leverage,
    Mixed,
    PivotedCholesky,
    Uniform,
    centres_of,
    randomly_pivoted_cholesky,
)
from mercer.kernels import FunctionKernel, Gaussian, Linear
from mercer.representations import Nystrom

ALL = [
    Mixed(),
    Mixed(share=1.0),
    Uniform(),
    KMeansPlusPlus(),
    KMeansPlusPlus(per_round=1),
    Leverage(),
    Leverage(lam=1e-3),
    PivotedCholesky(),
]


def points(n=200, d=2, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def choose(how, X, m, kernel=None, seed=0):
    kernel = Gaussian(1.0) if kernel is None else kernel
    return how.choose(Tiled().operator(kernel, X), m, np.random.default_rng(seed))


def nystrom_error(X, index, sigma=1.0):
    """‖K − K_nm K_mm⁺ K_mn‖ in trace: what the centres leave unexplained."""
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / (2 * sigma**2))
    C = K[:, index]
    return np.trace(K) - np.trace(C @ np.linalg.pinv(C[index], rcond=1e-12, hermitian=True) @ C.T)


@pytest.mark.parametrize("how", ALL, ids=repr)
@pytest.mark.parametrize("m", [1, 7, 40, 200])
def test_m_distinct_points_in_order(how, m):
    index = choose(how, points(), m)
    assert index.shape == (m,)
    assert (np.diff(index) > 0).all()
    assert index[0] >= 0 and index[-1] < 200


@pytest.mark.parametrize("how", ALL, ids=repr)
def test_repeatable_and_random(how):
    X = points()
    assert np.array_equal(choose(how, X, 20, seed=1), choose(how, X, 20, seed=1))
    assert not np.array_equal(choose(how, X, 20, seed=1), choose(how, X, 20, seed=2))


@pytest.mark.parametrize("how", ALL, ids=repr)
def test_more_asked_for_than_there_is_rank(how):
    """Five distinct points, a hundred times each: any further centres add nothing, but they come."""
    X = np.repeat(points(5), 20, axis=0)
    index = choose(how, X, 30)
    assert len(np.unique(index)) == 30


@pytest.mark.parametrize("how", [KMeansPlusPlus(), Leverage(), PivotedCholesky()], ids=repr)
def test_lonely_points_are_found(how):
    """One crowd and ten outliers: a rule that looks at the data takes the outliers, uniform draws do not."""
    rng = np.random.default_rng(0)
    X = np.vstack([0.05 * rng.standard_normal((990, 2)), 20 * np.arange(1, 11)[:, None] * [1.0, 0.5]])
    found = [np.sum(choose(how, X, 30, seed=s) >= 990) for s in range(5)]
    by_chance = [np.sum(choose(Uniform(), X, 30, seed=s) >= 990) for s in range(5)]
    assert min(found) >= 8
    assert max(by_chance) <= 3


@pytest.mark.parametrize("how", [KMeansPlusPlus(), Leverage(), PivotedCholesky()], ids=repr)
def test_better_than_uniform_where_density_varies(how):
    rng = np.random.default_rng(3)
    X = np.concatenate([0.1 * rng.standard_normal(360), rng.uniform(-15, 15, 40)])[:, None]
    ours = np.mean([nystrom_error(X, choose(how, X, 40, seed=s)) for s in range(3)])
    uniform = np.mean([nystrom_error(X, choose(Uniform(), X, 40, seed=s)) for s in range(3)])
    assert ours < 0.7 * uniform


def test_mixed_finds_a_lonely_point_and_stays_with_the_crowd():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.standard_normal((1499, 2)), [[12.0, 12.0]]])
    for seed in range(40):
        index = choose(Mixed(), X, 200, seed=seed)
        assert 1499 in index
        # Three quarters are uniform: about as many centres near the middle as there are points, times that.
        inner = np.linalg.norm(X, axis=1) < 1
        assert np.mean(inner[index]) > 0.6 * np.mean(inner)


@pytest.mark.parametrize("form", [np.asarray, csr_array, lambda X: X.astype(np.float32)])
def test_mixed_takes_equal_points_once_while_there_are_others(form):
    X = np.repeat(points(50).astype(np.float32).astype(float), 10, axis=0)
    for m in (1, 20, 49, 50):
        index = choose(Mixed(), form(X), m)
        assert len(np.unique(X[index], axis=0)) == m


def test_mixed_takes_equal_objects_once():
    words = np.array(["ab", "cd", "ef", "gh"] * 10, dtype=object)
    k = FunctionKernel(lambda a, b: float(a == b))
    index = choose(Mixed(share=0.75), words, 4, k)
    assert set(words[index]) == {"ab", "cd", "ef", "gh"}


def test_mixed_looks_at_a_sample_where_values_are_dear():
    """A point outside of the sample is not computed with, but for the centres."""
    seen = []

    def k(a, b):
        seen.append((a, b))
        return float(a == b)

    n, m = 400, 20
    words = np.array([f"w{i}" for i in range(n)], dtype=object)
    index = choose(Mixed(), words, m, FunctionKernel(k))
    assert len(np.unique(index)) == m
    assert Mixed().looked_at(n, m, dear=True) == 50
    assert len({a for a, _ in seen} - set(words[index])) <= 50
    assert "of 50 points" in Mixed().words(n, m, dear=True)
    assert Mixed().looked_at(10**7, 10**4, remote=True) == 2**30 // 10**4


@pytest.mark.parametrize("share", [2, -0.1, float("nan"), "a", None])
def test_mixed_share_is_a_share(share):
    with pytest.raises(ValueError, match="share must be between 0 and 1"):
        choose(Mixed(share), points(), 5)
    with pytest.raises(ValueError, match="share must be between 0 and 1"):
        KernelRidge(representation=Nystrom(5, Mixed(share)), lam=0.1).fit(np.eye(9), np.ones(9))


def test_uniform_is_uniform():
    counts = np.zeros(20)
    for seed in range(400):
        counts[choose(Uniform(), points(20), 5, seed=seed)] += 1
    # 400 draws with probability 1/4: a standard deviation of 8.7 around 100.
    assert np.abs(counts - 100).max() < 5 * 8.7


def test_kmeans_plus_plus_goes_by_squared_distance():
    """One at a time: after a point at 0, points at 1, 2, 3 come with odds 1 : 4 : 9 (linear kernel)."""
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    second = []
    for seed in range(3000):
        rng = np.random.default_rng(seed)
        if rng.integers(4) == 0:
            index = choose(KMeansPlusPlus(per_round=1), X, 2, Linear(), seed)
            second.append(index[1])
    share = np.bincount(second, minlength=4)[1:] / len(second)
    deviation = np.sqrt(0.25 / len(second))
    assert np.abs(share - np.array([1, 4, 9]) / 14).max() < 5 * deviation


def test_leverage_scores_are_what_they_say(monkeypatch):
    """With all points in the sample the scores are diag(K(K+λnI)⁻¹) up to a factor."""
    X, lam = points(60), 1e-2
    drawn = {}

    def spy(weights, count, taken, rng):
        drawn["scores"] = weights.copy()
        return np.arange(count)

    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 2)
    leverage = np.diag(K @ np.linalg.inv(K + lam * 60 * np.eye(60)))
    monkeypatch.setattr(centres, "_draw", spy)
    choose(Leverage(lam=lam, sample=60), X, 5)
    ratio = drawn["scores"] / leverage
    assert np.ptp(ratio) < 1e-8 * ratio.mean()


def test_leverage_chooses_its_own_regularisation():
    values = np.array([0.01, 0.1, 1.0, 5.0])
    shift = centres._shift_with_dimension(values, 2.0)
    assert abs((values / (values + shift)).sum() - 2.0) < 1e-6


def test_objects():
    words = np.array(["abc", "abd", "xyz", "", "aaa", "xbz", "q", "zz"], dtype=object)
    k = FunctionKernel(lambda a, b: float(len(set(a) & set(b))))
    for how in ALL:
        assert len(np.unique(choose(how, words, 4, k))) == 4


def test_pivoted_cholesky_reconstructs():
    X = points(150)
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 2)
    F, pivots = randomly_pivoted_cholesky(
        np.diag(K), lambda i: K[:, i], 60, np.random.default_rng(0), block=7
    )
    assert F.shape == (150, 60)
    left = K - F @ F.T
    assert np.abs(left[pivots]).max() < 1e-8  # exact on the pivots
    assert np.linalg.eigvalsh(left)[0] > -1e-10  # never more than K
    assert np.trace(left) == pytest.approx(nystrom_error(X, pivots), abs=1e-8)
    assert np.trace(left) < 1e-3 * np.trace(K)


def test_pivoted_cholesky_stops_at_the_rank():
    X = points(100, d=3)
    K = X @ X.T
    F, pivots = randomly_pivoted_cholesky(np.diag(K), lambda i: K[:, i], 50, np.random.default_rng(0))
    assert len(pivots) == 3
    assert np.allclose(F @ F.T, K, atol=1e-10)


def test_pivoted_cholesky_of_zero():
    F, pivots = randomly_pivoted_cholesky(
        np.zeros(4), lambda i: np.zeros((4, len(i))), 2, np.random.default_rng(0)
    )
    assert F.shape == (4, 0) and len(pivots) == 0


@pytest.mark.parametrize(
    "name, cls",
    [
        ("mixed", Mixed),
        ("uniform", Uniform),
        ("k-means++", KMeansPlusPlus),
        ("leverage", Leverage),
        ("pivoted_cholesky", PivotedCholesky),
    ],
)
def test_names(name, cls):
    assert centres_of(name) == cls()
    assert centres_of(cls()) == cls()


@pytest.mark.parametrize("value", ["unifrom", None, 3, Uniform])
def test_unknown_names(value):
    with pytest.raises(ValueError, match="centres must be a Centres object or one of 'mixed', 'uniform'"):
        centres_of(value)


def test_the_contract_alone_does_nothing():
    with pytest.raises(NotImplementedError):
        choose(Centres(), points(5), 2)
