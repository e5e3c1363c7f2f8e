"""One step of functional gradient descent, drawn as bumps.

The objective at one example (x, y) is E[f] = (f(x) − y)² + λ‖f‖². Its gradient is a function,
2(f(x) − y) k(x,·) + 2λf, so a step f ← f − η∇E[f] shrinks every bump a little and adds one at x.
"""

import argparse

import numpy as np
from matplotlib.figure import Figure

from mercer import plot
from mercer.functions import KernelFunction
from mercer.functions.functionals import Evaluation, SquaredNorm
from mercer.kernels import Gaussian


def main(output):
    k, lam, eta = Gaussian(0.6), 0.2, 0.35
    f = KernelFunction(k, [[-2.0], [-0.5], [1.0]], [0.8, -0.6, 0.9])
    x, y = [2.2], 1.4
    E = (Evaluation(k, x) - y) ** 2 + lam * SquaredNorm()
    g = f - eta * E.gradient(f)
    print(f"E = {E}:  {E(f):.3f} before the step, {E(g):.3f} after it")

    grid = np.linspace(-4, 4.5, 400)
    figure = Figure(figsize=(9, 3.2), layout="constrained")
    titles = ("f and its bumps", "after one step: shrunk, and one bump more")
    for ax, function, title in zip(figure.subplots(1, 2, sharey=True), (f, g), titles, strict=True):
        plot.function_1d(function, grid, ax, terms=True)
        ax.plot(*x, y, "o", color=plot.COLOURS[1], label="the example")
        ax.legend(frameon=False, labelcolor=plot.INK, fontsize=9, loc="lower right")
        ax.set_title(title, fontsize=10)
    figure.savefig(output)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", default="functional_gradient.svg", help="where to save the figure")
    main(parser.parse_args().output)
