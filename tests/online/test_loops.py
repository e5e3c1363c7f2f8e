"""Loops against a second implementation, dense and slow: losses, steps, offsets, means, outputs, budgets."""

import numpy as np
import pytest

import online_reference as reference
from mercer import KernelRidge, OnlineKernelClassifier, OnlineKernelRegressor
from mercer.functions import zero
from mercer.functions.functionals import Evaluation, Risk, SquaredNorm
from mercer.kernels import Gaussian, Laplacian, Linear, Polynomial
from mercer.losses import (
    Absolute,
    EpsilonInsensitive,
    Exponential,
    Hinge,
    Huber,
    Logistic,
    Multinomial,
    Poisson,
    Quantile,
    Squared,
    SquaredHinge,
)
from mercer.online import (
    AtRandom,
    Forgetron,
    InverseRootStep,
    Merge,
    Oldest,
    PassiveAggressiveStep,
    PegasosStep,
    PerceptronLoss,
    Projection,
    RecursiveStep,
    Smallest,
    Window,
    code,
    krls,
)
from mercer.representations import Features

T = 30
REGRESSION = [
    Squared(),
    Huber(0.5),
    Absolute(),
    EpsilonInsensitive(0.2),
    Quantile(0.8),
    Poisson(),
]
CLASSIFICATION = [
    Logistic(),
    Hinge(),
    SquaredHinge(),
    Exponential(),
    Multinomial(),
    PerceptronLoss(),
    Squared(),
]
STEPS = {
    "constant": (0.1, 0.02, reference.constant(0.1)),
    "inverse root": (InverseRootStep(0.4), 0.02, reference.inverse_root(0.4)),
    "pegasos": (PegasosStep(), 0.6, reference.pegasos),
    "passive-aggressive 0": (PassiveAggressiveStep(0.3, 0), 0.0, reference.passive_aggressive(0.3, 0)),
    "passive-aggressive 1": (PassiveAggressiveStep(0.3, 1), 0.0, reference.passive_aggressive(0.3, 1)),
    "passive-aggressive 2": (PassiveAggressiveStep(0.3, 2), 0.0, reference.passive_aggressive(0.3, 2)),
}
K = Gaussian(0.8)
every_step = pytest.mark.parametrize("step, lam, rate", STEPS.values(), ids=STEPS)


def stream(n=T, d=2, seed=0):
    return np.random.default_rng(seed).uniform(-2, 2, (n, d))


def numbers(X, t):
    """Nonnegative, so that every loss takes them."""
    y = np.abs(np.column_stack([np.sin(2 * X[:, 0]) + 0.5 * X[:, 1], np.cos(X[:, 1]), X[:, 0]]))[:, :t]
    return y[:, 0] if t == 1 else y


def labels(X, k):
    return np.digitize(np.sin(2 * X[:, 0]) + X[:, 1], [0.0] if k == 2 else [-0.7, 0.7])


def coded(y, k, joint):
    """Targets as the machines should code labels 0, …, k − 1."""
    if k == 2 and not joint:
        return 2.0 * y[:, None] - 1
    hot = np.eye(k)[y]
    return hot if joint else 2 * hot - 1


def fed(machine, X, y, batches=(13, 9, 8)):
    start = 0
    for n in batches:
        machine.partial_fit(X[start : start + n], y[start : start + n])
        start += n
    return machine


def compare(machine, other, X, averaging=False, tol=1e-10):
    found = machine.function_(X).reshape(len(X), -1)
    expected = other.values(averaging)
    np.testing.assert_allclose(found, expected, rtol=0, atol=tol * max(1.0, np.abs(expected).max()))
    b = other.constant(averaging)
    np.testing.assert_allclose(machine.intercept_, np.squeeze(b), rtol=tol, atol=tol)
    assert machine.n_updates_ == other.updates


@pytest.mark.parametrize("t", [1, 3], ids=lambda t: f"{t} outputs")
@pytest.mark.parametrize("offset", [False, True], ids=["", "offset"])
@every_step
@pytest.mark.parametrize("loss", REGRESSION, ids=repr)
def test_regression_without_a_budget(loss, step, lam, rate, offset, t):
    X = stream()
    y = numbers(X, t)
    other = reference.Machine(K(X), loss, lam, rate, offset=offset)
    for i, row in enumerate(y.reshape(T, t)):
        other.learn(i, row)
    # Unbounded steps that follow an exponential magnify rounding.
    wild = isinstance(loss, Poisson) and isinstance(step, PassiveAggressiveStep)
    total = loss.value(y.reshape(T, t), np.array(other.scores)).sum()
    for averaging in (False, True):
        machine = OnlineKernelRegressor(K, loss, lam, step, None, offset=offset, averaging=averaging)
        compare(fed(machine, X, y), other, X, averaging, tol=1e-5 if wild else 1e-10)
        assert machine.cumulative_loss_ == pytest.approx(total, rel=1e-5 if wild else 1e-9)


