"""Steps: their lengths, what they promise, what makes no sense."""

import numpy as np
import pytest
from sklearn.base import clone

import mercer.online
from mercer import KernelSVC, OnlineKernelClassifier, OnlineKernelRegressor
from mercer.kernels import Gaussian
from mercer.losses import EpsilonInsensitive
from mercer.online import (
    AdaptiveStep,
    ConstantStep,
    InverseRootStep,
    Oldest,
    PassiveAggressiveStep,
    PegasosStep,
    PowerStep,
    Projection,
    RecursiveStep,
    passive_aggressive,
    pegasos,
)
from mercer.online.steps import step_of

K = Gaussian(0.8)
X = np.random.default_rng(0).uniform(-2, 2, (60, 2))
SIGNS = np.where(np.sin(2 * X[:, 0]) + X[:, 1] > 0, 1.0, -1.0)


def test_sizes():
    t = np.array([1.0, 2.0, 9.0])
    np.testing.assert_array_equal(ConstantStep(0.3).sizes(t, 0.1), [0.3, 0.3, 0.3])
    np.testing.assert_allclose(InverseRootStep(0.6).sizes(t, 0.1), [0.6, 0.6 / np.sqrt(2), 0.2])
    np.testing.assert_allclose(PegasosStep().sizes(t, 0.1), [5.0, 2.5, 5 / 9])
    np.testing.assert_allclose(PegasosStep(delay=3).sizes(t, 0.1), [5 / 4, 1.0, 5 / 12])
    np.testing.assert_allclose(PowerStep(0.6, 0.25).sizes(t, 0.1), [0.6, 0.6 / 2**0.25, 0.6 / 3**0.5])
    np.testing.assert_array_equal(PowerStep(0.6, 0).sizes(t, 0.1), [0.6, 0.6, 0.6])
    np.testing.assert_array_equal(AdaptiveStep(0.3).sizes(t, 0.1), [0.3, 0.3, 0.3])
    # The first step is (2λ)^(−1/4), the next ones follow 1/(2λ(t₀ + t)); never longer than 1/(2λ).
    found = PegasosStep("auto").sizes(t, 0.5e-4)
    np.testing.assert_allclose(found, [10, 1 / (1 / 10 + 1e-4), 1 / (1 / 10 + 8e-4)])
    np.testing.assert_allclose(PegasosStep("auto").sizes(t, 5.0), PegasosStep().sizes(t, 5.0))


def test_rivers_schedulers():
    optim = pytest.importorskip("river.optim")
    t, lam = np.arange(1.0, 30.0), 0.003
    ours = [(ConstantStep(0.3), optim.schedulers.Constant(0.3))]
    ours += [(PowerStep(0.3, p), optim.schedulers.InverseScaling(0.3, p)) for p in (0.25, 0.5, 1.0)]
    ours += [(PegasosStep("auto"), optim.schedulers.Optimal(optim.losses.Hinge(), 2 * lam))]
    for step, theirs in ours:
        np.testing.assert_allclose(step.sizes(t, lam), [theirs.get(int(i) - 1) for i in t])


def test_how_an_adaptive_step_falls():
    step, pace, seen = AdaptiveStep(0.5, factor=4.0, least=0.01), 1.0, []
    assert AdaptiveStep.adapts and not ConstantStep.adapts
    while pace is not None:
        seen.append(0.5 * pace)
        pace = step.slower(pace)
    assert seen == [0.5, 0.125, 0.03125, 0.0078125]
    assert ConstantStep(0.5).slower(1.0) is None


@pytest.mark.parametrize(
    "step",
    [
        ConstantStep(0.2),
        InverseRootStep(),
        PegasosStep(2),
        PegasosStep("auto"),
        PowerStep(0.3, 0.1),
        AdaptiveStep(0.3, factor=2.0),
        PassiveAggressiveStep(2.0, 2),
        RecursiveStep(),
    ],
)
def test_steps_are_values(step):
    assert clone(step) == step
    assert eval(repr(step), vars(mercer.online).copy()) == step
    assert step_of(step) is step


def test_a_number_is_a_constant():
    assert step_of(0.5) == ConstantStep(0.5)
    assert step_of(np.float32(0.5)) == ConstantStep(np.float32(0.5))
    for wrong in ("constant", None, True, [0.1]):
        with pytest.raises(TypeError, match="step must be a number or one of"):
            step_of(wrong)


WRONG = {
    "0": (0.0, 0.1, "eta must be a positive number"),
    "negative": (-1.0, 0.1, "eta must be a positive number"),
    "infinite": (np.inf, 0.1, "eta must be a positive number"),
    "too long": (1.0, 0.6, r"take η ≤ 1/\(2λ\) = 0.83"),
    "too long at first": (InverseRootStep(5.0), 0.2, "take η ≤"),
    "no λ": (PegasosStep(), 0.0, "needs lam > 0"),
    "delay": (PegasosStep(-1), 0.1, "delay must be a whole number"),
    "delay by another name": (PegasosStep("bottou"), 0.1, "delay must be a whole number or 'auto'"),
    "power": (PowerStep(0.1, -1.0), 0.1, "power must be"),
    "power step": (PowerStep(0.0), 0.1, "eta must be a positive number"),
    "too long a power": (PowerStep(5.0, 0.1), 0.2, "take η ≤"),
    "adaptive": (AdaptiveStep(0.0), 0.1, "eta must be a positive number"),
    "factor": (AdaptiveStep(0.1, factor=1.0), 0.1, "factor must be more than 1"),
    "least": (AdaptiveStep(0.1, least=-1.0), 0.1, "least must be"),
    "C": (PassiveAggressiveStep(0.0), 0.0, "C must be a positive number"),
    "variant": (PassiveAggressiveStep(1.0, 3), 0.0, "variant must be 0, 1 or 2"),
    "λ": (PassiveAggressiveStep(), 0.1, "set lam=0.0"),
    "λ and penalty": (RecursiveStep(), 0.1, "set lam=0.0"),
    "penalty": (RecursiveStep(0.0), 0.0, "penalty must be a positive number"),
    "forgetting": (RecursiveStep(1.0, 1.5), 0.0, "forgetting must be at most 1"),
}


