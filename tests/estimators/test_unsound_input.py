"""Arrays that are not what they say: damaged, masked, times, and numbers whose squares leave float64."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import mercer
from mercer import (
    KernelKMeans,
    KernelLogistic,
    KernelNeighborsRegressor,
    KernelPCA,
    KernelRegressor,
    KernelRidge,
    KernelSVC,
    OnlineKernelRegressor,
)
from mercer.kernels import Gaussian, Kernel, Linear

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 2))
Y = np.sin(2 * X[:, 0]) + 0.1 * RNG.standard_normal(60)
G = Gaussian(1.0)


def damaged(where, place, value):
    S = sp.csr_matrix(X)
    getattr(S, where)[place] = value
    return S


@pytest.mark.parametrize("lie", [("indices", 3, 10**7), ("indices", 3, -7), ("indptr", 5, 10**6)], ids=str)
def test_sparse_matrices_whose_indices_lead_elsewhere(lie):
    """SciPy would follow them, and end the process."""
    fitted = KernelRidge(G, lam=1e-3).fit(X, Y)
    near = KernelNeighborsRegressor(n_neighbors=3).fit(X, Y)
    for use in (
        lambda S: KernelRidge(G, lam=1e-3).fit(S, Y),
        lambda S: KernelSVC(Linear(), lam=1e-3).fit(S, Y > 0),
        lambda S: KernelKMeans(n_clusters=2).fit(S),
        lambda S: KernelPCA(n_components=2).fit(S),
        lambda S: OnlineKernelRegressor(G).fit(S, Y),
        lambda S: mercer.fit(S, Y),
        fitted.predict,
        near.predict,
        G,
    ):
        with pytest.raises(ValueError, match="sparse matrix is damaged"):
            use(damaged(*lie))


def test_masked_entries_are_no_numbers():
    hidden = np.zeros(60, dtype=bool)
    hidden[3] = True
    for data in (
        (np.ma.masked_array(X, X > 1), Y, None),
        (X, np.ma.masked_array(Y, hidden), None),
        (X, Y, np.ma.masked_array(np.ones(60), hidden)),
    ):
        with pytest.raises(ValueError, match="masked entries are no numbers"):
            KernelRidge(G, lam=1e-3).fit(*data)
    unmasked = KernelRidge(G, lam=1e-3).fit(np.ma.masked_array(X), Y).predict(X)
    np.testing.assert_array_equal(unmasked, KernelRidge(G, lam=1e-3).fit(X, Y).predict(X))


def test_times_have_no_unit():
    days = np.arange(60).astype("datetime64[D]")
    for points, targets in ((X, days), (X, days - days[0]), (days[:, None], Y)):
        with pytest.raises(ValueError, match="holds times"):
            KernelRidge(G, lam=1e-3).fit(points, targets)


@pytest.mark.parametrize("weight", [1e307, 1e-320])
def test_weights_whose_sums_are_nothing(weight):
    for machine, y in ((KernelRidge(G, lam=1e-3), Y), (KernelSVC(G, lam=1e-3), Y > 0)):
        with pytest.raises(ValueError, match="only ratios of weights matter"):
            machine.fit(X, y, np.full(60, weight))


def test_targets_whose_squares_leave_float64():
    for scale in (1e-163, 1e150):
        with pytest.raises(ValueError, match="divide y by that"):
            KernelRidge(G).fit(X, Y * scale)
    chosen = [KernelRidge(G).fit(X, Y * scale).lam_ for scale in (1e-60, 1.0, 1e60)]
    np.testing.assert_allclose(chosen, chosen[1])


def test_sparse_coefficients_have_a_lam_that_lets_them_be():
    """From λ at which all coefficients are 0 no smaller one looks better at first."""
    P = RNG.standard_normal((300, 2))
    y = np.sin(2 * P[:, 0]) + 0.1 * RNG.standard_normal(300)
    for offset in (False, True):
        machine = KernelRegressor(G, representation="lasso", offset=offset, random_state=0)
        assert machine.fit(P[:200], y[:200]).score(P[200:], y[200:]) > 0.95


def test_missing_labels_of_pandas():
    with pytest.raises(ValueError, match="NaN|missing|NA"):
        KernelLogistic(lam=0.1).fit([[0.0], [1.0], [2.0]], pd.Series(["a", "b", None], dtype="string"))


def test_a_kernel_that_gives_the_wrong_shape():
    class Wrong(Kernel):
        vectors = True

        def __init__(self):
            pass

        def pairwise(self, X, Z):
            return np.ones((len(X), len(Z) + 1))

    with pytest.raises(ValueError, match=r"pairwise\(X, Z\) must give real numbers"):
        KernelRidge(Wrong(), lam=1e-3).fit(X, Y)
