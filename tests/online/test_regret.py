"""Regret: the best function against dense solutions, the bound against plain arithmetic and as a theorem."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize

from mercer import OnlineKernelClassifier, OnlineKernelRegressor
from mercer.features import RandomFourierFeatures
from mercer.kernels import FunctionKernel, Gaussian, Laplacian, Linear
from mercer.losses import Squared
from mercer.online import (
    ConstantStep,
    InverseRootStep,
    Merge,
    Oldest,
    PassiveAggressiveStep,
    PegasosStep,
    Projection,
    krls,
    passive_aggressive,
    perceptron,
    progressive,
    regret,
)
from mercer.online.record import Best, record
from mercer.online.regret import _above_tangents, _bound
from mercer.representations import Features

K = Gaussian(0.7)


def sine(n, seed=0, noise=0.2):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 1))
    return X, np.sin(2 * X[:, 0]) + noise * rng.standard_normal(n)


def classes(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 2))
    return X, np.where((X[:, 0] * X[:, 1] > 0) ^ (rng.uniform(size=n) < 0.1), 1, -1)


def drifting(n, seed=0):
    """A sine whose phase goes round once."""
    X, _ = sine(n, seed)
    return X, np.sin(2 * X[:, 0] + np.linspace(0, 2 * np.pi, n))


# -- plain arithmetic ------------------------------------------------------------------------------

SLOPES = {
    "squared": (lambda y, s: (y - s) ** 2, lambda y, s: 2 * (s - y)),
    "hinge": (lambda y, s: max(0.0, 1 - y * s), lambda y, s: -y if y * s < 1 else 0.0),
    "logistic": (lambda y, s: math.log1p(math.exp(-y * s)), lambda y, s: -y / (1 + math.exp(y * s))),
}


def by_hand(G, y, loss, lam, eta, oldest=None):
    """Coefficients of f_1 … f_n (rows) and of the steps' own results u_t, by the formula of the step."""
    value, slope = SLOPES[loss]
    n = len(y)
    a, F, U, losses = np.zeros(n), [], [], []
    for t in range(n):
        F.append(a.copy())
        s = G[t] @ a
        losses.append(value(y[t], s))
        a = (1 - 2 * eta[t] * lam) * a
        a[t] -= eta[t] * slope(y[t], s)
        U.append(a.copy())
        if oldest is not None and np.count_nonzero(a) > oldest:
            a = a.copy()
            a[np.flatnonzero(a)[0]] = 0
    return np.array(F), np.array(U), np.array(losses), a


def squared_norms(G, A):
    return np.einsum("ij,jk,ik->i", A, G, A)


STEPS = [ConstantStep(0.15), InverseRootStep(0.3), PegasosStep(), PegasosStep(delay=7)]


@pytest.mark.parametrize("loss", ["squared", "hinge"])
@pytest.mark.parametrize("step", STEPS, ids=repr)
def test_everything_by_hand(loss, step):
    n, lam = 40, 0.2
    X, y = sine(n) if loss == "squared" else classes(n)
    G = K(X)
    t = np.arange(1, n + 1)
    eta = step.sizes(t, lam)
    F, _, losses, _ = by_hand(G, y, loss, lam, eta)
    if loss == "squared":
        machine = OnlineKernelRegressor(K, lam=lam, step=step, budget=None)
        c = np.linalg.solve(G + lam * n * np.eye(n), y)
    else:
        machine = OnlineKernelClassifier(K, "hinge", lam=lam, step=step, budget=None)
        c = y * dual_svm(G, y, lam)
    best = sum(SLOPES[loss][0](yi, si) for yi, si in zip(y, G @ c)) + lam * n * (c @ G @ c)
    gradients = 2 * lam * F
    gradients[t - 1, t - 1] += [SLOPES[loss][1](y[i], G[i] @ F[i]) for i in range(n)]
    squares, away = squared_norms(G, gradients), squared_norms(G, F - c)
    # Σ of what was shown for every single step: (d_t − d_{t+1})/(2η_t) + η_t/2 ‖g_t‖² − λ d_t, where all that
    # remains of the d_t has the sign it needs.
    rise = np.maximum(np.diff(1 / (2 * eta)) - lam, 0)
    bound = c @ G @ c * (1 / (2 * eta[0]) - lam) + rise @ away[1:] + eta @ squares / 2

    found = regret(machine, X, y, times=[n])
    np.testing.assert_allclose(found.losses, losses, rtol=1e-9)
    mine = losses.sum() + lam * squared_norms(G, F).sum()
    np.testing.assert_allclose(found.cumulative_loss, [mine], rtol=1e-9)
    np.testing.assert_allclose(found.best_loss, [best], rtol=1e-5)
    np.testing.assert_allclose(found.gradients, [np.sqrt(squares.max())], rtol=1e-9)
    np.testing.assert_allclose(found.bound, [bound], rtol=1e-3)
    np.testing.assert_allclose(found.regret, found.cumulative_loss - found.best_loss)
    np.testing.assert_allclose(found.text_bound, np.sqrt(squares.max()) * found.norms * np.sqrt(n), rtol=1e-9)
    np.testing.assert_allclose(found.best_step, np.sqrt(c @ G @ c / squares.max() / n), rtol=1e-3)


