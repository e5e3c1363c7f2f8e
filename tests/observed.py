"""Observations for tests of posteriors, made without a machine."""

from __future__ import annotations

import numpy as np

from mercer.engines import Tiled
from mercer.losses import Squared
from mercer.posterior import Observations
from mercer.solvers import Problem


def observed(kernel, X, y, lam=1e-4, offset=True, weights=None, engine=None):
    """What a machine with this kernel would have seen."""
    K = (engine or Tiled()).operator(kernel, kernel.points(X))
    Y = np.asarray(y, dtype=float).reshape(len(X), -1)
    problem = Problem(A=K, B=K, y=Y, loss=Squared(), lam=lam, weights=weights, offset=offset)
    return Observations.of(problem, None, kernel.points, np.ndim(y) == 1)


def wavy(n, d=2, t=None, seed=0, dtype=np.float64):
    """Points, noisy targets and weights."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)).astype(dtype)
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(n if t is None else (t, n))
    w = rng.uniform(0.3, 2, n)
    return X, y.T, w / w.mean()
