"""Support vectors in the plane: examples on the margin or beyond it carry the machine, the others could go.

From left to right C = 1/(2λn) grows: fewer support vectors, a narrower margin, more faith in single examples.
"""

import argparse

from matplotlib.figure import Figure
from sklearn.datasets import make_moons

from mercer import KernelSVC, plot
from mercer.kernels import Gaussian


def main(output):
    X, y = make_moons(150, noise=0.25, random_state=0)
    figure = Figure(figsize=(12, 3.8), layout="constrained")
    for ax, C in zip(figure.subplots(1, 3, sharey=True), (0.1, 1.0, 1000.0), strict=True):
        machine = KernelSVC.from_C(C, kernel=Gaussian(0.5)).fit(X, y)
        plot.margin(machine, X, y, ax)
        ax.set_title(f"C = {C:g}: {len(machine.support_)} support vectors", fontsize=10)
    figure.savefig(output)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", default="support_vectors.svg", help="where to save the figure")
    main(parser.parse_args().output)
