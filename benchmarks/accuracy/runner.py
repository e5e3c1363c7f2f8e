"""One method on one fold of one table, in a process of its own that ends when its time is up.

Several may run side by side. A result belongs to the set, the fold (the seed of its rows), the method, the
rows for training, the minutes where a method is given some, and the version of the program.
"""

from __future__ import annotations

import functools
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
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess

import numpy as np

from benchmarks.accuracy import (
    boosted_trees,
    kernel_machines,
    other_machines,
    ours,
    sets,
    threads,
    versions,
    xrfm_peer,
)
from benchmarks.accuracy.other_machines import Missing, Skipped
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
    "lightgbm": boosted_trees.lightgbm,
    "catboost": boosted_trees.catboost,
    "linear": other_machines.linear,
    "xrfm": xrfm_peer.xrfm,
}
OURS = "mercer"
FIELDS = ("set", "fold", "method", "rows", "minutes", "version")
MEMORY = 14 << 30  # bytes a method may take: the machine has other work


@dataclass(frozen=True)
class Job:
    set: str
    fold: int
    method: str
    rows: int
    minutes: float | None
    version: str

    @property
    def of_any_version(self) -> tuple:
        return self.set, self.fold, self.method, self.rows, self.minutes


@dataclass(frozen=True)
class How:
    """What a run is allowed: seconds a result, processes at a time, their threads, and Mercer's engine."""

    limit: float = 900.0
    side_by_side: int = 1
    threads: int = 1
    engine: str = "cpu"


def jobs(
    names: Iterable[str],
    methods: Iterable[str],
    folds: Iterable[int] | None = None,
    most: int | None = sets.MAX_TRAIN,
    minutes: float = ours.MINUTES,
    version: str | None = None,
) -> list[Job]:
    """Cheapest tables first; xRFM after everybody else, as it has no say in what others are compared with."""
    methods, folds = list(methods), None if folds is None else list(folds)
    passes = [[m for m in methods if m != "xrfm"], [m for m in methods if m == "xrfm"]]
    # A table whose training rows are fewer than the cap is the same table under every cap.
    drawn = {
        (name, fold): min(most or 2**62, sets.training_rows(name, fold))
        for name in names
        for fold in (sets.folds(name) if folds is None else folds)
    }
    return [
        Job(
            name,
            fold,
            method,
            rows,
            minutes if method == OURS else None,
            (version if method == OURS else None) or versions.of(method),
        )
        for group in passes
        for (name, fold), rows in sorted(drawn.items(), key=lambda item: item[1])
        for method in group
    ]


def left(wanted: Iterable[Job], store: Store) -> list[Job]:
    """Those without a result: of a peer one of any version will do, of Mercer it must be of this one.

    A peer that was not installed, or a method that failed, deserves another try.
    """
    done = [r for r in store.read().values() if r["status"] in ("ok", "timeout", "skipped")]
    ours_done = {store.key(r) for r in done}
    theirs_done = {store.key(r)[:-1] for r in done}
    return [
        job
        for job in wanted
        if (
            store.key(vars(job)) not in ours_done
            if job.method == OURS
            else job.of_any_version not in theirs_done
        )
    ]


def run(todo: Iterable[Job], store: Store, how: How) -> Iterator[dict]:
    """Records as they are found, each stored before it is handed out."""
    waiting, running = list(reversed(list(todo))), []
    try:
        while waiting or running:
            while waiting and len(running) < how.side_by_side:
                running.append(_Running(waiting.pop(), how))
            patience = max(0.0, min(r.deadline for r in running) - time.perf_counter())
            wait([r.results for r in running], patience)
            for one in [r for r in running if r.is_over()]:
                running.remove(one)
                record, prediction = one.record()
                store.add(record, prediction)
                yield record
    finally:
        for one in running:
            one.end()


class _Running:
    """A job in a process of its own."""

    def __init__(self, job: Job, how: How) -> None:
        # Forked, so that importing isn't paid for every job; the parent itself never computes anything.
        context = multiprocessing.get_context("fork")
        self.job, self.how, self.start = job, how, time.perf_counter()
        self.deadline = self.start + how.limit
        self.results, theirs = context.Pipe(duplex=False)
        self.scratch = tempfile.TemporaryDirectory()
        work = (job, how, self.scratch.name, theirs)
        self.process: ForkProcess = context.Process(target=_work, args=work)
        self.process.start()
        theirs.close()

    def is_over(self) -> bool:
        return self.results.poll() or time.perf_counter() >= self.deadline

    def record(self) -> tuple[dict, np.ndarray | None]:
        found: dict
        try:
            if self.results.poll():
                found, prediction = self.results.recv()
            else:
                found, prediction = (
                    {"status": "timeout", "message": f"more than {self.how.limit:.0f} s"},
                    None,
                )
        except EOFError:
            self.process.join()
            found, prediction = {"status": "error", "message": f"exit code {self.process.exitcode}"}, None
        seconds = round(time.perf_counter() - self.start, 2)
        self.end()
        head = {**vars(self.job), "task": sets.SETS[self.job.set].task}
        stamp = {
            "of": sets.training_rows(self.job.set, self.job.fold),
            "threads": self.how.threads,
            "seconds": seconds,
            "when": time.strftime("%Y-%m-%d %H:%M:%S"),
        }
        return {**head, **found, **stamp}, prediction

    def end(self) -> None:
        self.process.join(1)
        if self.process.is_alive() and self.process.pid:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.join()
        self.results.close()
        self.scratch.cleanup()


def _work(job: Job, how: How, scratch: str, results: Connection) -> None:
    os.setsid()  # a group of its own: what the method starts ends with it
    if how.engine == "cpu":  # a GPU's driver reserves addresses by the hundred gigabyte
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    tempfile.tempdir = scratch
    warnings.simplefilter("ignore")
    try:
        split = sets.load(job.set, job.fold, job.rows)
        size = {"n": len(split.y), "d": split.X.shape[1], "test": len(split.y_test)}
        task = sets.SETS[job.set].task
        method = METHODS[job.method]
        if job.minutes is not None:
            method = functools.partial(method, minutes=job.minutes, **engine_of(how))
        try:
            with threads.at_most(how.threads):
                answer = method(task, split)
        except Skipped as reason:
            status = "missing" if isinstance(reason, Missing) else "skipped"
            results.send(({"status": status, "message": str(reason), **size}, None))
            return
        used = {} if answer.rows is None else {"used": answer.rows}
        found = {**score(task, split.y_test, answer), **used, "chosen": _plain(answer.chosen)}
        results.send(({"status": "ok", **size, **found}, answer.prediction))
    except Exception as error:
        traceback.print_exc()
        results.send(({"status": "error", "message": f"{type(error).__name__}: {error}"[:300]}, None))


def engine_of(how: How) -> dict[str, str]:
    """What Mercer is told beside the minutes: nothing, if it is to do without a GPU."""
    return {} if how.engine == "cpu" else {"engine": how.engine}


def _plain(chosen: dict) -> dict:
    return {key: value.item() if isinstance(value, np.generic) else value for key, value in chosen.items()}
