"""Kernel ridge regression of a noisy curve for several widths of the Gaussian kernel.

With the same λ, a kernel that is too narrow follows the noise, and one that is too wide can't follow
the curve. The leave-one-out error tells which is which without further data.
"""

import argparse

import numpy as np
from matplotlib.figure import Figure

from mercer import KernelRidge, plot
from mercer.kernels import Gaussian


def truth(x):
    return np.sin(2 * x) + 0.3 * x


def main(output):
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (60, 1))
    y = truth(X[:, 0]) + 0.25 * rng.standard_normal(60)
    figure = Figure(figsize=(9, 3), layout="constrained")
    for ax, sigma in zip(figure.subplots(1, 3, sharey=True), (0.05, 0.5, 5.0), strict=True):
        machine = KernelRidge(Gaussian(sigma), lam=1e-3).fit(X, y)
        plot.regression_1d(machine, X, y, ax, truth=truth)
        error = np.mean(machine.loo_residuals() ** 2)
        ax.set_title(f"σ = {sigma:g}, leave-one-out error {error:.2f}", fontsize=10)
        if sigma > 0.05:
            ax.set_ylabel("")
            ax.get_legend().remove()
    figure.savefig(output)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", default="gaussian_widths.svg", help="where to save the figure")
    main(parser.parse_args().output)
