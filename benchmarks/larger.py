"""Larger than memory, larger than a machine: ``python -m benchmarks.larger COMMAND``.

make PATH ROWS          a Parquet file of that many rows: nine float32 features, a number y, a label
parquet PATH TASK       a fit to it in a process of its own: seconds, rows a second, peak memory
cluster ROWS            five machines on 1, 2 and 4 worker processes beside one process: equal? how fast?
gpu ROWS CENTRES        a ridge regression on an NVIDIA GPU, five steps: seconds of each pass, and in all
kills TIMES             a worker killed in mid-fit, and the client killed and resumed, so many times each

Data are made from a formula; nothing is read from elsewhere.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from mercer import KernelLogistic, KernelPCA, KernelRegressor, KernelRidge, KernelSVC
from mercer.engines import Tiled
from mercer.kernels import Gaussian
from mercer.losses import Quantile
from mercer.representations import Nystrom
from mercer.rows import ArrayRows, open_rows
from mercer.solvers import Checkpoint

NAMES = [f"x{i}" for i in range(9)]
PART = 1_000_000


def made(first: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """(X, y) of some rows, always the same."""
    rng = np.random.default_rng(first)
    X = rng.standard_normal((count, 9), dtype=np.float32)
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * np.cos(X[:, 3]) * X[:, 4]
    return X, (f + 0.3 * rng.standard_normal(count, dtype=np.float32)).astype(np.float32)


def memory() -> float:
    """The most memory this process has held, in GB."""
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    return int(found.group(1)) / 1e6 if found else float("nan")


def make(path: str, rows: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    fields = [*((name, pa.float32()) for name in (*NAMES, "y")), ("label", pa.int8())]
    schema = pa.schema(fields)
    n = int(float(rows))
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as out:
        for first in range(0, n, PART):
            X, y = made(first, min(PART, n - first))
            columns = [*(np.ascontiguousarray(X[:, i]) for i in range(9)), y, (y > 0).astype(np.int8)]
            out.write_table(pa.table(columns, schema=schema))
    print(f"{n:,} rows, {os.path.getsize(path) / 1e9:.2f} GB")


def machine(task: str, centres=500, **others):
    """One of the five machines that are compared."""
    common = {"representation": Nystrom(centres) if isinstance(centres, int) else Nystrom(centres=centres)}
    common |= {"random_state": 0, **others}
    kinds = {
        "ridge": lambda: KernelRidge(Gaussian(3.0), lam=1e-7, **common),
        "logistic": lambda: KernelLogistic(Gaussian(3.0), lam=1e-7, **common),
        "hinge": lambda: KernelSVC(Gaussian(3.0), lam=1e-6, **common),
        "quantile": lambda: KernelRegressor(Gaussian(3.0), loss=Quantile(0.9), lam=1e-6, **common),
        "pca": lambda: KernelPCA(n_components=5, kernel=Gaussian(3.0), **common),
    }
    return kinds[task]()


def labelled(task: str) -> bool:
    return task in ("logistic", "hinge")


def parquet(path: str, task: str) -> None:
    rows = open_rows(path, "label" if labelled(task) else "y", columns=NAMES)
    start = time.perf_counter()
    fitted = machine(task).fit(rows)
    seconds = time.perf_counter() - start
    n = rows.shape[0]
    print(f"{task}: {n:,} rows in {seconds:.1f} s, {n / seconds / 1e6:.2f} million rows/s, {memory():.2f} GB")
    print(fitted.solution_)
    # A part that fits into memory, by the engine and solver that arrays get.
    some = min(n, 2 * PART)
    shard = rows.take(np.arange(some))
    centres = fitted.function_.points
    start = time.perf_counter()
    local = machine(task, centres).fit(shard.X, shard.y)
    spent = time.perf_counter() - start
    print(f"in memory: {some:,} rows in {spent:.1f} s, {some / spent / 1e6:.2f} million rows/s")
    X, y = made(10**9, PART)
    target = (y > 0).astype(np.int8) if labelled(task) else y
    for name, one in (("all rows", fitted), (f"{some:,} rows", local)):
        one.__dict__.pop("feature_names_in_", None)
        print(f"score on new rows, fitted to {name}: {one.score(X, target):.6f}")


def scores(fitted, X: np.ndarray) -> np.ndarray:
    if isinstance(fitted, KernelPCA):
        return np.abs(fitted.transform(X))
    return fitted.decision_function(X) if hasattr(fitted, "decision_function") else fitted.predict(X)


def gpu(rows: str, centres: str) -> None:
    from concurrent.futures import ThreadPoolExecutor

    import mercer
    from mercer.solvers import Passes

    n = int(float(rows))
    X, y = np.empty((n, 9), np.float32), np.empty(n, np.float32)

    def fill(first: int) -> None:
        last = min(first + PART, n)
        X[first:last], y[first:last] = made(first, last - first)

    with ThreadPoolExecutor() as pool:
        list(pool.map(fill, range(0, n, PART)))
    ridge = machine("ridge", int(float(centres)), engine="cuda", solver=Passes(tol=1e-4, max_iter=5))
    start = time.perf_counter()

    def say(line: str) -> None:
        print(f"{time.perf_counter() - start:.1f} s: {line}", flush=True)

    with mercer.progress(say, every=10):
        ridge.fit(ArrayRows(X, y))
    say(str(ridge.solution_))
    X, y = made(10**10, PART)
    say(f"R² on new rows {ridge.score(X, y):.5f}; the noise leaves {1 - 0.09 / np.var(y):.5f} to be had")


def cluster(rows: str) -> None:
    from distributed import Client, LocalCluster

    n = int(float(rows))
    X, y = made(0, n)
    new = X[:2000]
    tasks = ("ridge", "logistic", "hinge", "quantile", "pca")
    targets = {task: (y > 0).astype(np.int8) if labelled(task) else y for task in tasks}
    alone = {}
    for task in tasks:
        given = ArrayRows(X) if task == "pca" else ArrayRows(X, targets[task])
        machine(task).fit(given)  # loops are compiled
        start = time.perf_counter()
        fitted = machine(task).fit(given)
        alone[task] = scores(fitted, new), time.perf_counter() - start
    for workers in (2, 4):
        with (
            LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as local,
            Client(local) as client,
        ):
            from mercer.engines import Dask

            for task in tasks:
                engine = Dask(client)
                args = (X,) if task == "pca" else (X, targets[task])
                machine(task, engine=engine).fit(*args)
                start = time.perf_counter()
                fitted = machine(task, engine=engine).fit(*args)
                seconds = time.perf_counter() - start
                found, spent = alone[task]
                apart = np.abs(scores(fitted, new) - found).max() / np.abs(found).max()
                print(
                    f"{workers} workers, {task}: {apart:.1e} apart; {seconds:.2f} s, "
                    f"{seconds / spent:.2f} of one process ({spent:.2f} s)",
                    flush=True,
                )


def kills(times: str) -> None:
    X, y = made(0, 300_000)
    reference = machine("ridge", engine=Tiled(threads=1)).fit(ArrayRows(X, y)).predict(X[:1000])
    rng = np.random.default_rng()
    _worker_kills(int(times), X, y, reference, rng)
    _client_kills(int(times), reference, rng)


def _worker_kills(times: int, X: np.ndarray, y: np.ndarray, reference: np.ndarray, rng) -> None:
    """A kill that comes after the end of its fit does not count."""
    from distributed import Client, LocalCluster

    from mercer.engines import Dask

    whole, done = 0.0, 0
    while done < times:
        # A cluster for each: Dask's nanny does not always bring back a worker that is killed.
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as local,
            Client(local) as client,
        ):
            victims = [worker["pid"] for worker in client.run(_about).values()]
            wait = rng.uniform(0.05, 0.9) * whole
            timer = threading.Timer(wait, os.kill, (victims[done % 2], signal.SIGKILL))
            start = time.perf_counter()
            if whole:
                timer.start()
            found = machine("ridge", engine=Dask(client)).fit(X, y).predict(X[:1000])
            seconds = time.perf_counter() - start
            if not whole or seconds <= wait:
                timer.cancel()
                whole = whole or seconds
                continue
            done += 1
            apart = np.abs(found - reference).max()
            print(f"worker {done}: killed after {wait:.1f} of {seconds:.1f} s, {apart:.1e}", flush=True)


def _client_kills(times: int, reference: np.ndarray, rng) -> None:
    """Killed once there is a checkpoint, and begun again; a fit that ends before its kill does not count."""
    whole, done, tried = 0.0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        while done < times:
            tried += 1
            path = f"{folder}/{tried}.checkpoint"
            command = [sys.executable, "-m", "benchmarks.larger", "child", path]
            child = subprocess.Popen(command)
            while not os.path.exists(path) and child.poll() is None:
                time.sleep(0.005)
            start = time.perf_counter()
            try:
                child.wait(rng.uniform(0.0, 0.9) * whole if whole else None)
                whole = whole or time.perf_counter() - start
                continue
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
            wait, there = time.perf_counter() - start, os.path.exists(path)
            subprocess.run(command, check=True)
            done += 1
            apart = np.abs(np.load(path + ".npy") - reference).max()
            words = f"killed {wait:.2f} of {whole:.2f} s after its first checkpoint"
            print(f"client {done}: {words}{'' if there else ', which was gone'}, {apart:.1e}", flush=True)


def _about() -> dict[str, int]:
    return {"pid": os.getpid()}


def child(path: str) -> None:
    X, y = made(0, 300_000)
    kept = Checkpoint(path, minutes=0)
    fitted = machine("ridge", engine=Tiled(threads=1)).fit(ArrayRows(X, y), checkpoint=kept)
    np.save(path + ".npy", fitted.predict(X[:1000]))


COMMANDS = {f.__name__: f for f in (make, parquet, cluster, gpu, kills, child)}

if __name__ == "__main__":
    COMMANDS[sys.argv[1]](*sys.argv[2:])
