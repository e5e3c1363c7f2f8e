"""Labelled points as a picture of characters."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.theory.learnability.inputs import show_point

_WIDTH, _HEIGHT = 49, 15
_SEVERAL = "*"


def board(points: Any, labels: str | None = None, hypothesis: Any = None) -> str:
    """Points on a line or in a plane, with their labels, or numbers before there are any.

    Where a hypothesis is +, the ground is dotted. A star is several points that differ in their labels or
    numbers. Points of other kinds are listed.

    Examples
    --------
    >>> from mercer.theory.learnability import Intervals
    >>> print(board([[1], [2], [3]], "+-+"))
      +                       -                       +
    ────────────────────────────────────────────────────
      1                       2                       3
    """
    X = np.asarray(points)
    if X.ndim != 2 or X.shape[1] > 2 or X.dtype == bool:
        return "\n".join(f"  {_mark(i, labels)}  {show_point(x)}" for i, x in enumerate(X))
    if X.shape[1] == 1:
        return _line(X[:, 0], labels, hypothesis)
    return _plane(X.astype(float), labels, hypothesis)


def _mark(i: int, labels: str | None) -> str:
    return str((i + 1) % 10) if labels is None else labels[i]


def _put(cells: Any, place: Any, mark: str, taken: set[Any]) -> None:
    """A mark, or one that says that there are several in this place, and not all the same."""
    cells[place] = mark if place not in taken or cells[place] == mark else _SEVERAL
    taken.add(place)


def _line(given: np.ndarray, labels: str | None, hypothesis: Any) -> str:
    x = given.astype(float)
    taken: set[Any] = set()
    low, high = _span(x, 0.0)
    at = np.rint((x - low) / (high - low) * (_WIDTH - 1)).astype(int)
    marks, names, ground = [" "] * (_WIDTH + 8), [" "] * (_WIDTH + 16), ["─"] * (_WIDTH + 3)
    if hypothesis is not None:
        inside = hypothesis(np.linspace(low, high, _WIDTH)[:, None])
        ground[2 : 2 + _WIDTH] = ["═" if h else "─" for h in inside]
    for i, column in enumerate(at.tolist()):
        _put(marks, 2 + column, _mark(i, labels), taken)
        text = show_point(given[i : i + 1])  # as it was given: whole numbers are not rounded
        names[2 + column : 2 + column + len(text)] = text
    return "\n".join("".join(row).rstrip() for row in (marks, ground, names))


def _plane(X: np.ndarray, labels: str | None, hypothesis: Any) -> str:
    (left, right), (bottom, top) = _span(X[:, 0], 0.15), _span(X[:, 1], 0.15)
    canvas = np.full((_HEIGHT, _WIDTH), " ", dtype=object)
    if hypothesis is not None:
        across, down = np.linspace(left, right, _WIDTH), np.linspace(top, bottom, _HEIGHT)
        grid = np.stack(np.meshgrid(across, down), axis=-1).reshape(-1, 2)
        canvas[hypothesis(grid).reshape(_HEIGHT, _WIDTH)] = "·"
    columns = np.rint((X[:, 0] - left) / (right - left) * (_WIDTH - 1)).astype(int)
    rows = np.rint((top - X[:, 1]) / (top - bottom) * (_HEIGHT - 1)).astype(int)
    taken: set[Any] = set()
    for i in range(len(X)):
        _put(canvas, (int(rows[i]), int(columns[i])), _mark(i, labels), taken)
    frame = "─" * _WIDTH
    return "\n".join([f"┌{frame}┐", *(f"│{''.join(row)}│" for row in canvas), f"└{frame}┘"])


def _span(x: np.ndarray, margin: float) -> tuple[float, float]:
    """From a little before the first to a little after the last."""
    low, high = float(x.min()), float(x.max())
    room = margin * (high - low) if high > low else 1.0
    return low - room, high + room
