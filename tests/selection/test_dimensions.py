"""Dimensions: what people write becomes a function on [0, 1], and back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from mercer.kernels import Gaussian, Linear, Matern
from mercer.selection import Choice, Integer, Real
from mercer.selection.dimensions import Distribution, dimension_of

DIMENSIONS = [
    Real(-2.0, 5.0),
    Real(1e-6, 1e3, log=True),
    Integer(3, 9),
    Integer(1, 1000, log=True),
    Choice(["a", "b", "c"]),
    Choice([1, 2, 4, 8]),
    Choice([Gaussian(), Matern(), Linear()]),
    Distribution(stats.loguniform(1e-2, 1e2)),
    Distribution(stats.norm(3, 2)),
    Distribution(stats.randint(1, 8)),
]


def label(value):
    """The same in every process: SciPy's distributions show where they lie in memory."""
    return type(value).__name__ if " at 0x" in repr(value) else repr(value)


@pytest.mark.parametrize("dimension", DIMENSIONS, ids=repr)
@given(u=st.floats(0, 1))
def test_values_and_units_are_inverse(dimension, u):
    dimension.validate()
    value = dimension.value(u)
    there = dimension.unit(value)
    assert 0 <= there <= 1
    again = dimension.value(there)
    assert again == (pytest.approx(value, rel=1e-6, abs=1e-9) if isinstance(value, float) else value)
    snapped = dimension.snap(u)
    assert dimension.value(snapped) == value and dimension.snap(snapped) == snapped


@pytest.mark.parametrize("dimension", DIMENSIONS, ids=repr)
def test_values_are_spread_as_they_say(dimension):
    u = (np.arange(2000) + 0.5) / 2000
    values = [dimension.value(x) for x in u]
    if np.isfinite(dimension.size) and not dimension.log:
        assert len(set(values)) == dimension.size
    if isinstance(dimension, Choice) or (isinstance(dimension, Integer) and not dimension.log):
        counts = [values.count(v) for v in set(values)]
        assert max(counts) - min(counts) <= 1  # each as often as another
    if type(dimension) is Real and dimension.log:
        assert np.allclose(np.diff(np.log(values)), np.log(1e9) / 2000)
    if type(dimension) is Real and not dimension.log:
        assert np.allclose(np.diff(values), 7 / 2000)
    if isinstance(dimension, Distribution):
        assert np.mean(values) == pytest.approx(dimension.frozen.mean(), rel=0.02)


@pytest.mark.parametrize(
    "written, meant",
    [
        ((0.01, 100.0), Real(0.01, 100.0, log=True)),
        ((1.0, 10.0), Real(1.0, 10.0, log=True)),
        ((1.0, 9.9), Real(1.0, 9.9)),
        ((0.0, 100.0), Real(0.0, 100.0)),
        ((-10.0, -1.0), Real(-10.0, -1.0)),
        ((1, 100), Integer(1, 100)),
        ((1, 100.0), Real(1, 100.0, log=True)),
        (["l1", "l2"], Choice(["l1", "l2"])),
        (np.array([1.0, 2.0]), Choice([1.0, 2.0])),
        (Integer(1, 9, log=True), Integer(1, 9, log=True)),
        (stats.uniform(0, 1), Distribution(stats.uniform(0, 1))),
    ],
    ids=label,
)
def test_what_people_write(written, meant):
    assert dimension_of("p", written) == meant


@pytest.mark.parametrize(
    "written, complaint",
    [
        (3.0, "a parameter that is not to be tuned is set on the estimator"),
        ("gaussian", "expected .low, high., a list of values"),
        ((2.0, 1.0), "the smaller one first"),
        ((1.0, np.inf), "two finite numbers"),
        ((1.0, 2.0, 3.0), "expected .low, high., a list"),
        ([], "at least one value"),
        (Real(0.0, 1.0, log=True), "must start above 0"),
        (Integer(0, 5, log=True), "must start above 0"),
        (Integer(0.5, 5), "whole numbers"),
        (Choice("abc"), "a list of values"),
        (stats.norm(0, -1), "parameters in range"),
    ],
    ids=label,
)
def test_refusals_name_the_parameter(written, complaint):
    with pytest.raises(ValueError, match=complaint) as refusal:
        dimension_of("machine__p", written)
    assert "space['machine__p']" in str(refusal.value)


def test_values_outside_have_no_place():
    assert Real(0.0, 1.0).unit(1.1) is None and Real(0.0, 1.0).unit("a") is None
    assert Real(1e-3, 1.0, log=True).unit(-1.0) is None and Real(1e-3, 1.0, log=True).unit(None) is None
    assert Integer(1, 5).unit(2.5) is None and Integer(1, 5).unit(6) is None
    assert Choice(["a"]).unit("b") is None and Choice([Gaussian()]).unit(Gaussian(1.0)) is None
    assert Distribution(stats.randint(1, 4)).unit(9) is None
