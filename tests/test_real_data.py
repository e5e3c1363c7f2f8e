"""Real tables, where the data sets lie beside the checkout: no warning, and scikit-learn's answer."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge as Theirs

from mercer import KernelLogistic, KernelRidge
from mercer.kernels import Gaussian

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "uci"

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not DATA.is_dir(), reason="the data sets are not beside this checkout"),
]


def table(name):
    with np.load(DATA / f"{name}.npz", allow_pickle=False) as file:
        X, y = file["X"].astype(float), file["y"].astype(float)
    return (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()


@pytest.mark.parametrize(
    "name", ["airfoil", "autompg", "concrete", "energy", "housing", "machine", "servo", "stock"]
)
def test_ridge_on_a_real_table(name):
    X, y = table(name)
    n, sigma, lam = len(X), 2.0, 1e-4
    ours = KernelRidge(Gaussian(sigma), lam=lam, offset=False).fit(X, y)
    theirs = Theirs(alpha=lam * n, kernel="rbf", gamma=1 / (2 * sigma**2)).fit(X, y)
    assert np.abs(ours.predict(X) - theirs.predict(X)).max() < 1e-8
    single = KernelRidge(Gaussian(sigma), lam=lam, offset=False).fit(
        X.astype(np.float32), y.astype(np.float32)
    )
    assert np.abs(single.predict(X.astype(np.float32)) - theirs.predict(X)).max() < 1e-3


@pytest.mark.parametrize("name", ["bike", "keggdirected", "parkinsons", "skillcraft"])
def test_default_machines_on_larger_tables(name):
    """Centres, stored matrices, normal equations: whatever is chosen beats the mean and the majority."""
    X, y = table(name)
    X, y = X[:12000], y[:12000]
    train, test = slice(0, None, 2), slice(1, None, 2)
    ridge = KernelRidge(lam=1e-4, offset=True, random_state=0).fit(X[train], y[train])
    assert ridge.solution_.converged
    assert ridge.score(X[test], y[test]) > 0.3
    label = y > np.median(y)
    logistic = KernelLogistic(lam=1e-4, random_state=0, offset=False).fit(X[train], label[train])
    assert logistic.solution_.converged
    assert logistic.score(X[test], label[test]) > 0.7
