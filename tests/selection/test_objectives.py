"""What a setting is worth, against scikit-learn's own cross-validation and against n refits."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import make_scorer, max_error, mean_absolute_error
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    RepeatedKFold,
    ShuffleSplit,
    TimeSeriesSplit,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import KernelClassifier, KernelLogistic, KernelRegressor, KernelRidge, KernelSVC
from mercer.kernels import Gaussian, Linear, Precomputed
from mercer.losses import Quantile
from mercer.representations import Lasso, Nystrom
from mercer.selection import Choice, Real, path
from mercer.selection.dimensions import Space
from mercer.selection.objectives import CrossValidation, Data, LeaveOneOut, configured
from mercer.selection.tune import attempt
from oracles import gaussian

RNG = np.random.default_rng(0)
N = 60
X = RNG.standard_normal((N, 2))
Y = np.sin(2 * X[:, 0]) + 0.1 * RNG.standard_normal(N)
GROUPS = np.arange(N) % 4
W = RNG.uniform(0.5, 2, N)


def data(y=Y, weights=None, points=X):
    return Data(points, y, weights, np.random.default_rng(1).permutation(N), np.arange(N))


SPLITTERS = [
    (3, None),
    (KFold(4), None),
    (ShuffleSplit(3, random_state=0), None),
    (TimeSeriesSplit(3), None),
    (RepeatedKFold(n_splits=2, n_repeats=2, random_state=1), None),
    ([(np.arange(40), np.arange(40, N))], None),
    (GroupKFold(2), GROUPS),
    (LeaveOneGroupOut(), GROUPS),
]


@pytest.mark.parametrize("cv, groups", SPLITTERS, ids=[type(cv).__name__ for cv, _ in SPLITTERS])
@pytest.mark.parametrize(
    "scoring", [None, "neg_mean_absolute_error", make_scorer(max_error), lambda m, X, y: m.predict(X)[0]]
)
def test_any_splitter_and_scorer(cv, groups, scoring):
    found = CrossValidation(Ridge(), data(), cv, scoring, groups, 0)({"alpha": 3.0}, N)
    peer = cross_val_score(Ridge(alpha=3.0), X, Y, cv=cv, scoring=scoring, groups=groups)
    assert np.allclose(found.scores, peer) and found.score == pytest.approx(peer.mean())


@pytest.mark.parametrize(
    "machine, y, scoring, words",
    [
        (Ridge(), Y, None, "mean r2 over 5 folds"),
        (make_pipeline(StandardScaler(), KernelRidge(offset=False)), Y, None, "mean r2 over 5 folds"),
        (LogisticRegression(), Y > 0, None, "mean accuracy over 5 folds"),
        (LogisticRegression(), Y > 0, "roc_auc", "mean roc_auc over 5 folds"),
        (Ridge(), Y, make_scorer(mean_absolute_error), "mean mean_absolute_error over 5 folds"),
        (KernelRegressor(offset=False), Y, None, "mean r2 over 5 folds"),
        (KernelRegressor(loss=Quantile([0.1, 0.9])), Y, None, "mean d2_pinball_score over 5 folds"),
        (KernelLogistic(), Y > 0, None, "mean accuracy over 5 folds"),
    ],
)
def test_what_the_score_is_called(machine, y, scoring, words):
    assert CrossValidation(machine, data(y), None, scoring, None, 0).words == words


def test_folds_by_default_are_shuffled_and_keep_the_shares_of_classes():
    labels = np.repeat([0, 1], [45, 15])  # sorted, as tables often are
    folds = CrossValidation(LogisticRegression(), data(labels), None, None, None, 0).folds
    assert [int(labels[test].sum()) for _, test in folds] == [3] * 5
    again = CrossValidation(LogisticRegression(), data(labels), None, None, None, 0).folds
    assert all(np.array_equal(a[1], b[1]) for a, b in zip(folds, again, strict=True))
    loose = [CrossValidation(Ridge(), data(), ShuffleSplit(2), None, None, 5).folds[0][1] for _ in range(2)]
    assert np.array_equal(*loose)  # a splitter without a seed gets ours


def test_fewer_rows_are_folds_of_fewer_rows():
    d = data()
    objective = CrossValidation(Ridge(), d, KFold(3), None, None, 0)
    kept = np.isin(np.arange(N), d.order[:24])
    peer = [
        Ridge().fit(X[a][kept[a]], Y[a][kept[a]]).score(X[b][kept[b]], Y[b][kept[b]])
        for a, b in KFold(3).split(X)
    ]
    assert np.allclose(objective({}, 24).scores, peer)


def test_weights_count_in_the_fit_and_in_the_score():
    absent = np.zeros(N)
    kept = np.arange(N) % 3 != 0
    absent[kept] = 1
    spoiled = np.where(kept, Y, 1e6)
    few = Data(X[kept], Y[kept], None, np.arange(40), np.arange(40))
    halves, fewer = [(np.arange(30), np.arange(30, N))], [(np.arange(20), np.arange(20, 40))]
    for scoring in (None, "neg_mean_squared_error"):
        weighted = CrossValidation(Ridge(), data(spoiled, absent), halves, scoring, None, 0)({}, N)
        assert weighted.score == pytest.approx(
            CrossValidation(Ridge(), few, fewer, scoring, None, 0)({}, 40).score
        )
    piped = CrossValidation(make_pipeline(StandardScaler(), Ridge()), data(Y, W), 3, max_scorer, None, 0)
    assert np.isfinite(piped({"ridge__alpha": 1.0}, N).score)  # a score without weights is taken as it is
    with pytest.raises(ValueError, match="Bare takes no sample_weight"):
        CrossValidation(Bare(), data(Y, W), 3, max_scorer, None, 0)


class Bare(BaseEstimator):
    def fit(self, X, y):
        return self


def max_scorer(machine, X, y):
    return -max_error(y, machine.predict(X))


def test_one_score():
    with pytest.raises(ValueError, match="one score to compare settings by"):
        CrossValidation(Ridge(), data(), None, ["r2", "max_error"], None, 0)


def loo_by_refits(sigma, lam, rows):
    """Mean square of n predictions by n machines, from plain linear algebra."""
    K, y, n = gaussian(X[rows], X[rows], sigma), Y[rows], len(rows)
    errors = []
    for i in range(n):
        kept = np.arange(n) != i
        c = np.linalg.solve(K[np.ix_(kept, kept)] + lam * (n - 1) * np.eye(n - 1), y[kept])
        errors.append(y[i] - K[i, kept] @ c)
    return np.mean(np.square(errors))


@pytest.mark.parametrize("rows", [N, 25])
def test_leave_one_out_is_exact_and_lam_is_the_best_there_is(rows):
    objective = LeaveOneOut(KernelRidge(offset=False), data(), "auto")
    found = objective({"kernel": Gaussian(1.3)}, rows)
    lam = found.params["lam"]
    some = data().rows(rows)
    assert found.score == pytest.approx(-loo_by_refits(1.3, lam, some), rel=1e-6)
    assert found.score == found.lam_scores.max() and lam in found.lams
    for other in (lam / 3, lam * 3):
        assert found.score > -loo_by_refits(1.3, other, some)


def test_leave_one_out_with_weights_and_given_values():
    machine = KernelRidge(Gaussian(1.0), lam=0.01, offset=False)
    fixed = LeaveOneOut(machine, data(Y, W), None)({}, N)
    residuals = machine.fit(X, Y, W).loo_residuals()
    assert fixed.score == pytest.approx(-np.average(residuals**2, weights=W)) and fixed.params == {}
    lams = [1e-4, 1e-2, 1.0]
    chosen = LeaveOneOut(machine, data(Y, W), Choice(lams))({}, N)
    peer = path(machine, X, Y, lams, W)
    assert chosen.lams.tolist() == lams and np.allclose(chosen.lam_scores, -peer.loo_mse)
    ranged = LeaveOneOut(machine, data(), Real(1e-3, 1e-2, log=True))({}, N)
    assert (ranged.lams.min(), ranged.lams.max()) == pytest.approx((1e-3, 1e-2))


def test_leave_one_out_of_a_given_matrix():
    K = gaussian(X, X)
    found = LeaveOneOut(KernelRidge(Precomputed(), offset=False), data(points=K), "auto")({}, 30)
    some = data().rows(30)
    assert found.score == pytest.approx(-loo_by_refits(1.0, found.params["lam"], some), rel=1e-6)


@pytest.mark.parametrize(
    "machine, names, yes",
    [
        (KernelRidge(offset=False), ["kernel__sigma", "lam"], True),
        (
            KernelRidge(representation=Nystrom(n_centres=5), offset=False),
            ["kernel", "representation__n_centres"],
            True,
        ),
        (KernelRegressor(offset=False), ["lam"], True),
        (KernelRegressor(loss="huber", offset=False), ["lam"], False),
        (KernelRegressor(offset=False), ["loss"], False),
        (KernelRidge(Linear(), representation=Lasso(), offset=False), ["lam"], False),
        (KernelSVC(), ["lam"], False),
        (Ridge(), ["alpha"], False),
        (make_pipeline(StandardScaler(), KernelRidge(offset=False)), ["kernelridge__lam"], False),
    ],
    ids=str,
)
def test_where_there_is_a_closed_form(machine, names, yes):
    assert LeaveOneOut.applies(machine, Y, names) is yes
    assert not LeaveOneOut.applies(machine, None, names)


def test_labels_with_the_squared_loss_have_one_too():
    assert LeaveOneOut.applies(KernelClassifier(loss="squared", offset=False), Y > 0, ["lam"])
    assert not LeaveOneOut.applies(KernelLogistic(offset=False), Y > 0, ["lam"])


def test_what_goes_wrong_is_kept():
    objective = CrossValidation(KernelRidge(offset=False), data(), 3, None, None, 0)
    trial, error = attempt(objective, Space.of({"lam": [-1.0]}), np.array([0.5]), N)
    assert np.isnan(trial.score) and not trial.ok and trial.scores == () and trial.params == {"lam": -1.0}
    assert trial.error.startswith("ValueError: lam must be a positive number") and isinstance(
        error, ValueError
    )
    nan = CrossValidation(Ridge(), data(), 3, lambda m, X, y: np.nan, None, 0)
    assert attempt(nan, Space.of({}), np.array([]), N)[0].error == "ValueError: the score is nan"


def test_a_solver_that_stops_early_has_failed():
    slow = LogisticRegression(max_iter=1)
    trial, _ = attempt(CrossValidation(slow, data(Y > 0), 3, None, None, 0), Space.of({}), np.array([]), N)
    assert trial.error.startswith("ConvergenceWarning: ") and np.isnan(trial.score)


def test_values_of_a_space_stay_as_they_are():
    kernel = Gaussian()
    machine = KernelRidge(offset=False)
    made = configured(machine, {"kernel": kernel, "kernel__sigma": 3.0})
    assert made.kernel == Gaussian(3.0) and kernel == Gaussian() and machine.kernel == Gaussian()
