"""Threads over tiles: order, errors, and one BLAS thread inside."""

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from mercer.engines import Tiled
from mercer.engines.threads import cpu_count, one_blas_thread, parallel_map
from mercer.kernels import Gaussian


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_results_come_in_order(threads):
    assert parallel_map(lambda i: i * i, range(50), threads) == [i * i for i in range(50)]


@pytest.mark.parametrize("items", [[], [3]])
def test_short_lists(items):
    assert parallel_map(str, items, 4) == [str(i) for i in items]


def test_runs_on_several_threads():
    barrier = threading.Barrier(2, timeout=30)  # passes only if two items run at the same time
    names = parallel_map(lambda i: (barrier.wait(), threading.current_thread().name)[1], range(2), 2)
    assert len(set(names)) == 2


def test_one_thread_is_this_thread():
    here = threading.current_thread()
    assert parallel_map(lambda i: threading.current_thread() is here, range(3), 1) == [True] * 3


def test_first_error_is_raised():
    def fail(i):
        if i == 7:
            raise KeyError("seven")
        return i

    for threads in (1, 3):
        with pytest.raises(KeyError, match="seven"):
            parallel_map(fail, range(20), threads)


def test_blas_is_held_to_one_thread():
    with one_blas_thread():  # loads SciPy's BLAS, so that the limit below reaches it too
        pass

    def blas():
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    with threadpool_limits(2, user_api="blas"):
        assert blas() == {2}
        with one_blas_thread():
            assert blas() == {1}
        assert blas() == {2}
        inside = parallel_map(lambda i: blas(), range(4), 2)
        assert inside == [{1}] * 4


@pytest.mark.parametrize("variable", ["OMP_NUM_THREADS", "LOKY_MAX_CPU_COUNT"])
def test_cpu_count_heeds_the_environment(monkeypatch, variable):
    for name in ("OMP_NUM_THREADS", "LOKY_MAX_CPU_COUNT"):
        monkeypatch.delenv(name, raising=False)
    free = cpu_count()
    assert free >= 1
    monkeypatch.setenv(variable, "1")
    assert cpu_count() == 1
    for nonsense in ("", "many", "0", "-3"):
        monkeypatch.setenv(variable, nonsense)
        assert cpu_count() == free
    monkeypatch.setenv(variable, "1,2")
    assert cpu_count() == 1


def test_overlapping_limits_give_back_what_they_found():
    """Two fits on two threads: the first to enter is not the last to leave."""

    def blas():
        return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}

    with threadpool_limits(2, "blas"):
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert blas() == {1}
        second.__exit__(None, None, None)
        assert blas() == {2}


def test_an_interruption_ends_long_tasks():
    """The first error stops the others at their next stopping point, not at their end."""
    import time

    from mercer.engines.threads import stopping_point

    begun, turns = threading.Event(), []

    def task(item):
        if item == 0:
            begun.wait(10)
            raise KeyboardInterrupt
        for turn in range(10_000):
            begun.set()
            stopping_point()
            turns.append(turn)
            time.sleep(0.001)

    with pytest.raises(KeyboardInterrupt):
        parallel_map(task, [0, 1], 2)
    assert len(turns) < 5_000
    stopping_point()  # outside of such work it does nothing


@pytest.mark.parametrize(
    "kernel, words",
    [
        (Gaussian(), "leaves sigma to the data"),
        (Gaussian(-1.0), "sigma must be a positive number"),
        (Gaussian(1.0).scaled(), "leaves lengths to the data"),
        (Gaussian(1.0).scaled([1.0, 0.0]), "lengths must be positive"),
    ],
)
def test_engines_refuse_kernels_that_are_not_ready(kernel, words):
    X = np.zeros((4, 2))
    for call in (
        lambda: Tiled().product(kernel, X, X, np.ones(4)),
        lambda: Tiled().gram(kernel, X),
        lambda: Tiled().normal(kernel, X, X, np.ones(4)),
    ):
        with pytest.raises(ValueError, match=words):
            call()


def test_weights_of_the_wrong_length_are_refused():
    X = np.zeros((4, 2))
    with pytest.raises(ValueError, match="one row for each of the 4 rows"):
        Tiled().normal(Gaussian(1.0), X, X, np.ones(4), np.ones(3))
