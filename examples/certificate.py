"""What theory promises of machines that tell odd digits from even ones, beside what they do."""

import argparse

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits

from mercer import KernelLogistic, KernelSVC, plot
from mercer.kernels import Gaussian
from mercer.theory import certificate


def main(output):
    X, digits = load_digits(return_X_y=True)
    X, y = X / 16, np.where(digits % 2, "odd", "even")
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:1200], order[1200:]
    figure = Figure(figsize=(12.5, 4.4), layout="constrained")
    machines = KernelLogistic(Gaussian(2.0), lam=1e-3), KernelSVC(Gaussian(2.0), lam=1e-3, offset=False)
    for ax, machine in zip(figure.subplots(1, 2), machines, strict=True):
        machine.fit(X[train], y[train])
        found = certificate(machine, X[train], y[train], X_test=X[test], y_test=y[test])
        plot.bounds(found, ax)
        ax.set_xlabel(f"error rate of {type(machine).__name__}")
        print(found, end="\n\n")
    figure.savefig(output)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", default="certificate.svg", help="where to save the figure")
    main(parser.parse_args().output)
