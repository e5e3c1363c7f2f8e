"""/api/sample: points to begin with."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import datasets

from mercer._http.refusal import plain
from mercer.lab.fields import LARGEST, LIMITS, Fields

Drawn = tuple[np.ndarray, np.ndarray]


def _moons(n: int, noise: float, seed: int) -> Drawn:
    return datasets.make_moons(n, noise=noise, random_state=seed)


def _circles(n: int, noise: float, seed: int) -> Drawn:
    return datasets.make_circles(n, noise=noise, factor=0.5, random_state=seed)


def _blobs(n: int, noise: float, seed: int) -> Drawn:
    centres = np.array([[-1.0, -0.8], [1.0, -0.8], [0.0, 1.0]])
    return datasets.make_blobs(n, centers=centres, cluster_std=0.15 + noise, random_state=seed)


def _spirals(n: int, noise: float, seed: int) -> Drawn:
    rng, y = np.random.default_rng(seed), np.arange(n) % 2
    turn = np.sqrt(rng.uniform(0.02, 1.0, n))
    angle = 3.5 * np.pi * turn + np.pi * y
    X = turn[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return X + 0.3 * noise * rng.standard_normal((n, 2)), y


def _chequered(n: int, noise: float, seed: int) -> Drawn:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    y = (np.floor(2 * X).sum(axis=1) % 2).astype(int)
    return X + 0.3 * noise * rng.standard_normal((n, 2)), y


def _sine(n: int, noise: float, seed: int) -> Drawn:
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(-3, 3, n))
    return x[:, None], np.sin(2 * x) + noise * rng.standard_normal(n)


def _steps(n: int, noise: float, seed: int) -> Drawn:
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(-3, 3, n))
    return x[:, None], np.round(x / 1.5) + noise * rng.standard_normal(n)


def _outliers(n: int, noise: float, seed: int) -> Drawn:
    X, y = _sine(n, noise, seed)
    far = np.random.default_rng(seed + 1).random(n) < 0.1
    return X, np.where(far, y + 4, y)


SAMPLES: dict[str, tuple[str, str, Any]] = {
    "moons": ("two moons", "labels", _moons),
    "circles": ("two circles", "labels", _circles),
    "blobs": ("three clouds", "labels", _blobs),
    "spirals": ("two spirals", "labels", _spirals),
    "chequered": ("a chequered board", "labels", _chequered),
    "sine": ("a sine", "curve", _sine),
    "steps": ("steps", "curve", _steps),
    "outliers": ("a sine with outliers", "curve", _outliers),
}


def sample(fields: Fields) -> dict[str, Any]:
    """The answer to a request of /api/sample."""
    fields.only("kind", "n", "noise", "seed")
    _, task, draw = SAMPLES[fields.word("kind", tuple(SAMPLES))]
    n = fields.count("n", 4, LIMITS["points"], 100)
    X, y = draw(n, fields.number("noise", 0.0, 2.0, 0.1), fields.count("seed", 0, 2**31 - 2, 0))
    return shown_as(task, X, y)


def shown_as(task: str, X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Points, with a window around them: a tenth of their extent is left free at each side."""
    along = X[:, 1] if task == "labels" else y
    sides: list[float] = []
    for values in (X[:, 0], along):
        low, high = float(values.min()), float(values.max())
        free = 0.1 * (high - low) or 1.0
        sides += [max(low - free, -LARGEST), min(high + free, LARGEST)]
    return {"task": task, "X": plain(X), "y": plain(y), "window": sides}
