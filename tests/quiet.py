"""Fits with defaults that must end without a ConvergenceWarning, and as good as a dense float64 solve."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer import KernelLogistic, KernelRidge
from mercer.kernels import Gaussian, Matern

# Condition number of the matrix to be solved with above which no float64 solution is well defined.
WELL_DEFINED = 1e14
# Predictions, next to the spread of the targets, may be so far from the dense solution, …
CLOSE = 1e-5
# … or this many times what rounding leaves open in the dense solution itself.
OPEN = 10.0


@dataclass(frozen=True)
class Case:
    """One configuration; everything that is random in it comes from the seed."""

    seed: int
    n: int
    d: int
    kernel: str
    sigma: float
    lam: float
    dtype: str
    offset: bool
    repeated: bool
    uncentred: bool
    weighted: bool
    machine: str


def draw(seed: int, largest: int = 20_000) -> Case:
    """A configuration: sizes from 50 on, mostly small, λ from 0.1 to 1e-10."""
    rng = np.random.default_rng(seed)
    n = int(np.exp(rng.uniform(np.log(50), np.log(min(1500, largest)))))
    if largest > 1500 and rng.random() < 0.06:
        n = int(rng.integers(1500, largest + 1))
    logistic = rng.random() < 0.2
    return Case(
        seed,
        min(n, 1000) if logistic else n,
        int(rng.integers(1, 31)),
        str(rng.choice(["gaussian", "matern"], p=[0.8, 0.2])),
        float(10 ** rng.uniform(-0.5, 1.0)),
        float(10 ** rng.uniform(-7 if logistic else -10, -1)),
        str(rng.choice(["float32", "float64"])),
        *(bool(rng.random() < share) for share in (0.6, 0.2, 0.2, 0.2)),
        "logistic" if logistic else "ridge",
    )


def data(case: Case):
    """X, y, weights (or None), and points to predict at."""
    rng = np.random.default_rng(case.seed + 10_000)
    X = rng.standard_normal((case.n + 200, case.d))
    y = np.sin(2 * X[:, 0]) + X[:, -1] ** 2 / 2 + 0.1 * rng.standard_normal(len(X))
    if case.repeated:
        copies = rng.integers(0, case.n, case.n // 4)
        X[rng.integers(0, case.n, len(copies))] = X[copies]
    if case.uncentred:
        X = X + 10.0
    weights = rng.integers(0, 4, case.n).astype(float) if case.weighted else None
    X = X.astype(case.dtype)
    y = (y > np.median(y)).astype(int) if case.machine == "logistic" else y.astype(case.dtype)
    return X[: case.n], y[: case.n], weights, X[case.n :]


def check(case: Case) -> dict:
    """What was "warned" of, how far "apart" from the dense solution it is, what is "allowed", "condition"."""
    X, y, weights, T = data(case)
    kernel = Gaussian(case.sigma) if case.kernel == "gaussian" else Matern(sigma=case.sigma)
    maker = KernelLogistic if case.machine == "logistic" else KernelRidge
    machine = maker(kernel, lam=case.lam, offset=case.offset, random_state=0)
    found: dict = {"apart": None, "allowed": None, "condition": None}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        machine.fit(X, y, sample_weight=weights)
    found["warned"] = next((str(w.message) for w in caught if w.category is ConvergenceWarning), None)
    if case.machine == "ridge" and case.n <= 3000:
        predictions = machine.predict(T).astype(float)
        dense, found["condition"] = _dense(case, machine.kernel_, X, y.astype(float), weights, T)
        found["apart"] = float(np.abs(predictions - dense).max() / y.std())
        eps = float(np.finfo(case.dtype).eps)  # predictions are given in the dtype of the data
        found["allowed"] = max(CLOSE, OPEN * np.finfo(float).eps * found["condition"], 20 * eps)
    return found


def _dense(case: Case, kernel, X, y, weights, T) -> tuple[np.ndarray, float]:
    """Predictions by LU of the whole system, (K + λ Σw diag(1/w)) c + b = y, Σc = 0, and its condition."""
    X, T = X.astype(float), T.astype(float)
    w = np.ones(len(X)) if weights is None else weights
    X, y, w = X[w > 0], y[w > 0], w[w > 0]
    n, extra = len(X), int(case.offset)
    M = np.zeros((n + extra, n + extra))
    M[:n, :n] = kernel.pairwise(X, X)
    M[np.arange(n), np.arange(n)] += case.lam * w.sum() / w
    values = np.linalg.eigvalsh(M[:n, :n])
    if extra:
        M[n, :n] = M[:n, n] = 1.0
    solved = np.linalg.solve(M, np.concatenate([y, np.zeros(extra)]))
    offset = solved[n] if extra else 0.0
    return kernel.pairwise(T, X) @ solved[:n] + offset, float(values[-1] / max(values[0], 1e-300))
