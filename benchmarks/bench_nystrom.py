"""Nyström ridge, and the automatic choice for a large table."""

from __future__ import annotations

from benchmarks import peers
from benchmarks.harness import measure
from benchmarks.table import count, megabytes, number, ratio, seconds, text, times

TITLE = "Nyström ridge, Gaussian kernel, d = 28, float32"
NOTE = "Rows marked “quoted, other run” were not measured here: same sizes, another day and machine."
COLUMNS = (
    count("n", "n"),
    count("centres", "m"),
    text("", "who"),
    seconds(),
    times("Mercer is faster"),
    number("test RMSE", "rmse", ".4f"),
    megabytes(),
)
SETUP = """
import numpy as np
from benchmarks import peers
from benchmarks.data import smooth
X, y, T, u = smooth({n})
machine = peers.load({key!r}).nystrom_ridge({m}, 7.0, 1e-6, {n})
"""
REPORT = 'extra["rmse"] = float(np.sqrt(np.mean((machine.predict(T) - u) ** 2)))'
# Falkon 0.9, float32: quoted, other run. It isn't among the peers that are measured here.
FALKON = {
    (100_000, 1000): {"seconds": 9.0, "memory": 774e6, "rmse": 0.696},
    (100_000, 2000): {"seconds": 20.5, "memory": 1153e6, "rmse": 0.670},
}


def run(quick: bool, limits: dict):
    for n, m in ((100_000, 1000), (100_000, 2000), (200_000, None)):
        if quick:
            n, m = n // 20, m and m // 10
        ours = None
        for key in peers.with_objective("nystrom_ridge"):
            peer = peers.load(key)
            if m is None and key != "ours":
                continue
            record = {"n": n, "m": m or "auto", "who": peer.name, "key": key}
            if reason := peer.available():
                yield record | {"failure": reason}
                continue
            found = measure(SETUP.format(n=n, m=m, key=key), "machine.fit(X, y)", report=REPORT)
            record |= found.record()
            ours = found.seconds if key == "ours" else ours
            if key != "ours":
                record["ratio"] = ratio(found.seconds, ours)
            yield record
        if (n, m) in FALKON:
            # No ratio: figures of two runs aren't divided.
            yield {"n": n, "m": m, "who": "Falkon 0.9 (quoted, other run)", "quoted": True} | FALKON[n, m]
