"""The learned metric: along which directions rows are far apart, in terms of columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer import plot
from mercer.kernels.transforms import Mahalanobis
from mercer.plot.text import shortened
from mercer.tables.model import Model
from mercer.tables.model.texts import kernel_terms
from mercer.tables.report.model.words import percent
from mercer.tables.report.page import Report

_NAME = 40
# Directions that are shown: as many as hold so much of the metric, at most so many; columns named in each.
_HELD, _MOST, _COLUMNS = 0.9, 5, 5
# Weights in a direction below this are not worth a name.
_SLIGHT = 0.1
# Coordinates whose metric is drawn.
_DRAWN = 30


@dataclass(frozen=True)
class MetricDirection:
    """A direction in the space of coordinates, of length 1, and its share of the metric."""

    share: float
    weights: tuple[tuple[str, float], ...]  # (coordinate, weight), the heaviest first


def directions_of(M: np.ndarray, names: list[str]) -> list[MetricDirection]:
    """The leading eigenvectors of a metric, with their shares of its trace; the heaviest weight is positive.

    Examples
    --------
    >>> [first] = directions_of(np.array([[2.0, -2.0], [-2.0, 2.0]]), ["height", "width"])
    >>> first.share, [(name, round(weight, 2)) for name, weight in first.weights]
    (1.0, [('height', 0.71), ('width', -0.71)])
    """
    values, vectors = np.linalg.eigh(np.asarray(M, dtype=np.float64))
    values = np.maximum(values[::-1], 0.0)
    shares = values / (values.sum() or 1.0)
    count = min(1 + int(np.searchsorted(np.cumsum(shares), _HELD - 1e-12)), _MOST, len(shares))
    found = []
    for share, vector in zip(shares[:count], vectors.T[::-1], strict=False):
        order = np.argsort(-np.abs(vector).round(12), kind="stable")
        vector = vector * (1.0 if vector[order[0]] >= 0 else -1.0)
        found.append(MetricDirection(float(share), tuple((names[j], float(vector[j])) for j in order)))
    return found


def metrics_of(model: Model) -> list[np.ndarray]:
    """The learned metrics among the terms of the kernel, those of one width of trace d."""
    terms = [term for _, term in kernel_terms(model.machine.kernel_) if isinstance(term, Mahalanobis)]
    found = [np.asarray(term.matrix, dtype=np.float64) for term in terms]
    return [M * (len(M) / (np.trace(M) or 1.0)) for M in found]


def directions(page: Report, model: Model) -> None:
    """Directions that matter, and the metric as a picture; nothing without a learned metric."""
    metrics = metrics_of(model)
    if not metrics:
        return
    page.section("Which directions matter")
    page.text(
        "Distances between rows are measured by a metric that was learned: where predictions change fast two "
        "rows are far apart, where they stay the same two rows are near, however different they are. The "
        "metric is the mean outer product of the slopes of what was fitted, ∇f ∇fᵀ, so that its directions "
        "may be combinations of columns, such as a sum or a difference that matters more than either."
    )
    names = [str(name) for name in model.columns.get_feature_names_out()]
    for M in metrics:
        _shown(page, M, names[: len(M)])


def _shown(page: Report, M: np.ndarray, names: list[str]) -> None:
    found = directions_of(M, names)
    rows = [(percent(d.share, 0), _combination(d)) for d in found]
    what = (
        "The leading directions (eigenvectors of the metric, of length 1, of columns each divided by its "
        "spread), and how much of the metric each holds. Signs say which columns count together and which "
        "against each other."
    )
    if not 1 < len(M) <= _DRAWN:
        page.table(("share", "direction"), rows, what)
        return
    side = 1.6 + 0.115 * max(len(M), 8)
    with page.beside():
        page.table(("share", "direction"), rows, what)
        page.figure(
            plot.metric(M, names, plot.axes(3.9, side)),
            "The metric itself. On the diagonal: how much a coordinate counts, on average 1. Beside it: "
            "coordinates that count together, or, in the other colour, against each other.",
        )


def _combination(direction: MetricDirection) -> str:
    """0.80 height − 0.60 width + …"""
    told = [(n, w) for n, w in direction.weights if abs(w) >= _SLIGHT] or list(direction.weights[:1])
    shown = told[:_COLUMNS]
    words = ""
    for name, weight in shown:
        sign = "− " if weight < 0 else "+ "
        words += f" {sign}{abs(weight):.2f} {shortened(name, _NAME)}"
    words = words.removeprefix(" + ").strip()
    return words + (" + …" if len(told) > len(shown) else "")
