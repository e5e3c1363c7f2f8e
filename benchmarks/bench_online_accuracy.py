"""Progressive accuracy on real streams: every policy, and river's machines on the same rows."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

import numpy as np

from benchmarks import real
from benchmarks.harness import measure
from benchmarks.streams import stream
from benchmarks.table import count, number, text

TITLE = "Streams: accuracy of predictions made before the example was learned"
NOTE = (
    "Every machine sees the same rows in the stream's own order; columns of elec2, phishing and covtype are "
    "standardised by the rows so far. Gaussian kernel; its width, the median distance of the first 1,000 "
    "rows times 1/4, 1/2, 1 or 2, and the length of the steps are chosen on the first tenth of the stream "
    "(at most 5,000 rows; for river, which is slower, 1,000). All of Mercer's have 500 terms or features "
    "(Nyström: 100 centres), and learn in batches of 1,000. river's RBFSampler makes 500 of every column by "
    "itself: a sum of kernels, one on each column. Where there are few columns that kernel is tried, too; "
    "covtype and MNIST are cut short for its sake: it manages 2 rows of MNIST a second. "
    "Put together from several runs on a busy machine, which accuracy does not depend on; the kernel of each "
    "column was added after river's figure for elec2 was known."
)
COLUMNS = (
    text("stream", "case"),
    count("rows", "n"),
    text("", "who"),
    number("accuracy", "accuracy", ".4f"),
    text("chosen", "chosen"),
)
ROWS = {"phishing": 1_250, "elec2": 45_312, "covtype": 4_000, "a9a": 15_000, "MNIST": 1_000}
LONG = {"covtype": 581_012, "a9a": 32_561, "MNIST": 60_000}
OURS = (
    "merge",
    "projection",
    "projection, squared hinge",
    "oldest",
    "smallest",
    "at random",
    "window",
    "Forgetron",
    "Projectron",
    "passive-aggressive, oldest",
    "passive-aggressive, merge",
    "random features",
    "Nyström",
)
# Few columns only: a sum of kernels, one on each, which is the kernel river's sampler stands for.
ADDITIVE = ("projection, kernel of each column", "merge, kernel of each column")
COLUMNS_AT_MOST = 10
THEIRS = ("linear", "RBFSampler", "Hoeffding adaptive tree")
SCRIPT = """
from benchmarks.bench_online_accuracy import chosen, run_one
from benchmarks.streams import stream
X, y = stream({case!r}, {rows})
options = chosen({who!r}, X, y)
"""


def run(quick: bool, limits: dict):
    for case, rows in ROWS.items():
        if reason := real.missing(case):
            yield {"case": case, "failure": reason}
            continue
        few = stream(case, 10)[0].shape[1] <= COLUMNS_AT_MOST
        for who in (*OURS, *(ADDITIVE if few else ()), *THEIRS):
            yield _row(case, min(rows, 1000) if quick else rows, who)
        if not quick and case in LONG:
            for who in ("merge", "projection", "passive-aggressive, oldest"):
                yield _row(case, LONG[case], who)


def _row(case: str, rows: int, who: str) -> dict:
    setup = SCRIPT.format(case=case, rows=rows, who=who)
    report = "extra.update(accuracy=accuracy, chosen=', '.join(f'{k} {v:g}' for k, v in options.items()))"
    found = measure(setup, f"accuracy = run_one({who!r}, X, y, options)", report=report, timeout=3600)
    name = f"river, {who}" if who in THEIRS else f"Mercer, {who}"
    return {"case": case, "n": rows, "who": name} | found.record()


# -- in the process that is measured ---------------------------------------------------------------------


def chosen(who: str, X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Width and step that do best on the first tenth of the stream."""
    from mercer.kernels import Gaussian

    n = min(max(len(X) // 10, 100), 1000 if who in THEIRS else 5000)
    median = float(Gaussian().resolve(X[:1000]).sigma)
    if who in ADDITIVE:
        median /= X.shape[1] ** 0.5
    widths = [median * factor for factor in (0.25, 0.5, 1.0, 2.0)]
    # The square has a slope that grows, and wants short steps.
    steps = [0.125, 0.25, 0.5] if who.endswith("squared hinge") else [0.25, 0.5, 1.0, 2.0, 4.0, 8.0]
    if who == "linear":
        candidates = [{"step": step} for step in (0.01, 0.1, 1.0)]
    elif who == "RBFSampler":
        # A tenth as fast as the rest of river: the widths with one step, then the steps.
        candidates = [{"sigma": sigma, "step": 0.1} for sigma in widths]
        best = max(candidates, key=lambda c: run_one(who, X[:n], y[:n], c))
        candidates = [best | {"step": step} for step in (0.01, 0.1, 1.0)]
    elif who == "Hoeffding adaptive tree":
        return {}
    elif who in ("Forgetron", "Projectron"):
        candidates = [{"sigma": sigma} for sigma in widths]
    else:
        candidates = [{"sigma": sigma, "step": step} for sigma in widths for step in steps]
    return max(candidates, key=lambda c: run_one(who, X[:n], y[:n], c))


def run_one(who: str, X: np.ndarray, y: np.ndarray, options: dict[str, float]) -> float:
    if who in THEIRS:
        return _river(who, X, y, options)
    machine = _machine(who, X.shape[1], **options)
    X = X.astype(np.float32)
    classes = np.unique(y)
    for i in range(0, len(X), 1000):
        machine.partial_fit(X[i : i + 1000], y[i : i + 1000], classes=classes)
    return 1 - machine.n_mistakes_ / machine.n_seen_


def _machine(who: str, columns: int, sigma: float, step: float = 1.0) -> Any:
    from mercer import OnlineKernelClassifier
    from mercer import online as o
    from mercer.features import RandomFourierFeatures
    from mercer.kernels import Gaussian
    from mercer.representations import Features, Nystrom

    kernel: Any = Gaussian(sigma)
    if who in ADDITIVE:
        kernel = reduce(add, [Gaussian(sigma).on([i]) for i in range(columns)])
        budget = o.Projection(500) if who.startswith("projection") else o.Merge(500)
        return OnlineKernelClassifier(kernel, step=step, budget=budget)
    if who == "Forgetron":
        return o.forgetron(kernel)
    if who == "Projectron":
        return o.projectron(kernel)
    if who.startswith("passive"):
        kept = o.Oldest(500) if who.endswith("oldest") else o.Merge(500)
        return o.passive_aggressive(kernel, C=step, budget=kept)
    if who.endswith("squared hinge"):
        return OnlineKernelClassifier(kernel, "squared_hinge", step=step, budget=o.Projection(500))
    if who == "random features":
        map = RandomFourierFeatures(kernel, n_features=500)
        return OnlineKernelClassifier(kernel, step=step, representation=Features(map), random_state=0)
    if who == "Nyström":
        # The first batch may be shorter than that.
        form = Nystrom(n_centres=100)
        return OnlineKernelClassifier(kernel, step=step, representation=form, random_state=0)
    budgets = {
        "merge": o.Merge,
        "projection": o.Projection,
        "oldest": o.Oldest,
        "smallest": o.Smallest,
        "at random": o.AtRandom,
        "window": o.Window,
    }
    return OnlineKernelClassifier(kernel, step=step, budget=budgets[who](500), random_state=0)


def _river(who: str, X: np.ndarray, y: np.ndarray, options: dict[str, float]) -> float:
    from river import feature_extraction, linear_model, multiclass, optim, tree

    many = len(np.unique(y)) > 2
    if who == "Hoeffding adaptive tree":
        machine: Any = tree.HoeffdingAdaptiveTreeClassifier(seed=0)
    else:
        machine = linear_model.LogisticRegression(optim.SGD(options["step"]))
        machine = multiclass.OneVsRestClassifier(machine) if many else machine
    if who == "RBFSampler":
        gamma = 1 / (2 * options["sigma"] ** 2)
        machine = feature_extraction.RBFSampler(gamma=gamma, n_components=500, seed=0) | machine
    right = 0
    for row, label in zip(X, y.tolist()):
        where = np.flatnonzero(row)
        x = dict(zip(where.tolist(), row[where].tolist()))
        if who == "Hoeffding adaptive tree":  # which takes a missing feature for something else than 0
            x = dict(enumerate(row.tolist()))
        right += machine.predict_one(x) == label
        machine.learn_one(x, label)
    return right / len(y)
