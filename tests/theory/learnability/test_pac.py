"""Calculators: by hand, and each the inverse of the others."""

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mercer.kernels import Gaussian
from mercer.theory.learnability import (
    Conjunctions,
    HalfSpaces,
    Intervals,
    KernelHalfSpaces,
    LeftIntervals,
    Rectangles,
    UserClass,
    sample_size,
)

BY_HAND = [
    # 100·(4.60517 + 2.99573)/0.1 = 7600.90
    (Conjunctions(100, negations=False), 0.1, 0.05, None, 7601),
    # 200·(5.29832 + 2.99573)/0.1 = 16588.10
    (Conjunctions(100), 0.1, 0.05, None, 16589),
    # (4/0.1) ln 80 = 40·4.38203 = 175.28
    (Rectangles(2), 0.1, 0.05, None, 176),
    # (6/0.01) ln(6/0.01) = 600·6.39693 = 3838.16
    (Rectangles(3), 0.01, 0.01, None, 3839),
    (LeftIntervals(), 0.1, 0.05, None, 30),  # 10·ln 20 = 29.96
    (Intervals(), 0.1, 0.05, None, 74),  # 20·ln 40 = 73.78
    (1000, 0.1, 0.05, None, 100),  # 10·(6.90776 + 2.99573) = 99.03
    (1, 0.1, 0.05, None, 30),
    (Conjunctions(10), 0.1, 0.05, "size", 140),  # 10·(ln 59050 + ln 20) = 10·(10.98614 + 2.99573)
    # max(40 log₂ 40, 240 log₂ 130) = max(212.9, 1685.4)
    (HalfSpaces(2), 0.1, 0.05, None, 1686),
    (3, 0.1, 0.05, "vc", 1686),
]


@pytest.mark.parametrize("H, epsilon, delta, by, m", BY_HAND, ids=lambda v: repr(v))
def test_by_hand(H, epsilon, delta, by, m):
    assert sample_size(H, epsilon=epsilon, delta=delta, by=by) == m


def test_the_sign_is_plus():
    # With minus, more confidence would take fewer examples.
    sizes = [sample_size(50, epsilon=0.1, delta=delta) for delta in (0.2, 0.1, 0.01, 1e-6)]
    assert sizes == sorted(sizes) and sizes[0] < sizes[-1]
    assert sizes[2] == math.ceil((math.log(50) + math.log(100)) / 0.1)


SHARE = st.floats(1e-4, 0.5)
CLASSES = st.one_of(
    st.builds(Conjunctions, st.integers(1, 200), st.booleans()),
    st.builds(Rectangles, st.integers(1, 50)),
    st.builds(HalfSpaces, st.integers(1, 50)),
    st.integers(1, 10**9),
)


@given(CLASSES, SHARE, SHARE)
def test_m_is_enough_and_one_less_is_not(H, epsilon, delta):
    m = sample_size(H, epsilon=epsilon, delta=delta)
    slack = 1 + 1e-9
    assert sample_size(H, m=m, delta=delta) <= epsilon * slack
    assert sample_size(H, m=m, epsilon=epsilon) <= delta * slack
    if m > 1:
        assert sample_size(H, m=m - 1, delta=delta) >= epsilon / slack


@given(CLASSES, st.integers(1, 10**7), SHARE)
def test_error_and_examples_invert_each_other(H, m, delta):
    epsilon = sample_size(H, m=m, delta=delta)
    assume(epsilon < 1)
    assert sample_size(H, epsilon=epsilon, delta=delta) == m
    back = sample_size(H, m=m, epsilon=epsilon)
    # The VC bound is a maximum: δ can be smaller than needed there.
    assert back <= delta * (1 + 1e-6)
    if not isinstance(H, HalfSpaces):
        assert back == pytest.approx(delta, rel=1e-6)


@given(CLASSES, st.integers(1, 10**6), SHARE)
def test_failure_and_examples_invert_each_other(H, m, epsilon):
    delta = sample_size(H, m=m, epsilon=epsilon)
    assume(1e-300 < delta < 1)
    needed = sample_size(H, epsilon=epsilon, delta=delta)
    assert needed <= m + 1
    if not isinstance(H, HalfSpaces):
        assert needed == m


