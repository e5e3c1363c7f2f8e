"""Exact kernel ridge regression, Gaussian kernel, d = 10: Mercer beside scikit-learn."""

from benchmarks.harness import measure

TITLE = "Exact ridge, Gaussian kernel, d = 10"
HEAD = (
    "n",
    "dtype",
    "λ",
    "Mercer s",
    "scikit-learn s",
    "ratio",
    "Mercer MB",
    "scikit-learn MB",
    "n²·4·1.3 MB",
)

DATA = """
import numpy as np
rng = np.random.default_rng(0)
X = rng.standard_normal(({n}, 10)).astype("{dtype}")
y = (np.sin(X[:, 0]) + 0.1 * rng.standard_normal({n})).astype("{dtype}")
"""
MERCER = """
from mercer import KernelRidge
from mercer.kernels import Gaussian
machine = KernelRidge(Gaussian(3.0), lam={lam}, representation="full")
machine.fit(X[:200], y[:200])
"""
SKLEARN = """
from sklearn.kernel_ridge import KernelRidge
machine = KernelRidge(alpha={lam} * {n}, kernel="rbf", gamma=1 / 18)
machine.fit(X[:200], y[:200])
"""
CASES = [
    (5_000, "float64", 1e-3),
    (10_000, "float64", 1e-3),
    (10_000, "float64", 1e-5),
    (10_000, "float64", 1e-7),
    (10_000, "float32", 1e-3),
    (10_000, "float32", 1e-5),
    (10_000, "float32", 1e-7),
    (15_000, "float32", 1e-3),
    (20_000, "float64", 1e-3),
]


def run():
    for n, dtype, lam in CASES:
        data = DATA.format(n=n, dtype=dtype)
        repeat = 2 if n <= 10_000 else 1
        ours = measure(data + MERCER.format(lam=lam), "machine.fit(X, y)", repeat=repeat)
        peer = measure(data + SKLEARN.format(n=n, lam=lam), "machine.fit(X, y)", repeat=repeat)
        ratio = peer.failure or f"{peer.seconds / ours.seconds:.1f}×"
        yield (
            f"{n:,}",
            dtype,
            f"{lam:.0e}",
            ours.failure or f"{ours.seconds:.2f}",
            peer.failure or f"{peer.seconds:.2f}",
            ratio,
            f"{ours.memory / 1e6:.0f}",
            f"{peer.memory / 1e6:.0f}",
            f"{n * n * 4 * 1.3 / 1e6:.0f}",
        )
