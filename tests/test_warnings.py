"""Warnings point to whoever called the library."""

import threading
import warnings

import numpy as np
import pytest

from mercer import KernelLogistic, KernelPerceptron
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


def test_machines_fitted_in_two_threads_leave_the_filters_of_others():
    """Choosing λ tries machines that need not converge, and nobody is told."""
    X = np.random.default_rng(0).standard_normal((300, 2))
    before = list(warnings.filters)

    def fit(n: int) -> None:
        KernelLogistic(lam="auto").fit(X[:n], X[:n, 0] > 0)

    threads = [threading.Thread(target=fit, args=(n,)) for n in (60, 300, 90, 120)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(warnings.filters) == before