def dual_svm(G, y, lam):
    """α of the hinge loss, C = 1/(2λn), no offset, by a general-purpose optimiser."""
    n, C = len(y), 1 / (2 * lam * len(y))
    Q = G * np.outer(y, y)
    found = minimize(
        lambda a: (a @ Q @ a / 2 - a.sum(), Q @ a - 1),
        np.zeros(n),
        jac=True,
        bounds=[(0, C)] * n,
        method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-12, "maxiter": 10_000},
    )
    return found.x


# -- what is claimed, and of which column ----------------------------------------------------------


@pytest.mark.parametrize("step", [ConstantStep(0.001), InverseRootStep(0.001), PegasosStep()], ids=repr)
def test_no_column_of_bounds_is_exceeded(step):
    """Steps far from the best constant one lose more than ‖∇‖‖f*‖√T, which is no bound of theirs."""
    X, y = sine(400)
    found = regret(OnlineKernelRegressor(K, lam=1e-3, step=step, budget=None), X, y, times=[30, 400])
    assert (found.regret > found.text_bound).any()
    assert (found.regret <= found.bound).all() and "theorem" in found.promise
    head, *rows = str(found).splitlines()[1:4]
    assert head.split() == ["T", "machine", "best", "f", "regret", "bound"]
    for row in rows:
        _, _, _, lost, bound = (float(v.replace(",", "")) for v in row.split())
        assert lost <= bound
    assert f"for the constant step {found.best_step:.3g}, not for others" in str(found)


def test_the_best_constant_step_keeps_the_other_bound():
    """With the step ‖f*‖/(G√T), and G no more than it was taken to be, regret is below G‖f*‖√T."""
    X, y = classes(200)
    G = 1.0 + 2 * 1e-3 * 40  # |V'| κ + 2λ‖f‖
    best = regret(OnlineKernelClassifier(K, "hinge", lam=1e-3, budget=None), X, y, times=[200])
    step = best.norms[-1] / (G * np.sqrt(200))
    found = regret(OnlineKernelClassifier(K, "hinge", lam=1e-3, step=step, budget=None), X, y, times=[200])
    assert found.gradients[-1] <= G
    assert found.regret[-1] <= G * found.norms[-1] * np.sqrt(200)


class Bowl(Squared):
    """Says that it is convex, and is not: flat beyond 1."""

    def value(self, y, s):
        return np.minimum(np.square(np.asarray(y) - s), 1.0)

    def grad(self, y, s):
        gap = np.asarray(s) - y
        return np.where(np.abs(gap) < 1, 2 * gap, 0.0)


def test_a_loss_that_is_not_convex_has_no_bound_whatever_it_says():
    X, y = sine(60)
    run = record(OnlineKernelRegressor(K, Bowl(), lam=0.01, budget=None), X, 3 * y)
    # Where it is flat its tangent is 1, and f* = y lies below.
    assert not _above_tangents(run, Best(0.0, 1.0, run.targets, 0.0, 0.0))
    smooth = record(OnlineKernelRegressor(K, lam=0.01, budget=None), X, 3 * y)
    assert _above_tangents(smooth, Best(0.0, 1.0, smooth.targets, 0.0, 0.0))


def test_a_function_that_no_rule_calls_a_kernel_is_taken_for_granted():
    X, y = sine(40)
    own = FunctionKernel(lambda x, z: float(np.exp(-np.sum((x - z) ** 2))))
    found = regret(OnlineKernelRegressor(own, lam=0.1, budget=None), X, y, times=[40])
    assert found.promise.endswith("is a kernel, which no rule says")