@pytest.mark.parametrize("k", [2, 3], ids=lambda k: f"{k} classes")
@pytest.mark.parametrize("offset", [False, True], ids=["", "offset"])
@every_step
@pytest.mark.parametrize("loss", CLASSIFICATION, ids=repr)
def test_classification_without_a_budget(loss, step, lam, rate, offset, k):
    X = stream(seed=1)
    y = labels(X, k)
    targets = coded(y, k, loss.joint)
    other = reference.Machine(K(X), loss, lam, rate, offset=offset)
    for i, row in enumerate(targets):
        other.learn(i, row)
    scores = np.array(other.scores)
    said = scores.argmax(axis=1) if scores.shape[1] > 1 else (scores[:, 0] > 0).astype(int)
    for averaging in (False, True):
        machine = OnlineKernelClassifier(K, loss, lam, step, None, offset=offset, averaging=averaging)
        compare(fed(machine, X, y), other, X, averaging)
        assert machine.n_mistakes_ == np.count_nonzero(said != y)


# -- one step is one step of functional gradient descent -------------------------------------------


@pytest.mark.parametrize(
    "loss", [Squared(), Huber(0.5), Absolute(), EpsilonInsensitive(0.1), Quantile(0.3), Poisson()], ids=repr
)
@pytest.mark.parametrize("kernel", [K, Laplacian(1.0), Polynomial(2)], ids=repr)
def test_a_step_is_a_step_against_the_gradient(kernel, loss):
    X, lam, eta = stream(8), 0.3, 0.05
    y = numbers(X, 1)
    f = zero(kernel)
    machine = OnlineKernelRegressor(kernel, loss, lam, eta, None)
    for i in range(8):
        C = Risk(kernel, X[i : i + 1], y[i : i + 1], loss) + lam * SquaredNorm()
        f = f - eta * C.gradient(f)
        machine.partial_fit(X[i : i + 1], y[i : i + 1])
        assert machine.function_.distance(f) <= 1e-7 * (1 + f.norm())  # a root of rounding
        np.testing.assert_allclose(
            machine.predict(stream(30, seed=4)), loss.link(f(stream(30, seed=4))), rtol=1e-12
        )


@pytest.mark.parametrize(
    "loss", [Logistic(), Hinge(), SquaredHinge(), Exponential(), PerceptronLoss()], ids=repr
)
def test_a_step_of_a_classifier_is_one_too(loss):
    X, lam, eta = stream(8, seed=2), 0.1, 0.4
    y = labels(X, 2)
    f = zero(K)
    machine = OnlineKernelClassifier(K, loss, lam, eta, None)
    for i in range(8):
        C = Risk(K, X[i : i + 1], 2.0 * y[i : i + 1] - 1, loss) + lam * SquaredNorm()
        f = f - eta * C.gradient(f)
        machine.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1])
        np.testing.assert_allclose(machine.decision_function(X), f(X), rtol=1e-12, atol=1e-14)


def test_the_step_of_the_texts():
    x, y, lam, eta = [0.5], 1.0, 0.1, 0.25
    E = (Evaluation(K, x) - y) ** 2 + lam * SquaredNorm()
    machine = OnlineKernelRegressor(K, "squared", lam, eta, None)
    f = zero(K)
    for _ in range(3):
        f = f - eta * E.gradient(f)
        machine.partial_fit([x], [y])
    assert machine.predict([x])[0] == pytest.approx(f.at(x), rel=1e-13)


# -- budgets ---------------------------------------------------------------------------------------

SEED = 3
BUDGETS = {
    "oldest": (Oldest, reference.Oldest),
    "smallest": (Smallest, reference.Smallest),
    "at random": (AtRandom, reference.AtRandom),
    "window": (Window, reference.Window),
    "merge": (Merge, reference.Merge),
}


