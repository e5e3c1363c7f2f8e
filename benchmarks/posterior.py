"""Posteriors of many examples: are samples and likelihoods what they say they are, and what do they cost?

    python -m benchmarks.posterior moments [--rows 2000] [--samples 5000]
    python -m benchmarks.posterior likelihood [--rows 1000] [--seeds 5]
    python -m benchmarks.posterior large --rows 50000 [--engine auto|cpu|cuda] [--kernel matern|gaussian]

``moments``: samples by pathwise conditioning at 50 points, their means and variances against the exact
posterior, in standard errors (of means from the exact deviation, of variances from how bundles of functions
that share frequencies differ). ``likelihood``: the stochastic log marginal likelihood and its gradient
against the exact ones, over kernels, λ and seeds, in the standard errors that they state. ``large``: seconds
and peak memory of a fit, of 100 samples at 10,000 points, and of the likelihood with its gradient, on rows of
9 columns; nothing is held against anything there, for nothing exact fits.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from typing import Any

import numpy as np
from scipy.stats import norm, t

_POINTS = 50
_BUNDLE = 16


def data(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Standard normal rows, and a smooth function of three of their columns with noise of 0.3."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(n)


def said(name: str, z: np.ndarray, expected: tuple[float, ...]) -> None:
    """How many z lie within one, two and three, and the largest; `expected` shares of what they come from."""
    size = np.abs(z).ravel()
    shares = "  ".join(
        f"{(size <= k).mean():7.2%} within {k} ({share:.2%})"
        for k, share in zip((1, 2, 3), expected, strict=True)
    )
    print(f"{name:22} {size.size:5} values  {shares}  largest |z| {size.max():.2f}", flush=True)


def moments(rows: int, samples: int) -> None:
    from mercer import KernelRidge
    from mercer.kernels import Gaussian, Laplacian, Matern

    normal = tuple(float(2 * norm.cdf(k) - 1) for k in (1, 2, 3))
    # Bonferroni: no |z| of as many normal values, however dependent, is larger than this 95 times of 100.
    limit = float(norm.ppf(1 - 0.05 / (2 * _POINTS)))
    print(f"{rows:,} rows, {samples:,} functions at {_POINTS} points; shares of a normal value in brackets")
    print(f"by Bonferroni the largest of {_POINTS} |z| is below {limit:.2f} with probability 0.95 or more")
    X, y = data(rows, 3)
    Z = 1.3 * np.random.default_rng(1).standard_normal((_POINTS, 3))
    for kernel in (Gaussian(1.0), Matern(1.5, 1.5), Laplacian(2.0)):
        for lam in (1e-3, 1e-5):
            machine = KernelRidge(kernel, lam=lam, representation="full").fit(X, y)
            exact = machine.posterior("exact")
            began = time.perf_counter()
            drawn = machine.posterior("pathwise").sample(Z, samples, random_state=0)
            seconds = time.perf_counter() - began
            off, size = drawn - exact.mean(Z)[:, None], exact.std(Z)
            whole = samples // _BUNDLE * _BUNDLE
            each = np.square(off[:, :whole]).reshape(_POINTS, -1, _BUNDLE).mean(axis=2)
            error = each.std(axis=1, ddof=1) / np.sqrt(each.shape[1])
            print(f"{kernel!r}, λ = {lam:g}: {seconds:.0f} s")
            said("  means", off.mean(axis=1) / (size / np.sqrt(samples)), normal)
            said("  variances", (each.mean(axis=1) - size**2) / error, normal)


def likelihood(rows: int, seeds: int) -> None:
    from mercer import KernelRidge
    from mercer.kernels import Gaussian, Laplacian, Matern, RationalQuadratic
    from mercer.posterior.stochastic import PROBES

    student = tuple(float(2 * t.cdf(k, PROBES - 1) - 1) for k in (1, 2, 3))
    print(f"{rows:,} rows, {PROBES} probes, {seeds} seeds; shares of Student's t in brackets")
    kernels = (Gaussian(1.0), Matern(0.5, 2.0), Matern(1.5, 1.0), Laplacian(1.0), RationalQuadratic(1.0, 1.0))
    values, slopes = [], []
    began, exactly = 0.0, 0.0
    for kernel in kernels:
        for lam in (1e-2, 1e-4, 1e-6):
            mine: list[float] = []
            largest = 0.0
            for seed in range(seeds):
                X, y = data(rows, 3, seed)
                machine = KernelRidge(kernel, lam=lam, representation="full").fit(X, y)
                start = time.perf_counter()
                some = machine.posterior("pathwise", random_state=seed)
                value, gradient = some.log_marginal_likelihood(eval_gradient=True)
                middle = time.perf_counter()
                expected, right = machine.posterior("exact").log_marginal_likelihood(eval_gradient=True)
                began, exactly = began + middle - start, exactly + time.perf_counter() - middle
                mine.append((value - expected) / value.standard_error)
                slopes.append((gradient - right) / some.gradient_error)
                largest = max(largest, value.standard_error)
            values += mine
            worst = np.abs(mine).max()
            print(
                f"  {kernel!r}, λ = {lam:g}: log p ≈ {expected:.1f}, standard error up to {largest:.2g}, "
                f"|z| up to {worst:.2f}",
                flush=True,
            )
    said("log likelihoods", np.array(values), student)
    said("entries of gradients", np.concatenate(slopes), student)
    print(f"{began:.0f} s; exactly {exactly:.0f} s")


def large(rows: int, engine: str, name: str) -> None:
    from mercer import KernelRidge
    from mercer.kernels import Gaussian, Matern

    X, y = data(rows, 9)
    X = X.astype(np.float32)
    Z = np.random.default_rng(1).standard_normal((10_000, 9)).astype(np.float32)
    kernel = Gaussian(3.0) if name == "gaussian" else Matern(1.5, 3.0)
    print(f"{rows:,} rows of 9 columns, float32, {kernel!r}, engine {engine}", flush=True)
    machine = _timed(
        "fit",
        lambda: KernelRidge(kernel, lam=1.0 / rows, representation="full", engine=engine).fit(X, y),
    )
    posterior = machine.posterior("pathwise", random_state=0)
    paths = _timed("100 functions", lambda: posterior.paths(100, random_state=0))
    drawn = _timed("… at 10,000 points", lambda: paths(Z))
    value = _timed("likelihood", posterior.log_marginal_likelihood)
    _, gradient = _timed("… and its gradient", lambda: posterior.log_marginal_likelihood(eval_gradient=True))
    error = posterior.gradient_error
    print(f"log p = {value:.1f} ± {value.standard_error:.2g}; largest residual {paths.residuals.max():.1e}")
    for name, slope, off in zip(posterior.parameters, gradient, error, strict=True):
        print(f"  slope in log {name}: {slope:.1f} ± {off:.2g}")
    print(f"mean deviation of the functions: {drawn.std(axis=1, ddof=1).mean():.4f}")


def _timed(what: str, call: Any) -> Any:
    began = time.perf_counter()
    result = call()
    print(f"  {what:22} {time.perf_counter() - began:8.1f} s   {_peak()}", flush=True)
    return result


def _peak() -> str:
    """The most memory there was in use so far, of this process and of a GPU."""
    unit = 1 if sys.platform == "darwin" else 1024
    text = f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9:.2f} GB"
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        text += f", of the GPU {torch.cuda.max_memory_allocated() / 1e9:.2f} GB"
    return text


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["moments", "likelihood", "large"])
    parser.add_argument("--rows", type=int, default=0)
    parser.add_argument("--samples", type=int, default=5000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--kernel", choices=["matern", "gaussian"], default="matern")
    parser.add_argument("--engine", choices=["auto", "cpu", "cuda"], default="auto")
    asked = parser.parse_args(argv)
    if asked.what == "moments":
        moments(asked.rows or 2000, asked.samples)
    elif asked.what == "likelihood":
        likelihood(asked.rows or 1000, asked.seeds)
    else:
        large(asked.rows or 20_000, asked.engine, asked.kernel)


if __name__ == "__main__":
    main()
