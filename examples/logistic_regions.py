"""Kernel logistic regression in the plane: probabilities, not only answers.

The colour fades where the machine is unsure: along the border, and away from the examples.
"""

import argparse

from matplotlib.figure import Figure
from sklearn.datasets import make_moons

from mercer import KernelLogistic, plot
from mercer.kernels import Gaussian, Linear


def main(output):
    X, y = make_moons(150, noise=0.2, random_state=0)
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    kernels = (Linear(), Gaussian(0.5))
    for ax, kernel in zip(figure.subplots(1, 2, sharey=True), kernels, strict=True):
        machine = KernelLogistic(kernel, lam=1e-3, offset=True).fit(X, y)
        plot.decision_regions(machine, X, y, ax)
        ax.set_title(f"{kernel!r}: {machine.score(X, y):.0%} of the training points right", fontsize=10)
    figure.savefig(output)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", default="logistic_regions.svg", help="where to save the figure")
    main(parser.parse_args().output)
