"""What classes declare of their attributes, and what is made of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from mercer._state import (
    COUNT,
    NOT_NEGATIVE,
    NUMBER,
    ONE_OR_MORE,
    POSITIVE,
    ArraySpec,
    NumberSpec,
    check,
    doubles,
    fits,
    is_fitted,
    is_storable,
    made,
    parameters_of,
    positions,
    require_held,
    state_of,
)
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
    check(good)
    for broken, name in (
        (replace(good, coef=None), "coef of a Solution"),
        (replace(good, certificate="none"), "certificate of a Solution"),
        (TargetCoding("squared", True), "coding has no loss"),
    ):
        with pytest.raises(ValueError, match=name):
            check(broken)


# -- shapes and counts ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spec, good, bad",
    [
        (ArraySpec("f", 2), np.zeros(2, np.float32), np.zeros(2, int)),
        (ArraySpec("f8", 2), np.zeros(2), np.zeros(2, np.float32)),
        (ArraySpec("f", 2), np.zeros(2), [0.0, 0.0]),
        (ArraySpec("f", None, 2), np.zeros((7, 2)), np.zeros((2, 7))),
        (ArraySpec("", None), np.array(["a"]), np.array("a")),
        (ArraySpec("f", "n", "n"), np.zeros((3, 3)), np.zeros((3, 4))),
        (doubles(1), np.zeros(1), np.array([np.nan])),
        (ONE_OR_MORE, 1, 0),
        (COUNT, 3, True),
        (COUNT, 3, 3.0),
        (NumberSpec(int, 0, 5), 5, 6),
        (COUNT, 5, 10**4000),
        (NUMBER, -1.5, np.nan),
        (NOT_NEGATIVE, 0.0, -0.1),
        (POSITIVE, 5e-324, 0.0),
        ((None, COUNT), None, -1),
    ],
)
def test_specifications(spec, good, bad):
    assert fits(good, spec) and not fits(bad, spec)


def test_axes_of_one_name_are_of_one_length():
    @dataclass
    class Line:
        count: int
        x: np.ndarray
        y: np.ndarray

    for axis in ("n", "count"):  # that of an attribute is its value
        holds = {"x": ArraySpec("f", axis), "y": ArraySpec("f", axis)}
        require_held(Line(2, A, A), holds)
        with pytest.raises(ValueError, match=rf"y of a Line is not an array f of shape \({axis}\)"):
            require_held(Line(2, A, np.zeros(3)), holds)
    with pytest.raises(ValueError, match="x of a Line"):
        require_held(Line(3, A, A), holds)


def test_positions():
    assert positions(np.array([0, 2]), 3) and positions(np.zeros(0, int), 0)
    for a in (np.array([3]), np.array([-1]), np.array([0.0]), np.array([[0]]), [0]):
        assert not positions(a, 3)


# -- classes --------------------------------------------------------------------------------------


class Counter:
    """A class that holds all its constructor takes, and more."""

    holds = {"step": ONE_OR_MORE, "total": COUNT, "name": str}
    name = ""

    def __init__(self, step):
        self.step, self.total = step, 0

    @classmethod
    def from_state(cls, parameters, state):
        x = object.__new__(cls)
        vars(x).update(state)
        return x

    def check_state(self):
        if self.total % self.step:
            raise ValueError("the total is no number of steps")


class Named(Counter):
    holds = {"name": ArraySpec("f", 2)}


def test_a_class_that_holds_what_it_is_made_of():
    x = Counter(3)
    x.total = 6
    assert is_storable(Counter) and parameters_of(Counter) == () and state_of(x) == {"step": 3, "total": 6}
    assert vars(made(Counter, {}, state_of(x))) == vars(x)
    for state in ({"step": 3}, {"step": 3, "total": 6, "more": 1}):
        with pytest.raises(ValueError, match="made of other parts"):
            made(Counter, {}, state)
    for state, match in (
        ({"step": 0, "total": 0}, "step of a"),
        ({"step": 3, "total": 4}, "no number of steps"),
    ):
        with pytest.raises(ValueError, match=match):
            made(Counter, {}, state)


def test_a_subclass_adds_to_what_its_bases_hold():
    made(Named, {}, {"step": 1, "total": 1, "name": A})
    with pytest.raises(ValueError, match="name of a Named is not"):
        made(Named, {}, {"step": 1, "total": 1, "name": "x"})


def test_an_estimator_is_checked_once_it_is_fitted():
    class Mean(BaseEstimator):
        holds = {"mean_": float}
        fitted_by = "mean_"

        def __init__(self, weight=1.0):
            self.weight = weight

        @cached_property
        def twice_(self):
            return 2 * self.mean_

    machine = Mean()
    check(machine)
    assert not is_fitted(machine)
    machine.mean_ = 3.0
    assert machine.twice_ == 6 and state_of(machine) == {"mean_": 3.0} and is_fitted(machine)
    check(machine)
    machine.mean_ = "much"
    with pytest.raises(ValueError, match="mean_ of a Mean is not float"):
        check(machine)
    machine.n_features_in_ = -1
    with pytest.raises(ValueError, match="no number of features"):
        check(machine)


def test_what_is_tried_is_tried_when_it_is_made():
    class Fragile(Named):
        def try_state(self):
            raise TypeError("it breaks")

    with pytest.raises(TypeError, match="breaks"):
        made(Fragile, {}, {"step": 1, "total": 1, "name": A})
