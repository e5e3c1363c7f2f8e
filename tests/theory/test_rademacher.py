"""Balls in H_K: their complexity by brute force, their bounds by hand."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.engines import Tiled
from mercer.kernels import Gaussian, Linear
from mercer.theory import capped_error_bound, margin_bound, rademacher_bound, rademacher_complexity
from mercer.theory.rademacher import share

RNG = np.random.default_rng(0)


def test_a_matrix_may_be_a_list():
    assert rademacher_complexity([[1, 0], [0, 1]]) == rademacher_complexity(np.eye(2))


def test_complexity_of_few_points_is_exact():
    K = Gaussian(1.0)(RNG.standard_normal((7, 2)))
    sizes = [math.sqrt(np.array(s) @ K @ np.array(s)) for s in itertools.product((-1, 1), repeat=7)]
    found = rademacher_complexity(K, radius=3.0)
    assert found.value == pytest.approx(3 / 7 * np.mean(sizes)) and found.error == 0


def test_the_supremum_is_attained():
    """f = B Σσ_i k_i/‖Σσ_i k_i‖ has ‖f‖ = B and (1/n) Σ σ_i f(x_i) = (B/n) √(σᵀKσ)."""
    K, B = Gaussian(1.0)(RNG.standard_normal((5, 1))), 2.0
    sigma = np.array([1, -1, 1, 1, -1.0])
    size = math.sqrt(sigma @ K @ sigma)
    c = B * sigma / size
    assert c @ K @ c == pytest.approx(B**2) and sigma @ (K @ c) / 5 == pytest.approx(B * size / 5)


@given(st.integers(1, 12), st.integers(1, 4), st.integers(0, 100))
def test_between_the_bounds_by_the_trace(n, d, seed):
    X = np.random.default_rng(seed).standard_normal((n, d))
    found = rademacher_complexity(X @ X.T)
    assert found.low * (1 - 1e-9) <= found.value <= found.high * (1 + 1e-9)


def test_one_direction_has_the_least():
    """n equal points: |Σσ| of two signs is 0 or 2, so the mean is 1 = √(tr K/2)."""
    found = rademacher_complexity(np.ones((2, 2)))
    assert found.value == pytest.approx(found.low) == pytest.approx(0.5)


def test_drawn_signs_without_a_matrix():
    X = RNG.standard_normal((300, 3))
    operator = Tiled().operator(Gaussian(1.0), X)
    found, dense = rademacher_complexity(operator), rademacher_complexity(Gaussian(1.0)(X))
    assert found.value == pytest.approx(dense.value, rel=1e-6) and found.high == pytest.approx(
        1 / math.sqrt(300)
    )
    assert 0 < found.error < 0.02 * found.value and found.low < found.value < found.high
    other = rademacher_complexity(operator, random_state=1)
    assert abs(other.value - found.value) < 5 * math.hypot(other.error, found.error)


def test_the_expected_complexity():
    """With κ² known: 2LBκ/√n + √(ln(1/δ_B)/2n)."""
    bound = rademacher_bound(0.1, 3.0, 500.0, 400, 2.0, 0.1, sup_diagonal=1.5)
    expected = 0.1 + 2 * 2 * 4 * math.sqrt(1.5 / 400) + math.sqrt(math.log(1 / (0.1 * share(2))) / 800)
    assert bound.value == pytest.approx(expected, rel=1e-12)
    assert (
        bound.needed > 400
        and rademacher_bound(0.1, 3.0, 1.0, bound.needed, 2.0, 0.1, sup_diagonal=1.5).value < 1
    )


def test_margins_by_hand():
    m, norm, trace, delta = np.array([0.2, 0.5, 1.0, 2.0, -0.1] * 2000), 2.0, 10_000.0, 0.05
    bound = margin_bound(m, norm, trace, delta)
    by_hand = []
    for j in range(-10, 12):
        ramp = np.clip(1 - m * 2.0**j / norm, 0, 1).mean()
        complexity = 2 * 2.0**j * math.sqrt(trace) / len(m)
        by_hand.append(ramp + complexity + 3 * math.sqrt(math.log(2 / (delta * share(j))) / (2 * len(m))))
    assert bound.value == pytest.approx(min(by_hand), rel=1e-12) and bound.measured == 0.2
    assert sum(v for _, v in bound.terms) == pytest.approx(bound.value)


def test_margins_do_not_care_for_scale():
    m = RNG.normal(1, 0.5, 4000)
    once, thrice = margin_bound(m, 2.0, 4000.0), margin_bound(8 * m, 16.0, 4000.0)
    assert once.value == pytest.approx(thrice.value, rel=1e-12)


def test_more_classes_cost_more():
    m = np.full(50_000, 1.0)
    values = [margin_bound(m, 2.0, 50_000.0, classes=k).value for k in (2, 3, 10)]
    assert values == sorted(values) and values[0] < values[1]
    terms = dict(margin_bound(m, 2.0, 50_000.0, classes=4).terms)
    gamma = float(next(name for name in terms if "γ" in name).rpartition(" ")[2])
    assert terms["complexity"] == pytest.approx(
        2 * 2 * math.sqrt(4) * (2 / gamma) * math.sqrt(50_000) / 50_000, rel=0.01
    )


def test_a_margin_is_shown_where_nothing_can_be_said():
    bound = margin_bound(np.full(50, 1.0), 100.0, 50.0)
    assert bound.vacuous and bound.largest_term[0] == "complexity" and bound.measured == 0
    assert margin_bound(np.full(bound.needed, 1.0), 100.0, float(bound.needed)).value < 1


def test_nothing_learned():
    assert margin_bound(np.zeros(100), 0.0, 100.0).value >= 1


def test_capped_errors_by_hand():
    r, n = np.array([0.1, -0.5, 3.0, 10.0] * 250), 1000
    bound = capped_error_bound(r, 5.0, 900.0, cap=3.0, delta=0.1)
    cost = share(2) * share(1)  # cap 4, ‖f‖/4 ≤ 2
    by_hand = np.minimum(np.abs(r), 4).mean() + 4 * (
        2 * 2 * math.sqrt(900) / n + 3 * math.sqrt(math.log(2 / (0.1 * cost)) / (2 * n))
    )
    assert bound.value == pytest.approx(by_hand, rel=1e-12) and bound.risk.endswith("capped at 4")
    assert bound.vacuous == (by_hand >= 4)


def test_an_offset_far_away_costs_little():
    r = RNG.normal(0, 0.1, 5000)
    near, far = (capped_error_bound(r, 1.0, 5000.0, 1.0, offset=b).value for b in (0.3, 1e6))
    assert near < far < near + 0.1
    assert capped_error_bound(r, 1.0, 5000.0, 1.0).value < near


@pytest.mark.parametrize(
    "call",
    [
        lambda: rademacher_complexity(np.ones((2, 3))),
        lambda: rademacher_complexity(np.eye(2), radius=-1),
        lambda: rademacher_complexity([1.0, 2.0]),
        lambda: margin_bound([], 1.0, 1.0),
        lambda: margin_bound([math.nan], 1.0, 1.0),
        lambda: margin_bound([1.0], 1.0, math.nan),
        lambda: capped_error_bound([math.nan], 1.0, 1.0, cap=1.0),
        lambda: margin_bound([1.0], -1.0, 1.0),
        lambda: margin_bound([1.0], 1.0, 1.0, classes=1),
        lambda: margin_bound([1.0], 1.0, 1.0, delta=0.0),
        lambda: capped_error_bound([1.0], 1.0, 1.0, cap=0.0),
        lambda: capped_error_bound([[1.0]], 1.0, 1.0, cap=1.0),
    ],
)
def test_what_makes_no_sense(call):
    with pytest.raises(ValueError):
        call()


def test_of_a_linear_kernel():
    """tr K of the linear kernel is Σ‖x_i‖²."""
    X = RNG.standard_normal((9, 3))
    assert rademacher_complexity(Linear()(X), 2.0).high == pytest.approx(2 / 9 * np.linalg.norm(X))
