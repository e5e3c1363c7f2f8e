"""Nystrom: m centres, chosen or given."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from mercer import KernelRidge
from mercer.engines import Tiled
from mercer.kernels import Finite, FunctionKernel, Gaussian
from mercer.representations import Nystrom, PivotedCholesky, Uniform

X = np.random.default_rng(0).standard_normal((40, 2))


def gaussian(X, Z):
    return np.exp(-((X[:, None] - Z[None]) ** 2).sum(axis=2) / 2)


def build(representation, X=X, kernel=None):
    kernel = Gaussian(1.0) if kernel is None else kernel
    return representation.build(kernel, X, np.random.default_rng(0), Tiled())


@pytest.mark.parametrize(
    "centres", ["mixed", "uniform", "k-means++", "leverage", "pivoted_cholesky", PivotedCholesky(3)]
)
def test_build(centres):
    built = build(Nystrom(n_centres=9, centres=centres))
    Z = built.A.Z
    assert {tuple(z) for z in Z} <= {tuple(x) for x in X} and len(Z) == 9
    assert np.allclose(built.A.dense(), gaussian(X, Z))
    assert np.allclose(built.B.dense(), gaussian(Z, Z))
    c = np.arange(9.0)
    assert np.allclose(built.lift(c)(X), gaussian(X, Z) @ c)


def test_given_centres():
    Z = np.array([[0.0, 0.0], [1.0, 0.5], [5.0, 5.0]])
    for given in (Z, Z.tolist()):
        built = build(Nystrom(centres=given))
        assert np.allclose(built.A.dense(), gaussian(X, Z))
    assert Nystrom(centres=Z).size(Gaussian(1.0), 40, 2) == 3


def test_large_float32_problems_stay_float32(monkeypatch):
    monkeypatch.setattr("mercer.representations.base.SMALL", 0)
    built = build(Nystrom(centres=np.zeros((1, 2))), X.astype(np.float32))
    assert built.A.dtype == np.float32
    assert built.B.dtype == np.float64  # it is factored


def test_small_float32_problems_are_computed_in_float64():
    """Coefficients of centres are large and cancel: the float32 problem would give other predictions."""
    rng = np.random.default_rng(1)
    data = rng.standard_normal((300, 4))
    y = np.sin(data[:, 0]) + 0.1 * rng.standard_normal(300)
    single, half = data.astype(np.float32).astype(float), data.astype(np.float32)
    machine = KernelRidge(Gaussian(2.0), lam=1e-7, representation=Nystrom(centres=single[:80]), offset=False)
    expected = machine.fit(single, y).predict(single)
    found = machine.fit(half, y.astype(np.float32)).predict(half)
    assert found.dtype == np.float32
    assert np.abs(found - expected).max() < 1e-5


def test_sparse_data():
    S = np.where(X > 0, X, 0)
    built = build(Nystrom(n_centres=6), csr_array(S))
    Z = built.A.Z.toarray()
    assert np.allclose(built.A.dense(), gaussian(S, Z))


def test_words_as_centres():
    words = np.array(["ab", "abc", "x", "xy"], dtype=object)
    k = FunctionKernel(lambda a, b: float(len(set(a) & set(b))))
    built = build(Nystrom(centres=["ab", "xyz"]), words, k)
    assert np.array_equal(built.A.dense(), [[2, 0], [2, 0], [0, 1], [0, 2]])
    assert np.array_equal(built.B.dense(), [[2, 0], [0, 3]])


def test_indices_as_centres():
    M = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]])
    built = build(Nystrom(centres=[0, 2]), np.array([0, 1, 2, 1]), Finite(M))
    assert np.array_equal(built.A.dense(), M[np.ix_([0, 1, 2, 1], [0, 2])])


@pytest.mark.parametrize("n, expected", [(10, 10), (1000, 1000), (10_000, 1000), (1_000_000, 4000)])
def test_default_number_of_centres(n, expected):
    assert Nystrom().size(Gaussian(1.0), n, 5) == expected


def test_no_more_centres_than_points():
    assert Nystrom(n_centres=100).size(Gaussian(1.0), 40, 2) == 40
    assert build(Nystrom(n_centres=100)).A.shape == (40, 40)


@pytest.mark.parametrize("m", [0, -3, 2.5, "many"])
def test_n_centres_must_be_a_count(m):
    with pytest.raises(ValueError, match="Nystrom: n_centres must be a positive integer or None"):
        KernelRidge(representation=Nystrom(n_centres=m), offset=False).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="Nystrom: n_centres must be a positive integer or None"):
        KernelRidge(representation=Nystrom(n_centres=m), offset=False).plan(X, X[:, 0])


@pytest.mark.parametrize("centres", ["unifrom", None, 7, Uniform])
def test_centres_must_be_known(centres):
    with pytest.raises(
        ValueError, match="centres must be a Centres object or one of 'mixed', 'uniform', 'k-means"
    ):
        KernelRidge(representation=Nystrom(n_centres=3, centres=centres), offset=False).fit(X, X[:, 0])


def test_centres_of_the_wrong_kind():
    with pytest.raises(ValueError, match="the centres have 3 features, the data 2"):
        KernelRidge(representation=Nystrom(centres=np.zeros((2, 3))), offset=False).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="NaN or infinity"):
        KernelRidge(representation=Nystrom(centres=[[np.nan, 0.0]]), offset=False).fit(X, X[:, 0])


def test_a_value():
    assert repr(Nystrom(n_centres=5, centres="leverage")) == "Nystrom(n_centres=5, centres='leverage')"
    assert Nystrom(centres=np.eye(2)) == Nystrom(centres=[[1.0, 0.0], [0.0, 1.0]])
    assert Nystrom(n_centres=5) != Nystrom(n_centres=6)


def test_an_outlier_is_fitted_as_in_the_exact_solution():
    rng = np.random.default_rng(1)
    P = rng.standard_normal((600, 2))
    P[0] = 12.0
    y = np.append(3.0, np.sin(P[1:, 0]))
    K = np.exp(-((P[:, None] - P[None]) ** 2).sum(axis=2) / 2)
    c = np.linalg.solve(K + 1e-6 * 600 * np.eye(600), y)
    machine = KernelRidge(
        Gaussian(1.0), lam=1e-6, representation=Nystrom(200), offset=False, random_state=1
    ).fit(P, y)
    assert abs(machine.predict(P[:1])[0] - K[0] @ c) < 1e-6
    assert "of 200 centres 150 are drawn uniformly, the others where these are far" in str(machine.plan_)


def test_rows_of_weight_zero_are_no_centres():
    weights = np.ones(40)
    weights[:20] = 0
    machine = KernelRidge(Gaussian(1.0), lam=1e-3, representation=Nystrom(15), random_state=0)
    Z = machine.fit(X, X[:, 0], sample_weight=weights).function_.points
    assert not (Z[:, None] == X[None, :20]).all(axis=2).any()
