"""Passes through the rows: scikit-learn's SGD, a loop in NumPy, when they end, where they go on."""

import pickle

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier, SGDRegressor

import mercer
from mercer import OnlineKernelClassifier, OnlineKernelRegressor
from mercer.kernels import Gaussian, Linear
from mercer.losses import Huber, Squared
from mercer.online import (
    AdaptiveStep,
    ConstantStep,
    Merge,
    Oldest,
    PassiveAggressiveStep,
    PegasosStep,
    PowerStep,
    Projection,
    Stopping,
)
from mercer.online.passes import Progress

RNG = np.random.default_rng(0)
X = RNG.standard_normal((90, 4))
NUMBERS = X @ [0.5, -0.3, 0.2, 0.0] + 0.1 * RNG.standard_normal(90)
LABELS = (X @ [1.0, -2.0, 0.5, 0.0] + 0.7 * RNG.standard_normal(90) > 0).astype(int)
ALPHA, ETA = 1e-2, 0.05
RATES = {
    "constant": (ConstantStep(ETA), {"eta0": ETA}),
    "optimal": (PegasosStep("auto"), {}),
    "invscaling": (PowerStep(0.3, 0.25), {"eta0": 0.3, "power_t": 0.25}),
    "adaptive": (AdaptiveStep(ETA), {"eta0": ETA}),
}
K = Gaussian(1.0)


def close(ours, theirs, tol=1e-9):
    np.testing.assert_allclose(ours.coef_, theirs.coef_.ravel(), rtol=tol, atol=tol)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_[0], rtol=tol, atol=tol)


# -- scikit-learn's SGD -----------------------------------------------------------------------------------


@pytest.mark.parametrize("average", [False, True, 40, 150, 1000])
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("loss", ["hinge", "log_loss", "modified_huber"])
def test_labels_by_sgd(loss, rate, average):
    step, words = RATES[rate]
    options = dict(
        alpha=ALPHA, learning_rate=rate, average=average, shuffle=False, tol=None, max_iter=3, **words
    )
    theirs = SGDClassifier(loss=loss, **options)
    weight = np.random.default_rng(1).uniform(0.5, 2, len(X))
    theirs.fit(X, LABELS, sample_weight=weight)
    loss = {"log_loss": "logistic"}.get(loss, loss)
    # Adaptive steps look at passes; with so much patience they have nothing to say in three.
    options = dict(lam=ALPHA / 2, step=step, averaging=average, passes=3, stopping=Stopping(patience=99))
    for budget in (None, Projection(10, 0.0)):
        ours = OnlineKernelClassifier(Linear(), loss, budget=budget, offset=True, **options)
        # Long first steps magnify rounding, and a projection rounds otherwise.
        close(ours.fit(X, LABELS, sample_weight=weight), theirs, 1e-6)


@pytest.mark.parametrize("average", [False, 40])
@pytest.mark.parametrize("rate", ["constant", "invscaling", "adaptive"])
@pytest.mark.parametrize("loss", ["squared_error", "huber", "epsilon_insensitive"])
def test_numbers_by_sgd(loss, rate, average):
    """Their squared and Huber losses are half of ours: our steps are half of theirs, and λ the double."""
    half = loss != "epsilon_insensitive"
    eta = 0.04
    options = dict(alpha=ALPHA, epsilon=0.3, eta0=eta, power_t=0.25, average=average, shuffle=False)
    theirs = SGDRegressor(loss=loss, learning_rate=rate, tol=None, max_iter=3, **options).fit(X, NUMBERS)
    eta, lam = (eta / 2, ALPHA) if half else (eta, ALPHA / 2)
    step = {"constant": ConstantStep(eta), "invscaling": PowerStep(eta), "adaptive": AdaptiveStep(eta)}[rate]
    ours = {
        "squared_error": Squared(),
        "huber": Huber(0.3),
        "epsilon_insensitive": mercer.losses.EpsilonInsensitive(0.3),
    }
    machine = OnlineKernelRegressor(
        Linear(),
        ours[loss],
        lam=lam,
        step=step,
        budget=None,
        offset=True,
        averaging=average,
        passes=3,
        stopping=Stopping(patience=99),
    )
    close(machine.fit(X, NUMBERS), theirs)


