"""Colours and the look all figures share. Nothing global is changed: each Axes is dressed by itself."""

from __future__ import annotations

import math
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from mercer._warnings import unheard

# Okabe and Ito's palette without its black and yellow, which vanish on dark and on light paper.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
BLUE = COLOURS[0]
# For up to twelve classes: six more, each as far as can be from all before it to eyes of all kinds (the least
# distance in CIELAB, as people with and without colour blindness see it), with contrast on light and on dark.
MANY_COLOURS = (*COLOURS, "#861af2", "#86351a", "#bcbc6b", "#6b3550", "#866bf2", "#5035bc")
MARKERS = "os^DvpP*X<h>"
# A grey that reads on white and on black. `to_svg` turns it into the text colour of the page.
INK = "#737a82"

# Where a legend may stand outside of the axes.
BESIDE = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
ABOVE = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.2}

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def axes(width: float = 5.2, height: float = 3.5) -> Axes:
    """Fresh Axes on a figure of their own, outside pyplot: nothing to close, no window.

    Width and height are in inches.

    Examples
    --------
    >>> axes(4, 3).figure.get_size_inches().tolist()
    [4.0, 3.0]
    """
    figure = Figure(figsize=(width, height), layout="constrained", facecolor="none")
    return figure.subplots()


def dressed(ax: Axes | None, x: str = "", y: str = "", *, grid: bool = True) -> Axes:
    """These Axes (None: new ones from pyplot) with the look of the library, and what stands at x and y."""
    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.subplots(layout="constrained")[1]
    if getattr(ax, "name", None) != "rectilinear":
        raise ValueError(
            f"this figure is drawn in the plane, and ax is {_kind(ax)}: give Axes such as plot.axes()"
        )
    ax.patch.set_alpha(0)
    for side, spine in ax.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(INK)
        spine.set_linewidth(0.8)
    ax.tick_params(which="both", colors=INK, labelsize=9, length=3, width=0.8)
    ax.tick_params(which="minor", length=0)
    for text in (ax.xaxis.label, ax.yaxis.label, ax.title):
        text.set_color(INK)
        text.set_fontsize(10)
    ax.set_axisbelow(True)
    if x:
        ax.set_xlabel(x)
    if y:
        ax.set_ylabel(y)
    if grid:
        ax.grid(True, color=INK, alpha=0.18, linewidth=0.7)
    else:  # some styles draw one over everything
        ax.grid(False)
    return ax


def _kind(ax: Any) -> str:
    """What was given instead of Axes in the plane."""
    return f'one with projection="{ax.name}"' if isinstance(ax, Axes) else f"a {type(ax).__name__}"


def linear(ax: Axes) -> Axes:
    """These Axes, refused if one of them is logarithmic: what is drawn has a place at 0 and below."""
    for scale in (ax.get_xscale(), ax.get_yscale()):
        if scale != "linear":
            raise ValueError(f'this figure needs linear axes, and one of these is "{scale}": give other Axes')
    return ax


def pictured(ax: Axes | None, x: str = "", y: str = "") -> Axes:
    """Axes for an image, which is evenly spaced: no grid over it, and no logarithmic axis."""
    return linear(dressed(ax, x, y, grid=False))


def bare(ax: Axes | None) -> Axes:
    """Axes without a frame, for pictures and matrices."""
    ax = pictured(ax)
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.tick_params(length=0)
    return ax


def in_space(ax: Axes | None) -> Any:
    """Axes with three dimensions, in the look of the others."""
    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.figure(layout="constrained").add_subplot(projection="3d")
    if not hasattr(ax, "zaxis"):
        raise ValueError('three coordinates need Axes in space: make them with projection="3d"')
    space: Any = ax
    space.patch.set_alpha(0)
    for axis in (space.xaxis, space.yaxis, space.zaxis):
        axis.pane.set_alpha(0)
        axis.label.set_color(INK)
        axis.label.set_fontsize(10)
        axis.line.set_color(INK)
    space.title.set_color(INK)
    space.tick_params(colors=INK, labelsize=8)
    space.set_box_aspect(None, zoom=0.82)  # else the label on the right has no room
    return space


