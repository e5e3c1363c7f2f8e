"""Exact ridge where conditioning is the difficulty (σ = 2, λ = 1e-7, d = 9), against a dense solve."""

from __future__ import annotations

from benchmarks.harness import measure
from benchmarks.table import count, number, seconds, text

TITLE = "Ill-conditioned exact ridge, d = 9, σ = 2, λ = 1e-7: distance from the dense float64 solution"
COLUMNS = (
    count("n", "n"),
    text("", "who"),
    seconds(),
    text("solver", "solver"),
    text("status", "status"),
    number("predictions differ by", "gap", ".0e"),
)
# The reference is a dense float64 factorisation through SciPy's LAPACK on one thread (several crash, in some
# OpenBLAS builds, from n ≈ 16,000 on).
SETUP = """
import numpy as np
from mercer import KernelRidge
from mercer.kernels import Gaussian
from mercer.solvers import CG
rng = np.random.default_rng(0)
X = rng.standard_normal(({n} + 1000, 9))
y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal({n} + 1000)
X, T, y = X[:{n}].astype("{dtype}"), X[{n}:].astype("{dtype}"), y[:{n}].astype("{dtype}")
machine = KernelRidge(Gaussian(2.0), lam=1e-7, representation="full", offset=False)
"""
REPORT = """
from scipy.linalg import cho_factor, cho_solve
from threadpoolctl import threadpool_limits
s = machine.solution_
extra["solver"], extra["status"] = s.solver, s.status
P = machine.predict(T).astype(float)
X, T, y = X.astype(float), T.astype(float), y.astype(float)
def kernel(A, B):
    r2 = (A * A).sum(1)[:, None] + (B * B).sum(1) - 2 * A @ B.T
    np.maximum(r2, 0, out=r2)
    r2 *= -1 / 8
    return np.exp(r2, out=r2)
K = kernel(X, X)
K[np.diag_indices_from(K)] += 1e-7 * len(X)
with threadpool_limits(1):
    c = cho_solve(cho_factor(K, overwrite_a=True, check_finite=False), y)
extra["gap"] = float(np.linalg.norm(P - kernel(T, X) @ c) / np.linalg.norm(kernel(T, X) @ c))
"""


def run(quick: bool, limits: dict):
    n = 2_000 if quick else 20_000
    for dtype in ("float64", "float32"):
        found = measure(SETUP.format(n=n, dtype=dtype), "machine.fit(X, y)", report=REPORT, timeout=900)
        yield {"n": n, "who": f"Mercer, {dtype}"} | found.record()
