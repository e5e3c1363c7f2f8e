"""The look of the figures, in one place; matplotlib is imported only when there is something to draw."""

from __future__ import annotations

# Mercer first, in the one strong colour; peers keep theirs in every figure.
COLOURS = ("#b5121b", "#4477aa", "#66aa99", "#aa7744", "#775588", "#888888", "#ccbb44")
MARKS = "osD^vPX"


def axes(width: float = 7.0, height: float = 4.2):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    # Text stays text in the SVG, and the same numbers give the same file.
    matplotlib.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "mercer", "font.size": 10}
    ax = Figure(figsize=(width, height), layout="constrained").subplots()
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def bars(labels, values, title: str, *, mark: float | None = None):
    ax = axes(8.0, 0.8 + 0.28 * max(len(labels), 1))
    ax.barh(range(len(labels)), values, color=COLOURS[1], height=0.7)
    ax.set_yticks(range(len(labels)), labels, fontsize=8)
    ax.invert_yaxis()
    if mark is not None:
        ax.axvline(mark, color="black", linewidth=0.8)
    ax.set_xlabel(title)
    return ax.figure


def save(figure, path) -> None:
    metadata = {"Date": None} if str(path).endswith(".svg") else None
    figure.savefig(path, dpi=150, metadata=metadata)


def drawable() -> bool:
    import importlib.util

    return importlib.util.find_spec("matplotlib") is not None