@given(st.integers(1, 300), SHARE, SHARE, st.booleans())
def test_the_largest_number_of_variables(n, epsilon, delta, negations):
    m = sample_size(Conjunctions(n, negations), epsilon=epsilon, delta=delta)
    found = sample_size(Conjunctions(negations=negations), m=m, epsilon=epsilon, delta=delta)
    assert found >= n
    assert sample_size(Conjunctions(found, negations), epsilon=epsilon, delta=delta) <= m
    assert sample_size(Conjunctions(found + 1, negations), epsilon=epsilon, delta=delta) > m


@given(st.integers(1, 10**6), SHARE, SHARE)
def test_the_largest_class(size, epsilon, delta):
    m = sample_size(size, epsilon=epsilon, delta=delta)
    found = sample_size(m=m, epsilon=epsilon, delta=delta)
    assert found >= size
    if found < 2**50:
        assert sample_size(found, epsilon=epsilon, delta=delta) <= m


@given(st.integers(1, 100), SHARE, SHARE)
def test_the_largest_dimension(d, epsilon, delta):
    m = sample_size(d, epsilon=epsilon, delta=delta, by="vc")
    found = sample_size(m=m, epsilon=epsilon, delta=delta, by="vc")
    assert found >= d and sample_size(found, epsilon=epsilon, delta=delta, by="vc") <= m


def test_too_few_examples_promise_nothing():
    assert sample_size(Rectangles(2), m=1, epsilon=0.1) == 1.0
    assert sample_size(Rectangles(2), m=1, delta=0.1) == 1.0
    assert sample_size(HalfSpaces(2), m=10, epsilon=0.1) == sample_size(HalfSpaces(2), m=10, delta=0.1) == 1.0
    assert sample_size(Rectangles(), m=1, epsilon=0.1, delta=0.1) == 0
    assert sample_size(m=1, epsilon=0.1, delta=0.1) == 0
    assert sample_size(m=10, epsilon=0.1, delta=0.1, by="vc") == 0


def test_large_numbers():
    assert sample_size(Conjunctions(10_000), epsilon=0.1, delta=0.1, by="size") == math.ceil(
        (10_000 * math.log(3) + math.log(10)) / 0.1
    )
    assert sample_size(m=10**6, epsilon=0.5, delta=0.1) == math.inf
    assert sample_size(Rectangles(2), m=10**9, epsilon=0.5) == 0.0


def oracle(X, y):
    return None


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"H": Rectangles(2), "epsilon": 0.1}, "here m, delta are missing"),
        ({"H": Rectangles(2), "epsilon": 0.1, "delta": 0.1, "m": 3}, "nothing is missing"),
        ({"H": Rectangles(), "epsilon": 0.1, "delta": 0.1}, "m, the class or its size are missing"),
        ({"H": Rectangles(2), "epsilon": 1.5, "delta": 0.1}, "epsilon must lie between 0 and 1"),
        ({"H": Rectangles(2), "epsilon": 0.1, "delta": 0}, "delta must lie between 0 and 1"),
        ({"H": Rectangles(2), "m": 0, "delta": 0.1}, "m must be"),
        ({"H": Rectangles(2), "m": 9, "delta": 0.1, "by": "luck"}, "by must be"),
        ({"H": 5, "m": 9, "delta": 0.1, "by": "parts"}, "needs a class"),
        ({"H": 0, "m": 9, "delta": 0.1}, "H must be"),
        ({"H": HalfSpaces(), "m": 9, "delta": 0.1}, "not known"),
        ({"H": Rectangles(2), "m": 9, "delta": 0.1, "by": "size"}, "number of hypotheses is not known"),
        ({"H": Rectangles(), "m": 9, "delta": 0.1, "epsilon": 0.1, "by": "vc"}, "by='parts' only"),
        ({"H": KernelHalfSpaces(Gaussian(1.0)), "m": 9, "delta": 0.1}, "infinite VC dimension"),
        ({"H": UserClass(oracle), "m": 9, "delta": 0.1}, "not known"),
    ],
    ids=str,
)
def test_what_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        sample_size(**arguments)
    with pytest.raises(TypeError, match="class of hypotheses"):
        sample_size("rectangles", epsilon=0.1, delta=0.1)