def same_with_budget(loss, y, targets, X, budget, policy, step, lam, rate, averaging, kernel=K, **options):
    kind = OnlineKernelClassifier if loss.classification else OnlineKernelRegressor
    machine = kind(kernel, loss, lam, step, budget, averaging=averaging, random_state=SEED, **options)
    fed(machine, X, y)
    if isinstance(policy, type):
        policy = (
            policy(budget.n_terms, machine.rule_.seed)
            if isinstance(budget, AtRandom)
            else policy(budget.n_terms)
        )
    since = int(averaging) or 1
    other = reference.Machine(kernel(X), loss, lam, rate, policy, since=since, **options)
    for i, row in enumerate(targets):
        other.learn(i, row)
    compare(machine, other, X, averaging, tol=1e-9)
    return machine, other


@pytest.mark.parametrize("size", [1, 2, 7])
@pytest.mark.parametrize("averaging", [False, True, 11], ids=["last", "mean", "mean from 11"])
@pytest.mark.parametrize("name", ["constant", "pegasos", "passive-aggressive 1"])
@pytest.mark.parametrize("budget, policy", BUDGETS.values(), ids=BUDGETS)
def test_budgets(budget, policy, name, averaging, size):
    step, lam, rate = STEPS[name]
    X = stream(seed=5)
    y = numbers(X, 1)
    machine, _ = same_with_budget(
        Squared(), y, y[:, None], X, budget(size), policy, step, lam, rate, averaging
    )
    assert len(machine.function_.points) <= size


@pytest.mark.parametrize("offset", [False, True], ids=["", "offset"])
@pytest.mark.parametrize("budget, policy", BUDGETS.values(), ids=BUDGETS)
def test_budgets_with_several_outputs_and_a_loss_that_is_often_zero(budget, policy, offset):
    X = stream(seed=6)
    y = labels(X, 3)
    step, lam, rate = STEPS["constant"]
    # Other kernel values on the diagonal than 1.
    kernel = Polynomial(2) * Gaussian(1.0)
    same_with_budget(
        Hinge(), y, coded(y, 3, False), X, budget(6), policy, step, lam, rate, False, kernel, offset=offset
    )


@pytest.mark.parametrize("size", [1, 3, 6])
@pytest.mark.parametrize("kernel", [K, Gaussian(0.3), 0.7 * Laplacian(1.0)], ids=repr)
def test_forgetron(kernel, size):
    X = stream(seed=7)
    y = labels(X, 2)
    machine, other = same_with_budget(
        PerceptronLoss(),
        y,
        coded(y, 2, False),
        X,
        Forgetron(size),
        reference.Forgetron(size),
        1.0,
        0.0,
        reference.constant(1.0),
        False,
        kernel,
    )
    assert machine.n_updates_ > size
    assert machine.learner_.tallies[1] == pytest.approx(other.budget.spent)


@pytest.mark.parametrize("size, threshold", [(1, 0.1), (6, 0.3), (30, 0.2), (30, 0.05)])
@pytest.mark.parametrize("averaging", [False, True, 11], ids=["last", "mean", "mean from 11"])
@pytest.mark.parametrize("name", ["constant", "pegasos", "passive-aggressive 1"])
def test_projection(name, averaging, size, threshold):
    step, lam, rate = STEPS[name]
    X = stream(seed=8)
    y = numbers(X, 3)
    budget, policy = Projection(size, threshold), reference.Projection(size, threshold)
    machine, other = same_with_budget(Squared(), y, y, X, budget, policy, step, lam, rate, averaging)
    np.testing.assert_array_equal(machine.function_.points, X[other.budget.chosen])


def test_projectron_projects_at_mistakes_only():
    X = stream(seed=9)
    y = labels(X, 2)
    policy = reference.Projection(30, 0.4)
    same_with_budget(
        PerceptronLoss(),
        y,
        coded(y, 2, False),
        X,
        Projection(30, 0.4),
        policy,
        1.0,
        0.0,
        reference.constant(1.0),
        False,
    )


# -- recursive least squares -----------------------------------------------------------------------


def test_recursive_steps_are_kernel_ridge():
    X = stream(seed=10)
    y = numbers(X, 3)
    machine = krls(Laplacian(1.0), n_terms=T, threshold=0.0, penalty=0.3)
    for n in (1, 12, T):
        machine.partial_fit(X[machine.n_seen_ : n], y[machine.n_seen_ : n])
        batch = KernelRidge(Laplacian(1.0), lam=0.3 / n, offset=False).fit(X[:n], y[:n])
        np.testing.assert_allclose(machine.predict(X), batch.predict(X), rtol=1e-9, atol=1e-10)


