"""Fifty values of λ with leave-one-out errors, beside fifty fits."""

from __future__ import annotations

from benchmarks.harness import measure
from benchmarks.table import count, number, ratio, seconds

TITLE = "λ path: 50 values with leave-one-out errors, from one eigendecomposition"
NOTE = "The goal: no more than 0.33."
COLUMNS = (
    count("n", "n"),
    seconds("path s"),
    number("50 fits s", "fits", ".3g"),
    number("path / 50 fits", "share", ".2f"),
)
SETUP = """
import numpy as np
from benchmarks.data import ridge
from mercer import KernelRidge
from mercer.kernels import Gaussian
from mercer.selection import path
X, y = ridge({n})
lams = np.logspace(-8, 0, 50)
machine = KernelRidge(Gaussian(3.0), representation="full", offset=False)
machine.fit(X[:100], y[:100]); path(machine, X[:100], y[:100], lams)
"""


def run(quick: bool, limits: dict):
    for n in (200,) if quick else (500, 1000, 2000, 3000):
        setup = SETUP.format(n=n)
        whole = measure(setup, "path(machine, X, y, lams)", repeat=2)
        fits = measure(setup, "[machine.set_params(lam=lam).fit(X, y) for lam in lams]")
        record = {"n": n, **whole.record(), "fits": None if fits.failure else fits.seconds}
        yield record | {"share": ratio(whole.seconds, fits.seconds)}
