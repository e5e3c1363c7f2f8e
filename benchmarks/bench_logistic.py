"""Kernel logistic regression beside Nyström features with linear logistic regression."""

from __future__ import annotations

from benchmarks import peers
from benchmarks.harness import measure
from benchmarks.table import megabytes, number, ratio, seconds, text, times

TITLE = "Logistic, n = 10,000, d = 20, 1000 centres, two classes"
COLUMNS = (
    text("", "who"),
    seconds(),
    times("Mercer is faster"),
    number("test log loss", "loss", ".4f"),
    megabytes(),
)
SETUP = """
from sklearn.metrics import log_loss
from benchmarks import peers
from benchmarks.data import labels
X, y, T, u = labels({n})
machine = peers.load({key!r}).nystrom_logistic({m}, 5.0, 1e-6, {n})
"""
REPORT = 'extra["loss"] = float(log_loss(u, machine.predict_proba(T)))'


def run(quick: bool, limits: dict):
    n, m = (1_000, 100) if quick else (10_000, 1000)
    ours = None
    for key in peers.with_objective("nystrom_logistic"):
        peer = peers.load(key)
        record = {"n": n, "m": m, "who": peer.name, "key": key}
        if reason := peer.available():
            yield record | {"failure": reason}
            continue
        found = measure(SETUP.format(n=n, m=m, key=key), "machine.fit(X, y)", report=REPORT)
        record |= found.record()
        ours = found.seconds if key == "ours" else ours
        if key != "ours":
            record["ratio"] = ratio(found.seconds, ours)
        yield record
