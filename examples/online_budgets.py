"""Twenty terms, and examples that wander along a line: who goes decides what is remembered.

On the left the error before each example is learned; then which examples are in f as time goes by. `Oldest`
forgets what it could still use; `Merge` puts terms together that are alike, and so keeps up; `Projection` has
given its places away by the time the examples are elsewhere, and what is far from all of them it can't learn.
"""

import argparse

import numpy as np
from matplotlib.figure import Figure

from mercer import OnlineKernelRegressor, plot
from mercer.kernels import Gaussian
from mercer.online import Merge, Oldest, Projection


def main(output):
    rng, n = np.random.default_rng(0), 4000
    X = np.linspace(-6, 6, n)[:, None] + rng.uniform(-1.5, 1.5, (n, 1))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(n)
    figure = Figure(figsize=(15, 3.9), layout="constrained")
    left, *axes = figure.subplots(1, 4)
    for budget, ax, colour in zip((Oldest(20), Merge(20), Projection(20)), axes, plot.COLOURS, strict=False):
        machine = OnlineKernelRegressor(Gaussian(0.4), budget=budget)
        name = type(budget).__name__
        plot.learning_curve(machine, X, y, left, window=100, label=name, colour=colour)
        plot.budget_use(machine, X, y, ax, colour=colour)
        ax.set_title(f"{name}: {ax.get_title()}", fontsize=10)
    figure.savefig(output)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", default="online_budgets.svg", help="where to save the figure")
    main(parser.parse_args().output)
