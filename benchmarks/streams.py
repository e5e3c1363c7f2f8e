"""Real streams, in their own order, prepared the same way for every machine."""

from __future__ import annotations

import numpy as np

from benchmarks import real

STREAMS = {"elec2": 45_312, "phishing": 1_250, "covtype": 581_012, "a9a": 32_561, "MNIST": 60_000}
# Columns on very different scales are standardised by what has been seen, the row itself included.
_STANDARDISED = ("elec2", "phishing", "covtype")


def stream(name: str, rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """X in float64 and labels from 0, the first so many rows."""
    n = min(rows or STREAMS[name], STREAMS[name])
    if name == "a9a":
        X, y, _, _ = real.classes("a9a", n, 1)
        X = np.asarray(X.todense())
        y = (y > 0).astype(int)
    elif name == "MNIST":
        X, y, _, _ = real.classes("MNIST", n, 1)
    else:
        with np.load(real.folder() / real.FILES[name], allow_pickle=False) as file:
            X, y = file["X"][:n].astype(np.float64), file["y"][:n].astype(int)
    return (running(X) if name in _STANDARDISED else X), y


def running(X: np.ndarray) -> np.ndarray:
    """(x − mean)/standard deviation of the rows so far, this one included; 0 where nothing has varied yet."""
    seen = np.arange(1, len(X) + 1)[:, None]
    origin = X[0]
    first, second = np.cumsum(X - origin, axis=0), np.cumsum((X - origin) ** 2, axis=0)
    mean = first / seen
    spread = np.sqrt(np.maximum(second / seen - mean**2, 0))
    return np.divide(X - origin - mean, spread, out=np.zeros_like(X), where=spread > 1e-12)
