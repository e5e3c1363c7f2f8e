"""Nyström ridge and the automatic choice for a large table."""

from benchmarks.harness import measure

TITLE = "Nyström ridge, d = 28, float32"
HEAD = (
    "n",
    "centres",
    "Mercer s",
    "Nystroem + Ridge s",
    "ratio",
    "Mercer RMSE",
    "peer RMSE",
    "Mercer MB",
    "peer MB",
)

DATA = """
import numpy as np
rng = np.random.default_rng(0)
n = {n}
X = rng.standard_normal((n + 5000, 28)).astype("float32")
w = rng.standard_normal((28, 3))
f = np.sin(X @ w[:, 0] / 3) + (X @ w[:, 1] / 5) ** 2 / 4 + np.tanh(X @ w[:, 2] / 3)
y = (f + 0.5 * rng.standard_normal(n + 5000)).astype("float32")
X, T, y, u = X[:n], X[n:], y[:n], y[n:]
"""
MERCER = """
from mercer import KernelRidge
from mercer.kernels import Gaussian
from mercer.representations import Nystrom
machine = KernelRidge(Gaussian(7.0), lam=1e-6, representation={representation}, random_state=0)
"""
PEER = """
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
machine = make_pipeline(
    Nystroem(gamma=1 / 98, n_components={m}, random_state=0), Ridge(alpha=1e-6 * n, fit_intercept=False)
)
"""
REPORT = 'extra["rmse"] = float(np.sqrt(np.mean((machine.predict(T) - u) ** 2)))'


def run():
    for n, m in ((100_000, 1000), (100_000, 2000), (200_000, None)):
        data = DATA.format(n=n)
        representation = '"auto"' if m is None else f"Nystrom(m={m})"
        ours = measure(
            data + MERCER.format(representation=representation), "machine.fit(X, y)", report=REPORT
        )
        if m is None:
            yield (
                f"{n:,}",
                "auto",
                f"{ours.seconds:.2f}",
                "",
                "",
                f"{ours.extra['rmse']:.4f}",
                "",
                f"{ours.memory / 1e6:.0f}",
                "",
            )
            continue
        peer = measure(data + PEER.format(m=m), "machine.fit(X, y)", report=REPORT)
        yield (
            f"{n:,}",
            f"{m:,}",
            f"{ours.seconds:.2f}",
            peer.failure or f"{peer.seconds:.2f}",
            peer.failure or f"{peer.seconds / ours.seconds:.1f}×",
            f"{ours.extra['rmse']:.4f}",
            peer.failure or f"{peer.extra['rmse']:.4f}",
            f"{ours.memory / 1e6:.0f}",
            f"{peer.memory / 1e6:.0f}",
        )
