"""Points and labels at the door."""

from fractions import Fraction

import numpy as np
import pytest

from mercer.theory.learnability.inputs import as_labels, as_points, show_number, signs


def test_numbers_stay_what_they_are():
    assert as_points([[1, 2]]).dtype == np.int64
    assert as_points([[1.5, 2]]).dtype == np.float64
    assert as_points([[True, False]]).dtype.kind in "iO"
    exact = as_points([[Fraction(1, 3), 2]])
    assert exact.dtype == object and exact[0, 0] == Fraction(1, 3)
    huge = as_points([[2**70, 1]])
    assert huge[0, 0] == 2**70
    mixed = as_points([[2**60 + 1, 0.5]])
    assert mixed[0, 0] == 2**60 + 1
    assert as_points(np.float32([[1.5]])).dtype == np.float32


def test_points_on_the_line_may_be_a_list():
    assert as_points([1, 2, 3], 1).shape == (3, 1)
    with pytest.raises(ValueError, match="rows of a table"):
        as_points([1, 2, 3])


@pytest.mark.parametrize(
    "points, message",
    [
        ([[1, 2], [3]], "same number of coordinates"),
        ([], "one or more"),
        ([["a", "b"]], "must be numbers"),
        (np.array([["a"]]), "must be numbers"),
        ([[np.nan]], "NaN or infinity"),
        (np.array([[np.inf]]), "NaN or infinity"),
        ([[Fraction(1, 2), float("inf")]], "NaN or infinity"),
    ],
)
def test_what_is_no_point(points, message):
    with pytest.raises(ValueError, match=message):
        as_points(points)


def test_labels():
    for given in ([True, False], [1, 0], [1, -1], "+-", "+ −", np.array([1.0, 0.0])):
        assert as_labels(given, 2).tolist() == [True, False]
    assert as_labels([-1, -1], 2).tolist() == [False, False]
    assert signs(as_labels("+-+", 3)) == "+-+"
    with pytest.raises(ValueError, match="one label a point: 3 points, 2 labels"):
        as_labels("++", 3)
    with pytest.raises(ValueError, match="labels must be"):
        as_labels([1, 2], 2)
    with pytest.raises(ValueError, match="written with"):
        as_labels("ab", 2)


def test_numbers_in_words():
    assert show_number(Fraction(10**20, 3)) == "3.33333e+19"
