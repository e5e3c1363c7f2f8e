"""Warnings point to whoever called the library."""

import warnings

import numpy as np
import pytest

from mercer import KernelPerceptron
from mercer._warnings import unheard


def test_a_warning_points_to_the_caller():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        KernelPerceptron(max_iter=1).fit(np.zeros((4, 1)), [0, 1, 0, 1])
    assert [w.filename for w in seen] == [__file__]


def test_warnings_that_nobody_hears_in_two_threads():
    """Whoever leaves last takes the filter back, and finds those of others as they were."""
    before = list(warnings.filters)
    first, second = unheard(RuntimeWarning), unheard(RuntimeWarning)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    warnings.warn("not heard", RuntimeWarning, stacklevel=1)
    second.__exit__(None, None, None)
    assert warnings.filters == before
    with pytest.warns(RuntimeWarning), unheard(UserWarning):
        warnings.warn("heard", RuntimeWarning, stacklevel=1)
