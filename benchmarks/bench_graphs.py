"""Kernels on graphs: accuracy on four sets with given folds; time, beside packages with the same kernels."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from benchmarks import peers, real
from benchmarks.harness import Measured, measure
from benchmarks.table import count, megabytes, number, ratio, seconds, text, times

TITLE = "Graphs: accuracy over ten given folds, and time"
NOTE = (
    "Accuracy is the mean over the ten given test folds, in per cent, with its standard error; KernelSVC, "
    "one machine a pair of classes, kernels normalised. Iterations (0 to 5, of Weisfeiler–Lehman) and C (1, "
    "10, 100) are chosen by threefold cross-validation within the training folds. The time is of "
    "everything. Graphs of IMDB-BINARY have no labels: all nodes start with the same one. Published are the "
    "numbers of 1-WL and WL-OA that the literature on graph networks quotes. Rows without an accuracy: "
    "features, and a product with K, for 4,000 graphs (a set, repeated), then K itself, all of it, in "
    "memory; and at the end K(X,X), not normalised, with five iterations, beside peers that are installed. "
    "Each of these is timed once. Those that go pair by pair were timed on fewer graphs (see “timed”); "
    "their seconds are those of all, in proportion to the pairs. The check is "
    "the largest difference from Mercer's values on the first 20 "
    "graphs, relative to the largest. Peers count paths in both directions, which with labels is another "
    "kernel; without them it is a factor, and was divided by."
)
COLUMNS = (
    text("data", "case"),
    count("graphs", "n"),
    text("kernel", "kernel"),
    text("", "who"),
    number("accuracy %", "accuracy", ".1f"),
    number("±", "error", ".1f"),
    number("published %", "published", ".1f"),
    seconds(),
    number("matrix s", "matrix", ".3g"),
    count("timed", "timed"),
    times("Mercer is faster"),
    megabytes(),
    number("check", "check", ".0e"),
    text("iterations, C of the folds", "chosen"),
)
SETS = ("MUTAG", "PTC", "ENZYMES", "IMDB-BINARY")
PUBLISHED = {
    ("ENZYMES", "wl"): 50.8,
    ("ENZYMES", "assignment"): 56.4,
    ("IMDB-BINARY", "wl"): 72.4,
    ("IMDB-BINARY", "assignment"): 73.3,
}
NAMES = {
    "nodes": "VertexHistogram",
    "paths": "ShortestPath",
    "wl": "WeisfeilerLehman",
    "assignment": "WeisfeilerLehman, assignment",
}
MOST_ITERATIONS, CS = 5, (1.0, 10.0, 100.0)
MANY = 4_000
SETUP = """
from benchmarks.bench_graphs import judged
from benchmarks.real import graphs
X, y, folds = graphs({case!r})
"""
SPEED_SETUP = """
import numpy as np
from benchmarks.bench_graphs import kernel, repeated
from benchmarks.real import graphs
from mercer.engines import Tiled
X, v = repeated(graphs({case!r})[0], {n}), np.ones({n})
k = kernel({key!r}, 5)
def product():
    return Tiled().operator(k, k.points(X)) @ v
