"""Values and declared types."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from mercer.io.hints import fits, hints_of, misfit
from mercer.kernels import Gaussian, Kernel
from mercer.losses import Squared
from mercer.losses.coding import TargetCoding
from mercer.solvers import Certificate, Solution

A = np.zeros(2)


GOOD = [(1, int), (1.0, float), (1, float), (np.float32(1), float), (True, bool), ("a", str), (None, None)]
GOOD += [(A, Any), (A, np.ndarray), (A, NDArray[Any]), ([A], Sequence[NDArray]), (Gaussian(), Kernel)]
GOOD += [
    ((1, 2), tuple[int, ...]),
    ([1, 2], tuple[int, ...]),
    ((), tuple[int, ...]),
    ((1, "a"), tuple[int, str]),
]
GOOD += [
    ({"a": 1}, dict[str, int]),
    ({"a": 1}, Mapping[str, Any]),
    ({}, dict),
    (None, int | None),
    (3, int | None),
]
GOOD += [("x", Literal["x", "y"])]

BAD = [("1", int), (True, int), (None, float), (1, bool), (1, str), (0, None), ([1.0], np.ndarray)]
BAD += [("ab", tuple[str, ...]), (("a",), tuple[int, ...]), ((1,), tuple[int, str]), ({1: 1}, dict[str, int])]
BAD += [
    ([], dict[str, int]),
    ("a", int | None),
    ("z", Literal["x", "y"]),
    (Squared(), Kernel),
    ({"a": 1}, list[str]),
]


@pytest.mark.parametrize("value, hint", GOOD)
def test_fits(value, hint):
    assert fits(value, hint)


@pytest.mark.parametrize("value, hint", BAD)
def test_misfits(value, hint):
    assert not fits(value, hint)


def test_fields():
    good = Solution(np.zeros((2, 1)), np.zeros(1), "converged", 1, Certificate(0.0, 1.0))
    assert misfit(good) is None
    assert misfit(Solution(None, np.zeros(1), "converged", 1, Certificate(0.0, 1.0))) == "coef"
    assert misfit(Solution(np.zeros((2, 1)), np.zeros(1), "converged", 1, "none")) == "certificate"
    # Loss is imported for type checkers only, where TargetCoding is defined, and found all the same.
    assert "loss" in hints_of(TargetCoding)
    assert misfit(TargetCoding("squared", True)) == "loss"
