"""Fitted powers of n: exact ones found again, intervals that hold the truth as often as they say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.theory import fit_rate

N = np.array([50, 100, 200, 400, 800])


@given(st.floats(-1, 3), st.floats(1e-6, 1e6))
def test_a_power_is_found_again(a, C):
    rate = fit_rate(N, C * N**-a)
    assert rate.exponent == pytest.approx(a, abs=1e-9) and rate.constant == pytest.approx(C, rel=1e-6)
    assert rate.low - 1e-6 <= a <= rate.high + 1e-6
    np.testing.assert_allclose(rate.at(N), C * N**-a)


@pytest.mark.parametrize("rows", [1, 40])
def test_intervals(rows):
    rng, held = np.random.default_rng(0), 0
    for i in range(200):
        noise = 0.3 * rng.standard_normal((rows, 5))
        risks = 2 / N**0.6 * np.exp(noise)
        rate = fit_rate(N, risks[0] if rows == 1 else risks, 0.9, random_state=i)
        held += rate.low <= 0.6 <= rate.high
    assert held >= 165  # of 200, 180 promised


def test_words():
    assert str(fit_rate(N, 1 / N)) == "n^−1.00 (95 % confidence: 1.00 to 1.00)"


@pytest.mark.parametrize(
    "sizes, risks, confidence",
    [
        ([1, 2], [1, 1], 0.9),
        ([1, 2, 2], [1, 1, 1], 0.9),
        ([1, 2, 3], [1, 0, 1], 0.9),
        ([1, 2, 3], [1, np.nan, 1], 0.9),
        ([1, 2, 3], [1, 1], 0.9),
        ([1, 2, 3], [1, 1, 1], 1.0),
    ],
)
def test_what_has_no_rate(sizes, risks, confidence):
    with pytest.raises(ValueError):
        fit_rate(sizes, risks, confidence)


def test_signs_in_words():
    assert str(fit_rate([1, 2, 4], [4.0, 2.0, 1.0])).startswith("n^−1.00 (")
    rising = str(fit_rate([1, 2, 4], [1.0, 2.0, 4.0]))
    assert rising == "n^1.00 (95 % confidence: −1.00 to −1.00)"
