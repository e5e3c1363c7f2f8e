"""Quantile regression: coverage where the truth is known, and levels that never cross."""

import pickle

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import clone
from sklearn.metrics import d2_pinball_score
from sklearn.model_selection import GridSearchCV, cross_val_score

from mercer import KernelRegressor
from mercer.kernels import Gaussian
from mercer.losses import Absolute, Quantile
from mercer.solvers import Dual

LEVELS = (0.1, 0.5, 0.9)


def data(n, seed=0):
    """y given x is normal, its spread growing with x."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 4, n)
    return x[:, None], np.sin(x) + (0.1 + 0.2 * x) * rng.standard_normal(n)


def truth(x, q):
    return np.sin(x) + (0.1 + 0.2 * x) * norm.ppf(q)


X, Y = data(600)
NEW, NEW_Y = data(4000, seed=1)


def machine(q=LEVELS, **given):
    return KernelRegressor(
        **{"kernel": Gaussian(1.0), "loss": Quantile(q), "lam": 3e-4, "offset": True, **given}
    )


def test_coverage_and_the_true_quantiles():
    m = machine().fit(X, Y)
    p = m.predict(NEW)
    assert p.shape == (4000, 3)
    for j, q in enumerate(LEVELS):
        assert abs((p[:, j] >= NEW_Y).mean() - q) < 0.04
        error = np.abs(p[:, j] - truth(NEW[:, 0], q))
        assert error.mean() < 0.12
        # On the training set the offset makes it exact, but for the examples that lie on the curve.
        at = m.predict(X)[:, j]
        below, on = (at - Y > 1e-4).mean(), (np.abs(Y - at) < 1e-4).mean()
        assert below - 1e-12 <= q <= below + on + 1e-12


@pytest.mark.parametrize("kernel, lam", [(Gaussian(0.1), 1e-7), (Gaussian(1.0), 1e-4)])
def test_levels_never_cross(kernel, lam):
    """Fitted far too closely, on a few points, with close levels; asked far beyond the data, too."""
    levels = (0.5, 0.45, 0.9, 0.55, 0.1)
    m = machine(levels, kernel=kernel, lam=lam).fit(X[:60], Y[:60])
    queries = np.random.default_rng(2).uniform(-3, 7, (100_000, 1))
    order = np.argsort(levels)
    p = m.predict(queries)
    assert (np.diff(p[:, order], axis=1) >= 0).all()
    single = m.predict(queries[:1000].astype(np.float32))
    assert (np.diff(single[:, order], axis=1) >= 0).all()
    # And it was not for nothing: the functions themselves do cross.
    if lam == 1e-7:
        assert (np.diff(m.scores(queries)[:, order], axis=1) < 0).any()


def test_the_order_of_levels_is_that_of_the_columns():
    a, b = machine((0.1, 0.9)).fit(X, Y).predict(NEW), machine((0.9, 0.1)).fit(X, Y).predict(NEW)
    assert a == pytest.approx(b[:, ::-1], abs=1e-9)


def test_one_level_is_one_column_or_none():
    alone = machine(0.5).fit(X, Y)
    assert alone.predict(NEW).shape == (4000,)
    assert machine([0.5]).fit(X, Y).predict(NEW) == pytest.approx(alone.predict(NEW)[:, None])
    # At one half this is half the absolute error: the same minimiser at twice the penalty.
    tight = {"solver": Dual(tol=1e-7)}
    median = machine(0.5, **tight).fit(X, Y)
    absolute = machine(loss=Absolute(), lam=6e-4, **tight).fit(X, Y)
    assert median.predict(NEW) == pytest.approx(absolute.predict(NEW), abs=1e-4)


@pytest.mark.parametrize("w", [None, np.random.default_rng(3).uniform(0, 2, 4000)], ids=["plain", "weighted"])
def test_score_is_the_share_of_pinball_loss_explained(w):
    m = machine().fit(X, Y)
    p = m.predict(NEW)
    parts = []
    for j, q in enumerate(LEVELS):
        r = NEW_Y - p[:, j]
        weights = np.ones(4000) if w is None else w
        loss = np.average(np.where(r > 0, q * r, (q - 1) * r), weights=weights)
        order = np.argsort(NEW_Y)
        level = NEW_Y[order][np.searchsorted(np.cumsum(weights[order]), q * weights.sum())]
        r = NEW_Y - level
        parts.append(1 - loss / np.average(np.where(r > 0, q * r, (q - 1) * r), weights=weights))
    assert m.score(NEW, NEW_Y, w) == pytest.approx(np.mean(parts), abs=1e-3)
    assert m.score(NEW, NEW_Y, w) > 0.2
    one = machine(0.9).fit(X, Y)
    assert one.score(NEW, NEW_Y) != pytest.approx(d2_pinball_score(NEW_Y, one.predict(NEW), alpha=0.9))


def test_grid_search():
    search = GridSearchCV(machine(), {"lam": [1e-4, 10.0], "kernel__sigma": [1.0]}, cv=3).fit(X, Y)
    assert search.best_params_["lam"] == 1e-4 and search.best_score_ > 0.2
    assert search.predict(NEW).shape == (4000, 3)
    assert cross_val_score(machine(), X, Y, cv=3).mean() > 0.2
    levels = clone(machine()).set_params(loss__q=[0.2, 0.8]).fit(X, Y)
    assert levels.predict(NEW).shape == (4000, 2)


def test_weights_shift_the_quantiles():
    """Weight 0 is absent."""
    w = (np.sin(X[:, 0]) > Y).astype(float)
    a = machine(lam=1e-3, solver=Dual(tol=1e-7)).fit(X, Y, w).predict(NEW)
    kept = w > 0
    b = machine(lam=1e-3, solver=Dual(tol=1e-7)).fit(X[kept], Y[kept]).predict(NEW)
    assert a == pytest.approx(b, abs=1e-4)
    assert a[:, 1].mean() < machine().fit(X, Y).predict(NEW)[:, 1].mean()


def test_pickles():
    m = machine().fit(X, Y)
    assert np.array_equal(pickle.loads(pickle.dumps(m)).predict(NEW), m.predict(NEW))


def test_the_certificate_covers_all_levels():
    m = machine(solver=Dual(tol=1e-6)).fit(X, Y)
    certificate = m.solution_.certificate
    assert certificate.gap < 1e-4 * certificate.objective
    s = m.scores(X)
    r = Y[:, None] - s
    q = np.array(LEVELS)
    K = np.exp(-((X - X.T) ** 2) / 2)
    norms = (m.dual_coef_ * (K @ m.dual_coef_)).sum()
    loss = np.where(r > 0, q * r, (q - 1) * r).mean(axis=0).sum()
    assert certificate.objective == pytest.approx(loss + 3e-4 * norms, rel=1e-6)


@pytest.mark.parametrize("q", [0, 1, [0.5, 1.2], [], [0.3, 0.3]])
def test_wrong_levels(q):
    with pytest.raises(ValueError, match="Quantile"):
        machine(q).fit(X, Y)


def test_several_levels_take_one_target():
    with pytest.raises(ValueError, match="several quantiles need one target an example"):
        machine().fit(X, np.column_stack([Y, Y]))
