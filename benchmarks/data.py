"""The data of every objective, made from a seed, so that all peers see the same numbers."""

from __future__ import annotations

import numpy as np


def products(n: int, m: int, d: int, t: int, dtype: str = "float32"):
    """X, Z, V of standard normal numbers; σ = √d keeps kernel values away from 0 and 1 for every d."""
    rng = np.random.default_rng(0)
    X, Z = (rng.standard_normal((k, d), np.float32).astype(dtype) for k in (n, m))
    V = rng.standard_normal((m, t), np.float32).astype(dtype)
    return X, Z, (V[:, 0].copy() if t == 1 else V)


def ridge(n: int, d: int = 10, dtype: str = "float64"):
    """X and a sine of the first column with a little noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)).astype(dtype)
    return X, (np.sin(X[:, 0]) + 0.1 * rng.standard_normal(n)).astype(dtype)


def smooth(n: int, test: int = 5000, d: int = 28):
    """X, y, T, u in float32: a smooth function of three directions, noise 0.5; T, u are for testing."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n + test, d)).astype("float32")
    w = rng.standard_normal((d, 3))
    f = np.sin(X @ w[:, 0] / 3) + (X @ w[:, 1] / 5) ** 2 / 4 + np.tanh(X @ w[:, 2] / 3)
    y = (f + 0.5 * rng.standard_normal(n + test)).astype("float32")
    return X[:n], y[:n], X[n:], y[n:]


def labels(n: int, test: int = 5000, d: int = 20, dtype: str = "float64"):
    """X, y, T, u with two classes that overlap."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n + test, d)).astype(dtype)
    f = 2 * np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + np.abs(X[:, 3])
    y = (rng.random(n + test) < 1 / (1 + np.exp(-2 * (f - f.mean())))).astype(int)
    return X[:n], y[:n], X[n:], y[n:]


def gaussian_rows(X, Z, V, sigma: float, rows) -> np.ndarray:
    """K(X[rows], Z) V in float64: what products are checked against."""
    A, B = X[rows].astype(np.float64), Z.astype(np.float64)
    r2 = (A * A).sum(1)[:, None] + (B * B).sum(1) - 2 * A @ B.T
    return np.exp(np.maximum(r2, 0) * (-0.5 / sigma**2)) @ V.astype(np.float64)


def relative_error(found, true) -> float:
    found, true = (np.asarray(a, np.float64).reshape(len(true), -1) for a in (found, true))
    return float(np.linalg.norm(found - true) / np.linalg.norm(true))
