"""Cross-validation along λ: the scores of separate fits, in fewer steps."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score

from mercer import KernelLogistic, KernelRidge, KernelSVC, KernelSVR
from mercer.kernels import Gaussian
from mercer.selection import FoldPath, fold_path
from mercer.solvers import Dual

RNG = np.random.default_rng(0)
X = RNG.standard_normal((1400, 3))
SCORE = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * RNG.standard_normal(1400)
LAMS = [1e-4, 1e-3, 1e-2]


@pytest.mark.parametrize(
    "machine, y",
    [
        (KernelSVC(Gaussian(1.0), solver=Dual(tol=1e-6)), SCORE > 0),
        (KernelSVC(Gaussian(1.0), solver=Dual(tol=1e-6)), np.digitize(SCORE, [-0.5, 0.5])),
        (KernelSVR(Gaussian(1.0), solver=Dual(tol=1e-6)), SCORE),
        (KernelRidge(Gaussian(1.0), offset=False), SCORE),
        (KernelLogistic(Gaussian(1.0), offset=False), SCORE > 0),
    ],
    ids=["svc", "ovo", "svr", "ridge", "logistic"],
)
def test_equals_separate_fits(machine, y):
    some = slice(0, 300)
    found = fold_path(machine, X[some], y[some], LAMS, cv=3)
    assert isinstance(found, FoldPath) and found.scores.shape == (3, 3)
    for lam, scores in zip(LAMS, found.scores, strict=True):
        alone = cross_val_score(machine.set_params(lam=lam), X[some], y[some], cv=3)
        assert np.abs(scores - alone).max() < 1e-5
    assert found.best == np.argmax(found.scores.mean(axis=1)) and found.best_lam == LAMS[found.best]
    assert found.best_machine.lam == found.best_lam
    assert np.array_equal(
        found.best_machine.predict(X[some]),
        machine.set_params(lam=found.best_lam).fit(X[some], y[some]).predict(X[some]),
    ) or np.allclose(found.best_machine.predict(X[some]), machine.predict(X[some]), atol=1e-4)


def test_starting_from_neighbours_saves_steps():
    """More examples than are solved at once, and λ close together."""
    machine = KernelSVC(Gaussian(1.0), solver=Dual(working_set=128))
    lams = np.geomspace(1e-3, 5e-4, 4)
    warm = fold_path(machine, X, SCORE > 0, lams, cv=4)
    cold = fold_path(machine, X, SCORE > 0, lams, cv=4, warm=False)
    assert warm.iterations[0, -1] == cold.iterations[0, -1]  # the largest λ has no neighbour
    assert warm.iterations[1:, -1].sum() < 0.7 * cold.iterations[1:, -1].sum()
    assert warm.iterations[:, :-1].sum() < cold.iterations[:, :-1].sum()
    assert np.abs(warm.scores - cold.scores).max() < 0.01


def test_weights_splitters_and_scorers():
    y, w = SCORE[:200] > 0, RNG.uniform(0, 2, 200)
    found = fold_path(
        KernelSVC(Gaussian(1.0)),
        X[:200],
        y,
        [1e-2],
        cv=StratifiedKFold(4),
        scoring="roc_auc",
        sample_weight=w,
    )
    expected = []
    for train, test in StratifiedKFold(4).split(X[:200], y):
        machine = KernelSVC(Gaussian(1.0), lam=1e-2).fit(X[train], y[train], w[train])
        from sklearn.metrics import roc_auc_score

        scores = machine.decision_function(X[test])
        expected.append(roc_auc_score(y[test], scores, sample_weight=w[test]))
    assert np.allclose(found.scores[0], expected, atol=1e-4)


def test_precomputed_matrices_are_split_on_both_sides():
    K = Gaussian(1.0)(X[:120])
    y = SCORE[:120] > 0
    found = fold_path(KernelSVC("precomputed"), K, y, [1e-2], cv=KFold(3))
    plain = fold_path(KernelSVC(Gaussian(1.0)), X[:120], y, [1e-2], cv=KFold(3))
    assert np.array_equal(found.scores, plain.scores)


def test_equal_scores_go_to_the_larger_lam():
    y = X[:60, 0] > 0
    assert fold_path(KernelSVC(Gaussian(5.0)), X[:60], y, [1e-30 + 1e-9, 1e-8], cv=2).best_lam == 1e-8


@pytest.mark.parametrize("lams", [[], [0.0], [-1.0], [np.nan], [[1.0]]])
def test_bad_lams(lams):
    with pytest.raises(ValueError, match="lams must be a list of positive numbers"):
        fold_path(KernelSVC(), X[:20], SCORE[:20] > 0, lams)


def test_reads_well():
    text = repr(fold_path(KernelSVC(Gaussian(1.0)), X[:100], SCORE[:100] > 0, LAMS, cv=2))
    assert (
        text.startswith("<3 values of lam from 0.0001 to 0.01; largest mean score ")
        and " over 2 folds at " in text
    )
