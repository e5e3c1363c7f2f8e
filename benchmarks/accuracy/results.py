"""What the stored numbers say: means over folds, ranks, how far Mercer is from the best kernel machine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from scipy.stats import rankdata

from benchmarks.accuracy import sets
from benchmarks.accuracy.ours import MINUTES
from benchmarks.accuracy.score import ERROR, losses
from benchmarks.accuracy.store import Store

KERNEL_MACHINES = ("svm", "ridge-gaussian", "ridge-laplacian", "gp")
COMPARED_FOLDS = (0, 1, 2)  # further ones, if they were asked for, count for coverage alone
FAILED = ("timeout", "error")


@dataclass(frozen=True)
class Duel:
    """Mercer beside the scikit-learn kernel machine that did best on the test rows."""

    set: str
    peer: str
    ours: float
    theirs: float
    standard_errors: float | None  # of the difference; positive: Mercer is worse
    paired: bool  # row by row, or by the standard errors of the two alone

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
    """The last result of every table, fold and method under one cap of training rows (None: all rows).

    Of Mercer: those with so many minutes, and of one version if it is said; else, table by table, of the one
    that was run last, as folds of two versions have no mean. A result that a page showed (see `known`) stands
    in where none was measured.
    """

    def __init__(
        self,
        store: Store,
        most: int | None = sets.MAX_TRAIN,
        minutes: float = MINUTES,
        version: str | None = None,
    ) -> None:
        self.store, self.most, self.minutes = store, most, minutes
        self.everything = _of_one_version(
            [
                r
                for r in store.read().values()
                if r["minutes"] is None or (r["minutes"] == minutes and version in (None, r["version"]))
            ]
        )
        self.records: dict[tuple[str, int, str], dict] = {}
        self.known: dict[tuple[str, str], dict] = {}
        for r in self.everything:
            if r["rows"] == min(most or 2**62, r["of"]):
                if r.get("known"):
                    self.known[r["set"], r["method"]] = r
                else:
                    self.records[r["set"], r["fold"], r["method"]] = r
        self.value = cache(self._value)

    @cached_property
    def _all(self) -> list[dict]:
        return [*self.records.values(), *self.known.values()]

    def names(self, task: str | None = None, half: str | None = None) -> list[str]:
        """Sets of the task (and of the half) with a result, smallest first."""
        size: dict[str, int] = {}
        for r in self._all:
            if task in (None, r["task"]) and half in (None, sets.half(r["set"])) and "n" in r:
                size[r["set"]] = max(size.get(r["set"], 0), r["n"])
        return sorted(size, key=lambda name: (size[name], name))

    @cached_property
    def methods(self) -> list[str]:
        return list(dict.fromkeys(r["method"] for r in self._all))

    def of(self, name: str, method: str) -> list[dict]:
        """The records of the folds that are compared; one, of all folds, where a page showed it."""
        found = [self.records.get((name, fold, method)) for fold in COMPARED_FOLDS]
        measured = [r for r in found if r is not None]
        known = self.known.get((name, method))
        if known and {r["fold"] for r in measured} != self.folds(name):
            return [known]
        return measured

    def folds(self, name: str) -> set[int]:
        measured = {fold for n, fold, _ in self.records if n == name and fold in COMPARED_FOLDS}
        return measured | {fold for (n, _), r in self.known.items() if n == name for fold in r["folds"]}

    def shape(self, name: str) -> tuple[int, int]:
        found = [(r["n"], r["d"]) for r in self._all if r["set"] == name and "n" in r]
        return max(found)  # folds differ by a row

    def _value(self, name: str, method: str, key: str | None = None) -> float | None:
        """The mean over the folds, if there is a number for each of them.

        Ten digits of it: equal shares of wrong rows stay equal, however they were added up.
        """
        records = self.of(name, method)
        if not records:
            return None
        key = key or ERROR[records[0]["task"]]
        done = [r for r in records if key in r]
        folds = {fold for r in done for fold in (r["folds"] if r.get("known") else [r["fold"]])}
        if not done or folds != self.folds(name):
            return None
        return float(f"{np.mean([r[key] for r in done]):.10g}")

    def se(self, name: str, method: str) -> float | None:
        """The standard error of the mean over the folds, as if their test rows were different ones."""
        found = [r.get("se") for r in self.of(name, method)]
        if not found or None in found or self.value(name, method) is None:
            return None
        return float(np.linalg.norm(np.array(found, float)) / len(found))

    def status(self, name: str, method: str) -> str:
        """Why there is no number: timeout, error or skipped; nothing where it wasn't tried."""
        return next((r["status"] for r in self.of(name, method) if r["status"] != "ok"), "")

    def used(self, name: str, method: str) -> int | None:
        """How many training rows it took, if not all that were offered."""
        return next((r["used"] for r in self.of(name, method) if "used" in r), None)

    def best(self, name: str, methods: Iterable[str]) -> str | None:
        values = {m: v for m in methods if (v := self.value(name, m)) is not None}
        return min(values, key=values.__getitem__) if values else None

    def was_tried(self, name: str, method: str) -> bool:
        return self.value(name, method) is not None or self.status(name, method) in FAILED

    def rankable(self, names: list[str], share: float = 0.5) -> list[str]:
        """Methods that were tried on more than this share of the sets."""
        return [m for m in self.methods if sum(self.was_tried(n, m) for n in names) > share * len(names)]

    def ranks(self, names: list[str], methods: list[str]) -> dict[str, float]:
        """The mean, over the sets on which a method was tried, of its rank among those tried there.

        Equal errors share a rank, and no result in time is the last one. Where only k of the K methods were
        tried, rank r counts as 1 + (r − 1)(K − 1)/(k − 1): first stays first and last stays last.
        """
        found: dict[str, list[float]] = {m: [] for m in methods}
        for n in names:
            there = [m for m in methods if self.was_tried(n, m)]
            if len(there) > 1:
                ranks = rankdata([np.inf if (v := self.value(n, m)) is None else v for m in there])
                for m, rank in zip(there, ranks.tolist()):
                    found[m].append(1 + (rank - 1) * (len(methods) - 1) / (len(there) - 1))
        return {m: float(np.mean(ranks)) for m, ranks in found.items() if ranks}

    def wins(self, names: list[str], methods: list[str]) -> dict[str, int]:
        """On how many sets nobody is better; equals all win."""
        count = dict.fromkeys(methods, 0)
        for n in names:
            values = {m: v for m in methods if (v := self.value(n, m)) is not None}
            for m, v in values.items():
                count[m] += v == min(values.values())
        return count

    def duels(self, names: Iterable[str]) -> list[Duel]:
        found = []
        for name in names:
            ours, peer = self.value(name, "mercer"), self.best(name, KERNEL_MACHINES)
            if ours is not None and peer is not None:
                theirs = self.value(name, peer)
                assert theirs is not None
                found.append(Duel(name, peer, ours, theirs, *self.difference(name, peer)))
        return sorted(found, key=lambda duel: -duel.ratio)

    def difference(self, name: str, peer: str) -> tuple[float | None, bool]:
        """Mercer's error less the peer's, in standard errors; whether they were compared row by row.

        Without the peer's predictions its standard error is taken, and for one that isn't known Mercer's:
        errors of the same rows go together, so that this is more cautious than row by row.
        """
        differences = []
        for mine, other in zip(self.of(name, "mercer"), self.of(name, peer)):
            d = self.row_by_row(mine, other)
            if d is None:
                return self._apart(name, peer), False
            differences.append(d)
        return in_standard_errors(np.concatenate(differences)), True

    def _apart(self, name: str, peer: str) -> float | None:
        ours, theirs = self.value(name, "mercer"), self.value(name, peer)
        mine = self.se(name, "mercer") or self.se(name, peer)
        if ours is None or theirs is None or not mine:
            return None
        return (ours - theirs) / float(np.hypot(mine, self.se(name, peer) or mine))

    def row_by_row(self, one: dict, other: dict) -> np.ndarray | None:
        """Losses of one less those of the other on the same test rows, if both left their predictions."""
        if one.get("known") or other.get("known"):
            return None
        a, b = self.store.prediction(one), self.store.prediction(other)
        if a is None or b is None or not sets.path(one["set"]).exists():
            return None
        y = sets.test_answers(one["set"], one["fold"])
        if not len(a) == len(b) == len(y):
            return None
        return losses(one["task"], y, a) - losses(one["task"], y, b)

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
        found = [
            r["seconds"] for n in names for r in self.of(n, method) if "seconds" in r and r["status"] == "ok"
        ]
        return float(np.median(found)) if found else None


def _of_one_version(records: list[dict]) -> list[dict]:
    """Without results of Mercer that another version found later for the same table and cap."""
    measured = [r for r in records if r["minutes"] is not None and not r.get("known")]
    last = {(r["set"], r["rows"] == r["of"] or r["rows"]): r["version"] for r in measured}
    return [
        r
        for r in records
        if r["minutes"] is None
        or r.get("known")
        or last[r["set"], r["rows"] == r["of"] or r["rows"]] == r["version"]
    ]


def in_standard_errors(differences: np.ndarray) -> float:
    """The mean of paired differences, in standard errors of that mean."""
    if not np.any(differences != differences[0]):
        return 0.0
    return float(differences.mean() / (differences.std(ddof=1) / len(differences) ** 0.5))
