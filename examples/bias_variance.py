"""Bias and variance: what λ, the width σ and the number of neighbours R do.

The truth is known, so both can be measured: 20 samples of 80 examples are drawn, and the machine fitted to
each.
"""

import argparse

import numpy as np
from matplotlib.figure import Figure

from mercer import KernelNeighborsRegressor, KernelRidge, plot, theory
from mercer.kernels import Gaussian


def truth(X):
    return np.sin(2 * X[:, 0]) + 0.5 * np.sin(5 * X[:, 0])


def draw(n, rng):
    X = rng.uniform(-3, 3, (n, 1))
    return X, truth(X) + 0.7 * rng.standard_normal(n)


def main(output):
    figure = Figure(figsize=(14, 4), layout="constrained")
    panels = (
        (KernelRidge(Gaussian(0.4)), "lam", np.logspace(-6, 0, 13)),
        (KernelRidge(Gaussian(), lam=3e-3), "kernel__sigma", np.geomspace(0.08, 3, 13)),
        (KernelNeighborsRegressor(Gaussian(1.0)), "n_neighbors", [1, 2, 3, 5, 8, 12, 16, 22, 30]),
    )
    for ax, (machine, name, values) in zip(figure.subplots(1, 3, sharey=True), panels, strict=True):
        found = theory.bias_variance(machine, name, values, draw, truth, 80, repetitions=20)
        plot.bias_variance(found, ax)
        print(f"{name}: least at {found.best:g}")
    ax.set_ylim(0, 0.5)
    figure.savefig(output)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", default="bias_variance.svg", help="where to save the figure")
    main(parser.parse_args().output)