# -- the best fixed function -----------------------------------------------------------------------


def test_the_best_logistic_function():
    X, y = classes(60)
    G, lam = K(X), 0.05
    machine = OnlineKernelClassifier(K, "logistic", lam=lam, step=0.5, budget=None)

    def objective(c):
        s = G @ c
        grad = G @ (-y / (1 + np.exp(y * s))) + 2 * lam * 60 * s
        return np.log1p(np.exp(-y * s)).sum() + lam * 60 * c @ s, grad

    options = {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 10_000}
    dense = minimize(objective, np.zeros(60), jac=True, method="L-BFGS-B", options=options)
    found = regret(machine, X, y, times=[60])
    np.testing.assert_allclose(found.best_loss, [dense.fun], rtol=1e-7)
    assert 0 <= found.gaps[0] < 1e-6


@pytest.mark.parametrize("radius", [0.5, 1.5])
def test_the_best_function_in_a_ball(radius):
    n = 50
    X, y = sine(n)
    G = K(X)

    def coefficients(mu):
        return np.linalg.solve(G + mu * n * np.eye(n), y)

    def outside(mu):
        c = coefficients(mu)
        return math.sqrt(c @ G @ c) - radius

    c = coefficients(brentq(outside, 1e-6, 1e3, xtol=1e-14))
    least = np.square(y - G @ c).sum()
    found = regret(OnlineKernelRegressor(K, lam=0.0, budget=None), X, y, radius=radius, times=[n])
    assert found.norms[0] <= radius * (1 + 1e-9)
    assert least - 1e-6 <= found.best_loss[0] <= least + found.gaps[0] + 1e-6
    assert found.gaps[0] <= 1.01e-4 * np.square(y).sum()


def test_a_ball_that_holds_a_function_without_loss():
    X = np.array([[0.0], [2.0], [4.0]])
    machine = OnlineKernelClassifier(K, "hinge", lam=0.0, step=0.5, budget=None)
    found = regret(machine, X, [1, -1, 1], radius=50.0, times=[3])
    assert found.best_loss[0] < 1e-3
    assert found.norms[0] < 3  # and of such functions it is a small one


# -- the bound is a theorem ------------------------------------------------------------------------

STREAMS = {
    "sine, squared": (sine, OnlineKernelRegressor(K, lam=1e-3, step=InverseRootStep(0.4), budget=None), None),
    "sine, squared, in a ball": (
        sine,
        OnlineKernelRegressor(K, lam=0.0, step=InverseRootStep(0.4), budget=None),
        3.0,
    ),
    "classes, hinge": (
        classes,
        OnlineKernelClassifier(K, "hinge", lam=1e-2, step=InverseRootStep(1.0), budget=None),
        None,
    ),
    "classes, logistic": (
        classes,
        OnlineKernelClassifier(K, "logistic", lam=1e-2, step=InverseRootStep(2.0), budget=None),
        None,
    ),
    "drifting, squared": (
        drifting,
        OnlineKernelRegressor(K, lam=1e-3, step=InverseRootStep(0.4), budget=None),
        None,
    ),
}


@pytest.mark.parametrize("name", STREAMS)
def test_regret_grows_no_faster_than_the_root(name):
    stream, machine, radius = STREAMS[name]
    found = regret(machine, *stream(1500), radius=radius)
    assert found.promise == "the bound is a theorem for these steps"
    assert (found.regret <= found.bound).all() and (found.price == 0).all()
    assert len(found.times) > 15 and found.times[-1] == 1500
    # c√T, and the c of the second half is no larger than that of the first.
    share = found.regret / np.sqrt(found.times)
    early = share[(found.times >= 30) & (found.times <= 200)].max()
    assert share[found.times > 200].max() <= 1.25 * early
    assert math.isnan(found.exponent) or found.exponent < 0.65


def test_pegasos_grows_as_the_logarithm():
    """R ≤ G²/(4λ) (1 + ln T) with G ≤ 2 for the hinge loss and k(x,x) = 1, known before the stream is."""
    lam = 0.02
    machine = OnlineKernelClassifier(K, "hinge", lam=lam, step=PegasosStep(), budget=None)
    found = regret(machine, *classes(3000))
    T, R = found.times, found.regret
    assert (found.bound >= R).all()
    # T = 1 has the longest step there is, and no f yet to shrink.
    assert (found.bound <= (1 + np.log(T)) / lam + 1e-9).all()
    assert found.exponent < 0.25
    late = T >= 20
    straight = np.polyfit(np.log(T[late]), R[late], 1)
    assert np.abs(np.polyval(straight, np.log(T[late])) - R[late]).max() < 0.1 * R[-1]


