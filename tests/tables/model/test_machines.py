"""Which loss, exact or with centres; probabilities of rare classes."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    log_loss,
    mean_absolute_error,
    mean_squared_error,
    r2_score,
    roc_auc_score,
)
from sklearn.model_selection import KFold, StratifiedKFold

from mercer import KernelClassifier, KernelLogistic, KernelRegressor, KernelRidge, KernelSVC
from mercer.kernels import Gaussian, Laplacian
from mercer.losses import Huber
from mercer.representations import Full, Nystrom
from mercer.selection.search import Clock
from mercer.tables.model.fitting import representation
from mercer.tables.model.forests import grown, has_forest
from mercer.tables.model.learn import Question
from mercer.tables.model.machines import calibrated, choose, least_squares
from mercer.tables.model.metric import metric_of
from mercer.tables.model.texts import BAGS
from mercer.tables.reading import Table

KERNEL = Gaussian(1.0).scaled([1.0, 1.0])


def smooth(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 2))
    return rng, X, np.sin(2 * X[:, 0]) + X[:, 1]


def question(task, y, metric=None, units=None):
    """The table is not looked at where points are given."""
    classes = None if task == "regression" else np.unique(y)
    judged_by = metric_of(metric, task, classes, y)
    return Question(Table.of({"row": np.arange(len(y))}), y, task, classes, units, (), judged_by)


def chosen(task, X, y, mu=0.3, seconds=100.0, kernel=KERNEL, seed=0, **more):
    return choose(question(task, y, **more), kernel, mu, X, Clock(seconds), seed)


# -- numbers -----------------------------------------------------------------------------------------


def test_ordinary_noise_keeps_least_squares():
    rng, X, f = smooth(200)
    found = chosen("regression", X, f + 0.3 * rng.standard_normal(200))
    assert isinstance(found.machine, KernelRidge) and found.trials == ()
    assert found.machine.lam == pytest.approx(0.3 / 200) and found.machine.offset
    assert found.machine.kernel == KERNEL and found.seconds == 0


def test_long_tails_ask_for_huber():
    rng, X, f = smooth(300)
    y = f + 0.1 * rng.standard_normal(300)
    wild = rng.permutation(300)[:15]
    y[wild] += rng.choice([-30, 30], 15)
    found = chosen("regression", X, y)
    assert type(found.machine) is KernelRegressor and isinstance(found.machine.loss, Huber)
    assert 0.05 < found.machine.loss.delta < 5
    assert [t.loss.split(",")[0] for t in found.trials] == ["squared", "huber", "huber"]
    assert min(t.error for t in found.trials[1:]) < 0.99 * found.trials[0].error
    # It is worth it: nearer to the function under the noise.
    _, fresh, truth = smooth(500, seed=1)
    ridge = KernelRidge(KERNEL, lam=0.3 / 300, offset=True).fit(X, y)
    errors = [np.mean((m.predict(fresh) - truth) ** 2) for m in (found.machine.fit(X, y), ridge)]
    assert errors[0] < 0.5 * errors[1]


@pytest.mark.parametrize(
    "y",
    [np.zeros(80), np.r_[np.zeros(78), 1.0, 2.0], np.ones(80) * 1e9, np.arange(80.0) * 1e-12],
    ids=["zeros", "two others", "a large constant", "tiny"],
)
def test_targets_with_nothing_in_them(y):
    _, X, _ = smooth(80)
    found = chosen("regression", X, y)
    assert np.isfinite(found.machine.fit(X, y).predict(X)).all()


def test_what_cannot_be_solved_is_not_chosen():
    """Twins with one value each, a few others far off: Huber's problem has no end there."""
    _, X, f = smooth(60)
    X, y = np.repeat(X, 3, axis=0), np.repeat(f, 3)
    y[::40] += 50
    found = chosen("regression", X, y, mu=1e-7)
    assert np.isfinite(found.machine.fit(X, y).predict(X)).all()


# -- labels ------------------------------------------------------------------------------------------


def test_two_classes():
    rng, X, f = smooth(150)
    y = np.where(f + 0.3 * rng.standard_normal(150) > 0, "up", "down")
    found = chosen("classification", X, y)
    losses = {t.loss.split(",")[0] for t in found.trials}
    assert losses == {"squared", "hinge", "logistic"}
    assert all(0 <= t.error <= 1 and t.lam > 0 and t.rows == 150 for t in found.trials)
    machine = found.machine.fit(X, y)
    assert machine.score(X, y) > 0.85
    calibration = calibrated(machine, X, y, 0)
    assert (calibration is not None) == isinstance(machine, KernelClassifier)


def test_many_classes_are_not_left_to_the_logistic_loss():
    _, X, f = smooth(200)
    y = np.digitize(f, np.quantile(f, [0.2, 0.4, 0.6, 0.8]))
    losses = {t.loss.split(",")[0] for t in chosen("classification", X, y).trials}
    assert losses == {"squared", "hinge"}


