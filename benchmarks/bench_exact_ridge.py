"""Exact kernel ridge regression, Gaussian kernel, d = 10: Mercer beside its peers."""

from __future__ import annotations

from benchmarks import peers
from benchmarks.harness import measure
from benchmarks.table import count, megabytes, number, ratio, seconds, text, times

TITLE = "Exact ridge, Gaussian kernel, d = 10"
COLUMNS = (
    count("n", "n"),
    text("dtype", "dtype"),
    number("λ", "lam", ".0e"),
    text("", "who"),
    seconds(),
    times("Mercer is faster"),
    megabytes(),
    number("n²·4·1.3 MB", "goal", ".0f", 1e-6),
)
CASES = (
    (5_000, "float64", 1e-3),
    (10_000, "float64", 1e-3),
    (10_000, "float64", 1e-5),
    (10_000, "float64", 1e-7),
    (10_000, "float32", 1e-3),
    (10_000, "float32", 1e-5),
    (10_000, "float32", 1e-7),
    (15_000, "float32", 1e-3),
    (20_000, "float64", 1e-3),
)
SETUP = """
from benchmarks import peers
from benchmarks.data import ridge
X, y = ridge({n}, 10, {dtype!r})
machine = peers.load({key!r}).exact_ridge(3.0, {lam}, {n})
machine.fit(X[:200], y[:200])
"""


def run(quick: bool, limits: dict):
    for n, dtype, lam in CASES:
        n = n // 10 if quick else n
        ours = None
        for key in peers.with_objective("exact_ridge"):
            peer = peers.load(key)
            record = {"n": n, "dtype": dtype, "lam": lam, "who": peer.name, "key": key}
            if reason := peer.available():
                yield record | {"failure": reason}
                continue
            setup = SETUP.format(n=n, dtype=dtype, key=key, lam=lam)
            found = measure(setup, "machine.fit(X, y)", repeat=2 if n <= 10_000 else 1)
            record |= found.record()
            if key == "ours":
                ours, record["goal"] = found.seconds, n * n * 4 * 1.3
            else:
                record["ratio"] = ratio(found.seconds, ours)
            yield record
