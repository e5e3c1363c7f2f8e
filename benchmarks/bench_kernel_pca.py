"""Kernel PCA: ten components of a Gaussian kernel, beside scikit-learn; then sizes it can't reach."""

from __future__ import annotations

from benchmarks.harness import measure
from benchmarks.table import count, megabytes, number, ratio, seconds, text, times

TITLE = "Kernel PCA: 10 components, Gaussian kernel, σ = √d, d = 10"
NOTE = (
    "fit_transform of standard normal points. “Faster” is Mercer's float64 against each of scikit-learn's "
    "solvers at the same n, “memory” the other's extra MB over Mercer's. The check takes 500 rows of the "
    "centred kernel matrix, computed densely in float64: the largest relative difference between an "
    "eigenvalue and what those rows of K v say it is, vᵀ(Kv)/vᵀv."
)
COLUMNS = (
    count("n", "n"),
    text("", "who"),
    text("given", "dtype"),
    seconds(),
    times("Mercer is faster"),
    megabytes(),
    times("memory", "memory_ratio"),
    count("passes", "passes"),
    number("check", "check", ".0e"),
)
SETUP = """
import numpy as np
from benchmarks.data import ridge
X = ridge({n}, 10, {dtype!r})[0]
"""
OURS = """
from mercer import KernelPCA
from mercer.kernels import Gaussian
machine = KernelPCA(Gaussian(10**0.5), 10, {representation!r}, random_state=0)
clone = KernelPCA(Gaussian(10**0.5), 10, "full", random_state=0).fit(X[:2000])  # compiles
"""
THEIRS = """
from sklearn.decomposition import KernelPCA
machine = KernelPCA(10, kernel="rbf", gamma=0.05, eigen_solver={solver!r}, random_state=0)
"""
CHECK = """
import numpy as np
from scipy.spatial.distance import cdist
V, values = T / np.sqrt(machine.eigenvalues_), machine.eigenvalues_
V = np.asarray(V, np.float64)
rows = np.random.default_rng(1).choice(len(X), min(500, len(X)), replace=False)
K = np.exp(-0.05 * cdist(X[rows].astype(float), X.astype(float), "sqeuclidean"))
# The columns of V add up to 0, so that centring K only takes off the mean of K V.
whole = machine.intercept_ * np.sqrt(values) if hasattr(machine, "intercept_") else None
KV = K @ V
KV = KV + (whole if whole is not None else -KV.mean(axis=0))
weight = np.sum(V[rows] ** 2, axis=0)
extra["check"] = float(np.max(np.abs(np.sum(V[rows] * KV, axis=0) / weight / values - 1)))
extra["passes"] = getattr(getattr(machine, "decomposition_", None), "passes", None)
"""
# n, how Mercer goes about it, dtype
OUR_CASES = (
    (10_000, "full", "float64"),
    (10_000, "full", "float32"),
    (100_000, "full", "float64"),
    (100_000, "full", "float32"),
    (1_000_000, "auto", "float32"),
)
# "dense" takes minutes at this size.
SOLVERS = ("randomized", "arpack")


def run(quick: bool, limits: dict):
    first = None
    for n, representation, dtype in OUR_CASES:
        n = n // 20 if quick else n
        setup = (SETUP + OURS).format(n=n, dtype=dtype, representation=representation)
        exact = representation == "full"
        found = measure(
            setup,
            "T = machine.fit_transform(X)",
            repeat=3 if n <= 10_000 else 1,
            report=CHECK if exact else "",
            timeout=3600,
        )
        yield {"n": n, "who": f"Mercer, {representation}", "dtype": dtype, **found.record()}
        if first is not None:
            continue
        first = found
        for solver in SOLVERS:
            setup = (SETUP + THEIRS).format(n=n, dtype=dtype, solver=solver)
            peer = measure(setup, "T = machine.fit_transform(X)", repeat=3, timeout=1800)
            record = {"n": n, "who": f"scikit-learn, {solver}", "dtype": dtype, **peer.record()}
            record["ratio"] = ratio(peer.seconds, first.seconds)
            record["memory_ratio"] = ratio(peer.memory, first.memory)
            yield record
