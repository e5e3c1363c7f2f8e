"""Figures of Voronoi cells: what fills them, and how Lloyd's algorithm moved them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgba
from matplotlib.patches import Patch

from mercer.plot.plane import tinted, window
from mercer.plot.style import BLUE, COLOURS, INK, bare, dressed, legend, number, panels, whole_ticks
from mercer.voronoi import Cells, Quantization, hexagon_bound, lloyd

# Six sides are the rule, so they stay pale; five and seven are the defects one looks for.
_SIDES = {
    4: ("≤ 4", COLOURS[3], 0.7),
    5: ("5", COLOURS[1], 0.6),
    6: ("6", COLOURS[0], 0.22),
    7: ("7", COLOURS[2], 0.6),
    8: ("≥ 8", COLOURS[4], 0.7),
}


def cells(
    partition: Quantization | Cells,
    ax: Axes | None = None,
    *,
    by: str = "sides",
    iteration: int = -1,
    colour: str = BLUE,
) -> Axes:
    """Voronoi cells as polygons, filled by what they are.

    Parameters
    ----------
    partition : from `mercer.voronoi.lloyd` or `mercer.voronoi.cells`
    by : {"sides", "mass", "density"}
        Fill inner cells by their number of sides, all cells by their mass (of `Cells`: area; the darker,
        the more), or none, with the density underneath.
    iteration : of a quantization, which one to draw: the last by default, 0 is the start
    colour : for mass and density

    Examples
    --------
    >>> from mercer import plot
    >>> from mercer.voronoi import lloyd
    >>> ax = plot.cells(lloyd(None, 30, random_state=0), plot.axes(4, 4))
    >>> len(ax.collections[0].get_paths())
    30
    """
    if by not in ("sides", "mass", "density"):
        raise ValueError(f"by must be 'sides', 'mass' or 'density', got {by!r}")
    if by == "density" and isinstance(partition, Cells):
        raise ValueError("cells alone have no density: pass a Quantization, or by='sides'")
    drawn = partition.cells(iteration) if isinstance(partition, Quantization) else partition
    ax = bare(ax)
    ax.set(xticks=[], yticks=[], aspect="equal")
    handles: list[Patch] = []
    if by == "density":
        assert isinstance(partition, Quantization)
        (left, right), (bottom, top) = partition.rectangle
        image = tinted(0.75 * partition.density / partition.density.max(), colour)
        ax.imshow(image, extent=(left, right, bottom, top), origin="upper", interpolation="none")
        fills: Any = ["none"] * len(drawn)
    elif by == "mass":
        fills, handles = _by_mass(partition, iteration, colour)
    else:
        fills, handles = _by_sides(drawn)
    # Coincident centres have a single cell; the others have nothing to draw.
    some = np.flatnonzero(drawn.sides).tolist()
    polygons, faces = [drawn[i] for i in some], [fills[i] for i in some]
    ax.add_collection(PolyCollection(polygons, facecolors=faces, edgecolors=INK, linewidths=0.8))
    if isinstance(partition, Quantization):
        ax.plot(*partition.frames[iteration].T, ".", color=INK, markersize=3)
    window(ax, np.concatenate(polygons), 0.0)
    if handles:
        _legend_below(ax, handles, "sides of inner cells" if by == "sides" else None)
    return ax


def lloyd_frames(
    quantization: Quantization, axes: Sequence[Axes] | None = None, *, frames: int = 4, by: str = "sides"
) -> np.ndarray:
    """Iterations of Lloyd's algorithm side by side, and the energy that falls from one to the next.

    Parameters
    ----------
    axes : sequence of ``frames + 1`` Axes, optional
    frames : int
        How many iterations to draw: the first, the last and some between, closer together at the beginning,
        where most happens. If there were fewer, fewer are drawn, and Axes that are left over are hidden.
    by : what fills the cells, see `cells`

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from mercer.voronoi import lloyd
    >>> axes = Figure(figsize=(15, 3)).subplots(1, 5)
    >>> drawn = lloyd_frames(lloyd(None, 20, random_state=0, max_iter=10), axes)
    >>> [ax.get_title() for ax in drawn[:4]]
    ['start', 'iteration 1', 'iteration 4', 'iteration 10']
    """
    if frames < 1:
        raise ValueError(f"frames must be at least 1, got {frames}")
    needed = f"{frames} frames and the energies need {frames + 1} Axes"
    row = panels(axes, (frames + 1,), needed, (3.1, 3.4))
    last = quantization.n_iter
    spaced = np.unique(np.round(np.geomspace(1, last + 1, frames)).astype(int) - 1) if frames > 1 else [last]
    for ax, iteration in zip(row, spaced, strict=False):
        cells(quantization, ax, by=by, iteration=int(iteration))
        ax.set_title("start" if iteration == 0 else f"iteration {iteration}", fontsize=10)
    for ax in row[len(spaced) : -1]:
        ax.set_visible(False)
    _energies(quantization, row[-1])
    return row


def _legend_below(ax: Axes, handles: list[Patch], title: str | None) -> None:
    """In lines of three, narrow enough for Axes that stand side by side."""
    tight = {"handlelength": 0.9, "handletextpad": 0.3, "columnspacing": 0.8, "borderaxespad": 0.3}
    below = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "ncols": min(len(handles), 3)}
    legend(ax, handles=handles, title=title, **below, **tight, fontsize=8, title_fontsize=8)
    made = ax.get_legend()
    assert made is not None
    made.get_title().set_color(INK)


def _energies(quantization: Quantization, ax: Axes) -> None:
    ax = dressed(ax, "iteration")
    ax.plot(quantization.energies, color=COLOURS[0], linewidth=2)
    if quantization.density.min() == quantization.density.max():
        bound = quantization.density.max() * hexagon_bound(len(quantization.centres), quantization.rectangle)
        ax.axhline(bound, color=INK, linewidth=1, dashes=(4, 3), label="regular hexagons")
    whole_ticks(ax.xaxis)
    ax.set_title(f"energy, {number(quantization.energy)} at the end", fontsize=10)
    legend(ax)


def _by_sides(drawn: Cells) -> tuple[list[Any], list[Patch]]:
    """Colours of the cells (those at the border have none), and what the colours mean."""
    kinds = np.where(drawn.inner, np.clip(drawn.sides, 4, 8), 0)
    fills = [to_rgba(*_SIDES[kind][1:]) if kind else "none" for kind in kinds.tolist()]
    handles = []
    for kind, (label, colour, alpha) in _SIDES.items():
        if count := int((kinds == kind).sum()):
            share = f"{label}: {count / drawn.inner.sum():.0%}"
            handles.append(Patch(facecolor=to_rgba(colour, alpha), edgecolor=INK, label=share))
    return fills, handles


def _by_mass(partition: Quantization | Cells, iteration: int, colour: str) -> tuple[list[Any], list[Patch]]:
    if isinstance(partition, Quantization):
        # The masses of any iteration are those of its centres, left where they are.
        centres, density = partition.frames[iteration], partition.density
        masses, what = lloyd(density, centres, rectangle=partition.rectangle, max_iter=0).masses, "mass"
    else:
        masses, what = partition.areas, "area"
    shades = 0.05 + 0.85 * masses / masses.max()
    handles = []
    for i, word in ((int(np.argmin(masses)), "least"), (int(np.argmax(masses)), "most")):
        label = f"{word} {what}: {number(masses[i])}"
        handles.append(Patch(facecolor=to_rgba(colour, shades[i]), edgecolor=INK, label=label))
    return [to_rgba(colour, shade) for shade in shades.tolist()], handles
