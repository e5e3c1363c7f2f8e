"""Draw the figure of docs/accuracy.md from the tables of that page: the numbers shown are the numbers drawn.

python -m benchmarks.accuracy.figure
"""

from __future__ import annotations

from pathlib import Path

from benchmarks import plots
from benchmarks.accuracy import page

PAGE = Path(__file__).parents[2] / "docs" / "accuracy.md"
# Ratios below this are drawn at the edge: a table with a leak would leave no room for the others.
SMALLEST = 0.5


def figure(text: str):
    """Average ranks over all tables, and errors beside those of the best kernel machine, table by table."""
    ranks = [(row[0], float(row[1])) for row in page.rows(text, "", "average rank", "best on")]
    ratios = sorted(float(row[4]) for row in page.rows(text, "table", "Mercer", "best kernel machine"))
    sheet = plots.axes(9.0, 3.6).figure
    sheet.clear()
    left, right = sheet.subplots(1, 2, width_ratios=(1, 1.2))
    for ax in (left, right):
        ax.spines[["top", "right"]].set_visible(False)
    colours = [plots.COLOURS[0 if name == "Mercer" else 1] for name, _ in ranks]
    left.barh([name for name, _ in ranks], [rank for _, rank in ranks], color=colours, height=0.7)
    left.invert_yaxis()
    left.set_xlabel("average rank; 1 is best")
    right.plot([max(r, SMALLEST) for r in ratios], plots.MARKS[0], color=plots.COLOURS[0], markersize=4)
    right.axhline(1.0, color="black", linewidth=0.8)
    right.set_xlabel("tables, sorted")
    right.set_ylabel(f"error / best kernel machine ({SMALLEST} or less at the edge)", fontsize=8)
    return sheet


if __name__ == "__main__":
    target = PAGE.with_suffix(".svg")
    plots.save(figure(PAGE.read_text()), target)
    print(target)
