"""What data say of a problem's difficulty: eigenvalues of K/n, and where on them the target lies.

On the circle both laws are known (b = 2, r = ½), and found again from 1,500 examples. The eigenvalues of the
Gaussian kernel fall exponentially.
"""

import argparse

import numpy as np
from matplotlib.figure import Figure

from mercer import plot, theory
from mercer.kernels import Gaussian


def main(output):
    rng = np.random.default_rng(0)
    figure = Figure(figsize=(10.5, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    problem = theory.CircleProblem(b=2, r=0.5, noise=0.3)
    X, y = problem.draw(1500, rng)
    found = theory.spectrum(problem.kernel(X), y)
    smooth = theory.smoothness(found)
    plot.decay(found, left, law=theory.fit_decay(found.values), smoothness=smooth)
    print(f"b = {smooth.b:.2f}, r = {smooth.r:.2f}, so n^−{smooth.exponent:.2f}")
    print(f"truth: b = 2, r = 0.5, n^−{problem.exponent:.2f}")
    found = theory.spectrum(Gaussian(0.5)(rng.standard_normal((1000, 1))))
    plot.decay(found, right, law=theory.fit_decay(found.values, last=16))
    figure.savefig(output)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", default="spectra.svg", help="where to save the figure")
    main(parser.parse_args().output)
