"""One method on one fold of one table, in a process of its own that ends when its time is up."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection

import numpy as np

from benchmarks.accuracy import kernel_machines, other_machines, ours, sets, xrfm_peer
from benchmarks.accuracy.other_machines import Skipped
from benchmarks.accuracy.score import Answer, score
from benchmarks.accuracy.sets import Split
from benchmarks.accuracy.store import Store

METHODS: dict[str, Callable[[str, Split], Answer]] = {
    "mercer": ours.mercer,
    "svm": kernel_machines.svm,
    "ridge-gaussian": kernel_machines.gaussian_ridge,
    "ridge-laplacian": kernel_machines.laplacian_ridge,
    "gp": other_machines.gaussian_process,
    "boosting": other_machines.boosting,
    "boosting-defaults": other_machines.boosting_defaults,
    "linear": other_machines.linear,
    "xrfm": xrfm_peer.xrfm,
}
MEMORY = 14 << 30  # bytes a method may take: the machine has other work


@dataclass(frozen=True)
class Job:
    set: str
    fold: int
    method: str

    @property
    def key(self) -> tuple[str, int, str]:
        return self.set, self.fold, self.method


def jobs(names: Iterable[str], methods: Iterable[str], folds: Iterable[int] | None = None) -> list[Job]:
    """Cheapest tables first; xRFM after everybody else, as it has no say in what others are compared with."""
    methods = list(methods)
    passes = [[m for m in methods if m != "xrfm"], [m for m in methods if m == "xrfm"]]
    ordered = sorted(names, key=_cost)
    return [
        Job(name, fold, method)
        for group in passes
        for name in ordered
        for fold in (sets.folds(name) if folds is None else folds)
        for method in group
    ]


def _cost(name: str) -> float:
    """About what a kernel machine takes: pairs of training rows times columns."""
    split = sets.load(name)
    return len(split.y) ** 2 * (50 + split.X.shape[1])


def run(todo: Iterable[Job], store: Store, limit: float, max_train: int = sets.MAX_TRAIN) -> Iterator[dict]:
    for job in todo:
        record, prediction = _limited(job, limit, max_train)
        store.add(record, prediction)
        yield record


def _limited(job: Job, limit: float, max_train: int) -> tuple[dict, np.ndarray | None]:
    # Forked, so that importing isn't paid for every job; the parent itself never computes anything.
    context = multiprocessing.get_context("fork")
    ours_end, theirs = context.Pipe(duplex=False)
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        process = context.Process(target=_work, args=(job, max_train, scratch, theirs))
        process.start()
        theirs.close()
        found: dict
        try:
            if ours_end.poll(limit):
                found, prediction = ours_end.recv()
            else:
                found, prediction = {"status": "timeout", "message": f"more than {limit:.0f} s"}, None
        except EOFError:
            process.join()
            found, prediction = {"status": "error", "message": f"exit code {process.exitcode}"}, None
        _end(process)
    head = {"set": job.set, "fold": job.fold, "method": job.method, "task": sets.SETS[job.set].task}
    stamp = {"seconds": round(time.perf_counter() - start, 2), "when": time.strftime("%Y-%m-%d %H:%M:%S")}
    return {**head, **found, **stamp}, prediction


def _work(job: Job, max_train: int, scratch: str, results: Connection) -> None:
    os.setsid()  # a group of its own: what the method starts ends with it
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    tempfile.tempdir = scratch
    warnings.simplefilter("ignore")
    try:
        split = sets.load(job.set, job.fold, max_train)
        size = {"n": len(split.y), "d": split.X.shape[1], "test": len(split.y_test)}
        task = sets.SETS[job.set].task
        try:
            answer = METHODS[job.method](task, split)
        except Skipped as reason:
            results.send(({"status": "skipped", "message": str(reason), **size}, None))
            return
        scores = score(task, split.y_test, answer)
        results.send(({"status": "ok", **size, **scores, "chosen": _plain(answer.chosen)}, answer.prediction))
    except Exception as error:
        traceback.print_exc()
        results.send(({"status": "error", "message": f"{type(error).__name__}: {error}"[:300]}, None))


def _plain(chosen: dict) -> dict:
    return {key: value.item() if isinstance(value, np.generic) else value for key, value in chosen.items()}


def _end(process: multiprocessing.process.BaseProcess) -> None:
    process.join(1)
    if process.is_alive() and process.pid:
        os.killpg(process.pid, signal.SIGKILL)
        process.join()
