"""How good it is, row by row: errors of a regression, confusions and calibration of a classification."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mercer import plot
from mercer.plot.model import plain, shortened
from mercer.tables.model import Model
from mercer.tables.model.conformal import Conformal
from mercer.tables.report.model.words import MOST, amount, counted, percent
from mercer.tables.report.page import Report

_MATRIX_CLASSES = 12
_MISTAKES = 8


def quality(page: Report, model: Model) -> None:
    """Test rows one by one."""
    page.section("How good it is")
    if model.task == "regression":
        _regression(page, model)
    else:
        _classification(page, model)


def half_width(errors: np.ndarray, level: float = 0.9) -> float:
    """The conformal half width of an interval of one size everywhere; infinite if there are too few errors.

    >>> half_width(np.arange(-9.0, 10.0))
    9.0
    """
    same = Conformal(np.sort(np.abs(errors)), None, 0.0, 0.0)
    return float(same.half_width(np.zeros((1, 0)), level)[0])


def _regression(page: Report, model: Model) -> None:
    e = model.evidence
    errors = e.truth - e.predicted
    half = half_width(errors)
    n = len(errors)
    shown = "" if n <= 2000 else f" (2,000 of {n:,} rows drawn)"
    band = f"; 90 % of the rows lie in the band, ± {amount(half)}" if math.isfinite(half) else ""
    page.figures(
        [
            (
                plot.prediction_band(e.truth, e.predicted, half, plot.axes(3.9, 3.3)),
                f"Predicted against true, each row predicted by a model that had not seen it{shown}. On the "
                f"dashed line a prediction is right{band}.",
            ),
            (
                plot.error_histogram(errors, half, plot.axes(3.9, 3.3)),
                "Distribution of the errors. The outermost bars hold all errors beyond them"
                + ("; the band is the same as on the left." if math.isfinite(half) else "."),
            ),
        ]
    )
    mean = float(errors.mean())
    skew = "too low" if mean > 0 else "too high"
    noise = float(errors.std()) / math.sqrt(n)
    if abs(mean) > 3 * noise and noise > 0:
        page.text(f"On average predictions are {skew}, by {amount(abs(mean))}: more than chance explains.")


def _classification(page: Report, model: Model) -> None:
    e = model.evidence
    labels = np.asarray(model.classes_)
    figures = []
    if len(labels) <= _MATRIX_CLASSES:
        figures.append(_matrix(e.truth, e.predicted, len(labels)))
    if e.reliability:
        total = sum(count for _, _, count in e.reliability)
        off = sum(abs(sure - right) * count for sure, right, count in e.reliability) / total
        figures.append(
            (
                plot.reliability(merged(e.reliability), plot.axes(3.9, 3.3)),
                "Is it as often right as it is sure? On the dashed line, yes; below it, it is too sure. "
                "Larger dots stand for more rows, lines are 95 % intervals. On average the two are "
                f"{percent(off)} apart.",
            )
        )
    if figures:
        page.figures(figures)
    if len(labels) == 2 or (e.truth == e.predicted).all():
        _classes(page, e.truth, e.predicted, labels)
        return
    with page.beside():
        _classes(page, e.truth, e.predicted, labels)
        _mistakes(page, e.truth, e.predicted)


def merged(bins: tuple[tuple[float, float, int], ...], fewest: int = 10) -> list[tuple[float, float, int]]:
    """Neighbouring bins put together until each holds enough rows for its share to mean something.

    >>> merged(((0.5, 0.4, 5), (0.6, 0.6, 5), (0.9, 1.0, 40)))
    [(0.55, 0.5, 10), (0.9, 1.0, 40)]
    """
    out: list[tuple[float, float, int]] = []
    for sure, right, count in bins:
        if out and out[-1][2] < fewest:
            s, r, c = out.pop()
            total = c + count
            sure, right, count = (s * c + sure * count) / total, (r * c + right * count) / total, total
        out.append((sure, right, count))
    return out


def _matrix(truth: np.ndarray, predicted: np.ndarray, classes: int) -> tuple:
    side = 3.0 if classes == 2 else 3.4 if classes <= 6 else 3.9
    ax = plot.confusion(truth, predicted, plot.axes(3.9, side))
    names = [plain(t.get_text(), 12) for t in ax.get_yticklabels()]
    longest = max(len(name) for name in names)
    turned: dict[str, Any] = (
        {"rotation": 40, "ha": "right", "rotation_mode": "anchor"} if longest * len(names) > 34 else {}
    )
    ax.set_xticks(range(len(names)), names, **turned)
    ax.set_yticks(range(len(names)), names)
    if classes > 8:
        for text in ax.texts:
            text.set_fontsize(8)
    return ax, (
        "True label (rows) against predicted label (columns), counts of test rows. The shade is the share "
        "of the true label, its square root taken so that single mistakes show."
    )


def _classes(page: Report, truth: np.ndarray, predicted: np.ndarray, labels: np.ndarray) -> None:
    rows = []
    for label in labels:
        mine, said = truth == label, predicted == label
        hit = int(np.sum(mine & said))
        rows.append((label, int(mine.sum()), _share(hit, int(mine.sum())), _share(hit, int(said.sum()))))
    # Of many labels the frequent ones.
    order = (
        sorted(range(len(rows)), key=lambda i: -rows[i][1])[:MOST] if len(rows) > MOST else range(len(rows))
    )
    hidden = len(rows) - len(order)
    page.table(
        ("label", "rows", "found", "correct"),
        [(shortened(str(rows[i][0]), 40), f"{rows[i][1]:,}", *rows[i][2:]) for i in order],
        "Label by label. Found: the share of its rows that were given it. Correct: the share of rows given "
        "this label that have it.",
        more=f"and {counted(hidden, 'more label', 'more labels')}" if hidden else "",
    )


def _share(part: int, whole: int) -> str:
    return percent(part / whole) if whole else "—"


def _mistakes(page: Report, truth: np.ndarray, predicted: np.ndarray) -> None:
    wrong = truth != predicted
    pairs, counts = np.unique(
        np.stack([truth[wrong].astype(str), predicted[wrong].astype(str)]), axis=1, return_counts=True
    )
    order = np.argsort(-counts, kind="stable")
    page.table(
        ("true label", "taken for", "rows"),
        [
            (shortened(pairs[0, i], 40), shortened(pairs[1, i], 40), f"{counts[i]:,}")
            for i in order[:_MISTAKES]
        ],
        "The most frequent mistakes.",
        more=f"and {len(order) - _MISTAKES:,} more kinds" if len(order) > _MISTAKES else "",
    )