def test_weights_of_recursive_steps_are_weights():
    X = stream(seed=10)
    y, w = numbers(X, 1), np.random.default_rng(0).integers(0, 4, T).astype(float)
    machine = krls(Laplacian(1.0), n_terms=T, threshold=0.0, penalty=0.3).fit(X, y, w)
    batch = KernelRidge(Laplacian(1.0), lam=0.3 / w.sum(), offset=False).fit(X, y, w)
    np.testing.assert_allclose(machine.predict(X), batch.predict(X), rtol=1e-9, atol=1e-10)


def weighted_ridge(Phi, y, weight, penalty):
    return np.linalg.solve(Phi.T @ (weight[:, None] * Phi) + np.diag(penalty), Phi.T @ (weight * y))


@pytest.mark.parametrize("rho", [1.0, 0.98, 0.8])
def test_forgetting_in_fixed_coordinates(rho):
    X = stream(seed=11)
    y = numbers(X, 1)
    machine = OnlineKernelRegressor(
        Polynomial(2), lam=0.0, step=RecursiveStep(0.3, rho), budget=None, representation=Features()
    )
    fed(machine, X, y)
    Phi = np.column_stack([np.ones(T), np.sqrt(2) * X, X**2, np.sqrt(2) * X[:, :1] * X[:, 1:]])
    c = weighted_ridge(Phi, y, rho ** np.arange(T)[::-1], np.full(6, 0.3 * rho**T))
    np.testing.assert_allclose(machine.predict(X), Phi @ c, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("rho", [0.99, 0.9])
def test_forgetting_in_coordinates_that_are_found(rho):
    X, mu = stream(seed=12), 0.2
    y = numbers(X, 1)
    kernel = Laplacian(1.0)
    machine = krls(kernel, n_terms=T, threshold=0.0, penalty=mu, forgetting=rho)
    fed(machine, X, y)
    Phi = np.linalg.cholesky(kernel(X))  # the coordinates: every example brings one
    c = weighted_ridge(Phi, y, rho ** np.arange(T)[::-1], mu * rho ** np.arange(T, 0, -1.0))
    np.testing.assert_allclose(machine.predict(X), Phi @ c, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("rho", [0.99, 0.9])
def test_forgetting_goes_on_for_ever(rho):
    # Without a bound and exact symmetry the inverse matrix grows as ρ^−T, and nothing is left of f.
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (12000, 1))
    machine = krls(Gaussian(0.5), n_terms=40, threshold=0.1, penalty=0.01, forgetting=rho).fit(
        X, np.sin(3 * X[:, 0])
    )
    grid = np.linspace(-1.5, 1.5, 20)[:, None]
    np.testing.assert_allclose(machine.predict(grid), np.sin(3 * grid[:, 0]), atol=0.15)
    machine.partial_fit(np.zeros((6000, 1)), np.full(6000, 5.0))  # nothing new about all other places
    assert machine.predict([[0.0]])[0] == pytest.approx(5.0, abs=1e-6)
    assert np.abs(machine.predict(grid)).max() < 50


# -- any chunks, compiled or not -------------------------------------------------------------------

MACHINES = {
    "none": dict(budget=None),
    "oldest": dict(budget=Oldest(8)),
    "smallest": dict(budget=Smallest(8)),
    "at random": dict(budget=AtRandom(8)),
    "window": dict(budget=Window(8)),
    "merge": dict(budget=Merge(8)),
    "forgetron": dict(budget=Forgetron(8)),
    "projection": dict(budget=Projection(8, 0.2)),
    "features": dict(budget=None, representation=Features(n_features=20)),
    "mean, offset": dict(budget=Merge(8), averaging=True, offset=True),
    "projection, mean": dict(budget=Projection(8), averaging=True),
    "passive-aggressive": dict(budget=Oldest(8), step=PassiveAggressiveStep(0.5), lam=0.0),
    "recursive": dict(budget=Projection(8, 0.2), step=RecursiveStep(0.1, 0.95), lam=0.0),
}


@pytest.mark.parametrize("options", MACHINES.values(), ids=MACHINES)
def test_batches_do_not_matter(options):
    X = stream(60, seed=13)
    y = numbers(X, 1)
    options = {"lam": 0.01, "step": 0.2, "random_state": 0, **options}
    whole = OnlineKernelRegressor(K, **options).fit(X, y)
    sevens, ones = OnlineKernelRegressor(K, **options), OnlineKernelRegressor(K, **options)
    for i in range(0, 60, 7):
        sevens.partial_fit(X[i : i + 7], y[i : i + 7])
    for x, target in zip(X, y):
        ones.learn_one({"a": x[0], "b": x[1]}, target)
    for machine in (sevens, ones):
        found = machine.function_(X) + machine.intercept_
        np.testing.assert_allclose(found, whole.predict(X), rtol=0, atol=1e-9)
        assert machine.n_seen_ == 60
        assert machine.n_updates_ == whole.n_updates_
        assert machine.cumulative_loss_ == pytest.approx(whole.cumulative_loss_, rel=1e-9)
    assert ones.predict_one({"b": X[3, 1], "a": X[3, 0]}) == pytest.approx(whole.predict(X[3:4])[0], abs=1e-9)


def test_long_streams_are_cut_into_chunks(monkeypatch):
    X = stream(90, seed=14)
    y = labels(X, 3)
    expected = OnlineKernelClassifier(K, "hinge", budget=Merge(10)).fit(X, y)
    monkeypatch.setattr("mercer.online.learner.CHUNK", 16)
    found = OnlineKernelClassifier(K, "hinge", budget=Merge(10)).fit(X, y)
    np.testing.assert_allclose(found.decision_function(X), expected.decision_function(X), atol=1e-11)


@pytest.mark.parametrize("options", MACHINES.values(), ids=MACHINES)
def test_python_and_machine_code_agree(options, monkeypatch):
    X = stream(50, seed=15)
    y = numbers(X, 1)
    options = {"lam": 0.01, "step": 0.2, "random_state": 0, **options}
    if not code.is_compiled():
        pytest.skip("there is no compiler here")
    fast = OnlineKernelRegressor(K, **options).fit(X, y)
    for module in ("code", "expansion", "coordinates"):
        monkeypatch.setattr(f"mercer.online.{module}.loop", lambda name, dtype=None: code.as_python(name))
    assert not code.is_compiled()
    slow = OnlineKernelRegressor(K, **options).fit(X, y)
    np.testing.assert_allclose(slow.predict(X), fast.predict(X), rtol=0, atol=1e-11)
    assert slow.n_updates_ == fast.n_updates_


# -- hard places -----------------------------------------------------------------------------------


def test_the_mean_survives_a_strong_penalty():
    # (1 − 2ηλ)^T is far below rounding: what is old must not drown what is new.
    X = stream(1200, seed=16)
    y = np.sin(X[:, 0])
    other = reference.Machine(K(X), Squared(), 0.5, reference.constant(0.3), reference.Oldest(30))
    for i in range(1200):
        other.learn(i, y[i : i + 1])
    machine = OnlineKernelRegressor(K, "squared", 0.5, 0.3, Oldest(30), averaging=True).fit(X, y)
    np.testing.assert_allclose(machine.predict(X), other.values(averaged=True)[:, 0], atol=1e-12)
    flat = OnlineKernelRegressor(K, "squared", 0.5, 0.3, Projection(30), averaging=True).fit(X, y)
    last = OnlineKernelRegressor(K, "squared", 0.5, 0.3, Projection(30))
    total = np.zeros(20)
    for i in range(1200):
        total += last.partial_fit(X[i : i + 1], y[i : i + 1]).predict(X[:20])
    np.testing.assert_allclose(flat.predict(X[:20]), total / 1200, atol=1e-10)


@pytest.mark.filterwarnings("ignore:steps of 1 overshoot")
@pytest.mark.parametrize("averaging", [False, True], ids=["last", "mean"])
@pytest.mark.parametrize("budget", [None, Oldest(5), Projection(9), Merge(5)], ids=repr)
def test_a_step_that_forgets_everything(budget, averaging):
    # 1 − 2ηλ = 0: f is what the last example made it.
    X = stream(30, seed=17)
    machine = OnlineKernelRegressor(K, "squared", 0.5, 1.0, budget, averaging=averaging).fit(X, np.ones(30))
    last = 2 * (1 - 0) * K(X, X[-1:])[:, 0]
    previous = [2.0]
    for i in range(1, 30):
        previous.append(2 * (1 - previous[-1] * K(X[i : i + 1], X[i - 1 : i])[0, 0]))
    if averaging:
        if budget is None:
            expected = (K(X) * previous).sum(axis=1) / 30
            np.testing.assert_allclose(machine.predict(X), expected, atol=1e-12)
        assert np.isfinite(machine.predict(X)).all()
    elif budget is None or isinstance(budget, Oldest):
        np.testing.assert_allclose(machine.predict(X), last * previous[-1] / 2, atol=1e-12)


@pytest.mark.parametrize("averaging", [False, True], ids=["last", "mean"])
def test_the_scale_never_runs_out(averaging):
    X = stream(4000, seed=18)
    y = np.sin(X[:, 0])
    machine = OnlineKernelRegressor(K, "squared", 2.0, 0.2, Smallest(20), averaging=averaging).fit(X, y)
    other = reference.Machine(
        K(X[-300:]), Squared(), 2.0, reference.constant(0.2)
    )  # the rest is long forgotten
    for i in range(300):
        other.learn(i, y[-300 + i : len(y) - 300 + i + 1])
    if not averaging:
        np.testing.assert_allclose(machine.predict(X[-300:]), other.values()[:, 0], atol=1e-3)
    assert np.abs(machine.predict(X)).max() < 1


def test_points_where_the_kernel_is_zero():
    X = np.array([[0.0], [1.0], [0.0], [2.0], [0.0], [-1.0]])
    y = np.array([1.0, 1.0, 3.0, 2.0, -1.0, -1.0])
    for budget in (
        None,
        Oldest(2),
        Smallest(2),
        AtRandom(2),
        Window(2),
        Merge(2),
        Forgetron(2),
        Projection(2),
    ):
        for step in (0.1, PassiveAggressiveStep(1.0)):
            lam = 0.0 if step != 0.1 else 0.01
            machine = OnlineKernelRegressor(Linear(), lam=lam, step=step, budget=budget).fit(X, y)
            assert machine.predict([[0.0]])[0] == 0.0
            assert np.isfinite(machine.predict(X)).all()
    exact = krls(Linear(), penalty=1.0).fit(X, y)
    assert exact.predict([[1.0]])[0] == pytest.approx((X[:, 0] @ y) / (X[:, 0] @ X[:, 0] + 1))


def test_the_same_point_again_and_again():
    X = np.repeat(stream(2, seed=19), 20, axis=0)
    y = np.repeat([1.0, -1.0], 20)
    machine = OnlineKernelRegressor(K, lam=0.0, step=0.5, budget=Projection(30, 0.0)).fit(X, y)
    assert len(machine.function_.points) == 2
    merged = OnlineKernelRegressor(K, lam=0.0, step=0.5, budget=Merge(2)).fit(X, y)
    whole = OnlineKernelRegressor(K, lam=0.0, step=0.5, budget=None).fit(X, y)
    for other in (machine, merged):
        np.testing.assert_allclose(other.predict(X), whole.predict(X), atol=1e-12)


@pytest.mark.parametrize(
    "budget",
    [None, Oldest(3), Smallest(3), AtRandom(3), Window(3), Merge(3), Forgetron(3), Projection(3)],
    ids=repr,
)
def test_huge_numbers(budget):
    # The square of a coefficient overflows, the coefficient does not.
    X = np.linspace(-1, 1, 12)[:, None]
    machine = OnlineKernelRegressor(K, "squared", 0.0, 1e-3, budget)
    machine.fit(X, np.full(12, 1e200))
    assert np.isfinite(machine.predict(X)).all()
    assert np.abs(machine.predict(X)).max() > 1e196
    terms = len(machine.function_.points)
    assert terms == (3 if budget is not None else 12)
    for i in range(12):
        machine.learn_one(X[i], 1e200)
    assert len(machine.function_.points) == (3 if budget is not None else 24)


def test_negative_values_make_no_step_backwards():
    # The Poisson loss e^s − y s falls below 0; Polyak's step takes its least value to be 0.
    X = stream(30, seed=20)
    machine = OnlineKernelRegressor(K, Poisson(), 0.0, PassiveAggressiveStep(0.5), None)
    machine.fit(X, np.full(30, 9.0))
    assert (machine.function_.coef >= 0).all()


def test_terms_without_a_loss_take_no_room():
    X = stream(6000, seed=21)
    y = labels(X[:, :2] * [0.0, 1.0], 2)
    machine = OnlineKernelClassifier(Linear(), PerceptronLoss(), 0.0, 1.0, None).fit(X, y)
    assert machine.n_updates_ < 400
    assert len(machine.learner_.birth) < 2500
    assert len(machine.function_.points) == machine.n_updates_
