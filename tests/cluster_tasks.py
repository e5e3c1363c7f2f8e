"""Tasks for tests of clusters: workers import them from here."""

import os
import resource
import signal
import time
from pathlib import Path

import numpy as np

from mercer._threads import cpu_count, stopping_point
from mercer.engines import Tiled
from mercer.kernels import Gaussian


class Normal:
    """KᵀK v of the Gaussian kernel, and how many rows there were; it remembers how often it was prepared."""

    def __init__(self, Z):
        self.Z, self._operator = Z, None

    def __getstate__(self):
        return {"Z": self.Z, "_operator": None}

    def __call__(self, shard, v):
        if self._operator is None:
            self._operator = Tiled(threads=1).operator(Gaussian(1.0), shard.X[:1], self.Z)
        return self._operator.facing(shard.X).normal(v), np.array(len(shard))


class Times:
    """Xᵀ(X v) in float32, whose digits show in which order sums were made; takes its time."""

    def __init__(self, seconds=0.0):
        self.seconds = seconds

    def __call__(self, shard, v):
        time.sleep(self.seconds)
        X = shard.X.astype(np.float32)
        y = 0.0 if shard.y is None else np.asarray(shard.y, float).sum()
        w = 0.0 if shard.w is None else np.asarray(shard.w, float).sum()
        return X.T @ (X @ v), np.array([y, w])


class Deadly:
    """Its worker dies, the first few times: as many as there are files in a folder."""

    def __init__(self, folder, at=0):
        self.folder, self.at = Path(folder), at

    def __call__(self, shard, v):
        if shard.first == self.at:
            for file in self.folder.iterdir():
                file.unlink(missing_ok=True)
                os.kill(os.getpid(), signal.SIGKILL)
        return (shard.X.T @ (shard.X @ v),)


class Endless:
    """Says that it has begun, and ends only when it is given up; then it says so."""

    def __init__(self, folder):
        self.folder = Path(folder)

    def __call__(self, shard):
        (self.folder / f"begun-{os.getpid()}").touch()
        try:
            while True:
                stopping_point()
                time.sleep(0.01)
        finally:
            (self.folder / f"ended-{os.getpid()}").touch()


def counted(shard):
    return np.array(len(shard)), np.array([cpu_count()])


def pid(shard):
    return (np.array(os.getpid()),)


def broken(shard):
    raise ValueError("this task is wrong")


def doubled(shard):
    from dataclasses import replace

    return replace(shard, X=2 * shard.X)


def engine_here(engine):
    """What computes on a worker, and what its operators say."""
    return repr(engine.here()), repr(engine.operator(Gaussian(1.0), np.zeros((2, 1))).engine)


def cores_of_a_fit(X, y):
    """Threads that products use in a task; whatever the environment of the process says."""
    from mercer import KernelRidge

    os.environ.pop("OMP_NUM_THREADS", None)
    KernelRidge().fit(X, y)
    return cpu_count()


def pages_of_a_product(X):
    """Pages of memory that a product asks the system for, when it is not the first."""
    K = Tiled(threads=1, fused=False).operator(Gaussian(1.0), X)
    before = []
    for _ in range(4):
        before.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
        K @ X
    return before[-1] - before[-2]
