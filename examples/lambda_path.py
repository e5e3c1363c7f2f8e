"""Leave-one-out error against λ, for every λ at once.

One eigendecomposition of the kernel matrix gives the exact leave-one-out error of kernel ridge
regression for any number of λ: n refits each, in closed form.
"""

import argparse

from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler

from mercer import KernelRidge, plot
from mercer.kernels import Gaussian
from mercer.selection import path


def main(output):
    X, y = load_diabetes(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    ax = plot.axes(6.4, 4.2)
    for sigma, colour in zip((2.0, 4.0, 8.0), plot.COLOURS, strict=False):
        found = path(KernelRidge(Gaussian(sigma), offset=True), X, y)
        plot.lam_path(found, ax, label=f"σ = {sigma:g}", colour=colour)
        print(f"σ = {sigma:g}: smallest error {found.loo_mse.min():.0f} at λ = {found.best_lam:.1e}")
    ax.set_ylim(2500, 7000)
    ax.figure.savefig(output)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", default="lambda_path.svg", help="where to save the figure")
    main(parser.parse_args().output)
