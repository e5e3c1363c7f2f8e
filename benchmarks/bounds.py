"""Does every bound hold as often as it says? A thousand samples of problems whose risks are known.

    python -m benchmarks.bounds [--repetitions 1000] [--n 200] [--delta 0.05] [--plot FILE]

Prints how often each held, its mean and that of the risk; fails if one broke its promise. The figure shows
what each gives away against the number of examples.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.special import ndtr
from sklearn.base import clone

from mercer import KernelLogistic, KernelRidge, KernelSVC, theory
from mercer.kernels import Gaussian
from mercer.theory import PointsProblem, coverage

PROBLEM, KERNEL = PointsProblem(), Gaussian(0.2)
K = KERNEL(PROBLEM.points)


def counting(n, delta):
    """Thresholds t ∈ {0, 1/64, …}: finitely many, and of VC dimension 1; labels sign(x − ½) with noise."""
    grid = np.arange(PROBLEM.m + 1) / PROBLEM.m
    noise, above = PROBLEM.noise, PROBLEM.points[:, 0][None, :] > grid[:, None]
    right = PROBLEM.points[:, 0] > 0.5
    risks = np.where(above == right, noise, 1 - noise).mean(axis=1)

    def trial(rng):
        i = rng.integers(0, PROBLEM.m, n)
        y = right[i] ^ (rng.random(n) < noise)
        errors = (above[:, i] != y).mean(axis=1)
        best = int(errors.argmin())
        fresh = int(rng.binomial(n, risks[best]))
        return [
            (theory.finite_class_bound(errors[best], len(grid), n, delta), risks[best]),
            (theory.vc_bound(errors[best], 1, n, delta), risks[best]),
            (theory.binomial_bound(fresh, n, delta), risks[best]),
        ]

    return trial


def classification(n, delta, lam=0.02):
    """Logistic regression and support vector machines, with and without an offset."""
    machines = {
        "logistic": KernelLogistic(KERNEL, lam=lam, offset=False),
        "SVM": KernelSVC(KERNEL, lam=lam, offset=False),
        "SVM with offset": KernelSVC(KERNEL, lam=lam),
    }

    def trial(rng):
        X, y = PROBLEM.labels(n, rng)
        out = []
        for name, machine in machines.items():
            fitted = machine.fit(X, y)
            risk = PROBLEM.error(fitted.decision_function(PROBLEM.points))
            # δ for each of them: the certificate shares it.
            made = theory.certificate(fitted, X, y, 0.5)
            events = round(0.5 / max(b.delta for b in made.bounds))
            made = theory.certificate(fitted, X, y, min(delta * events, 0.999))
            for bound in made.bounds:
                if "draw" in bound.risk:
                    continue  # half of the bound on the machine itself; for a fixed scale see below
                known = _error_of_fewer(machine, X, y, lam) if bound.on_average else risk
                out.append((replace(bound, name=f"{bound.name} ({name})"), known))
        return [*out, _draws(fitted, X, y, delta)]

    return trial


def _error_of_fewer(machine, X, y, lam):
    """The risk of the machine fitted to n − 1 examples with the same C, which averages are about."""
    fewer = clone(machine).set_params(lam=lam * len(y) / (len(y) - 1)).fit(X[1:], y[1:])
    return PROBLEM.error(fewer.decision_function(PROBLEM.points))


def _draws(machine, X, y, delta, size=4.0):
    """The PAC–Bayes bound at one scale s = ‖f‖/size: that of random draws, whose risk is known, too."""
    norm = machine.function_.norm()
    scale, margins = norm / size, y * machine.function_(X)
    error = float(ndtr(-margins / scale).mean())
    value = theory.gibbs_bound(error, size**2 / 2, len(y), delta)
    bound = theory.Bound("PAC–Bayes bound", "error rate of draws", value, error, delta, "", value >= 1)
    return bound, PROBLEM.draw_error(machine.function_(PROBLEM.points), scale)


def regression(n, delta, lam=0.1, cap=1.0):
    """Least squares: errors with a cap, squared errors of clipped predictions, leaving one out."""
    top = 1 + PROBLEM.spread

    def trial(rng):
        X, y = PROBLEM.numbers(n, rng)
        machine = KernelRidge(KERNEL, lam=lam, offset=False).fit(X, y)
        here, there = machine.predict(X), machine.predict(PROBLEM.points)
        norm, residuals = machine.function_.norm(), y - machine.predict(X)
        capped = float(np.minimum(np.abs(residuals), cap).mean())
        square = float(np.mean((y - np.clip(here, -top, top)) ** 2))
        left_out = float(np.mean((y - np.clip(y - machine.loo_residuals(), -top, top)) ** 2))
        beta = theory.ridge_stability(lam, n, 1.0, top)
        risk = PROBLEM.capped_error(there, cap)
        one_less = KernelRidge(KERNEL, lam=lam * n / (n - 1), offset=False).fit(X[1:], y[1:])
        fewer = PROBLEM.capped_error(one_less.predict(PROBLEM.points), cap)
        squared = PROBLEM.mean_loss(np.clip(there, -top, top), np.square)
        fresh = np.minimum(np.abs(_errors(machine, n, rng)), cap).mean()
        kinds = (("training", square), ("leave-one-out", left_out))
        return [
            (theory.rademacher_bound(capped, norm, n, n, 1 / cap, delta, "capped error, tr K"), risk),
            (
                theory.rademacher_bound(
                    capped, norm, n, n, 1 / cap, delta, "capped error, κ²", sup_diagonal=1.0
                ),
                risk,
            ),
            (theory.capped_error_bound(residuals, norm, n, cap, delta), risk),
            (theory.mean_bound(float(fresh), n, delta, cap), risk),
            *(
                (
                    theory.stability_bound(
                        loss, beta, n, delta, largest_loss=4 * top**2, estimate=kind, risk=f"squared, {kind}"
                    ),
                    squared,
                )
                for kind, loss in kinds
            ),
            (theory.left_out_error_bound(y, here, residuals / (lam * n), np.ones(n), cap), fewer),
        ]

    return trial


def _errors(machine, n, rng):
    X, y = PROBLEM.numbers(n, rng)
    return y - machine.predict(X)


def simulate(repetitions, n, delta, seed=0, progress=None):
    """Every bound, by name."""
    out = {}
    for make in (counting, classification, regression):
        out |= coverage(make(n, delta), repetitions, seed, progress)
    return out


def figure(sizes, repetitions, delta, path):
    """What the bounds on an error rate, and on a capped error, give away at growing n."""
    from matplotlib.figure import Figure

    from mercer import plot

    drawn = Figure(figsize=(12.5, 4.8), layout="constrained")
    for ax, make, title in zip(
        drawn.subplots(1, 2), (classification, regression), ("error rate", "capped error"), strict=True
    ):
        found = [coverage(make(n, delta), repetitions) for n in sizes]
        names = [k for k in found[0] if not any(word in k for word in ("squared", "(SVM", "draws"))]
        series = {_short(k): [f[k].bound for f in found] for k in names}
        plot.slack(sizes, series, [f[names[0]].risk for f in found], ax, ylabel=title)
    drawn.savefig(path)


def _short(name):
    words = name.replace(" (logistic)", "").partition(", mean over")[0]
    return words.removesuffix(": error rate").replace("Rademacher bound", "Rademacher")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bounds", description=__doc__.split("\n")[0])
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--n", type=int, default=200)
    parser.add_argument("--delta", type=float, default=0.05)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    started = time.perf_counter()
    found = simulate(options.repetitions, options.n, options.delta)
    print(f"| bound | held | promised | mean bound | mean risk | slack |\n|{'---|' * 6}")
    for name, c in found.items():
        promised = "on average" if c.promised is None else f"{c.promised:.0%}"
        numbers = f"{c.bound:.4g} | {c.risk:.4g} | {c.slack:.3g}"
        print(f"| {name} | {c.held} of {c.repetitions} | {promised} | {numbers} |")
    print(f"\n{len(found)} bounds, {time.perf_counter() - started:.0f} s")
    if options.plot:
        figure([50, 100, 200, 400, 800, 1600], max(options.repetitions // 50, 5), options.delta, options.plot)
    broken = [name for name, c in found.items() if not c.kept]
    if broken:
        raise SystemExit(f"promises broken: {', '.join(broken)}")


if __name__ == "__main__":
    main()
