"""A time model of fits to examples that live elsewhere: ``python -m benchmarks.scale_model``.

Seconds of a ridge regression are measured in a number of configurations (rows n, features d, centres m,
workers W), a sum of costs is fitted to them, and two configurations that it has not seen are predicted:

    T ≈ P n m (a + b d) / c + P n e / c + g n d / c + h s m² / c + i P W + j W + k n d [W > 0] + l

with P passes, c cores at work, and s = min(n, max(40 m, 20,000)) examples in the sample. The terms are kernel
values; losses and targets; looks at the data; the sample's Hessian; messages of each pass; the start of a fit
on each worker; sending the arrays; and what a fit costs in any case.
"""

from __future__ import annotations

import os
import time
import warnings
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from benchmarks.larger import made
from mercer import KernelRidge
from mercer.engines import Dask
from mercer.kernels import Gaussian
from mercer.representations import Nystrom
from mercer.rows import ArrayRows

TERMS = ("kernel", "kernel·d", "losses", "looks", "sample", "messages", "workers", "sending", "start")


@dataclass(frozen=True)
class Setting:
    """Rows, centres, features, worker processes (0: this process), cores."""

    n: int
    m: int
    d: int
    workers: int
    cores: int = os.cpu_count() or 1

    def costs(self, passes: float, cores: int | None = None) -> np.ndarray:
        """What is multiplied by the coefficients; a worker is a process with one core unless given."""
        n, m, d, W = self.n, self.m, self.d, self.workers
        cores = cores or (min(W, self.cores) if W else self.cores)
        sample = min(n, max(40 * m, 20_000))
        terms = (passes * n * m / cores, passes * n * m * d / cores, passes * n / cores, n * d / cores)
        return np.array([*terms, sample * m * m / cores, passes * W, W, n * d * (W > 0), 1.0])


SEEN = (
    *((200_000, 200, 9, 0), (200_000, 1000, 9, 0), (1_000_000, 200, 9, 0), (1_000_000, 500, 9, 0)),
    *((3_000_000, 500, 9, 0), (1_000_000, 500, 27, 0), (1_000_000, 1000, 9, 0), (500_000, 1500, 18, 0)),
    *((200_000, 500, 9, 2), (1_000_000, 500, 9, 2), (2_000_000, 300, 9, 2), (1_000_000, 700, 27, 2)),
    *((200_000, 200, 9, 4), (1_000_000, 500, 9, 4), (500_000, 1000, 9, 4), (500_000, 500, 18, 0)),
    *((1_000_000, 200, 27, 0), (2_000_000, 500, 18, 2)),
)
NEW = ((2_000_000, 700, 18, 0), (1_500_000, 800, 9, 2))


def measured(setting: Setting) -> tuple[float, int]:
    """Seconds of a fit, the best of three after a first one, and its passes."""
    X, y = made(0, setting.n)
    if setting.d > X.shape[1]:
        rng = np.random.default_rng(1)
        X = np.hstack([X, rng.standard_normal((setting.n, setting.d - X.shape[1]), dtype=np.float32)])
    width = 3.0 * np.sqrt(setting.d / 9)

    def once(engine, *given) -> tuple[float, int]:
        machine = KernelRidge(Gaussian(width), lam=1e-6, representation=Nystrom(setting.m), random_state=0)
        start = time.perf_counter()
        fitted = machine.set_params(engine=engine).fit(*given)
        return time.perf_counter() - start, fitted.solution_.iterations

    if not setting.workers:
        return min(once("auto", ArrayRows(X, y)) for _ in range(4))
    from distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=setting.workers, threads_per_worker=1, dashboard_address=":0")
    with cluster as local, Client(local) as client:
        return min(once(Dask(client), X, y) for _ in range(4))


def main() -> None:
    # Rounding of float32 data is not what is measured here.
    warnings.simplefilter("ignore")
    rows, seconds, counts = [], [], []
    for numbers in SEEN:
        setting = Setting(*numbers)
        spent, passes = measured(setting)
        rows.append(setting.costs(passes))
        seconds.append(spent)
        counts.append(passes)
        print(
            f"{setting.n:,} × {setting.d}, {setting.m} centres, {setting.workers} workers: "
            f"{spent:.2f} s, {passes} passes",
            flush=True,
        )
    A, t = np.array(rows), np.array(seconds)
    size = np.abs(A).max(axis=0)
    coefficients = nnls(A / size / t[:, None], np.ones(len(t)))[0] / size
    print("coefficients:", {name: float(f"{c:.3g}") for name, c in zip(TERMS, coefficients, strict=True)})
    off = A @ coefficients / t - 1
    print(f"seen: off by {np.abs(off).mean():.1%} on average, {np.abs(off).max():.1%} at most")
    passes = float(np.median(counts))
    for numbers in NEW:
        setting = Setting(*numbers)
        expected = float(setting.costs(passes) @ coefficients)
        spent, actual = measured(setting)
        print(
            f"new: {setting.n:,} × {setting.d}, {setting.m} centres, {setting.workers} workers: predicted "
            f"{expected:.2f} s with {passes:g} passes, measured {spent:.2f} s with {actual}: "
            f"{expected / spent - 1:+.1%}",
            flush=True,
        )
    print("extrapolated, 9 features, 500 centres; nodes with two cores like this one:")
    for n in (10**9, 10**10, 10**11, 10**12):
        for nodes in (10, 100, 1000):
            setting = Setting(n, 500, 9, nodes, 2 * nodes)
            parts = setting.costs(passes, 2 * nodes) * coefficients
            print(
                f"{n:.0e} rows, {nodes} nodes: {parts.sum():,.0f} s, of which messages {parts[5]:,.0f} s and "
                f"looks and sending {parts[3] + parts[7]:,.0f} s; {36 * n / nodes / 1e9:,.1f} GB a node"
            )


if __name__ == "__main__":
    main()
