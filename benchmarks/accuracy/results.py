"""What the stored numbers say: means over folds, ranks, how far Mercer is from the best kernel machine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from scipy.stats import rankdata

from benchmarks.accuracy import sets
from benchmarks.accuracy.score import ERROR, losses
from benchmarks.accuracy.store import Store

KERNEL_MACHINES = ("svm", "ridge-gaussian", "ridge-laplacian", "gp")
COMPARED_FOLDS = (0, 1, 2)  # further ones, if they were asked for, count for coverage alone


@dataclass(frozen=True)
class Duel:
    """Mercer beside the scikit-learn kernel machine that did best on the test rows."""

    set: str
    peer: str
    ours: float
    theirs: float
    standard_errors: float | None  # of the paired difference of losses; positive: Mercer is worse

    @property
    def ratio(self) -> float:
        if self.ours == self.theirs:
            return 1.0
        return self.ours / self.theirs if self.theirs else float("inf")


@dataclass(frozen=True)
class Coverage:
    set: str
    rows: int
    covered: float
    width: float

    @property
    def chance(self) -> float:
        """Two standard errors of the share of covered rows, were the true one 0.9."""
        return 2 * (0.9 * 0.1 / self.rows) ** 0.5


class Results:
    def __init__(self, store: Store) -> None:
        self.store, self.records = store, store.read()
        self.value = cache(self._value)

    def names(self, task: str) -> list[str]:
        """Sets of the task with a result, smallest first."""
        size: dict[str, int] = {}
        for (name, _, _), r in self.records.items():
            if r["task"] == task and "n" in r:
                size[name] = max(size.get(name, 0), r["n"])
        return sorted(size, key=lambda name: (size[name], name))

    @cached_property
    def methods(self) -> list[str]:
        return list(dict.fromkeys(method for _, _, method in self.records))

    def of(self, name: str, method: str) -> list[dict]:
        """The records of the folds that are compared."""
        found = (self.records.get((name, fold, method)) for fold in COMPARED_FOLDS)
        return [r for r in found if r is not None]

    def folds(self, name: str) -> set[int]:
        return {fold for n, fold, _ in self.records if n == name and fold in COMPARED_FOLDS}

    def shape(self, name: str) -> tuple[int, int]:
        r = next(r for (n, _, _), r in self.records.items() if n == name and "n" in r)
        return r["n"], r["d"]

    def _value(self, name: str, method: str, key: str | None = None) -> float | None:
        """The mean over the folds, if there is a number for each of them."""
        records = self.of(name, method)
        key = key or ERROR[records[0]["task"]] if records else ""
        done = {r["fold"] for r in records if key in r}
        if not done or done != self.folds(name):
            return None
        return float(np.mean([r[key] for r in records]))

    def status(self, name: str, method: str) -> str:
        """Why there is no number: timeout, error or skipped; nothing where it wasn't tried."""
        return next((r["status"] for r in self.of(name, method) if r["status"] != "ok"), "")

    def best(self, name: str, methods: Iterable[str]) -> str | None:
        values = {m: v for m in methods if (v := self.value(name, m)) is not None}
        return min(values, key=values.__getitem__) if values else None

    def rankable(self, names: list[str]) -> list[str]:
        """Methods that were tried on every one of the sets, and are meant for all of them."""
        return [
            m
            for m in self.methods
            if all(self.value(n, m) is not None or self.status(n, m) in ("timeout", "error") for n in names)
        ]

    def ranks(self, names: list[str], methods: list[str]) -> dict[str, float]:
        """The mean rank; equal errors share theirs, and no result in time is the last rank."""
        table = [[np.inf if (v := self.value(n, m)) is None else v for m in methods] for n in names]
        return dict(zip(methods, np.mean([rankdata(row) for row in table], axis=0).tolist())) if names else {}

    def wins(self, names: list[str], methods: list[str]) -> dict[str, int]:
        """On how many sets nobody is better; equals all win."""
        count = dict.fromkeys(methods, 0)
        for n in names:
            values = {m: v for m in methods if (v := self.value(n, m)) is not None}
            for m, v in values.items():
                count[m] += v == min(values.values())
        return count

    def duels(self, task: str) -> list[Duel]:
        found = []
        for name in self.names(task):
            ours, peer = self.value(name, "mercer"), self.best(name, KERNEL_MACHINES)
            if ours is not None and peer is not None:
                theirs = self.value(name, peer)
                assert theirs is not None
                found.append(Duel(name, peer, ours, theirs, self._standard_errors(task, name, peer)))
        return sorted(found, key=lambda duel: -duel.ratio)

    def _standard_errors(self, task: str, name: str, peer: str) -> float | None:
        differences = []
        for mine, other in zip(self.of(name, "mercer"), self.of(name, peer)):
            a, b = self.store.prediction(mine), self.store.prediction(other)
            if a is None or b is None or not sets.path(name).exists():
                return None
            y = sets.load(name, mine["fold"]).y_test
            if not len(a) == len(b) == len(y):
                return None
            differences.append(losses(task, y, a) - losses(task, y, b))
        d = np.concatenate(differences)
        return float(d.mean() / (d.std(ddof=1) / len(d) ** 0.5)) if np.any(d != d[0]) else 0.0

    def coverages(self) -> list[Coverage]:
        """Of Mercer's intervals, over all test rows of all folds that were run."""
        found = []
        for name in self.names("regression"):
            ours = [r for (n, _, m), r in self.records.items() if (n, m) == (name, "mercer")]
            ours = [r for r in ours if "coverage" in r]
            if ours:
                rows = np.array([r["test"] for r in ours])
                covered, width = (
                    np.average([r[k] for r in ours], weights=rows) for k in ("coverage", "width")
                )
                found.append(Coverage(name, int(rows.sum()), float(covered), float(width)))
        return found

    def seconds(self, names: list[str], method: str) -> float | None:
        found = [r["seconds"] for n in names for r in self.of(n, method) if r["status"] == "ok"]
        return float(np.median(found)) if found else None
