"""Kernel logistic regression beside Nyström features with scikit-learn's LogisticRegression."""

from benchmarks.harness import measure

TITLE = "Logistic, n = 10,000, d = 20, 1000 centres, two classes"
HEAD = ("machine", "s", "test log loss")

DATA = """
import numpy as np
from sklearn.metrics import log_loss
rng = np.random.default_rng(0)
X = rng.standard_normal((15000, 20))
f = 2 * np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + np.abs(X[:, 3])
y = (rng.random(15000) < 1 / (1 + np.exp(-2 * (f - f.mean())))).astype(int)
X, T, y, u = X[:10000], X[10000:], y[:10000], y[10000:]
"""
MERCER = """
from mercer import KernelLogistic
from mercer.kernels import Gaussian
from mercer.representations import Nystrom
machine = KernelLogistic(Gaussian(5.0), lam=1e-5, representation=Nystrom(m=1000), random_state=0)
"""
PEER = """
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
machine = make_pipeline(
    Nystroem(gamma=1 / 50, n_components=1000, random_state=0),
    LogisticRegression(C=1 / (2 * 1e-5 * 10000), max_iter=1000),
)
"""
REPORT = 'extra["loss"] = float(log_loss(u, machine.predict_proba(T)))'


def run():
    for name, code in (("Mercer KernelLogistic", MERCER), ("Nystroem + LogisticRegression", PEER)):
        found = measure(DATA + code, "machine.fit(X, y)", report=REPORT)
        yield (name, found.failure or f"{found.seconds:.2f}", found.failure or f"{found.extra['loss']:.4f}")
