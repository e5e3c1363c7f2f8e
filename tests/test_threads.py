"""Threads over tiles: order, errors, and one BLAS thread inside."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from mercer._threads import (
    Stopped,
    at_most,
    cpu_count,
    interruptible,
    one_blas_thread,
    one_thread,
    parallel_map,
    stop_when,
    stopping_point,
)
from mercer.engines import Tiled
from mercer.kernels import Gaussian, RandomWalk, Spectrum, Subsequence, counts
from mercer.kernels.graphs import random_walk
from mercer.kernels.strings import lanes


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


def test_threads_are_kept():
    def idents():
        barrier = threading.Barrier(3, timeout=30)
        return set(parallel_map(lambda i: (barrier.wait(), threading.get_ident())[1], range(3), 3))

    first = idents()
    assert len(first) == 3 and threading.get_ident() in first
    there = threading.active_count()
    for _ in range(20):
        assert len(idents()) == 3
    assert threading.active_count() == there


def test_maps_within_maps():
    """Threads that wait for threads that wait for threads: everyone can do without help."""

    def inner(i):
        return sum(parallel_map(lambda j: i * j, range(5), 4))

    assert parallel_map(lambda k: sum(parallel_map(inner, range(6), 4)) + k, range(8), 4) == [
        150 + k for k in range(8)
    ]


@pytest.mark.parametrize("error", [KeyError, KeyboardInterrupt])
def test_a_failure_ends_what_is_deep_inside_other_work(error):
    begun = threading.Event()

    def long(_):
        begun.set()
        for _ in range(3000):  # half a minute, if nobody ends it
            stopping_point()
            threading.Event().wait(0.01)
        raise AssertionError("nobody ended it")

    def some(i):
        if i == 0:
            return parallel_map(long, range(2), 2)
        begun.wait(30)
        raise error("seven")

    with pytest.raises(error, match="seven"):
        parallel_map(some, range(2), 2)


def test_a_call_that_hears_nothing_can_be_left():
    assert interruptible(lambda: 7) == 7
    with pytest.raises(KeyError, match="seven"):
        interruptible(lambda: {}["seven"])
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        interruptible(lambda: np.float64(1) / 0)
    going_on = threading.Event()
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        interruptible(lambda: going_on.wait(60))
    assert not going_on.is_set()
    going_on.set()


def test_a_copied_process_has_threads_and_all_of_blas():
    """Threads that are kept without work do not make a copy of the process smaller than it was."""
    code = """
