"""Algorithms by name: each against its own few lines, as its paper has it."""

import numpy as np
import pytest

from mercer.kernels import Gaussian
from mercer.losses import EpsilonInsensitive, Hinge, Squared
from mercer.online import (
    ConstantStep,
    Forgetron,
    Merge,
    Oldest,
    PassiveAggressiveStep,
    PegasosStep,
    PerceptronLoss,
    Projection,
    RecursiveStep,
    forgetron,
    krls,
    norma,
    passive_aggressive,
    pegasos,
    perceptron,
    projectron,
)
from mercer.online.steps import step_of

K = Gaussian(0.7)
X = np.random.default_rng(0).uniform(-2, 2, (80, 2))
SIGNS = np.where(np.sin(2 * X[:, 0]) + X[:, 1] > 0, 1, -1)


def test_the_perceptron():
    a, G = np.zeros(80), K(X)
    for i in range(80):
        if SIGNS[i] * (G[i] @ a) <= 0:
            a[i] = SIGNS[i]
    machine = perceptron(K).fit(X, SIGNS)
    np.testing.assert_allclose(machine.decision_function(X), G @ a, atol=1e-12)
    assert machine.n_updates_ == np.count_nonzero(a)


def test_norma():
    # Kivinen, Smola and Williamson: α_i ← (1 − ηλ) α_i, where their λ/2 is ours, and the oldest are cut off.
    lam, eta, size = 0.05, 0.4, 20
    alpha, kept, G = np.zeros(80), [], K(X)
    for i in range(80):
        margin = SIGNS[i] * (G[i] @ alpha)
        alpha *= 1 - eta * 2 * lam
        if margin < 1:
            alpha[i] = eta * SIGNS[i]
            kept.append(i)
            if len(kept) > size:
                alpha[kept.pop(0)] = 0
    machine = norma(K, lam, eta, size).fit(X, SIGNS)
    np.testing.assert_allclose(machine.decision_function(X), G @ alpha, atol=1e-12)


def test_kernel_pegasos():
    # Shalev-Shwartz et al., figure 3: counts of steps with a loss, over λ' t, where λ' = 2λ.
    lam, counts, G = 0.05, np.zeros(80), K(X)
    for t in range(1, 81):
        i = t - 1
        f = (G[i] @ (counts * SIGNS)) / (2 * lam * (t - 1)) if t > 1 else 0.0
        counts[i] += SIGNS[i] * f < 1
    machine = pegasos(K, lam).fit(X, SIGNS)
    np.testing.assert_allclose(
        machine.decision_function(X), G @ (counts * SIGNS) / (2 * lam * 80), atol=1e-11
    )


NAMED = {
    "perceptron": (perceptron(K, 30), PerceptronLoss(), 1.0, 0.0, 30),
    "forgetron": (forgetron(K, 30), PerceptronLoss(), 1.0, 0.0, Forgetron(30)),
    "projectron": (projectron(K, 30, 0.2), PerceptronLoss(), 1.0, 0.0, Projection(30, 0.2)),
    "norma": (norma(K, 0.1, 0.2, 30), "hinge", 0.2, 0.1, Oldest(30)),
    "pegasos": (pegasos(K, 0.1, Merge(30)), "hinge", PegasosStep(), 0.1, Merge(30)),
    "passive-aggressive": (
        passive_aggressive(K, 2.0, 2, 30),
        "hinge",
        PassiveAggressiveStep(2.0, 2),
        0.0,
        30,
    ),
    "its regression": (
        passive_aggressive(K, regression=True, epsilon=0.3),
        EpsilonInsensitive(0.3),
        PassiveAggressiveStep(),
        0.0,
        500,
    ),
    "krls": (krls(K, 30, 0.1, 0.2, 0.9), "squared", RecursiveStep(0.2, 0.9), 0.0, Projection(30, 0.1)),
}


@pytest.mark.parametrize("machine, loss, step, lam, budget", NAMED.values(), ids=NAMED)
def test_what_the_names_stand_for(machine, loss, step, lam, budget):
    given = machine.get_params(deep=False)
    assert given["loss"] == loss
    assert step_of(given["step"]) == step_of(step)
    assert (given["lam"], given["budget"], given["kernel"]) == (lam, budget, K)
    assert step_of(0.2) == ConstantStep(0.2)
    machine.fit(X, SIGNS)
    assert machine.n_seen_ == 80
    assert isinstance(machine.loss_, (PerceptronLoss, Hinge, EpsilonInsensitive, Squared))


def test_other_options_go_through():
    assert perceptron(K, averaging=True).averaging
    assert krls(K, random_state=3).random_state == 3
    assert passive_aggressive(K, offset=True).offset
