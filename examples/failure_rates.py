"""Probably approximately correct: how often is the error above ε = 0.1, and what does theory promise?

On the left rectangles in the plane, on the right conjunctions of twenty variables that are all nearly always
true. The bound holds for every target and every distribution, so it has to be far above most of them.
"""

import argparse

import numpy as np
from matplotlib.figure import Figure

from mercer import plot
from mercer.theory.learnability import BooleanCube, UniformBox, sample_size, simulate


def main(output):
    epsilon, delta = 0.1, 0.05
    worlds = {
        "rectangles, the whole square": UniformBox([0, 0], [1, 1]),
        "conjunctions, P(x_i = 0) = 3ε/n": BooleanCube(20, (), 1 - 3 * epsilon / 20, negations=False),
    }
    figure = Figure(figsize=(11, 4), layout="constrained")
    for ax, (name, world) in zip(figure.subplots(1, 2), worlds.items(), strict=True):
        enough = sample_size(world.H, epsilon=epsilon, delta=delta)
        sizes = np.unique(np.geomspace(5, 1.5 * enough, 40).astype(int))
        found = simulate(world, sizes, epsilon, trials=20_000, random_state=0)
        plot.failure_rates(found, ax, delta=delta, H=world.H)
        ax.set_xscale("log")
        ax.set_xlabel(f"examples m ({name})")
    figure.savefig(output)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", default="failure_rates.svg", help="where to save the figure")
    main(parser.parse_args().output)
