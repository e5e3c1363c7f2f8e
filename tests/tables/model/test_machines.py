"""Which loss, exact or with centres; probabilities of rare classes."""

import numpy as np
import pytest

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
    assert isinstance(found.machine.representation, Full)


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
    assert isinstance(found.machine.representation, Full)


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


# -- exact or with centres ---------------------------------------------------------------------------


def test_long_tables_take_centres(monkeypatch):
    monkeypatch.setattr("mercer.tables.model.machines._ROWS", 200)
    rng, X, f = smooth(30_000)
    found = chosen("regression", X, f + 0.3 * rng.standard_normal(30_000), seconds=5.0)
    assert isinstance(found.machine, KernelRidge) and isinstance(found.machine.representation, Nystrom)
    assert 200 <= found.machine.representation.n_centres <= 8000
    assert found.machine.lam == pytest.approx(0.3 / 30_000)


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
