"""Stability: what a replaced example really does, against what is claimed of it."""

import math

import numpy as np
import pytest

from mercer import KernelClassifier, KernelLogistic, KernelRegressor, KernelRidge, KernelSVC
from mercer.estimators.facts import facts_of
from mercer.kernels import Gaussian
from mercer.losses import Huber, SquaredHinge
from mercer.theory import ridge_slope, ridge_stability, stability_bound, uniform_stability
from mercer.theory.applicable import largest_slope

K = Gaussian(0.5)


def pairs(machine, labels, seed, n=25):
    """A machine, and one with an example replaced, or left out with λ kept."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 1))
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0) if labels else rng.uniform(-1, 1, n)
    y[:2] = -1, 1
    other = y.copy()
    other[-1] = -y[-1]
    moved = X.copy()
    moved[-1] = rng.uniform(-1, 1)
    f = type(machine)(**machine.get_params(deep=False)).fit(X, y)
    g = type(machine)(**machine.get_params(deep=False)).fit(moved, other)
    h = type(machine)(**machine.get_params(deep=False)).fit(X[:-1], y[:-1])
    return X, y, f, (g, h)


MACHINES = [
    (KernelRidge(K, lam=0.05, offset=False), False),
    (KernelRegressor(K, loss=Huber(0.3), lam=0.05, offset=False), False),
    (KernelLogistic(K, lam=0.02, offset=False), True),
    (KernelSVC(K, lam=0.02, offset=False), True),
    (KernelClassifier(K, loss=SquaredHinge(), lam=0.05, offset=False), True),
]


@pytest.mark.parametrize("machine, labels", MACHINES, ids=lambda m: type(m).__name__)
def test_one_example_moves_f_by_no_more_than_is_claimed(machine, labels):
    for seed in range(8):
        X, y, f, others = pairs(machine, labels, seed)
        facts = facts_of(f, X, y)
        slope = largest_slope(facts)
        for g in others:
            distance = f.function_.distance(g.function_)
            assert distance <= slope / (facts.lam * len(y)) * (1 + 1e-6)
            # A loss of slope 1 at any point.
            there = np.linspace(-1, 1, 50)[:, None]
            beta = uniform_stability(slope, facts.lam, len(y), 1.0, judged=1.0)
            assert np.abs(f.function_(there) - g.function_(there)).max() <= beta * (1 + 1e-6)


def test_ridge_keeps_its_norm():
    """‖f‖ ≤ Y/(2√λ), and one example at y = Y with k = λ attains it."""
    for seed in range(10):
        for lam in (1e-3, 0.1, 2.0):
            _, y, f, _ = pairs(KernelRidge(K, lam=lam, offset=False), False, seed)
            assert f.function_.norm() <= np.abs(y).max() / (2 * math.sqrt(lam)) * (1 + 1e-9)
    one = KernelRidge(K, lam=1.0, offset=False).fit([[0.0]], [3.0])
    assert one.function_.norm() == pytest.approx(3 / 2)


def test_squared_errors_of_clipped_predictions():
    Y, lam, n = 1.0, 0.05, 25
    beta = ridge_stability(lam, n, 1.0, Y)
    assert beta == pytest.approx(8 * (1 + 1 / (2 * math.sqrt(lam))) / (lam * n))
    for seed in range(8):
        _, _, f, others = pairs(KernelRidge(K, lam=lam, offset=False), False, seed, n)
        there = np.linspace(-1, 1, 50)[:, None]
        for g in others:
            a, b = (np.clip(h.predict(there), -Y, Y) for h in (f, g))
            worst = max(np.abs((y - a) ** 2 - (y - b) ** 2).max() for y in (-Y, 0.0, Y))
            assert worst <= beta


def test_by_hand():
    bound = stability_bound(0.2, 0.001, 100, 0.1)
    assert bound.value == pytest.approx(0.2 + 0.001 + (0.2 + 1) * math.sqrt(math.log(10) / 200))
    left = stability_bound(0.2, 0.001, 100, 0.1, estimate="leave-one-out")
    assert left.value == pytest.approx(
        0.2 + 0.001 + (0.1 + 0.1 * 100 / 99 + 1) * math.sqrt(math.log(10) / 200)
    )
    assert ridge_slope(2.0, 0.25, 4.0) == pytest.approx(2 * 2 * (1 + 2))
    assert left.terms[0][0] == "leave-one-out loss"


def test_bousquet_and_elisseeff_have_the_same():
    """β' = σ²κ²/(2λn) for a removed example: R ≤ R_emp + 2β' + (4nβ' + M)√(ln(1/δ)/2n)."""
    n, lam, delta, M = 500, 0.1, 0.05, 3.0
    removed = 1 / (2 * lam * n)
    theirs = 0.3 + 2 * removed + (4 * n * removed + M) * math.sqrt(math.log(1 / delta) / (2 * n))
    ours = stability_bound(0.3, uniform_stability(1.0, lam, n, 1.0), n, delta, largest_loss=M)
    assert ours.value == pytest.approx(theirs, rel=1e-12)


def test_as_many_as_needed():
    bound = stability_bound(0.1, uniform_stability(1.0, 0.01, 500, 1.0), 500)
    assert bound.vacuous and bound.largest_term[0] == "stability"
    again = stability_bound(0.1, uniform_stability(1.0, 0.01, bound.needed, 1.0), bound.needed)
    assert not again.vacuous


@pytest.mark.parametrize(
    "call",
    [
        lambda: uniform_stability(1.0, 0.0, 10, 1.0),
        lambda: uniform_stability(-1.0, 1.0, 10, 1.0),
        lambda: ridge_slope(-1.0, 1.0, 1.0),
        lambda: stability_bound(0.1, 0.1, 1),
        lambda: stability_bound(1.1, 0.1, 10),
        lambda: stability_bound(0.1, -0.1, 10),
        lambda: stability_bound(0.1, 0.1, 10, estimate="test"),
    ],
)
def test_what_makes_no_sense(call):
    with pytest.raises(ValueError):
        call()