def panels(
    axes: Any, counts: tuple[int, ...], what: str, size: tuple[float, float], **layout: Any
) -> np.ndarray:
    """These Axes in a row (None: new ones from pyplot, of that size each), as many as one of the counts."""
    if axes is None:
        from matplotlib import pyplot

        most = max(counts)
        columns = layout.pop("columns", most)
        rows = math.ceil(most / columns)
        figsize = (size[0] * columns, size[1] * rows)
        axes = pyplot.subplots(rows, columns, figsize=figsize, layout="constrained", **layout)[1]
    row = np.atleast_1d(np.asarray(axes, dtype=object)).ravel()
    if len(row) not in counts:
        raise ValueError(f"{what}, got {len(row)}")
    return row


def legend(ax: Axes, **where: Any) -> Axes:
    """A legend without a box, if there is anything to tell apart."""
    if "handles" in where or ax.get_legend_handles_labels()[0]:
        ax.legend(**{"frameon": False, "labelcolor": INK, "fontsize": 9, **where})
    return ax


def legend_above(ax: Axes, columns: int) -> Axes:
    """A legend above the axes, no wider than they are, so that it lies within the figure.

    It has so many columns, or as many as there is room for; where one is too many, labels are broken into
    lines. How wide text is shows only once the figure is laid out, so that is tried.
    """
    made = None
    for count in range(columns, 0, -1):
        legend(ax, **ABOVE, ncols=count)
        made = ax.get_legend()
        if made is None or _fits(made, ax):
            return ax
    assert made is not None
    labels = [(text, text.get_text()) for text in made.get_texts()]
    for width in (32, 24, 16, 12):
        for text, words in labels:
            text.set_text(fill(words, width, break_long_words=False))
        if _fits(made, ax):
            break
    return ax


def _fits(made: Legend, ax: Axes) -> bool:
    """Does a legend lie within the figure, and not reach beyond the axes into those of a neighbour?"""
    figure = ax.figure.canvas.figure
    with unheard(UserWarning):  # of an attempt: there may be no room left for the axes
        figure.draw_without_rendering()
    box = made.get_window_extent()
    (left, bottom), (right, top) = figure.bbox.get_points()
    across = left <= box.x0 and box.x1 <= min(right, ax.bbox.x1)
    return bool(across and bottom <= box.y0 and box.y1 <= top)


def log_ticks(ax: Axes, axes: str) -> None:
    """Logarithmic axes ("x", "y" or "xy") with labels such as 10⁻³: plain text, in every output format."""
    for axis in axes:
        getattr(ax, f"set_{axis}scale")("log")
        scale = getattr(ax, f"{axis}axis")
        scale.set_major_locator(LogLocator(10, numticks=7))
        scale.set_major_formatter(FuncFormatter(lambda value, _: power_of_ten(value)))
        scale.set_minor_formatter(NullFormatter())


def whole_ticks(scale: Axis) -> None:
    """An axis that counts: no ticks between whole numbers."""
    scale.set_major_locator(MaxNLocator("auto", integer=True))


def power_of_ten(value: float) -> str:
    """10⁻³ for 0.001; other numbers in short decimals.

    >>> power_of_ten(0.001), power_of_ten(1.0), power_of_ten(0.25)
    ('10⁻³', '1', '0.25')
    """
    if value > 0 and not 0.1 < value < 99:
        exponent = round(math.log10(value))
        if math.isclose(value, 10.0**exponent, rel_tol=1e-9):
            return "10" + str(exponent).translate(_SUPERSCRIPTS)
    return f"{value:g}"


def number(value: float) -> str:
    """Two or three figures, as one writes them by hand: 3.2·10⁻⁵, 0.0124, 12.4, 2715.

    >>> number(3.16e-5), number(0.01236), number(12.36), number(2715.3), number(0)
    ('3.2·10⁻⁵', '0.0124', '12.4', '2715', '0')
    """
    if value == 0 or 1e-3 <= abs(value) < 1e4:
        return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}·10{str(int(exponent)).translate(_SUPERSCRIPTS)}"