def test_the_bound_is_attained():
    """The same point, +1 and −1 in turn: f goes to η and back, f* = 0, and regret is the bound, ηT/2."""
    n, eta = 200, 0.1
    X, y = np.zeros((n, 1)), np.tile([1, -1], n // 2)
    machine = OnlineKernelClassifier(K, "hinge", lam=0.0, step=eta, budget=None)
    found = regret(machine, X, y, radius=1.0, times=[20, 200])
    np.testing.assert_allclose(found.regret, eta * found.times / 2, rtol=1e-3)
    np.testing.assert_allclose(found.bound, eta * found.times / 2, rtol=1e-3)


def adversary(machine, n, seed=0):
    """Labels that are never those the machine would give."""
    X = np.random.default_rng(seed).uniform(-3, 3, (n, 1))
    machine, y = machine.clone(), []
    for i, (x,) in enumerate(X):
        y.append(-machine.predict_one({"x": x}) if i else 1)
        machine.learn_one({"x": x}, y[-1])
    return X, np.array(y)


def test_the_bound_of_the_text_against_an_adversary():
    """‖∇‖ ≤ 1, so the step U/√n promises U√n."""
    n, radius = 900, 3.0
    machine = OnlineKernelClassifier(Gaussian(0.3), "hinge", lam=0.0, step=radius / math.sqrt(n), budget=None)
    found = regret(machine, *adversary(machine, n), radius=radius, times=[100, 300, n])
    assert found.losses.min() >= 1  # it was always wrong
    assert found.gradients.max() <= 1 + 1e-9
    assert found.regret[-1] <= radius * math.sqrt(n)
    assert found.regret[-1] > 10  # and not for nothing
    np.testing.assert_allclose(found.bound[-1], radius * math.sqrt(n), rtol=1e-2)
    np.testing.assert_allclose(found.best_step, radius / math.sqrt(n), rtol=1e-2)


@st.composite
def runs(draw):
    n = draw(st.integers(1, 40))
    seed = draw(st.integers(0, 10_000))
    lam = draw(st.sampled_from([0.0, 1e-3, 0.1]))
    steps = [ConstantStep(0.3), InverseRootStep(0.4), InverseRootStep(2.0)] + ([PegasosStep()] if lam else [])
    step = draw(st.sampled_from(steps))
    loss = draw(st.sampled_from(["squared", "hinge", "logistic", "absolute", "epsilon_insensitive"]))
    kernel = draw(st.sampled_from([K, Laplacian(1.0), Linear()]))
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, draw(st.integers(1, 3))))
    budget = draw(st.sampled_from([None, Oldest(5), Merge(4), Projection(6)]))
    if lam * step.sizes(np.ones(1), lam)[0] > 0.5:
        step = ConstantStep(0.3)
    if loss in ("hinge", "logistic"):
        y = rng.choice([-1, 1], n)
        y[0], y[-1] = 1, -1
        if n == 1:
            return None
        return OnlineKernelClassifier(kernel, loss, lam=lam, step=step, budget=budget), X, y
    return OnlineKernelRegressor(kernel, loss, lam=lam, step=step, budget=budget), X, rng.standard_normal(n)


@given(runs(), st.sampled_from([None, 0.3, 2.0]))
@settings(max_examples=60)
def test_no_run_exceeds_its_bound(run, radius):
    if run is None:
        return
    machine, X, y = run
    radius = 1.0 if radius is None and machine.lam == 0 else radius
    found = regret(machine, X, y, radius=radius, times=3)
    slack = 1e-6 * (1 + np.abs(found.bound))
    assert (found.regret <= found.bound + slack).all()
    assert (found.norms <= (radius or np.inf) * (1 + 1e-9)).all()
    assert (np.diff(found.gradients) >= 0).all()


