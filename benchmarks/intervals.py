"""Do 90 % intervals of `mercer.fit` hold 90 % of new values, among the old rows and in gaps between them?

``python -m benchmarks.intervals [--rows 3000] [--minutes 0.2] [--only NAME,…] [--json FILE]``

Ordinary tables are split at random. Others are cut into twenty blocks, of a map (k-means of its two
coordinates) or in time, and every fourth block is left out of training as a whole. Printed for each, of the
same machine: the share of test values inside their 90 % interval and its mean width in standard deviations
of y, for intervals that know nothing of gaps ("plain") and for those of the model.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import real

ORDINARY = (
    *(f"uci/{name}" for name in ("airfoil", "autompg", "concrete", "energy", "housing", "skillcraft")),
    *("uci/wine", "uci/elevators", "openml_like/bank8FM", "openml_like/cpu_act", "openml_like/cal_housing"),
)
_LEVEL, _BLOCKS = 0.9, 20
_MOST_TEST = 2_000


@dataclass(frozen=True)
class Split:
    """Training and test rows."""

    X: np.ndarray
    y: np.ndarray
    T: np.ndarray
    u: np.ndarray


@dataclass(frozen=True)
class Blocked:
    """A table whose rows lie in a plane or in time: its file, which columns are used, and where rows lie."""

    file: str
    used: slice
    place: Callable[[np.ndarray], np.ndarray]


BLOCKED = {
    "map": Blocked("openml_like/cal_housing", slice(0, 2), lambda X: X[:, :2]),
    "cal_housing": Blocked("openml_like/cal_housing", slice(None), lambda X: X[:, :2]),
    "sml": Blocked("uci/sml", slice(None), lambda X: 31 * X[:, 1] + X[:, 0]),
    "wind": Blocked("pmlb/503_wind", slice(None), lambda X: X[:, :3] @ [372.0, 31.0, 1.0]),
    "co2": Blocked("mauna_loa_co2", slice(None), lambda X: X[:, 0]),
    # Without its last two columns, which give y away.
    "bike": Blocked("uci/bike", slice(0, -2), lambda X: X[:, :3] @ [372.0, 31.0, 1.0]),
}


def _read(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    with np.load(real.folder() / f"{name}.npz", allow_pickle=False) as data:
        X = data["X"].astype(np.float64)
        return X.reshape(len(X), -1), data["y"].astype(np.float64), data["fold"] if "fold" in data else None


def at_random(name: str, rows: int) -> Split:
    """Fold 0 is the test (with fold 1, of small tables); the file's own folds, where it has them."""
    rng = np.random.default_rng(0)
    X, y, fold = _read(name)
    fold = rng.permutation(np.arange(len(y)) % 10) if fold is None else fold
    return _drawn(X, y, fold < (1 if len(y) > 4000 else 3), rows, rng)


def by_blocks(table: Blocked, rows: int) -> Split:
    """Every fourth of twenty blocks is the test."""
    X, y, _ = _read(table.file)
    place = table.place(X)
    return _drawn(X[:, table.used], y, blocks_of(place) % 4 == 1, rows, np.random.default_rng(0))


def blocks_of(place: np.ndarray) -> np.ndarray:
    """Numbers of blocks: as many rows in each in time, the cells of k-means in a plane."""
    if place.ndim == 1:
        rank = np.searchsorted(np.unique(place), place)
        return rank * _BLOCKS // (rank.max() + 1)
    from sklearn.cluster import KMeans

    return KMeans(_BLOCKS, n_init=1, random_state=0).fit_predict(place)


def _drawn(X: np.ndarray, y: np.ndarray, test: np.ndarray, rows: int, rng: np.random.Generator) -> Split:
    train, new = (rng.permutation(np.flatnonzero(part)) for part in (~test, test))
    train, new = train[:rows], new[:_MOST_TEST]
    return Split(X[train], y[train], X[new], y[new])
