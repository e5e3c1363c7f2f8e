"""Quantile regression at three levels: pinball loss, coverage, and how often the quantiles cross."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

import numpy as np

from benchmarks import real
from benchmarks.harness import measure
from benchmarks.table import count, number, seconds, text

LEVELS = (0.1, 0.5, 0.9)
TITLE = "Quantiles 0.1, 0.5 and 0.9 of real tables"
NOTE = (
    "Held-out rows of three of ten folds; y in units of its standard deviation. Settings are chosen by "
    "threefold cross-validation on at most 1,500 training rows, for scikit-learn's machines one level at "
    "a time, for Mercer (σ and λ) once for all levels; that isn't in the time, which is of all three "
    "levels. Coverage is the share of targets at or below the quantile: its level is best. Crossings are "
    "those among 100,000 queries whose coordinates are drawn independently from the columns of the "
    "training rows."
)
COLUMNS = (
    text("data", "case"),
    count("n", "n"),
    count("d", "d"),
    text("", "who"),
    *(number(f"pinball {q}", f"pinball_{q}", ".4f") for q in LEVELS),
    number("mean", "pinball", ".4f"),
    *(number(f"coverage {q}", f"coverage_{q}", ".3f") for q in LEVELS),
    count("crossings", "crossings"),
    seconds("fit s"),
    text("chosen", "chosen"),
)
SETS = ("skillcraft", "wind", "cal_housing")
FOLDS, QUERIES, TUNED_ON = 3, 100_000, 1_500
NAMES = {
    "ours": "Mercer, Gaussian kernel",
    "linear": "scikit-learn QuantileRegressor",
    "trees": "scikit-learn GradientBoostingRegressor",
}
SETUP = """
import numpy as np
from benchmarks.bench_quantile import chosen, judged, split
X, y, T, u = split({case!r}, {fold}, {rows})
machine, settings = chosen({key!r}, X, y)
"""
REPORT = "extra.update(judged(machine, X, T, u, {queries}), chosen=settings, d=X.shape[1], n=len(X))"


def run(quick: bool, limits: dict):
    rows, folds, queries = (600, 1, 1_000) if quick else (10_000, FOLDS, QUERIES)
    for case in SETS:
        if reason := real.missing(case):
            yield {"case": case, "failure": reason}
            continue
        for key, who in NAMES.items():
            found = []
            for fold in range(folds):
                setup = SETUP.format(case=case, fold=fold, rows=rows, key=key)
                report = REPORT.format(queries=queries // folds)
                found.append(measure(setup, "machine.fit(X, y)", report=report, timeout=1800).record())
            yield {"case": case, "who": who, "key": key} | _together(found)


def _together(found: list[dict]) -> dict:
    """Means over the folds; crossings are counted, and the settings are those of the first fold."""
    if failed := next((r for r in found if "failure" in r), None):
        return failed
    same = {key: found[0][key] for key in ("n", "d", "chosen")}
    means = {key: float(np.mean([r[key] for r in found])) for key in found[0] if key not in same}
    return means | same | {"crossings": sum(r["crossings"] for r in found)}


# -- in the process that is measured ---------------------------------------------------------------------


def split(case: str, fold: int, rows: int):
    """Training and test rows; all standardised by the training rows."""
    X, y, folds = real.table(case, rows)
    train = folds != fold
    mean, std = X[train].mean(axis=0), X[train].std(axis=0)
    X = (X - mean) / np.where(std > 0, std, 1.0)
    y = (y - y[train].mean()) / y[train].std()
    return X[train], y[train], X[~train], y[~train]


def chosen(key: str, X: np.ndarray, y: np.ndarray):
    """(an unfitted machine with a column a level, its settings in words)"""
    few = np.random.default_rng(0).permutation(len(y))[:TUNED_ON]
    A, b, d = X[few], y[few], X.shape[1]
    if key == "ours":
        widths = (round(float(s * np.sqrt(d)), 3) for s in (0.35, 0.7, 1.4))
        sigma, lam = _best(_kernel, product(widths, (1e-5, 1e-4, 1e-3, 1e-2)), LEVELS, A, b)
        machine = _kernel(LEVELS, sigma, lam)
        machine.fit(X[:200], y[:200])  # compiles
        return machine, f"σ {sigma:.3g}, λ {lam:.0e}"
    make, grid = {
        "linear": (_linear, [(alpha,) for alpha in (0.0, 1e-4, 1e-3, 1e-2, 1e-1)]),
        "trees": (_trees, list(product((2, 4), (100, 300, 600)))),
    }[key]
    settings = [_best(make, grid, (q,), A, b) for q in LEVELS]
    said = {"linear": "alpha", "trees": "depth, trees"}[key]
    return _Each([make((q,), *s) for q, s in zip(LEVELS, settings)]), f"{said}: " + "; ".join(
        ", ".join(f"{value:g}" for value in s) for s in settings
    )


def judged(machine: Any, X: np.ndarray, T: np.ndarray, u: np.ndarray, queries: int) -> dict:
    P = _columns(machine, T)
    losses = [_pinball(u, P[:, i], q) for i, q in enumerate(LEVELS)]
    record: dict[str, Any] = {"pinball": float(np.mean(losses))}
    for i, q in enumerate(LEVELS):
        record[f"pinball_{q}"] = losses[i]
        record[f"coverage_{q}"] = float(np.mean(u <= P[:, i]))
    rng = np.random.default_rng(1)
    Q = _columns(machine, np.column_stack([rng.choice(column, queries) for column in X.T]))
    # Equal quantiles don't cross, and a rounding error is no crossing; y has the standard deviation 1.
    record["crossings"] = int(np.sum((np.diff(Q, axis=1) < -1e-9).any(axis=1)))
    return record


def _best(make: Callable, grid: Iterable[tuple], levels: tuple[float, ...], X: np.ndarray, y: np.ndarray):
    """The settings with the least mean pinball loss on three held-out thirds."""
    thirds = np.arange(len(y)) % 3

    def loss(settings: tuple) -> float:
        total = 0.0
        for third in range(3):
            train = thirds != third
            P = _columns(make(levels, *settings).fit(X[train], y[train]), X[~train])
            total += sum(_pinball(y[~train], P[:, i], q) for i, q in enumerate(levels))
        return total

    return min(grid, key=loss)


def _pinball(y: np.ndarray, p: np.ndarray, q: float) -> float:
    return float(np.mean(np.maximum(q * (y - p), (q - 1) * (y - p))))


def _columns(machine: Any, X: np.ndarray) -> np.ndarray:
    return np.asarray(machine.predict(X)).reshape(len(X), -1)


class _Each:
    """A machine a level."""

    def __init__(self, machines: list):
        self.machines = machines

    def fit(self, X, y):
        for machine in self.machines:
            machine.fit(X, y)
        return self

    def predict(self, X):
        return np.column_stack([machine.predict(X) for machine in self.machines])


def _kernel(levels, sigma, lam):
    from mercer import KernelRegressor
    from mercer.kernels import Gaussian
    from mercer.losses import Quantile

    return KernelRegressor(Gaussian(sigma), loss=Quantile(list(levels)), lam=lam, offset=True, random_state=0)


def _linear(levels, alpha):
    from sklearn.linear_model import QuantileRegressor

    return QuantileRegressor(quantile=levels[0], alpha=alpha, solver="highs")


def _trees(levels, depth, trees):
    from sklearn.ensemble import GradientBoostingRegressor

    return GradientBoostingRegressor(
        loss="quantile", alpha=levels[0], max_depth=depth, n_estimators=trees, random_state=0
    )
