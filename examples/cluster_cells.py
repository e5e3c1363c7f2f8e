"""k-means, iteration by iteration, and what its clusters hold; two rings, by k-means and by their cut."""

import argparse

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_iris

from mercer import KernelKMeans, plot
from mercer.kernels import Gaussian, Linear


def rings(n):
    rng = np.random.default_rng(0)
    angle, radius = rng.uniform(0, 2 * np.pi, n), np.where(np.arange(n) % 2, 3.0, 1.0)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]) + rng.normal(0, 0.1, (n, 2))


def main(output):
    figure = Figure(figsize=(12, 6.5), layout="constrained")
    top, bottom = (part.subplots(1, 4) for part in figure.subfigures(2, 1))
    iris = load_iris()
    X, y = iris.data[:, 2:], iris.target_names[iris.target]
    machine = KernelKMeans(Linear(), n_clusters=3, init="random", n_init=1, random_state=2).fit(X)
    for ax, iteration in zip(top, (0, 1, 2, machine.n_iter_), strict=True):
        plot.cluster_cells(machine, X, ax, iteration=iteration).set_xlabel("petal length")
    top[0].set_ylabel("petal width")
    plot.cluster_energy(machine, bottom[0])
    plot.cluster_classes(machine.labels_, y, bottom[1])
    Z = rings(300)
    plain = KernelKMeans(Linear(), n_clusters=2, random_state=0).fit(Z)
    cut = KernelKMeans(Gaussian(0.4), n_clusters=2, normalized=True, random_state=0).fit(Z)
    plot.cluster_cells(plain, Z, bottom[2]).set_title("k-means", fontsize=10)
    plot.cluster_cells(cut, Z, bottom[3]).set_title(
        f"normalised cut {plot.style.number(cut.normalized_cut_)}", fontsize=10
    )
    figure.savefig(output)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", default="cluster_cells.svg", help="where to save the figure")
    main(parser.parse_args().output)
