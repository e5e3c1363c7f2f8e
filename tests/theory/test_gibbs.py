"""PAC–Bayes: the divergence by linear algebra, errors of draws by drawing, the bound by hand."""

import math

import numpy as np
import pytest
from scipy.special import ndtr

from mercer.kernels import Gaussian
from mercer.theory import binary_kl, gibbs_bound, kl_inverse, pac_bayes_bound

RNG = np.random.default_rng(0)


def test_the_divergence_of_two_processes():
    """On finitely many points KL(N(m, K)‖N(0, K)) = ½ mᵀK⁻¹m, which for f = Kc is ½‖f‖²."""
    K = Gaussian(1.0)(np.arange(5.0)[:, None])
    c = RNG.standard_normal(5)
    m = K @ c
    assert m @ np.linalg.solve(K, m) / 2 == pytest.approx(c @ K @ c / 2)


def test_errors_of_draws_by_drawing():
    K = Gaussian(1.0)(np.arange(5.0)[:, None])
    f = K @ RNG.standard_normal(5)
    draws = f[:, None] + 0.7 * np.linalg.cholesky(K) @ RNG.standard_normal((5, 100_000))
    np.testing.assert_allclose((draws < 0).mean(axis=1), ndtr(-f / 0.7), atol=0.01)


def test_by_hand():
    assert binary_kl(0.05, gibbs_bound(0.05, 10.0, 1000)) == pytest.approx(
        (10 + math.log(2 * math.sqrt(1000) / 0.05)) / 1000
    )
    assert gibbs_bound(0.2, 1.0, 5) == pytest.approx(kl_inverse(0.2, (1 + math.log(6 / 0.05)) / 5))


def test_the_best_scale():
    m, k = RNG.normal(1.0, 0.6, 2000), RNG.uniform(0.5, 2, 2000)
    norm = 3.0
    bound = pac_bayes_bound(m, norm, k, own=False)
    by_hand = [
        gibbs_bound(float(ndtr(-m / (s * np.sqrt(k))).mean()), norm**2 / (2 * s**2), 2000)
        for s in np.geomspace(norm / 100, norm * 10, 400)
    ]
    assert bound.value == pytest.approx(min(by_hand), rel=0.01)
    own = pac_bayes_bound(m, norm, k)
    assert own.value == pytest.approx(2 * bound.value) and own.measured == (m <= 0).mean()
    assert sum(v for _, v in own.terms) == pytest.approx(own.value)


def test_it_says_something_where_it_is_easy():
    """Margins of half of what ‖f‖ allows, 500 examples."""
    bound = pac_bayes_bound(np.full(500, 1.0), 2.0, np.ones(500), own=False)
    assert bound.value < 0.1 and not bound.vacuous and bound.needed is None


def test_it_does_not_care_for_scale():
    m = RNG.normal(1.0, 0.6, 300)
    once, again = pac_bayes_bound(m, 3.0, np.ones(300)), pac_bayes_bound(10 * m, 15.0, np.full(300, 4.0))
    assert once.value == pytest.approx(again.value)


def test_nothing_learned():
    bound = pac_bayes_bound(np.zeros(100), 0.0, np.ones(100))
    assert bound.vacuous and bound.needed is None
    assert pac_bayes_bound(np.zeros(100), 1.0, np.zeros(100)).vacuous


def test_as_many_as_needed():
    bound = pac_bayes_bound(np.full(100, 1.0), 8.0, np.ones(100))
    assert bound.vacuous and bound.needed > 100
    assert pac_bayes_bound(np.full(bound.needed, 1.0), 8.0, np.ones(bound.needed)).value < 1


@pytest.mark.parametrize(
    "call",
    [
        lambda: gibbs_bound(1.1, 1.0, 10),
        lambda: gibbs_bound(0.1, -1.0, 10),
        lambda: pac_bayes_bound([1.0], -1.0, [1.0]),
        lambda: pac_bayes_bound([math.nan], 1.0, [1.0]),
        lambda: pac_bayes_bound([1.0], 1.0, [1.0, 1.0]),
        lambda: pac_bayes_bound([1.0], 1.0, [-1.0]),
        lambda: pac_bayes_bound([1.0], 1.0, [1.0], delta=2.0),
    ],
)
def test_what_makes_no_sense(call):
    with pytest.raises(ValueError):
        call()