@given(st.sampled_from(STEPS), st.floats(0, 5), st.integers(0, 1000))
@settings(max_examples=40)
def test_against_one_function_the_bound_only_grows(step, norm, seed):
    X, y = sine(30, seed)
    run = record(OnlineKernelRegressor(K, lam=0.1, step=step, budget=None), X, y)
    # A function of this norm: a multiple of the kernel at the first point.
    scores = norm * K(X, X[:1])
    bounds = [_bound(run, T, Best(0.0, norm, scores[:T], 0.0, 0.0)) for T in range(1, 31)]
    assert (np.diff(bounds) >= -1e-9).all() and bounds[0] >= 0
    if isinstance(step, ConstantStep):
        longer = [_bound(run, T, Best(0.0, 1 + norm, scores[:T], 0.0, 0.0)) for T in range(1, 31)]
        np.testing.assert_allclose(
            np.subtract(longer, bounds), ((1 + norm) ** 2 - norm**2) * (1 / 0.3 - 0.1), rtol=1e-6
        )


# -- budgets and coordinates -----------------------------------------------------------------------


def test_what_a_budget_costs_is_measured():
    n, lam, eta, most = 60, 0.05, 0.2, 6
    X, y = sine(n)
    G = K(X)
    F, U, losses, last = by_hand(G, y, "squared", lam, np.full(n, eta), oldest=most)
    after = np.vstack([F[1:], last])
    c = np.linalg.solve(G + lam * n * np.eye(n), y)
    gone = np.sqrt(np.maximum(squared_norms(G, after - U), 0))
    left = squared_norms(G, after) - squared_norms(G, U)
    price = ((left + 2 * gone * math.sqrt(c @ G @ c)) / (2 * eta)).sum()
    # It is enough: this is what the change really added.
    really = ((squared_norms(G, after - c) - squared_norms(G, U - c)) / (2 * eta)).sum()
    assert really <= price

    found = regret(OnlineKernelRegressor(K, lam=lam, step=eta, budget=Oldest(most)), X, y, times=[n])
    mine = losses.sum() + lam * squared_norms(G, F).sum()
    np.testing.assert_allclose(found.cumulative_loss, [mine], rtol=1e-9)
    np.testing.assert_allclose(found.price, [price], rtol=1e-5)
    assert found.budgeted and "nothing promised that beforehand" in found.promise
    assert (found.regret <= found.bound).all()


def test_a_budget_that_is_never_reached_is_none():
    X, y = sine(100)
    free = regret(OnlineKernelRegressor(K, lam=0.01, step=0.2, budget=None), X, y, times=4)
    wide = regret(OnlineKernelRegressor(K, lam=0.01, step=0.2, budget=Oldest(100)), X, y, times=4)
    assert not wide.budgeted
    np.testing.assert_allclose(wide.bound, free.bound)


def test_projection_pays_for_what_is_outside_of_its_span():
    """Its price is |V'| δ ‖f*‖ a step, less what it gains; with threshold 0 and room it is nothing."""
    X, y = sine(150)
    free = regret(OnlineKernelRegressor(K, lam=0.01, step=0.2, budget=None), X, y, times=4)
    exact = regret(OnlineKernelRegressor(K, lam=0.01, step=0.2, budget=Projection(150, 0.0)), X, y, times=4)
    rough = regret(OnlineKernelRegressor(K, lam=0.01, step=0.2, budget=Projection(5)), X, y, times=4)
    np.testing.assert_allclose(exact.regret, free.regret, rtol=1e-4)
    assert exact.price[-1] < 0.05 < rough.price[-1]
    assert (rough.regret <= rough.bound).all()


def test_features_compete_with_their_own_functions():
    X, y = sine(200)
    map = RandomFourierFeatures(K, 40, random_state=0).fit(X)
    there = OnlineKernelRegressor(K, lam=0.01, step=0.2, representation=Features(map))
    here = OnlineKernelRegressor(Linear(), lam=0.01, step=0.2, budget=None)
    a, b = regret(there, X, y, times=5), regret(here, map.transform(X), y, times=5)
    assert not a.budgeted
    for name in ("cumulative_loss", "best_loss", "bound", "gradients"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-6)


@pytest.mark.parametrize("loss", ["hinge", "multinomial"])
def test_several_classes(loss):
    X, _ = classes(300)
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.7, 0.7])]
    found = regret(
        OnlineKernelClassifier(K, loss, lam=0.01, step=InverseRootStep(), budget=None), X, y, times=6
    )
    assert (found.regret <= found.bound).all() and (found.regret > 0).all()


