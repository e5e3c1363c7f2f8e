"""The formulas of docs/certificates.md, written out by hand, against the calls they stand for."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ndtr

from mercer import theory

N, DELTA, NORM = 400, 0.03, 2.7
RNG = np.random.default_rng(0)
MARGINS = RNG.normal(1.0, 0.8, N)
DIAGONAL = RNG.uniform(0.5, 1.5, N)
TRACE = float(DIAGONAL.sum())


def share(j, delta=DELTA):
    return delta / (2 * (abs(j) + 1) * (abs(j) + 2))


def last(delta):
    return 3 * math.sqrt(math.log(2 / delta) / (2 * N))


def kl_inverse(q, c):
    """The largest p with kl(q, p) ≤ c."""

    def kl(p):
        parts = [a * math.log(a / b) for a, b in ((q, p), (1 - q, 1 - p)) if a > 0]
        return sum(parts) - c

    return brentq(kl, q, 1 - 1e-15)


def test_finite_classes_and_vc_dimension():
    expected = 0.1 + math.sqrt((math.log(50) + math.log(1 / DELTA)) / (2 * N))
    assert theory.finite_class_bound(0.1, 50, N, DELTA).value == pytest.approx(expected, rel=1e-12)
    expected = 0.1 + math.sqrt((7 * (math.log(2 * N / 7) + 1) + math.log(4 / DELTA)) / N)
    assert theory.vc_bound(0.1, 7, N, DELTA).value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("norm, j", [(2.7, 2), (4.0, 2), (0.3, -1), (1.0, 0)])
def test_rademacher(norm, j):
    """B = 2^j is looked up, so δ_j is paid, whatever ‖f‖ turns out to be."""
    expected = 0.2 + 2 * 1.5 * 2.0**j * math.sqrt(TRACE) / N + last(share(j))
    assert theory.rademacher_bound(0.2, norm, TRACE, N, 1.5, DELTA).value == pytest.approx(
        expected, rel=1e-12
    )
    known = 0.2 + 2 * 1.5 * 2.0**j * math.sqrt(1.5 / N) + math.sqrt(math.log(1 / share(j)) / (2 * N))
    found = theory.rademacher_bound(0.2, norm, TRACE, N, 1.5, DELTA, sup_diagonal=1.5)
    assert found.value == pytest.approx(known, rel=1e-12)


@pytest.mark.parametrize("classes", [2, 5])
def test_margins(classes):
    wide = 1.0 if classes == 2 else 2 * math.sqrt(classes)

    def at(j):
        ramp = np.clip(1 - MARGINS * 2.0**j / NORM, 0, 1).mean()
        return ramp + 2 * wide * 2.0**j * math.sqrt(TRACE) / N + last(share(j))

    found = theory.margin_bound(MARGINS, NORM, TRACE, DELTA, classes=classes)
    least = min(map(at, range(-20, 20)))
    assert least < 1 or classes > 2
    if least < 1:
        assert found.value == pytest.approx(least, rel=1e-12)
    else:  # of those that say nothing, another may be shown: none is below the least
        assert found.value >= least and found.vacuous


def test_capped_errors():
    r = RNG.normal(0, 0.4, N)
    i, j = 1, 1  # M = 2 for a cap of 1.3; ‖f‖/M = 1.35
    expected = np.minimum(np.abs(r), 2).mean()
    expected += 2 * (2 * 2 * math.sqrt(TRACE) / N + last(share(i) * share(j) / DELTA))
    found = theory.capped_error_bound(r, NORM, TRACE, 1.3, DELTA)
    assert found.value == pytest.approx(expected, rel=1e-12)


def test_pac_bayes():
    def at(ratio):
        draws = ndtr(-ratio * MARGINS / (NORM * np.sqrt(DIAGONAL))).mean()
        return kl_inverse(draws, (ratio**2 / 2 + math.log(2 * math.sqrt(N) / DELTA)) / N)

    best = min(at(ratio) for ratio in np.geomspace(0.01, 100, 4000))
    draws = theory.pac_bayes_bound(MARGINS, NORM, DIAGONAL, DELTA, own=False).value
    assert best * (1 - 1e-9) <= draws <= best * 1.01  # of a coarser list of s
    assert theory.pac_bayes_bound(MARGINS, NORM, DIAGONAL, DELTA).value == pytest.approx(2 * draws)


def test_stability():
    slope, judged, lam, kappa, largest = 1.5, 0.7, 0.2, 1.3, 2.0
    beta = judged * slope * kappa / (lam * N)
    assert theory.uniform_stability(slope, lam, N, kappa, judged) == pytest.approx(beta, rel=1e-12)
    expected = 0.1 + beta + (2 * N * beta + largest) * math.sqrt(math.log(1 / DELTA) / (2 * N))
    found = theory.stability_bound(0.1, beta, N, DELTA, largest_loss=largest)
    assert found.value == pytest.approx(expected, rel=1e-12)