import os, threading
from threadpoolctl import threadpool_info, threadpool_limits
from mercer._threads import parallel_map
blas = lambda: {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}
squares = [i * i for i in range(9)]
assert parallel_map(lambda i: i * i, range(9), 3) == squares
threadpool_limits(2, "blas")
for _ in range(3):
    child = os.fork()
    if not child:
        ok = blas() == {2} and parallel_map(lambda i: i * i, range(9), 3) == squares
        os._exit(0 if ok else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert parallel_map(lambda i: i * i, range(9), 3) == squares and blas() == {2}
print("done")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout == "done\n", done.stderr


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
    for name in ("OMP_NUM_THREADS", "LOKY_MAX_CPU_COUNT", "MALLOC_TRIM_THRESHOLD_"):
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


def test_what_dask_tells_its_workers_is_not_for_us(monkeypatch):
    config = pytest.importorskip("distributed").nanny.dask.config
    for name in ("OMP_NUM_THREADS", "LOKY_MAX_CPU_COUNT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("mercer._threads._told", lambda: None)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(4), raising=False)
    for name, value in config.get("distributed.nanny.pre-spawn-environ").items():  # as a nanny does it
        monkeypatch.setenv(name, str(value))
    assert os.environ["OMP_NUM_THREADS"] == "1" and cpu_count() == 4
    monkeypatch.setattr("mercer._threads._told", lambda: "1")  # by whoever started us
    assert cpu_count() == 1
    monkeypatch.setattr("mercer._threads._told", lambda: None)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")  # since then
    assert cpu_count() == 3
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setattr("mercer._threads.parent_process", lambda: "nanny")  # a worker
    assert cpu_count() == 1


def test_a_number_of_threads_for_all_that_is_inside():
    before = cpu_count()
    with at_most(1):
        assert cpu_count() == 1
        with at_most(None), at_most(64):
            assert cpu_count() == 1  # never more than outside
        assert parallel_map(lambda i: cpu_count(), range(8), 4) == [1] * 8  # on other threads, too
    assert cpu_count() == before


def test_an_engine_decides_on_threads_inside_kernels(monkeypatch):
    seen = set()

    def noted(*args, **kwargs):
        seen.add(args[2])
        return parallel_map(*args, **kwargs)

    for module in (lanes, counts, random_walk):
        monkeypatch.setattr(module, "parallel_map", noted)
    for variable in ("LOKY_MAX_CPU_COUNT", "OMP_NUM_THREADS"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(4), raising=False)
    graphs, words = [[(0, 1)], [(0, 1), (1, 2)]], ["abab", "ba"]
    for kernel, X in ((Subsequence(2), words), (Spectrum(2).normalize(), words), (RandomWalk(0.1), graphs)):
        for engine, threads in ((Tiled(threads=1), {1}), (Tiled(), {4})):
            seen.clear()
            A = engine.operator(kernel, kernel.points(X))
            A.dense(), A @ np.ones(2), A.diag(), A.facing(kernel.points(X[:1])).dense()
            assert seen == threads


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


def test_limits_of_both_kinds_on_several_threads():
    """Whoever enters and leaves in whatever order: BLAS is as it was found once all are out."""
    import sklearn.ensemble  # noqa: F401  brings OpenMP

    def threads(api):
        return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == api}

    inside, out = threading.Barrier(2, timeout=30), threading.Event()
    seen = []

    def first():
        with one_blas_thread(), one_thread():
            inside.wait()
        out.set()

    def second():
        before = threads("openmp")
        with one_thread():
            inside.wait()
            out.wait(30)
            seen.append((threads("blas"), threads("openmp")))
        seen.append(threads("openmp") == before)

    with one_blas_thread():  # loads SciPy's BLAS, so that the limit below reaches it too
        pass
    with threadpool_limits(2, "blas"):
        workers = [threading.Thread(target=work) for work in (first, second)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert threads("blas") == {2}
    assert seen == [({1}, {1}), True]


_FORKS = """
import faulthandler, os, signal, sys, threading, time, warnings
import numpy as np
from mercer import KernelRidge
from mercer.kernels import Gaussian, RandomWalk, Spectrum, Subsequence, counts
from mercer.kernels.graphs import random_walk
from mercer.kernels.strings import lanes

warnings.simplefilter("ignore")
faulthandler.dump_traceback_later(200, exit=True)
rng = np.random.default_rng(0)
X = rng.normal(size=(600, 3))
y, stop = np.sin(X[:, 0]), threading.Event()

A = rng.normal(size=(1200, 1200))

def work():  # what a fit spends most of its time with, and nothing else, so that no copy is lucky
    while not stop.is_set():
        A @ A

def child():
    signal.alarm(60)  # a child that hangs is ended, and counted
    A @ A
    KernelRidge(Gaussian(2.0), lam=1e-3).fit(X, y)
    os._exit(0)

workers = [threading.Thread(target=work, daemon=True) for _ in range(2)]
for worker in workers:
    worker.start()
children = []
for _ in range(20):
    time.sleep(rng.uniform(0, 0.02))
    pid = os.fork()
    if not pid:
        try:
            child()
        finally:
            os._exit(3)
    children.append(pid)
codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
stop.set()
for worker in workers:
    worker.join(60)
print(codes.count(0), any(worker.is_alive() for worker in workers))
sys.stdout.flush()
os._exit(0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not copied here")
def test_copies_of_a_process_that_is_fitting_can_fit():
    """20 copies, made at any moment of products that two threads want of BLAS on several of its own."""
    env = os.environ | {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-c", _FORKS], capture_output=True, text=True, timeout=300, env=env
    )
    assert done.stdout == "20 False\n", done.stderr


def test_an_interruption_ends_long_tasks():
    """The first error stops the others at their next stopping point, not at their end."""
    import time

    from mercer._threads import stopping_point

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


def test_tasks_end_when_somebody_says_so():
    """Those on other threads, too, and only while they were asked to."""
    asked, turns = threading.Event(), []

    def task(item):
        for turn in range(10_000):
            stopping_point()
            turns.append(turn)
            if len(turns) > 20:
                asked.set()
            time.sleep(0.001)

    with stop_when(asked.is_set):
        with pytest.raises(Stopped):
            parallel_map(task, [0, 1], 2)
        with stop_when(lambda: False), pytest.raises(Stopped):  # part of work that is given up
            stopping_point()
    assert len(turns) < 5_000
    stopping_point()


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
        lambda: Tiled().operator(kernel, X).product(np.ones(4)),
        lambda: Tiled().operator(kernel, X).dense(),
        lambda: Tiled().operator(kernel, X).normal(np.ones(4)),
    ):
        with pytest.raises(ValueError, match=words):
            call()


def test_weights_of_the_wrong_length_are_refused():
    X = np.zeros((4, 2))
    with pytest.raises(ValueError, match="one row for each of the 4 rows"):
        Tiled().operator(Gaussian(1.0), X).normal(np.ones(4), np.ones(3))
