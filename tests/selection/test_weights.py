"""Weights in selection: what is reported, against explicit refits; rows of weight 0 are absent."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import r2_score

from mercer import KernelClassifier, KernelRidge, KernelSVR
from mercer._units import units_of
from mercer.kernels import Gaussian, Polynomial
from mercer.representations import Nystrom
from mercer.selection import fold_path, loo, path, tune
from mercer.selection.path import leave_one_out_error

RNG = np.random.default_rng(0)
X = RNG.standard_normal((18, 2))
X[3], X[4] = X[7], X[8]  # repeated rows
Y = RNG.standard_normal((18, 2)) + 3
W = RNG.integers(0, 3, 18).astype(float)
FAR = np.r_[X, RNG.standard_normal((6, 2)) * 100]  # six rows of weight 0 that would move any range


@pytest.mark.parametrize("t", [1, 2])
@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize(
    "kernel, representation",
    [(Gaussian(1.0), "full"), (Gaussian(1.0), Nystrom(centres=X[:6])), (Polynomial(2, 1.0), "features")],
    ids=["full", "centres", "features"],
)
def test_loo_and_path_are_refits(kernel, representation, offset, t):
    """With weights of 0, 1 and 2, repeated rows, several outputs, and targets far from 0."""
    y = Y[:, 0] if t == 1 else Y
    machine = KernelRidge(kernel, lam=0.05, offset=offset, representation=representation)
    left = []
    for i in range(18):
        # A row's copies are left out with it; one of weight 0 has no part in any fit, and stands for itself.
        rest = (X[i] != X).any(axis=1) if W[i] > 0 else np.arange(18) != i
        left.append(y[i] - clone(machine).fit(X[rest], y[rest], W[rest]).predict(X[i : i + 1])[0])
    np.testing.assert_allclose(loo(machine, X, y, W), left, atol=1e-10)
    error = (W @ np.square(left).reshape(18, -1)).sum() / W.sum() / t
    assert leave_one_out_error(machine, X, y, W, units_of(X)) == pytest.approx(error, rel=1e-9)
    found = path(machine, X, y, lams=[0.2, 0.05], sample_weight=W)
    assert found.loo_mse[1] == pytest.approx(error, rel=1e-9)
    alone = clone(machine).fit(X, y, W)
    np.testing.assert_allclose(found.coefs[1], alone.solution_.coef.reshape(found.coefs[1].shape), atol=1e-8)
    np.testing.assert_allclose(found.intercepts[1], alone.intercept_, atol=1e-8)


@pytest.mark.parametrize("representation", ["full", "features"])
def test_ranges_do_not_see_rows_of_weight_zero(representation):
    y, w = np.r_[Y[:, 0], np.full(6, 1e6)], np.r_[np.ones(18), np.zeros(6)]
    machine = KernelRidge(Polynomial(2, 1.0), representation=representation, offset=False)
    a, b = path(machine, FAR, y, sample_weight=w), path(machine, X, Y[:, 0])
    np.testing.assert_allclose(a.lams, b.lams)
    np.testing.assert_allclose(a.loo_mse, b.loo_mse, rtol=1e-6)
    for tuned in (KernelRidge(offset=False), KernelSVR()):
        some = {"trials": 4, "refit": False}
        spaces = [tune(tuned, FAR, y, sample_weight=w, **some).space, tune(tuned, X, Y[:, 0], **some).space]
        assert repr(spaces[0]) == repr(spaces[1])


def test_scores_of_folds_are_weighted():
    w = RNG.integers(0, 4, 60).astype(float)
    P = RNG.standard_normal((60, 2))
    y = P[:, 0] + 0.1 * RNG.standard_normal(60)
    y[w == 0] = 1e3
    folds = [(np.arange(30), np.arange(30, 60)), (np.arange(30, 60), np.arange(30))]
    machine = KernelRidge(Gaussian(1.0), offset=False)
    found = fold_path(machine, P, y, [0.1, 0.01], cv=folds, sample_weight=w)
    for (train, test), score in zip(folds, found.scores[1]):
        fitted = clone(machine).set_params(lam=0.01).fit(P[train], y[train], w[train])
        expected = r2_score(y[test], fitted.predict(P[test]), sample_weight=w[test])
        assert score == pytest.approx(expected, rel=1e-6)
    space = {"lam": [0.1, 0.01]}
    searched = tune(machine, P, y, space=space, cv=folds, sample_weight=w, trials=2, refit=False)
    by_lam = {trial.params["lam"]: trial.score for trial in searched.trials}
    for lam, scores in zip(found.lams, found.scores):
        assert by_lam[lam] == pytest.approx(scores.mean(), rel=1e-6)


def test_a_class_without_weight_has_no_column():
    labels = np.array(["a", "b", "c"])[np.arange(18) % 3]
    machine = KernelClassifier(Gaussian(1.0), "squared", lam=0.05, offset=False)
    w = (labels != "c").astype(float)
    kept = w > 0
    found, without = loo(machine, X, labels, w), loo(machine, X[kept], labels[kept])
    np.testing.assert_allclose(found[kept], without, atol=1e-10)