"""
SPEED_REPORT = """
start = time.perf_counter()
Tiled().operator(k, k.points(X)).dense()
extra["matrix"] = time.perf_counter() - start
"""
GRAM_SETUP = """
import numpy as np
from benchmarks import peers
from benchmarks.bench_graphs import kernel, repeated
from benchmarks.real import graphs
X = repeated(graphs({case!r})[0], {n})
k = kernel({key!r}, 5, False)
k(X[:20])
"""
CHECK = """
wanted = k(X[:20])
extra["check"] = float(np.abs(K[:20, :20] - wanted).max() / wanted.max())
"""
# The set, how many graphs of it, repeated, and the kernel.
GRAMS = (
    ("ENZYMES", MANY, "wl"),
    ("ENZYMES", 600, "assignment"),
    ("ENZYMES", 600, "paths"),
    ("IMDB-BINARY", MANY, "wl"),
    ("IMDB-BINARY", 1_000, "assignment"),
    ("IMDB-BINARY", 1_000, "paths"),
)
# (peer, kernel): how many graphs are enough for those that go pair by pair, and would take an hour
FEW = {("graphkit_learn", "wl"): 300, ("graphkit_learn", "paths"): 30}
DIFFERENT = {("ENZYMES", "paths")}


def run(quick: bool, limits: dict):
    for case in SETS:
        if reason := real.missing(case):
            yield {"case": case, "failure": reason}
        else:
            yield from accuracies(case, quick)
    for case, key in product(("ENZYMES", "IMDB-BINARY"), ("wl", "assignment")):
        if not real.missing(case):
            n = 500 if quick else MANY
            setup = SPEED_SETUP.format(case=case, n=n, key=key)
            done = measure(setup, "product()", repeat=3, report=SPEED_REPORT, timeout=900)
            yield {"case": f"{case}, repeated", "kernel": NAMES[key], "who": "Mercer", "n": n} | done.record()
    for case, n, key in GRAMS:
        if not real.missing(case):
            yield from grams(case, n // 10 if quick else n, key)


def accuracies(case: str, quick: bool):
    for key, name in NAMES.items():
        statement = f"extra_found = judged({key!r}, X, y, folds, {quick})"
        setup, report = SETUP.format(case=case), "extra.update(extra_found)"
        done = measure(setup, statement, report=report, timeout=3600)
        record = {"case": case, "kernel": name, "who": "Mercer", "key": key}
        yield record | {"published": PUBLISHED.get((case, key))} | done.record()


def grams(case: str, n: int, key: str):
    """K(X,X) of one kernel, by Mercer and by the peers that have it."""
    setup = GRAM_SETUP.format(case=case, n=n, key=key)
    ours = measure(setup, "K = k(X)")
    common = {"case": f"{case}, K(X,X)", "kernel": NAMES[key], "n": n}
    yield common | {"who": "Mercer", "timed": n} | ours.record()
    for who in peers.with_objective("graph_grams"):
        peer = peers.load(who)
        if key in peer.graph_grams and peer.available() is None:
            timed = min(n, FEW.get((who, key), n))
            found = _theirs(who, case, timed, key).record()
            if "seconds" in found:
                found["seconds"] *= n * (n + 1) / (timed * (timed + 1))
            found["ratio"] = ratio(found.get("seconds"), ours.seconds)
            yield common | {"who": peer.name, "timed": timed} | found


def _theirs(who: str, case: str, n: int, key: str) -> Measured:
    gram = f"gram = peers.load({who!r}).graph_grams[{key!r}](X, 5)\n"
    report = "" if (case, key) in DIFFERENT else CHECK
    return measure(
        GRAM_SETUP.format(case=case, n=n, key=key) + gram, "K = gram()", report=report, timeout=1800
    )


# -- in the process that is measured ---------------------------------------------------------------------


def kernel(key: str, iterations: int, normalised: bool = True) -> Any:
    from mercer.kernels import ShortestPath, VertexHistogram, WeisfeilerLehman

    if key == "nodes":
        k: Any = VertexHistogram()
    elif key == "paths":
        k = ShortestPath()
    else:
        k = WeisfeilerLehman(iterations, assignment=key == "assignment")
    return k.normalize() if normalised else k


def repeated(X: np.ndarray, n: int) -> np.ndarray:
    return X[np.arange(n) % len(X)]


def judged(key: str, X: np.ndarray, y: np.ndarray, folds: np.ndarray, quick: bool) -> dict:
    """Accuracy in per cent, its standard error, and what was chosen in every fold."""
    depths = range(MOST_ITERATIONS + 1) if key in ("wl", "assignment") else (0,)
    found, chosen = [], []
    for fold in range(2 if quick else 10):  # fold −1: graphs that are always trained on
        train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        best = _chosen(key, [*depths][::3] if quick else depths, X[train], y[train])
        machine = _machine(key, *best).fit(X[train], y[train])
        found.append(100 * machine.score(X[test], y[test]))
        chosen.append(f"{best[0]}, {best[1]:g}")
    return {
        "n": len(y),
        "accuracy": float(np.mean(found)),
        "error": float(np.std(found, ddof=1) / np.sqrt(len(found))),
        "chosen": "; ".join(chosen),
    }


def _chosen(key: str, depths: Any, X: np.ndarray, y: np.ndarray) -> tuple[int, float]:
    """(iterations, C) with the most right answers on three held-out thirds; of equals the smallest."""
    from sklearn.model_selection import StratifiedKFold

    thirds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))

    def right(setting: tuple[int, float]) -> float:
        return sum(
            float(np.sum(_machine(key, *setting).fit(X[a], y[a]).predict(X[b]) == y[b])) for a, b in thirds
        )

    return max(product(depths, CS), key=right)


def _machine(key: str, iterations: int, C: float) -> Any:
    from mercer import FromC, KernelSVC

    return KernelSVC(kernel(key, iterations), lam=FromC(C))