@pytest.mark.parametrize("held_out", [0.0, 0.2], ids=["on the way", "held out"])
@pytest.mark.parametrize("rate", ["constant", "adaptive"])
@pytest.mark.parametrize("loss", ["modified_huber", "log_loss"])
def test_early_stopping_ends_with_the_pass_that_ends_sgd(loss, rate, held_out):
    step, words = RATES[rate]
    stops = dict(early_stopping=held_out > 0, validation_fraction=held_out or 0.1, n_iter_no_change=3)
    theirs = SGDClassifier(
        loss=loss,
        penalty=None,
        learning_rate=rate,
        shuffle=False,
        max_iter=1000,
        random_state=3,
        **words,
        **stops,
    ).fit(X, LABELS)
    ours = OnlineKernelClassifier(
        Linear(),
        {"log_loss": "logistic"}.get(loss, loss),
        lam=0.0,
        step=step,
        budget=None,
        offset=True,
        representation="features",
        passes=1000,
        stopping=Stopping(1e-3, 3, held_out),
        random_state=3,
    ).fit(X, LABELS)
    assert 3 < ours.n_passes_ == theirs.n_iter_ < 1000
    close(ours, theirs)


def test_early_stopping_of_a_regression():
    theirs = SGDRegressor(
        penalty=None,
        learning_rate="constant",
        eta0=0.02,
        shuffle=False,
        early_stopping=True,
        validation_fraction=0.3,
        random_state=1,
    ).fit(X, NUMBERS)
    rule = Stopping(held_out=0.3)
    ours = OnlineKernelRegressor(
        Linear(), lam=0.0, step=0.01, budget=None, offset=True, passes=1000, stopping=rule, random_state=1
    ).fit(X, NUMBERS)
    assert ours.n_passes_ == theirs.n_iter_
    close(ours, theirs)


# -- a loop in NumPy ----------------------------------------------------------------------------------------


def written_out(G, y, eta, lam, passes, tol, patience, factor, least, since):
    """Functional descent on the squared loss, every number in plain sight: (mean c, last c, passes, η)."""
    n = len(y)
    c, total, t, best, stalled = np.zeros(n), np.zeros(n), 0, np.inf, 0
    number = 0
    while number < passes:
        number += 1
        cost = 0.0
        for i in range(n):
            t += 1
            s = G[i] @ c
            cost += (y[i] - s) ** 2 / n
            c = (1 - 2 * eta * lam) * c
            c[i] += 2 * eta * (y[i] - s)
            if t >= since:
                total = total + c
        stalled = stalled + 1 if cost > best - tol else 0
        best = min(best, cost)
        if stalled >= patience:
            if eta <= least:
                break
            eta, stalled = eta / factor, 0
    return total / (t - since + 1), c, number, eta


@pytest.mark.parametrize("budget", [None, Merge(400), Projection(90, 0.0)], ids=repr)
def test_adaptive_steps_and_a_late_mean_are_what_a_loop_makes(budget):
    points, y = X[:30, :2], NUMBERS[:30]
    rule = dict(tol=1e-3, patience=2)
    step = dict(factor=3.0, least=0.02)
    mean, last, number, eta = written_out(K(points), y, 0.4, 0.01, 12, **rule, **step, since=100)
    assert number == 12 or eta < 0.4
    options = dict(
        lam=0.01, step=AdaptiveStep(0.4, **step), budget=budget, passes=12, stopping=Stopping(**rule)
    )
    for since, coef in ((100, mean), (False, last)):
        machine = OnlineKernelRegressor(K, averaging=since, **options).fit(points, y)
        np.testing.assert_allclose(machine.predict(points), K(points) @ coef, atol=1e-8)
        assert machine.n_passes_ == number
        assert 0.4 * machine.learner_.pace == pytest.approx(eta)


def test_a_mean_that_has_not_begun_is_the_last_function():
    machine = OnlineKernelRegressor(K, averaging=91).partial_fit(X, NUMBERS)
    last = OnlineKernelRegressor(K).partial_fit(X, NUMBERS)
    np.testing.assert_allclose(machine.predict(X), last.predict(X), atol=1e-12)
    for other in (machine, last):
        other.partial_fit(X[:1], NUMBERS[:1])
    np.testing.assert_allclose(machine.predict(X), last.predict(X), atol=1e-12)  # the mean of one
    machine.partial_fit(X[1:5], NUMBERS[1:5])
    last.partial_fit(X[1:5], NUMBERS[1:5])
    assert np.abs(machine.predict(X) - last.predict(X)).max() > 1e-3


# -- when it ends -------------------------------------------------------------------------------------------


def test_progress():
    progress = Progress(Stopping(tol=0.1, patience=2))
    costs = [5.0, 4.0, 3.95, 3.8, 3.75, 3.75]
    assert [progress.has_ended(cost) for cost in costs] == [False, False, False, False, False, True]
    progress = Progress(Stopping(tol=0.0, patience=1))
    assert [progress.has_ended(cost) for cost in (1.0, 1.0, 1.1)] == [False, False, True]


