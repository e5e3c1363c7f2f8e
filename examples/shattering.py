"""What a class can't say: lines shatter three points, but no four; rectangles four that are placed well.

Each panel is a labelling (full: +), with the set a hypothesis calls +. A frame marks those no hypothesis has.
"""

import argparse

import numpy as np
from matplotlib.figure import Figure

from mercer import plot
from mercer.theory.learnability import HalfSpaces, Rectangles


def main(output):
    triangle = [[0, 0], [4, 1], [1, 4]]
    square = [[0, 0], [0, 3], [3, 0], [3, 3]]
    diamond = [[0, 1], [-1, 0], [1, 0], [0, -1]]
    figure = Figure(figsize=(13, 10.5), layout="constrained")
    parts = figure.subfigures(3, 1, height_ratios=[1, 2, 2])
    for part, H, points, columns in (
        (parts[0], HalfSpaces(2), triangle, 8),
        (parts[1], HalfSpaces(2), square, 8),
        (parts[2], Rectangles(2), diamond, 8),
    ):
        axes = part.subplots(2 ** len(points) // columns, columns)
        plot.shattering(H, points, np.ravel(axes))
        part.suptitle(f"{type(H).__name__}, {len(points)} points", color=plot.INK)
    figure.savefig(output)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", default="shattering.svg", help="where to save the figure")
    main(parser.parse_args().output)
