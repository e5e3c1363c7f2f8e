"""Leaving one out: every example really left out, against what is claimed without doing so."""

import math

import numpy as np
import pytest

from mercer import KernelClassifier, KernelLogistic, KernelRidge, KernelSVC
from mercer.estimators.facts import facts_of
from mercer.kernels import Gaussian
from mercer.losses import SquaredHinge
from mercer.theory import (
    left_out_bound,
    left_out_error_bound,
    left_out_scores,
    support_vector_bound,
    xi_alpha_bound,
)
from mercer.theory.applicable import spread_of

K, LAM, N = Gaussian(0.6), 0.02, 30


def left_out(machine, X, y):
    """f₋ᵢ(x_i) with C = 1/(2λn) kept."""
    out = np.empty(len(y))
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        fewer = type(machine)(**{**machine.get_params(deep=False), "lam": LAM * len(y) / (len(y) - 1)})
        fewer.fit(X[rest], y[rest])
        score = getattr(fewer, "decision_function", fewer.predict)
        out[i] = score(X[i : i + 1])[0]
    return out


def sample(seed, labels=True):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (N, 1))
    y = np.sin(2 * X[:, 0]) + 0.7 * rng.standard_normal(N)
    return X, np.where(y > 0, 1, -1) if labels else y


@pytest.mark.parametrize(
    "machine",
    [
        KernelRidge(K, lam=LAM, offset=False),
        KernelLogistic(K, lam=LAM, offset=False),
        KernelSVC(K, lam=LAM, offset=False),
        KernelClassifier(K, loss=SquaredHinge(), lam=LAM, offset=False),
    ],
    ids=lambda m: type(m).__name__,
)
def test_scores_lie_in_the_interval(machine):
    labels = not isinstance(machine, KernelRidge)
    for seed in range(3):
        X, y = sample(seed, labels)
        facts = facts_of(machine.fit(X, y), X, y)
        there = left_out(machine, X, y)
        ends = left_out_scores(facts.scores[:, 0], facts.coef, facts.diagonal)
        low, high = np.minimum(ends, facts.scores[:, 0]), np.maximum(ends, facts.scores[:, 0])
        slack = 1e-5
        assert ((low - slack <= there) & (there <= high + slack)).all()
        if labels:
            bound = left_out_bound(facts.targets[:, 0], facts.scores[:, 0], facts.coef, facts.diagonal)
            assert bound.value >= np.mean(y * there <= 0)
        else:
            bound = left_out_error_bound(y, facts.scores[:, 0], facts.coef, facts.diagonal, 2.0)
            assert bound.value >= np.minimum(np.abs(y - there), 2).mean()
            assert bound.risk.startswith("mean error, capped at 2")


def test_with_an_offset():
    for seed in range(4):
        X, y = sample(seed)
        machine = KernelSVC(K, lam=LAM).fit(X, y)
        facts, errors = facts_of(machine, X, y), np.mean(y * left_out(machine, X, y) <= 0)
        spread = spread_of(facts)
        assert spread == pytest.approx(1 - K(machine.support_vectors_, X).min())
        alpha = xi_alpha_bound(facts.margins, np.abs(facts.coef), spread)
        support = support_vector_bound(facts.support, N)
        assert errors <= alpha.value <= support.value + 1e-12 and alpha.on_average and alpha.delta == 0


def test_by_hand():
    y, s, c, k = [1, 1, -1], [0.5, 2.0, 0.1], [0.6, 0.1, -0.2], [1.0, 1.0, 2.0]
    np.testing.assert_allclose(left_out_scores(s, c, k), [-0.1, 1.9, 0.5])
    bound = left_out_bound(y, s, c, k)
    assert bound.value == pytest.approx(2 / 3) and bound.measured == pytest.approx(1 / 3)
    # 2·0.3·1 + 0 < 1; 2·0.5·1 ≥ 1; no support vector; ξ = 1.2
    assert xi_alpha_bound([1.0, 1.0, 0.5, -0.2], [0.3, 0.5, 0.0, 0.1], 1.0).value == 0.5
    assert xi_alpha_bound([1.0, 1.0], [0.6, 1.0], 1.0, offset=False).value == 0.5


@pytest.mark.parametrize(
    "call",
    [
        lambda: left_out_scores([1.0], [1.0, 2.0], [1.0, 1.0]),
        lambda: left_out_scores([1.0], [1.0], [-1.0]),
        lambda: support_vector_bound(5, 4),
        lambda: support_vector_bound(0, 0),
        lambda: xi_alpha_bound([1.0], [-1.0], 1.0),
        # NaN is not ≤ 0, and would count as right.
        lambda: xi_alpha_bound([math.nan], [1.0], 1.0),
        lambda: left_out_bound([1], [math.nan], [1.0], [1.0]),
        lambda: left_out_bound([0, 1], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0]),
        lambda: left_out_bound([1, 1], [1.0], [1.0], [1.0]),
        lambda: left_out_error_bound([1.0], [1.0], [1.0], [1.0], cap=-1.0),
    ],
)
def test_what_makes_no_sense(call):
    with pytest.raises(ValueError):
        call()
