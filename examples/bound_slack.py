"""Bounds on the error rate of logistic regression against the number of examples, beside the true error rate.

There are 64 points only, so every risk is a sum of 64 terms. All bounds hold; what they give away shrinks at
different speeds.
"""

import argparse

import numpy as np

from mercer import KernelLogistic, plot, theory
from mercer.kernels import Gaussian


def main(output):
    problem, sizes = theory.PointsProblem(noise=0.05), [50, 100, 200, 400, 800, 1600]
    names = ("Test-set bound", "Margin bound", "PAC–Bayes bound", "Stability bound", "Leave-one-out bound")
    rng = np.random.default_rng(0)

    def once(n):
        X, y = problem.labels(n, rng)
        X_test, y_test = problem.labels(n // 4, rng)
        machine = KernelLogistic(Gaussian(0.2), lam=0.02, offset=False).fit(X, y)
        found = theory.certificate(machine, X, y, X_test=X_test, y_test=y_test)
        values = {b.name: b.value for b in found.bounds}
        return [*(values[name] for name in names), problem.error(machine.decision_function(problem.points))]

    *series, risks = np.array([np.mean([once(n) for _ in range(4)], axis=0) for n in sizes]).T
    ax = plot.slack(
        sizes, dict(zip(names, series, strict=True)), risks, plot.axes(7.0, 4.6), ylabel="error rate"
    )
    ax.axhline(1.0, color=plot.INK, linewidth=0.8, linestyle=":")
    ax.figure.savefig(output)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", default="bound_slack.svg", help="where to save the figure")
    main(parser.parse_args().output)