def test_without_time_least_squares_it_is():
    _, X, f = smooth(100)
    found = chosen("classification", X, f > 0, seconds=0.0)
    assert isinstance(found.machine, KernelClassifier) and [t.loss for t in found.trials] == ["squared"]
    # A small table is solved exactly, however late it is.
    assert isinstance(representation(found.machine, X, 0.0), Full)


def test_two_examples_of_a_class():
    _, X, f = smooth(60)
    y = np.where(f > 0, "b", "a").astype("<U4")
    y[:2] = "rare"
    found = chosen("classification", X, y)
    assert isinstance(found.machine, KernelClassifier) and found.trials == ()
    machine = found.machine.fit(X, y)
    P = calibrated(machine, X, y, 0).probability(machine.scores(X), machine.coding_)
    assert P.shape == (60, 3) and np.allclose(P.sum(axis=1), 1)


@pytest.mark.parametrize("rare", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", range(4))
def test_a_rare_class_among_more_rows_than_are_looked_at(rare, seed, monkeypatch):
    """Losses are compared, and probabilities learned, on some of the rows: the rare class is among them."""
    monkeypatch.setattr("mercer.tables.model.machines._ROWS", 60)
    _, X, f = smooth(400)
    y = np.where(f > 0, "b", "a").astype("<U4")
    y[-rare:] = "rare"
    found = chosen("classification", X, y, seed=seed)
    if rare < 3:
        assert isinstance(found.machine, KernelClassifier)
    machine = found.machine.fit(X, y)
    assert machine.classes_.tolist() == ["a", "b", "rare"]
    calibration = calibrated(machine, X, y, seed)
    if calibration is None:
        P = machine.predict_proba(X)
    else:
        P = calibration.probability(machine.scores(X), machine.coding_)
    assert P.shape == (400, 3) and (machine.classes_[P.argmax(axis=1)] == machine.predict(X)).all()


def test_separable_classes():
    """No errors by any loss: the plainest one, and probabilities that are not 0 and 1."""
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(-5, 0.1, (40, 2)), rng.normal(5, 0.1, (40, 2))]
    y = np.repeat(["a", "b"], 40)
    found = chosen("classification", X, y)
    assert isinstance(found.machine, KernelClassifier)
    machine = found.machine.fit(X, y)
    P = calibrated(machine, X, y, 0).probability(machine.scores(X), machine.coding_)
    assert (P.argmax(axis=1) == np.repeat([0, 1], 40)).all() and 0.8 < P.max(axis=1).min() < 1


def test_machines_with_probabilities_of_their_own():
    _, X, f = smooth(80)
    y = f > 0
    for machine in (KernelLogistic(KERNEL, offset=False), KernelSVC(KERNEL, probability=True)):
        assert calibrated(machine.fit(X, y), X, y, 0) is None


# -- what is asked for --------------------------------------------------------------------------------


def in_folds(machine, X, y, seed, labels=None):
    """Predictions of rows in three folds, and their scores, by scikit-learn's splitters."""
    order = np.random.default_rng(seed).permutation(len(y))
    X, y = X[order], y[order]
    splitter = KFold if labels is None else StratifiedKFold
    predicted, scores = y.copy(), np.empty((len(y), 1))
    for train, test in splitter(3, shuffle=True, random_state=seed).split(X, y):
        fitted = clone(machine).set_params(lam=machine.lam * len(y) / len(train)).fit(X[train], y[train])
        predicted[test] = fitted.predict(X[test])
        if labels is not None:
            scores[test] = fitted.scores(X[test]).reshape(-1, 1)
    return y, predicted, scores


@pytest.mark.parametrize(
    "metric, error",
    [
        (None, lambda y, p: mean_squared_error(y, p) ** 0.5),
        ("rmse", lambda y, p: mean_squared_error(y, p) ** 0.5),
        ("mae", mean_absolute_error),
        ("r2", lambda y, p: 1 - r2_score(y, p)),
    ],
)
def test_numbers_are_compared_by_the_metric(metric, error):
    rng, X, f = smooth(200)
    y = f + 0.1 * rng.standard_t(1.5, 200)
    found = chosen("regression", X, y, metric=metric)
    assert len(found.trials) == 3
    expected = error(*in_folds(KernelRidge(KERNEL, lam=0.3 / 200, offset=True), X, y, 0)[:2])
    assert found.trials[0].error == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    "metric, score",
    [
        ("accuracy", accuracy_score),
        ("balanced_accuracy", balanced_accuracy_score),
        ("auc", lambda y, p, s: roc_auc_score(y, s)),
    ],
)
def test_labels_are_compared_by_the_metric(metric, score):
    rng, X, f = smooth(210)
    y = np.where(f + 0.5 * rng.standard_normal(210) > 1, "up", "down")
    found = chosen("classification", X, y, metric=metric)
    machine = KernelClassifier(KERNEL, "squared", lam=0.3 / 210, offset=True)
    truth, predicted, scores = in_folds(machine, X, y, 0, labels=True)
    value = score(truth, predicted, scores[:, 0]) if metric == "auc" else score(truth, predicted)
    # Slopes are not negative, so that ranks stay.
    assert found.trials[0].error == pytest.approx(1 - value, abs=1e-9)


