"""What machines do without being told anything: R² or accuracy of the defaults, and what choosing λ costs."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge as TheirRidge
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks import real
from benchmarks.table import count, number, text
from mercer import KernelLogistic, KernelRidge, KernelSVC

TITLE = "Defaults: lam='auto' beside alpha = 1 or C = 1, the old λ = 0.001, and scikit-learn's defaults"
NOTE = (
    "R² or accuracy on other rows. Price: the fit with lam='auto' over that with the λ it chose. The goal: "
    "at least as good as alpha = 1 or C = 1, at about 2."
)
COLUMNS = (
    text("data", "data"),
    text("machine", "machine"),
    count("n", "n"),
    number("auto", "auto", ".3f"),
    number("alpha or C = 1", "one", ".3f"),
    number("λ = 0.001", "old", ".3f"),
    number("scikit-learn", "theirs", ".3f"),
    number("price", "price", ".1f"),
)
_TEST = 5000
# scikit-learn's kernel ridge keeps and factors K.
_THEIRS = 10_000
_TABLES = ("pmlb/503_wind", "uci/concrete", "pmlb/564_fried", "pmlb/phoneme", "pmlb/magic", "pmlb/satimage")


def run(quick: bool, limits: dict):
    for n in (200,) if quick else (500, 5000, 50_000):
        yield from _compared("made", n, *_made(n))
    for name in () if quick else _TABLES:
        file = real.folder() / f"{name}.npz"
        if file.exists():
            yield from _table(name, np.load(file, allow_pickle=False))


def _made(n: int, d: int = 5):
    """X, y, T, u: a smooth function of five numbers, with noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n + _TEST, d))
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + np.abs(X[:, 3])
    y = f + 0.5 * rng.standard_normal(n + _TEST)
    return X[:n], y[:n], X[n:], y[n:]


def _table(name: str, file: Any):
    X, y = file["X"].astype(float), file["y"]
    order = np.random.default_rng(0).permutation(len(y))[: 4000 + _TEST]
    cut = min(4000, 3 * len(order) // 4)
    scaler = StandardScaler().fit(X[order[:cut]])
    X, y = scaler.transform(X[order]), y[order]
    if len(np.unique(y)) > 20:
        y = (y - y[:cut].mean()) / y[:cut].std()
    yield from _compared(name.partition("/")[2], cut, X[:cut], y[:cut], X[cut:], y[cut:])


def _compared(data: str, n: int, X, y, T, u):
    numbers = len(np.unique(y)) > 20
    trials: list[tuple[Any, Any, float, np.ndarray, np.ndarray]] = []
    if numbers:
        trials.append(
            (KernelRidge(random_state=0), TheirRidge(kernel="rbf") if n <= _THEIRS else None, 1 / n, y, u)
        )
    if not numbers or data == "made":
        a, b = (y > 1, u > 1) if numbers else (y, u)
        trials.append((KernelSVC(random_state=0), SVC(), 1 / (2 * n), a, b))
        if n <= 5000 and len(np.unique(a)) == 2:
            trials.append((KernelLogistic(random_state=0), None, 1 / (2 * n), a, b))
    for machine, theirs, one, a, b in trials:
        auto, price = _timed(machine, X, a)
        _, alone = _timed(clone(machine).set_params(lam=auto.lam_), X, a)
        yield {
            "data": data,
            "machine": type(machine).__name__,
            "n": n,
            "auto": auto.score(T, b),
            "one": clone(machine).set_params(lam=one).fit(X, a).score(T, b),
            "old": clone(machine).set_params(lam=1e-3).fit(X, a).score(T, b),
            "theirs": None if theirs is None else theirs.fit(X, a).score(T, b),
            "price": price / alone,
            "lam": auto.lam_,
            "reason": auto.plan_.reasons[-1],
        }


def _timed(machine, X, y):
    began = time.perf_counter()
    return machine.fit(X, y), time.perf_counter() - began