# -- the rest --------------------------------------------------------------------------------------


def test_a_machine_can_beat_every_fixed_function():
    X, y = drifting(1500)
    found = regret(OnlineKernelRegressor(K, lam=1e-4, step=0.4, budget=None), X, y)
    assert found.regret[-1] < 0 and math.isnan(found.exponent)
    assert "grows" not in repr(found)


def test_steps_without_such_a_bound():
    X, y = classes(100)
    found = regret(passive_aggressive(K), X, y, radius=2.0, times=3)
    assert (
        np.isnan(found.bound).all() and found.promise == f"there is no bound of this kind for {found.step!r}"
    )
    assert isinstance(found.step, PassiveAggressiveStep)
    np.testing.assert_allclose(found.cumulative_loss[-1], passive_aggressive(K).fit(X, y).cumulative_loss_)
    least = regret(krls(K), *sine(100), radius=2.0, times=3)
    assert np.isnan(least.bound).all() and np.isfinite(least.regret).all()


def test_it_reads_well():
    machine = OnlineKernelRegressor(K, lam=0.1, step=InverseRootStep(0.3), budget=None)
    found = regret(machine, *sine(100), times=[10, 30, 100])
    text = repr(found)
    assert text.startswith(
        f"<regret {found.regret[-1]:.4g} after 100 examples, at most {found.bound[-1]:.4g}"
    )
    assert f"grows as T^{found.exponent:.2f}" in text
    lines = str(found).splitlines()
    assert len(lines) == 2 + 3 + 2 and "V + λ‖f‖²" in lines[0] and lines[-1] == text
    one = regret(OnlineKernelRegressor(K, lam=0.1, step=0.3, budget=None), [[1.0]], [1.0])
    assert "after 1 example," in repr(one) and math.isnan(one.exponent)


def test_times():
    stream = sine(50)
    machine = OnlineKernelRegressor(K, lam=0.1, step=0.2, budget=None)
    assert regret(machine, *stream, times=[50, 7, 7]).times.tolist() == [7, 50]
    assert regret(machine, *stream, times=5).times.tolist()[-1] == 50
    for wrong in (0, True, [0, 3], [51], [2.5], []):
        with pytest.raises(ValueError, match="times must be a number of them"):
            regret(machine, *stream, times=wrong)


def test_the_machine_stays_as_it_is():
    X, y = sine(80)
    machine = OnlineKernelRegressor(K, lam=0.1, step=0.2, budget=None).fit(X[:30], y[:30])
    before = machine.dual_coef_.copy()
    again = regret(machine, X, y, times=3)
    np.testing.assert_array_equal(machine.dual_coef_, before)
    np.testing.assert_array_equal(again.regret, regret(machine.clone(), X, y, times=3).regret)


@pytest.mark.parametrize(
    "machine, options, message",
    [
        (OnlineKernelRegressor(K, lam=0.0), {}, "give radius=U"),
        (OnlineKernelRegressor(K, offset=True), {}, r"kernel \+ 1.0"),
        (OnlineKernelRegressor(K), {"radius": 0.0}, "radius must be a positive number"),
        (perceptron(K), {"radius": 1.0}, "take loss='hinge'"),
    ],
)
def test_refusals(machine, options, message):
    X, y = classes(20)
    with pytest.raises(ValueError, match=message):
        regret(machine, X, y, **options)


def test_only_online_machines():
    from mercer import KernelRidge

    with pytest.raises(TypeError, match="must be an online machine"):
        regret(KernelRidge(offset=False), *sine(10))
    with pytest.raises(ValueError, match="needs its y"):
        regret(OnlineKernelRegressor(), sine(10)[0], None)


@pytest.mark.parametrize("budget", [None, Oldest(20), Projection(10)])
def test_progressive_is_predict_then_learn(budget):
    X, y = sine(120)
    machine = OnlineKernelRegressor(K, step=0.3, budget=budget)
    said, one = progressive(machine, X, y), machine.clone()
    for i in range(len(y)):
        assert said[i] == pytest.approx(one.predict_one({"x": X[i, 0]}), abs=1e-9)
        one.learn_one({"x": X[i, 0]}, y[i])
    X, y = classes(100)
    wrong = np.count_nonzero(progressive(perceptron(K), X, y) != y)
    assert wrong == perceptron(K).fit(X, y).n_mistakes_
