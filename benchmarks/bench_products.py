"""The Gaussian K V in float32, without K in memory: Mercer, its peers, and the machine's limit."""

from __future__ import annotations

import math
import time

from benchmarks import limits as machine
from benchmarks import peers
from benchmarks.data import gaussian_rows, products, relative_error
from benchmarks.harness import measure, trim
from benchmarks.table import count, megabytes, number, ratio, seconds, text, times

TITLE = "Gaussian K V, float32, σ = √d"
NOTE = (
    "Slow peers get fewer rows of X (see “rows”): pairs a second are what is compared. The error is "
    "relative, against float64 on 200 rows. Extra MB is the peak beyond what was there before the product; "
    "Mercer's goal is less than 64."
)
COLUMNS = (
    text("n × m, d, columns", "case"),
    text("", "who"),
    count("rows", "rows"),
    seconds(),
    number("billion pairs/s", "rate", ".3g", 1e-9),
    number("of the limit", "share", ".0%"),
    times("Mercer is faster"),
    number("error", "error", ".0e"),
    megabytes(),
)
CASES = (
    (50_000, 50_000, 3, 1),
    (50_000, 50_000, 10, 1),
    (100_000, 1_000, 28, 1),
    (20_000, 20_000, 100, 1),
    (20_000, 20_000, 784, 10),
)
# Seconds one product of a peer may take; longer ones see fewer rows.
_PATIENCE, _TIMEOUT = 5.0, 300


def run(quick: bool, limits: dict):
    for n, m, d, t in CASES:
        if quick:
            n, m = n // 10, max(m // 10, 500)
        limit = machine.pairs(limits, d, t)
        ours = None
        for key in peers.with_objective("product"):
            peer = peers.load(key)
            record = {"case": f"{n:,} × {m:,}, {d}, {t}", "n": n, "m": m, "d": d, "t": t}
            record |= {"who": peer.name, "key": key, "limit": limit}
            if reason := peer.available():
                yield record | {"failure": reason}
                continue
            patience = math.inf if key == "ours" else _PATIENCE / (10 if quick else 1)
            found = measure(
                f"from benchmarks.bench_products import case\n"
                f"call, finish = case({key!r}, {n}, {m}, {d}, {t}, float('{patience}'))",
                "out = call()",
                repeat=3,
                report="extra.update(finish(out))",
                timeout=_TIMEOUT,
            )
            record |= found.record()
            if not found.failure:
                record["rate"] = record["rows"] * m / found.seconds
                record["share"] = record["rate"] / limit
                ours = record["rate"] if key == "ours" else ours
                record["ratio"] = None if key == "ours" else ratio(ours, record["rate"])
            yield record


def case(key: str, n: int, m: int, d: int, t: int, patience: float):
    """In the process of its own: the call to be timed, and what to report of its result."""
    import numpy as np

    peer, sigma = peers.load(key), math.sqrt(d)
    X, Z, V = products(n, m, d, t)
    few = first_rows(n, m)
    trial = peer.product(X[:few], Z, V, sigma)
    trial()  # compiles, where there is something to compile
    start = time.perf_counter()
    trial()
    expected = (time.perf_counter() - start) * n / few
    del trial
    trim()
    rows = n if expected <= patience else max(int(n * patience / expected), few)

    def finish(out):
        sample = np.random.default_rng(1).choice(rows, min(200, rows), replace=False)
        return {"rows": rows, "error": relative_error(out[sample], gaussian_rows(X, Z, V, sigma, sample))}

    return peer.product(X[:rows], Z, V, sigma), finish


def first_rows(n: int, m: int) -> int:
    """Rows of a first call: little work, but pairs enough (4 million) for a compiler to be worth calling."""
    return min(n, max(1024, (1 << 22) // m))


def plot(result: dict):
    from benchmarks.roofline import figure

    return figure(result)
