"""Quantiles of y given x: where the noise grows, the band widens; the curves never cross."""

import argparse

import numpy as np
from matplotlib.figure import Figure

from mercer import KernelRegressor, plot
from mercer.kernels import Gaussian
from mercer.losses import Quantile


def main(output):
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 4, (400, 1))
    y = np.sin(2 * x[:, 0]) + (0.1 + 0.25 * x[:, 0]) * rng.standard_normal(400)
    levels = [0.05, 0.25, 0.5, 0.75, 0.95]
    machine = KernelRegressor(Gaussian(0.7), loss=Quantile(levels), lam=3e-4, offset=True).fit(x, y)
    figure = Figure(figsize=(7, 4), layout="constrained")
    plot.quantiles(machine, x, y, figure.subplots())
    figure.savefig(output)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", default="quantiles.svg", help="where to save the figure")
    main(parser.parse_args().output)
