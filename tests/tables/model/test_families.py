"""Families of kernels, and what becomes of candidates."""

import numpy as np
import pytest

from mercer.kernels import Gaussian, Laplacian, LengthScales
from mercer.tables.model.families import (
    FAMILIES,
    FIRST,
    METRICS,
    ROUND,
    Candidate,
    error_of,
    latest,
    one_width,
    pair,
    sum_of,
)

X = np.random.default_rng(0).standard_normal((300, 7))


@pytest.mark.parametrize("name", FAMILIES)
def test_equal_length_scales_are_one_width(name):
    """Both ways to write a kernel of one width have the same values."""
    family = FAMILIES[name]
    for width in family.widths(7):
        scaled = Candidate("keep", name, family.kernel(width, 7), 0.5, width=width)
        one = one_width(scaled)
        np.testing.assert_allclose(one.kernel(X), scaled.kernel(X), rtol=1e-9)
        assert one.mu == 0.5 and one.family == f"{name}, one width"
        assert isinstance(scaled.kernel, LengthScales) and not isinstance(one.kernel, LengthScales)


@pytest.mark.parametrize("name", sorted(set(FAMILIES) - {"linear", "quadratic"}))
def test_values_are_neither_0_nor_1_with_the_middle_width(name):
    """Of standardised coordinates, however many there are; far widths show both ends."""
    for d in (2, 20, 200):
        points, family = np.random.default_rng(1).standard_normal((60, d)), FAMILIES[name]
        apart = ~np.eye(60, dtype=bool)
        typical = [np.median(family.kernel(w, d)(points)[apart]) for w in sorted(family.widths(d))]
        assert typical == sorted(typical) and typical[0] < 0.05 and typical[-1] > 0.7
        middle = family.kernel(d if family.of_sums else np.sqrt(d), d)(points)[apart]
        assert 0.1 < np.median(middle) < 0.7


def test_names():
    assert FIRST in FAMILIES and ROUND in FAMILIES
    assert all(name.startswith(f"{ROUND}, learned") for name in METRICS.values()) and len(METRICS) == 2


def test_sums_and_pairs():
    a, b, c = (
        Candidate("keep", family, kernel, mu, error=error)
        for family, kernel, mu, error in [
            ("gaussian", Gaussian(1.0), 0.2, 0.1),
            ("laplacian", Laplacian(2.0), 0.4, 0.2),
            (FIRST, Laplacian(1.0, norm="l1"), 0.6, 0.3),
        ]
    )
    both = sum_of(a, b)
    np.testing.assert_allclose(both.kernel(X[:9]), 0.5 * a.kernel(X[:9]) + 0.5 * b.kernel(X[:9]))
    assert both.mu == pytest.approx(0.3) and both.family == "gaussian + laplacian"
    assert pair([a, b, c]) == [a, c] and pair([c, a, b]) == [c, a] and pair([a]) == [a]
    assert min([c, b, a], key=error_of) is a


def test_trials_say_what_was_tried():
    screened = Candidate("squash", "linear", Gaussian(1.0), 1.0, stage="screen", rows=9, loo=0.5)
    assert screened.trial.kernel == "linear, one width" and screened.trial.outliers == "squash"
    assert np.isnan(screened.trial.fresh) and screened.trial.rows == 9
    later = Candidate("keep", "linear", Gaussian(1.0), 1.0, stage="last look", fresh=0.25)
    assert later.trial.kernel == "linear" and later.trial.fresh == 0.25
    assert latest([screened, later, later]) == [later, later]
