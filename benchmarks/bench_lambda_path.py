"""Fifty values of λ with leave-one-out errors, beside fifty fits."""

from benchmarks.harness import measure

TITLE = "λ path: 50 values with leave-one-out errors, from one eigendecomposition"
HEAD = ("n", "path s", "50 fits s", "path / 50 fits", "goal")

SETUP = """
import numpy as np
from mercer import KernelRidge
from mercer.kernels import Gaussian
from mercer.selection import path
rng = np.random.default_rng(0)
X = rng.standard_normal(({n}, 10))
y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal({n})
lams = np.logspace(-8, 0, 50)
machine = KernelRidge(Gaussian(3.0), representation="full")
machine.fit(X[:100], y[:100]); path(machine, X[:100], y[:100], lams)
"""


def run():
    for n in (500, 1000, 2000, 3000):
        setup = SETUP.format(n=n)
        whole = measure(setup, "path(machine, X, y, lams)", repeat=2)
        fits = measure(setup, "[machine.set_params(lam=lam).fit(X, y) for lam in lams]")
        yield (
            f"{n:,}",
            f"{whole.seconds:.2f}",
            f"{fits.seconds:.2f}",
            f"{whole.seconds / fits.seconds:.2f}",
            "≤ 0.33",
        )
