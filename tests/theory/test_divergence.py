"""kl of coins: against SciPy, and its inverse."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import entropy

from mercer.theory import binary_kl, kl_inverse

RATE = st.floats(0, 1)


@given(RATE, st.floats(1e-6, 1 - 1e-6))
def test_by_scipy(q, p):
    assert binary_kl(q, p) == pytest.approx(entropy([q, 1 - q], [p, 1 - p]), abs=1e-12, rel=1e-9)


@given(RATE, st.floats(1e-6, 20))
def test_the_inverse_inverts(q, c):
    p = kl_inverse(q, c)
    assert q <= p <= 1
    if p < 1 - 1e-8:  # nearer to 1 the spacing of floats shows
        assert binary_kl(q, p) == pytest.approx(c, rel=1e-6, abs=1e-9)
        assert binary_kl(q, min(p + 1e-8, 1)) > c
    assert kl_inverse(q, 2 * c) >= p


def test_arrays_and_ends():
    assert binary_kl([0.0, 1.0, 0.5], [0.0, 1.0, 0.0]).tolist() == [0, 0, np.inf]
    np.testing.assert_allclose(kl_inverse([0.0, 0.2], 0.1), [1 - np.exp(-0.1), kl_inverse(0.2, 0.1)])
    assert kl_inverse(0.3, 0.0) == pytest.approx(0.3, abs=1e-8) and kl_inverse(1.0, 0.1) == 1


@pytest.mark.parametrize("q, p", [(-0.1, 0.5), (0.5, 1.5), (np.nan, 0.5)])
def test_no_probabilities(q, p):
    with pytest.raises(ValueError, match="probabilities"):
        binary_kl(q, p)
    with pytest.raises(ValueError, match="must lie between 0 and 1"):
        kl_inverse(2.0, 0.1)
