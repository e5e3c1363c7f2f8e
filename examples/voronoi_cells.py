"""Lloyd's algorithm on a density: uniform above, uneven below.

Cells of the uniform density become hexagons, but for the border and some pairs of five and seven sides
between regions of different direction. Cells of the other are small where it is large.
"""

import argparse

import numpy as np
from matplotlib.figure import Figure

from mercer import plot
from mercer.voronoi import lloyd


def bumps(x):
    centres, widths, heights = [[0.3, 0.35], [0.72, 0.68], [0.2, 0.85]], [0.12, 0.16, 0.07], [1.0, 0.6, 0.7]
    squares = np.sum((x[:, None] - np.array(centres)) ** 2, axis=2)
    return 0.03 + np.exp(-squares / (2 * np.square(widths))) @ np.array(heights)


def main(output):
    figure = Figure(figsize=(16, 7), layout="constrained")
    rows = figure.subplots(2, 5)
    plot.lloyd_frames(lloyd(None, 100, random_state=0), rows[0])
    plot.lloyd_frames(lloyd(bumps, 100, random_state=0), rows[1], by="density")
    figure.savefig(output)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", default="voronoi_cells.svg", help="where to save the figure")
    main(parser.parse_args().output)
