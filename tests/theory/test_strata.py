"""Strata: powers of two found exactly, shares that add up to no more than one."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.theory.rademacher import exponent_above, share


@given(st.floats(2**-59, 1e300))
def test_the_next_power_of_two(value):
    j = exponent_above(value)
    assert 2.0 ** (j - 1) < value <= 2.0**j


def test_powers_are_their_own():
    assert [exponent_above(2.0**j) for j in range(-59, 60)] == list(range(-59, 60))
    assert exponent_above(0.0) == exponent_above(1e-300) == -60


def test_shares_add_up():
    assert math.fsum(share(j) for j in range(-100_000, 100_001)) <= 0.75


@pytest.mark.parametrize("value", [-1.0, math.inf, math.nan])
def test_what_has_no_exponent(value):
    with pytest.raises(ValueError, match="a finite number from 0 on"):
        exponent_above(value)
