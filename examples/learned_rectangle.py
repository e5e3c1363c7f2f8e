"""Learning a rectangle by tightest fit: the more examples, the thinner the strips where it errs."""

import argparse

import numpy as np
from matplotlib.figure import Figure

from mercer import plot
from mercer.theory.learnability import UniformBox


def main(output):
    world = UniformBox([0.2, 0.25], [0.75, 0.8])
    rng = np.random.default_rng(3)
    X = world.sample(176, rng)
    figure = Figure(figsize=(12, 4.4), layout="constrained")
    for ax, m in zip(figure.subplots(1, 3), (12, 50, 176), strict=True):
        plot.learned_rectangle(world.target, X[:m], world.target(X[:m]), ax)
        error = world.target.volume - world.H.learn(X[:m], world.target(X[:m])).volume
        ax.set_xlim(0, 1)
        ax.set_ylim(0, 1)
        ax.set_title(f"{m} examples, error {error:.3f}", color=plot.INK)
    figure.savefig(output)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", default="learned_rectangle.svg", help="where to save the figure")
    main(parser.parse_args().output)
