"""Handwritten digits as a cloud of points: covariance of their 64 pixels, its spectrum, principal components.

Two components of the pixels (linear kernel), and three in the feature space of a Gaussian kernel.
"""

import argparse

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits

from mercer import KernelPCA, plot
from mercer.kernels import Gaussian, Linear


def main(output):
    X, y = load_digits(return_X_y=True)
    figure = Figure(figsize=(11, 9), layout="constrained")
    first, second, third = (figure.add_subplot(2, 2, place) for place in (1, 2, 3))
    fourth = figure.add_subplot(2, 2, 4, projection="3d")
    C = np.cov(X.T)
    plot.covariance(C, first).set_title("covariance of the pixels", fontsize=10)
    plot.spectrum(C, second).set_title("its spectrum", fontsize=10)
    for ax, kernel, count in ((third, Linear(), 2), (fourth, Gaussian(25.0), 3)):
        machine = KernelPCA(kernel, n_components=count, random_state=0)
        plot.cloud(machine.fit_transform(X), y, ax, size=3.5, labels="component")
        ax.set_title(f"{kernel!r}: {machine.explained_variance_ratio_.sum():.0%} explained", fontsize=10)
    figure.savefig(output)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", default="digits_cloud.svg", help="where to save the figure")
    main(parser.parse_args().output)