def test_rows_held_out_teach_nothing():
    rule = Stopping(held_out=0.25, patience=2)
    machine = OnlineKernelClassifier(K, passes=20, stopping=rule, budget=None, random_state=0).fit(X, LABELS)
    learned, judged = rule.split(LABELS, True, 0)
    assert len(judged) == 23 and not set(learned) & set(judged)
    kept = {tuple(row) for row in X[judged]}
    assert not kept & {tuple(row) for row in machine.function_.points}
    for y, part in ((LABELS[:5], 0.999), (np.array([0, 0, 1]), 0.5), (NUMBERS[:2], 0.3), (NUMBERS[:1], 0.5)):
        with pytest.raises(ValueError, match=f"held_out={part} of {len(y)} rows can't be held out"):
            Stopping(held_out=part).split(y, y.dtype.kind != "f", 0)
    same = OnlineKernelClassifier(K, passes=machine.n_passes_, budget=None).fit(X[learned], LABELS[learned])
    np.testing.assert_allclose(machine.decision_function(X), same.decision_function(X), atol=1e-12)


def test_passes_without_a_rule_are_all_made():
    machine = OnlineKernelRegressor(K, passes=4).fit(X, NUMBERS)
    assert (machine.n_passes_, machine.n_seen_) == (4, 4 * len(X))
    # A stream has no passes, and nothing to hold out.
    rule = Stopping(held_out=0.5)
    machine = OnlineKernelRegressor(K, step=AdaptiveStep(), stopping=rule, passes=9).partial_fit(X, NUMBERS)
    assert machine.n_seen_ == len(X)


WRONG = {
    "one pass": (dict(stopping=Stopping()), ValueError, "set passes=1000"),
    "a word": (dict(stopping="early", passes=9), TypeError, "stopping must be None or"),
    "tol": (dict(stopping=Stopping(tol=-1.0), passes=9), ValueError, "tol must be"),
    "patience": (
        dict(stopping=Stopping(patience=0), passes=9),
        ValueError,
        "patience must be a whole number",
    ),
    "all held out": (dict(stopping=Stopping(held_out=1.0), passes=9), ValueError, "from 0 to less than 1"),
    "flag": (dict(stopping=Stopping(held_out=True), passes=9), ValueError, "from 0 to less than 1"),
    "averaging": (dict(averaging=-1), ValueError, "averaging must be a whole number"),
    "averaging by a word": (dict(averaging="late"), ValueError, "averaging must be True or False"),
    "warm": (dict(warm_start=1), ValueError, "warm_start must be True or False"),
}


@pytest.mark.parametrize("options, error, words", WRONG.values(), ids=WRONG)
def test_what_makes_no_sense_is_refused_and_nothing_forgotten(options, error, words):
    machine = OnlineKernelRegressor(K).fit(X, NUMBERS)
    before = machine.predict(X)
    with pytest.raises(error, match=words):
        machine.set_params(**options).fit(X, NUMBERS)
    np.testing.assert_array_equal(machine.predict(X), before)


def test_too_few_rows_to_hold_any_out():
    machine = OnlineKernelClassifier(K, passes=9, stopping=Stopping(held_out=0.1))
    with pytest.raises(ValueError, match="of every class two, one in each part"):
        machine.fit(X[:4], [0, 1, 0, 1])
    assert not machine.begun


# -- going on -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [0.1, PowerStep(0.3), PegasosStep(5), PassiveAggressiveStep()], ids=repr)
def test_warm_starts_go_on_and_so_do_their_steps(step):
    lam = 0.0 if isinstance(step, PassiveAggressiveStep) else 0.01
    options = dict(kernel=K, step=step, lam=lam, budget=Oldest(40), averaging=120)
    warm = OnlineKernelRegressor(warm_start=True, **options)
    warm.fit(X, NUMBERS).fit(X, NUMBERS)
    whole = OnlineKernelRegressor(passes=2, **options).fit(X, NUMBERS)
    np.testing.assert_array_equal(warm.predict(X), whole.predict(X))
    assert warm.n_seen_ == whole.n_seen_ == 2 * len(X)
    again = OnlineKernelRegressor(**options).fit(X, NUMBERS).fit(X, NUMBERS)
    assert again.n_seen_ == len(X)


def test_a_machine_that_has_slowed_down_is_kept_so(tmp_path):
    options = dict(kernel=K, step=AdaptiveStep(0.4), stopping=Stopping(patience=1), passes=9, warm_start=True)
    machine = OnlineKernelRegressor(**options).fit(X, NUMBERS)
    assert machine.learner_.pace < 1
    mercer.save(machine, tmp_path / "m.mercer")
    copies = [pickle.loads(pickle.dumps(machine)), mercer.load(tmp_path / "m.mercer")]
    machine.partial_fit(X, NUMBERS)
    for copy in copies:
        np.testing.assert_array_equal(copy.partial_fit(X, NUMBERS).predict(X), machine.predict(X))
    fresh = OnlineKernelRegressor(**options).partial_fit(X, NUMBERS)
    assert fresh.learner_.pace == 1.0
