"""Warnings point to whoever called the library."""

import warnings

import numpy as np

from mercer import KernelPerceptron


def test_a_warning_points_to_the_caller():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        KernelPerceptron(max_iter=1).fit(np.zeros((4, 1)), [0, 1, 0, 1])
    assert [w.filename for w in seen] == [__file__]
