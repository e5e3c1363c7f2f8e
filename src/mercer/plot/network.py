"""Figures of networks: the field that nodes see, how they come to agree, how well a field is followed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap, to_rgba

from mercer.graphs import Graph
from mercer.network import Disagreement, Followed
from mercer.plot.plane import answers, features, window
from mercer.plot.style import BLUE, COLOURS, INK, bare, dressed, legend, legend_above, log_ticks
from mercer.plot.text import caption

# From cold to warm, through what the page is made of.
_TEMPERATURES = LinearSegmentedColormap.from_list(
    "temperatures", [to_rgba(COLOURS[0], 0.85), to_rgba(COLOURS[5], 0.15), to_rgba(COLOURS[1], 0.85)]
)


def sensor_field(
    values: Callable[[np.ndarray], Any],
    positions: Any,
    graph: Graph,
    ax: Axes | None = None,
    *,
    silent: Sequence[int] = (),
    limits: tuple[float, float] | None = None,
    resolution: int = 60,
) -> Axes:
    """A function of the plane as colours, with the nodes that watch it, and who hears whom.

    Parameters
    ----------
    values : function of (n, 2) points; a field, or ``machine.predict``
    positions : (nodes, 2) where the nodes are
    graph : Graph
    silent : numbers of nodes that are drawn hollow, without their edges
    limits : values of the coldest and the warmest colour; by default those that there are

    Examples
    --------
    >>> from mercer import plot
    >>> from mercer.network import MovingSource, geometric
    >>> field = MovingSource()
    >>> sensors = field.sensors(16, random_state=0)
    >>> graph = geometric(sensors)
    >>> ax = plot.sensor_field(lambda x: field(x, 0.1), sensors, graph, plot.axes(4, 4), silent=[3])
    >>> [len(line.get_xdata()) for line in ax.lines]
    [15, 1]
    """
    places = features(positions, 2, "nodes")
    if len(places) != graph.n_nodes:
        raise ValueError(f"the graph has {graph.n_nodes} nodes, and there are {len(places)} positions")
    ax = bare(ax)
    ax.set(xticks=[], yticks=[], aspect="equal")
    corners = window(ax, places, 0.08, alone=1.0)
    U, V, found = answers(values, corners, resolution)
    low, high = limits or (float(found.min()), float(found.max()))
    levels = np.linspace(low, high if high > low else low + 1, 25)
    ax.contourf(U, V, found.reshape(U.shape), levels, cmap=_TEMPERATURES, extend="both")
    there = np.setdiff1d(np.arange(len(places)), list(silent))
    kept = [pair for pair in graph.edges.tolist() if pair[0] in there and pair[1] in there]
    ax.add_collection(LineCollection([places[pair] for pair in kept], colors=INK, linewidths=0.7, alpha=0.6))
    ax.plot(*places[there].T, "o", color=INK, markersize=4)
    if len(silent):
        gone = places[list(silent)]
        ax.plot(*gone.T, "o", markerfacecolor="none", markeredgecolor=INK, markersize=5)
    return ax


def consensus_curve(
    found: Disagreement, ax: Axes | None = None, *, by: str = "rounds", colour: str = BLUE, label: str = ""
) -> Axes:
    """How far the worst node is from the pooled fit, against rounds, messages or bytes.

    `found` is from `mercer.network.disagreement`; `by` is "rounds", "messages" or "bytes".

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import plot
    >>> from mercer.network import Disagreement
    >>> found = Disagreement(10.0 ** -np.arange(5)[:, None], np.arange(5), np.arange(5), np.array([True]))
    >>> ax = plot.consensus_curve(found, plot.axes(), label="ring")
    >>> ax.get_xlabel(), ax.lines[0].get_ydata().tolist()
    ('rounds', [1.0, 0.1, 0.01, 0.001, 0.0001])
    """
    if by not in ("rounds", "messages", "bytes"):
        raise ValueError(f"by must be 'rounds', 'messages' or 'bytes', got {by!r}")
    ax = dressed(ax, by, "distance from the pooled fit")
    x = np.arange(len(found.errors)) if by == "rounds" else getattr(found, by)
    ax.plot(x, found.worst, color=colour, linewidth=2, label=caption(label or None))
    log_ticks(ax, "y" if by == "rounds" else "xy")
    return legend(ax) if label else ax


def followed(found: Followed, ax: Axes | None = None) -> Axes:
    """Errors of all machines by time; `found` is from `mercer.network.follow`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import plot
    >>> from mercer.network import Followed
    >>> errors = {"pooled": np.array([0.1, 0.2]), "glued": np.array([0.2, 0.3])}
    >>> ax = plot.followed(Followed(np.array([0.0, 0.5]), errors, {}, {}), plot.axes())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['pooled', 'glued']
    """
    ax = dressed(ax, "time", "error")
    for i, (name, errors) in enumerate(found.errors.items()):
        style = "-" if i < len(COLOURS) else "--"
        ax.plot(found.times, errors, style, color=COLOURS[i % len(COLOURS)], linewidth=2, label=caption(name))
    ax.set_ylim(bottom=0)
    return legend_above(ax, columns=3)
