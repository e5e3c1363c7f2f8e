"""Nearest neighbours: MNIST by a polynomial kernel and by the Euclidean distance; trees in few dimensions."""

from __future__ import annotations

from benchmarks import real
from benchmarks.harness import measure
from benchmarks.table import count, megabytes, number, ratio, seconds, text, times

TITLE = "Nearest neighbours: R = 5, and R by leave-one-out"
NOTE = (
    "MNIST: 60,000 examples, 10,000 new ones, 784 coordinates between 0 and 1, float32; uniform: points in "
    "the unit cube, as many new ones as examples, float64. “Faster” is Mercer with the Gaussian kernel, "
    "whose neighbours are the Euclidean ones, against scikit-learn's KNeighborsClassifier. "
    "“Agree” is the share of rows whose five neighbours are those of differences in float64 (500 rows looked "
    "at). The matrix of kernel values of MNIST would take 2,400 MB. All were called on a few rows before."
)
COLUMNS = (
    text("data", "case"),
    text("", "who"),
    text("what", "what"),
    seconds(),
    times("Mercer is faster"),
    number("test accuracy", "accuracy", ".4f"),
    number("agree", "agree", ".3f"),
    count("R", "chosen"),
    megabytes(),
)
MNIST = """
import numpy as np
from benchmarks import real
X, y, T, u = real.classes("MNIST", {n}, {test}, "float32")
"""
CUBE = """
import numpy as np
rng = np.random.default_rng(0)
X, T = rng.random((2, {n}, {d}))
y, u = ((A.sum(axis=1) > {d} / 2).astype(int) for A in (X, T))
"""
OURS = """
from mercer import KernelNeighborsClassifier
from mercer.kernels import Gaussian, Polynomial
machine = KernelNeighborsClassifier({kernel}, n_neighbors={neighbours!r})
machine.fit(X[:3000], y[:3000]).predict(T[:1000])  # compiles
"""
THEIRS = """
from sklearn.neighbors import KNeighborsClassifier
machine = KNeighborsClassifier(5, algorithm={algorithm!r}, n_jobs=-1)
machine.fit(X[:3000], y[:3000]).predict(T[:1000])
"""
FIT = "machine.fit(X, y)\n"
ACCURACY = 'extra["accuracy"] = float(np.mean(labels == u))\n'
CHOSEN = """
extra["accuracy"] = float(np.mean(machine.predict(T) == u))
extra["chosen"] = machine.n_neighbors_
"""
AGREE = """
rows = np.random.default_rng(1).choice(len(T), min(500, len(T)), replace=False)
found = machine.kneighbors(T[rows], return_distance=False)
same = 0
for i, near in zip(rows, found):
    D = np.square(T[i].astype(np.float64) - X).sum(axis=1)
    same += set(near) == set(np.argsort(D, kind="stable")[:5])
extra["agree"] = same / len(rows)
"""
PLAIN, POLYNOMIAL = "Polynomial(3, 1.0)", "Polynomial(3, 1.0).normalize()"
GAUSSIAN = "Gaussian(10.0)"


def run(quick: bool, limits: dict):
    yield from _mnist(*((3_000, 500) if quick else (60_000, 10_000)))
    for d in (3, 10):
        yield from _cube(10_000 if quick else 200_000, d)


def _mnist(n: int, test: int):
    data = MNIST.format(n=n, test=test)
    if reason := real.missing("MNIST"):
        yield {"case": "MNIST", "failure": reason}
        return
    for kernel in (PLAIN, POLYNOMIAL, GAUSSIAN):
        setup = data + OURS.format(kernel=kernel, neighbours=5) + FIT
        report = ACCURACY + (AGREE if kernel == GAUSSIAN else "")
        ours = measure(setup, "labels = machine.predict(T)", report=report, timeout=1800)
        yield {"case": "MNIST", "who": f"Mercer, {kernel}", "what": "predict", **ours.record()}
    yield from _theirs("MNIST", data, "brute", ours.seconds)
    setup = data + OURS.format(kernel=POLYNOMIAL, neighbours="auto")
    found = measure(setup, "machine.fit(X, y)", report=CHOSEN, timeout=3600)
    yield {"case": "MNIST", "who": f"Mercer, {POLYNOMIAL}", "what": "fit, R = 1…490", **found.record()}


def _cube(n: int, d: int):
    case, data = f"uniform, d = {d}, n = {n:,}", CUBE.format(n=n, d=d)
    setup = data + OURS.format(kernel="Gaussian(1.0)", neighbours=5) + FIT
    ours = measure(setup, "labels = machine.predict(T)", report=ACCURACY + AGREE, timeout=1800)
    yield {"case": case, "who": "Mercer, Gaussian(1.0)", "what": "predict", **ours.record()}
    yield from _theirs(case, data, "auto", ours.seconds)


def _theirs(case: str, data: str, algorithm: str, ours: float):
    setup = data + THEIRS.format(algorithm=algorithm) + FIT
    found = measure(setup, "labels = machine.predict(T)", report=ACCURACY + AGREE, timeout=1800)
    record = {"case": case, "who": f"scikit-learn, {algorithm}", "what": "predict", **found.record()}
    yield record | {"ratio": ratio(found.seconds, ours)}
