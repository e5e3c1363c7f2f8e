"""Nearest neighbours in the plane, for several R, and the R that leaving one out chooses.

With R = 1 every wrong label has a region of its own; with R too large the smaller classes disappear.
"""

import argparse

import numpy as np
from matplotlib.figure import Figure

from mercer import KernelNeighborsClassifier, plot


def three_classes(n):
    rng = np.random.default_rng(0)
    y = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    angle = rng.uniform(0, np.pi, n)
    ring = np.column_stack([np.cos(angle), np.sin(angle)]) * [2.0, 1.6]
    centres = np.array([[0.0, 0.0], [0.0, 0.2], [2.6, -0.2]])
    X = np.where((y == 0)[:, None], ring, centres[y]) + rng.normal(0, 0.45, (n, 2))
    return X, np.array(["arch", "inside", "beside"])[y]


def main(output):
    X, y = three_classes(240)
    machine = KernelNeighborsClassifier(max_neighbors=150).fit(X, y)
    figure = Figure(figsize=(15, 3.8), layout="constrained")
    *regions, last = figure.subplots(1, 4, width_ratios=(1, 1, 1, 0.9))
    plot.neighbours(machine, X, y, (1, machine.n_neighbors_, 120), regions)
    plot.neighbour_errors(machine, last)
    figure.savefig(output)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", default="neighbour_regions.svg", help="where to save the figure")
    main(parser.parse_args().output)
