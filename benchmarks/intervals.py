"""Do 90 % intervals of `mercer.fit` hold 90 % of new values, among the old rows and in gaps between them?

``python -m benchmarks.intervals [--rows 3000] [--minutes 0.1] [--only NAME,…] [--block 1] [--json FILE]``

Ordinary tables are split at random. Others are cut into twenty blocks, of a map (k-means of its two
coordinates) or in time, and every fourth block (``--block`` 0 to 3) is left out of training as a whole.
Printed for each, of the same machine: the share of test values inside their 90 % interval and its mean width
in standard deviations of y, for intervals that know nothing of gaps ("plain") and for those of the model; how
many times as wide these are, and the seconds a fit takes and a prediction of intervals for 10,000 rows.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

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
        return X.reshape(len(X), -1), data["y"].astype(np.float64), data.get("fold")


def at_random(name: str, rows: int) -> Split:
    """Fold 0 is the test (with fold 1, of small tables); the file's own folds, where it has them."""
    rng = np.random.default_rng(0)
    X, y, fold = _read(name)
    fold = rng.permutation(np.arange(len(y)) % 10) if fold is None else fold
    return _drawn(X, y, fold < (1 if len(y) > 4000 else 3), rows, rng)


def by_blocks(table: Blocked, rows: int, block: int = 1) -> Split:
    """Every fourth of twenty blocks is the test, from this one on."""
    X, y, _ = _read(table.file)
    place = table.place(X)
    return _drawn(X[:, table.used], y, blocks_of(place) % 4 == block, rows, np.random.default_rng(0))


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


def fitted(split: Split, minutes: float) -> tuple[Any, Any]:
    """A model, and the same one with intervals that know nothing of gaps."""
    import mercer
    from mercer.tables.model.conformal import Conformal

    made, plain = Conformal.of, []

    def both(errors: Any, points: Any, kernel: Any, seed: int, units: Any, *known: Any) -> Conformal:
        plain.append(made(errors, points, kernel, seed, units))
        return made(errors, points, kernel, seed, units, *known)

    with patch.object(Conformal, "of", both), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = mercer.fit(split.X, split.y, task="regression", minutes=minutes)
    return model, replace(model, conformal=plain[-1])


def judged(model: Any, split: Split) -> dict[str, float]:
    low, high = model.predict_interval(split.T, _LEVEL).T
    inside = (low <= split.u) & (split.u <= high)
    return {"held": float(inside.mean()), "width": float(np.mean(high - low) / np.std(split.u))}


def table(split: Split, minutes: float) -> dict[str, dict[str, float]]:
    """What both kinds of intervals hold."""
    began = time.perf_counter()
    model, plain = fitted(split, minutes)
    seconds = time.perf_counter() - began
    many = np.resize(split.T, (10_000, split.T.shape[1]))
    began = time.perf_counter()
    model.predict_interval(many)
    took = {"fit": seconds, "predict": time.perf_counter() - began}
    return {"plain": judged(plain, split), "model": judged(model, split), "seconds": took}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--minutes", type=float, default=0.1)
    parser.add_argument("--only", default="")
    parser.add_argument("--block", type=int, default=1)
    parser.add_argument("--json", default="")
    asked = parser.parse_args()
    only = set(filter(None, asked.only.split(",")))
    results: dict[str, dict[str, Any]] = {}
    print(
        f"{'':24} {'plain':>6} {'width':>7} {'model':>7} {'width':>7} {'times':>6} {'fit':>6} {'10,000':>7}"
    )
    for kind, names in (("at random", ORDINARY), ("by blocks", tuple(BLOCKED))):
        found = []
        for name in names:
            if only and name.split("/")[-1] not in only:
                continue
            if kind == "at random":
                split = at_random(name, asked.rows)
            else:
                split = by_blocks(BLOCKED[name], asked.rows, asked.block)
            got = results[f"{name}, {kind}"] = table(split, asked.minutes)
            a, b, took = got["plain"], got["model"], got["seconds"]
            found.append((a["held"], a["width"], b["held"], b["width"], b["width"] / a["width"]))
            seconds = f" {took['fit']:6.1f} {took['predict']:7.2f}"
            print(_line(name.split("/")[-1], found[-1]) + seconds, flush=True)
        if found:
            print(_line(f"mean, {kind}", np.mean(found, axis=0)))
    if asked.json:
        Path(asked.json).write_text(json.dumps(results, indent=1))


def _line(name: str, values: Any) -> str:
    return f"{name:24} " + " ".join(
        f"{v:{w}}" for v, w in zip(values, ("6.3f", "7.3f", "7.3f", "7.3f", "6.2f"))
    )


if __name__ == "__main__":
    main()