def test_probabilities_are_compared_by_their_loss():
    """As good as those of an oracle's slopes for the same scores."""
    rng, X, f = smooth(210)
    y = np.where(f + 0.5 * rng.standard_normal(210) > 1, "up", "down")
    found = chosen("classification", X, y, metric="log_loss")
    machine = KernelClassifier(KERNEL, "squared", lam=0.3 / 210, offset=True)
    truth, _, scores = in_folds(machine, X, y, 0, labels=True)
    platt = LogisticRegression(C=np.inf).fit(scores, truth)
    assert found.trials[0].error == pytest.approx(log_loss(truth, platt.predict_proba(scores)), rel=0.02)


# -- forests, which know rows --------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [300, 5000], ids=["some are compared", "all are compared"])
def test_what_a_forest_remembers_is_not_taken_for_knowledge(rows, monkeypatch):
    """Labels by a coin: half of them are wrong by every loss, though the forest knows four fifths."""
    monkeypatch.setattr("mercer.tables.model.machines._ROWS", rows)
    rng, X, _ = smooth(600)
    y = rng.choice(["heads", "tails"], 600)
    codes = 2.0 * (y == "tails")[:, None] - 1
    kernel = 0.2 * KERNEL + 0.8 * grown(X, codes, True, np.arange(600), 0, 60)
    flattered = KernelClassifier(kernel, "squared", lam=0.3 / 600, offset=True)
    truth, predicted, _ = in_folds(flattered, X, y, 0, labels=True)
    assert np.mean(truth == predicted) > 0.6  # so much would be believed
    found = chosen("classification", X, y, kernel=kernel)
    assert all(t.error > 0.42 and t.rows == min(rows, 600) for t in found.trials)
    assert found.machine.kernel == kernel and has_forest(found.machine.kernel)


def test_a_forest_that_knows_is_asked_for_its_knowledge(monkeypatch):
    """Grown again on rows that are not compared, it still helps."""
    monkeypatch.setattr("mercer.tables.model.machines._ROWS", 150)
    _, X, _ = smooth(600)
    y = np.where((X[:, 0] > 0.4) ^ (X[:, 1] > 0.2) ^ (X[:, 0] < -1.1), "in", "out")
    codes = 2.0 * (y == "out")[:, None] - 1
    flat = Gaussian(30.0)
    with_forest = flat + 5.0 * grown(X, codes, True, np.arange(600), 0, 60)
    errors = [chosen("classification", X, y, kernel=k).trials[0].error for k in (flat, with_forest)]
    assert errors[1] < 0.4 * errors[0]


def test_least_squares_for_all_rows():
    _, _, f = smooth(50)
    ridge = least_squares(question("regression", f), KERNEL, 0.5, 3)
    assert (
        isinstance(ridge, KernelRidge) and ridge.lam == 0.5 / 50 and ridge.offset and ridge.random_state == 3
    )
    labels = least_squares(question("classification", f > 0), KERNEL, 0.5, 3)
    assert isinstance(labels, KernelClassifier) and labels.loss == "squared" and labels.lam == 0.5 / 50


# -- exact or with centres ---------------------------------------------------------------------------


def test_long_tables_take_centres(monkeypatch):
    monkeypatch.setattr("mercer.tables.model.machines._ROWS", 200)
    monkeypatch.setattr("mercer.tables.model.effort.cpu_count", lambda: 2)
    rng, X, f = smooth(30_000)
    found = chosen("regression", X, f + 0.3 * rng.standard_normal(30_000))
    assert isinstance(found.machine, KernelRidge) and found.machine.lam == pytest.approx(0.3 / 30_000)
    how = representation(found.machine, X, 5.0)
    assert isinstance(how, Nystrom) and 200 <= how.n_centres <= 8000
    assert isinstance(representation(found.machine, X[:2000], 5.0), Full)


def test_the_same_seed_chooses_the_same():
    rng, X, f = smooth(120)
    y = np.where(f + rng.standard_normal(120) > 0, 1, 0)
    a, b = (chosen("classification", X, y, kernel=Laplacian(1.0), seed=5) for _ in range(2))
    assert a.trials == b.trials and repr(a.machine) == repr(b.machine)


# -- texts -------------------------------------------------------------------------------------------


def test_kernels_on_texts_are_kept_though_places_of_rows_are_compared():
    rng = np.random.default_rng(0)
    y = rng.choice(["yes", "no"], 90)
    rows = np.array([[f"{' '.join(rng.choice(list('abcdefgh'), 4))} {label}"] for label in y], dtype=object)
    kernel = BAGS["words"].on(0).resolve(rows)
    found = chosen("classification", rows, y, kernel=kernel)
    assert found.machine.kernel == kernel and found.machine.representation == "auto"
    assert {t.loss.split(",")[0] for t in found.trials} == {"squared", "hinge", "logistic"}
    for machine in (KernelSVC.from_C(3.0, kernel=kernel), KernelClassifier(kernel, "squared", lam=1e-3)):
        machine.fit(rows, y)
        P = calibrated(machine, rows, y, 0).probability(machine.scores(rows), machine.coding_)
        assert P[np.arange(90), (y == "yes").astype(int)].mean() > 0.85
