"""An online machine at work: every update shrinks the bumps that are there and adds one at the new example.

Above the hinge loss, where an example that is right by a margin of 1 adds nothing (the fourth); below the
squared loss, where each bump is as high as the error it makes up for.
"""

import argparse

from matplotlib.figure import Figure

from mercer import OnlineKernelClassifier, OnlineKernelRegressor, plot
from mercer.kernels import Gaussian


def main(output):
    k = Gaussian(0.6)
    X = [[0.0], [1.5], [3.0], [-0.4]]
    signs, numbers = [1, -1, 1, 1], [1.0, -0.6, 1.4, 0.3]
    rows = {
        "hinge loss": (OnlineKernelClassifier(k, "hinge", lam=0.02, step=1.8, budget=None), signs),
        "squared loss": (OnlineKernelRegressor(k, lam=0.1, step=0.4, budget=None), numbers),
    }
    figure = Figure(figsize=(13, 6), layout="constrained")
    for axes, (name, (machine, y)) in zip(figure.subplots(2, len(X)), rows.items(), strict=True):
        plot.bumps(machine, X, y, axes)
        axes[0].set_ylabel(name)
    figure.savefig(output)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", default="online_bumps.svg", help="where to save the figure")
    main(parser.parse_args().output)