@pytest.mark.parametrize("step, lam, words", WRONG.values(), ids=WRONG)
def test_what_makes_no_sense_is_refused(step, lam, words):
    machine = OnlineKernelRegressor(K, lam=lam, step=step, budget=Projection(10))
    with pytest.raises(ValueError, match=words):
        machine.fit(X, SIGNS)
    with pytest.raises(ValueError, match=words):
        machine.learn_one({"a": 1.0}, 1.0)


def test_recursive_steps_need_least_squares_in_coordinates():
    options = dict(kernel=K, lam=0.0, step=RecursiveStep())
    for more in (dict(loss="huber"), dict(offset=True), dict(averaging=True)):
        with pytest.raises(ValueError, match="are those of least squares"):
            OnlineKernelRegressor(**options, budget=Projection(10), **more).fit(X, SIGNS)
    with pytest.raises(ValueError, match="need coordinates: budget=Projection"):
        OnlineKernelRegressor(**options, budget=Oldest(10)).fit(X, SIGNS)


# -- passive-aggressive learning: closed forms ----------------------------------------------------


@pytest.mark.parametrize("variant", [0, 1, 2])
def test_passive_aggressive_classification(variant):
    """The update minimises ½‖f − f_t‖² + C ξ (or C ξ²) under y f(x) ≥ 1 − ξ: a grid finds the same."""
    C = 0.4
    machine = passive_aggressive(K, C, variant, None)
    machine.partial_fit(X[:10], SIGNS[:10], classes=[-1.0, 1.0])
    for i in range(10, 40):
        before = machine.decision_function(X)
        machine.partial_fit(X[i : i + 1], SIGNS[i : i + 1])
        after = machine.decision_function(X)
        tau = np.linspace(0, 3, 30001)
        slack = np.maximum(1 - SIGNS[i] * before[i] - tau, 0)  # k(x,x) = 1
        price = {0: 1e6 * slack, 1: C * slack, 2: C * slack**2}[variant]
        best = tau[np.argmin(0.5 * tau**2 + price)]
        np.testing.assert_allclose(after, before + best * SIGNS[i] * K(X, X[i : i + 1])[:, 0], atol=2e-4)


@pytest.mark.parametrize("offset", [False, True], ids=["", "offset"])
def test_an_example_costs_nothing_after_an_unbounded_step(offset):
    machine = passive_aggressive(3.0 * K, variant=0, budget=None, regression=True, epsilon=0.1, offset=offset)
    y = np.sin(X[:, 0])
    for i in range(60):
        machine.partial_fit(X[i : i + 1], y[i : i + 1])
        assert EpsilonInsensitive(0.1).value(y[i], machine.predict(X[i : i + 1])[0]) <= 1e-12


# -- Pegasos --------------------------------------------------------------------------------------


def objective(f, y, lam):
    return np.maximum(1 - y * f(X), 0).mean() + lam * f.norm() ** 2


@pytest.mark.parametrize("lam", [0.02, 0.1])
def test_the_mean_of_pegasos_is_as_good_as_theory_says(lam):
    """C(mean f_t) − min C ≤ G² (1 + ln T)/(4λT), in the mean over draws; ‖∇‖ ≤ G = 2 where k(x,x) = 1."""
    best = KernelSVC(K, lam=lam, offset=False).fit(X, SIGNS)
    least = objective(best.function_, SIGNS, lam)
    rng, T = np.random.default_rng(1), 3000
    gaps = []
    for _ in range(4):
        order = rng.integers(60, size=T)
        machine = pegasos(K, lam, averaging=True, budget=Projection(60, 0.0))
        machine.fit(X[order], SIGNS[order])
        gaps.append(objective(machine.function_, SIGNS, lam) - least)
    assert min(gaps) > -1e-6
    assert np.mean(gaps) <= 4 * (1 + np.log(T)) / (4 * lam * T)


def test_first_steps_of_pegasos_by_hand():
    machine = OnlineKernelClassifier(K, "hinge", 0.25, PegasosStep(), None)
    machine.partial_fit(X[:1], SIGNS[:1], classes=[-1.0, 1.0])
    np.testing.assert_allclose(machine.function_(X), 2 * SIGNS[0] * K(X, X[:1])[:, 0])
    before = machine.function_(X)
    machine.partial_fit(X[1:2], SIGNS[1:2])
    expected = before / 2 + (SIGNS[1] * before[1] < 1) * SIGNS[1] * K(X, X[1:2])[:, 0]
    np.testing.assert_allclose(machine.function_(X), expected)
