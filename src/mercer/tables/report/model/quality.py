"""How good it is, row by row, and how far to trust it: intervals checked, certificate, bounds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mercer import plot
from mercer.plot.style import number
from mercer.plot.text import plain, shortened
from mercer.solvers import Certificate
from mercer.tables.model import Model
from mercer.tables.model.conformal import Conformal
from mercer.tables.report.model.words import MOST, amount, counted, percent
from mercer.tables.report.page import Report
from mercer.theory import Bound, RiskCertificate

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


def intervals(page: Report, model: Model) -> None:
    """Nominal against measured coverage."""
    if model.conformal is None:
        return
    page.section("Prediction intervals")
    e = model.evidence
    page.text(
        "An interval of 90 % should hold the truth for nine new rows in ten. Its width comes from errors "
        "on rows the machines tested had not seen (conformal prediction), so the promise holds on average, "
        "approximately, as long as new rows come from where these came from. "
        + (
            "Here all intervals have the same width: nothing tells where errors are larger."
            if model.conformal.even
            else "Here intervals are wider where errors are larger, and in gaps between the rows learned "
            "from; how much was learned from errors."
        )
    )
    if not e.coverage:
        page.text("There are too few test rows to check the promise.")
        return
    rows = len(model.conformal.scores)  # one of each set of rows that belong together
    with page.beside():
        page.figure(
            plot.coverage(e.coverage, rows, plot.axes(3.9, 3.1)),
            f"Promised and measured coverage on {rows:,} test rows: intervals made from the errors of one "
            "half, checked on the other, both ways. The band is what chance allows.",
        )
        page.table(
            ("promised", "held", "half width"),
            [(percent(a, 0), percent(b), _width(model.conformal, a)) for a, b in e.coverage],
            "Intervals are prediction ± half width"
            + ("." if model.conformal.even else "; for eight rows in ten it lies in this range."),
        )


def _width(conformal: Conformal, level: float) -> str:
    """The half width, or the range that most of them lie in."""
    low, high = conformal.usual(level)
    return amount(low) if conformal.even else f"{amount(low)} to {amount(high)}"


def certificate(page: Report, model: Model) -> None:
    """Was the minimum found? What can be promised?"""
    page.section("Certificate and bounds")
    solution = model.machine.solution_
    page.text(
        "The coefficients minimise an objective, mean loss + λ‖f‖². How close to the minimum they are was "
        "measured after the fact, from the coefficients themselves."
    )
    page.facts(
        [
            ("Solver", f"{solution.solver}: {solution.status}, iterations: {solution.iterations:,}"),
            *([("Support", str(solution.support))] if solution.support is not None else []),
            *_measured(solution.certificate),
        ]
    )
    if model.evidence.risk is not None:
        _risk(page, model.evidence.risk)
        return
    # A file of an earlier version knows its bounds only.
    for bound in model.evidence.bounds:
        page.note(_promise(bound), f"It assumes {bound.assumptions}.", warn=bound.vacuous)


def _risk(page: Report, risk: RiskCertificate) -> None:
    """Bounds beside what was measured; what they are worth, and what they assume."""
    page.table(
        RiskCertificate.header,
        risk.rows(),
        "Bounds say what holds for new rows, under assumptions, beside what was measured: the test-set bound "
        "on test rows, the others on the rows the machine learned from. " + risk.sharing(),
    )
    said = list(zip(risk.bounds, risk.verdicts(), strict=True))
    page.facts(
        (name, f"{words[:1].upper()}{words[1:]} It assumes {bound.assumptions}.")
        for bound, (name, words) in said
        if not bound.vacuous
    )
    for bound, (name, words) in said:
        if bound.vacuous:
            page.note(f"{name}: {words}", f"It assumes {bound.assumptions}.", warn=True)
    if risk.absent:
        page.text(
            "Of other bounds "
            + "; ".join(f"the {name} does not apply: {why}" for name, why in risk.absent)
            + "."
        )


def _measured(c: Certificate) -> list[tuple[str, str]]:
    facts = [("Objective", amount(float(c.objective)))]
    if c.relative_gradient is not None:
        size = number(float(c.relative_gradient))
        facts.append(("Gradient", f"{size} of what it is at the best constant; at the minimum it is 0"))
    if c.violation is not None:
        facts.append(
            ("Violation", f"{number(float(c.violation))}: the steepest slope left in the dual problem")
        )
    if c.gap is not None:
        over = f" over {c.over}" if c.over else ""
        facts.append(("Gap", f"at most {number(float(c.gap))} above the minimum{over}"))
    if c.condition is not None:
        size = number(float(c.condition))
        facts.append(("Condition", f"about {size}, of the linear system as it was solved"))
    return facts


def _promise(bound: Bound) -> str:
    sure, risk = percent(1 - bound.delta, 0), bound.risk
    show = percent if risk.startswith(("share", "error rate")) else amount
    if bound.vacuous:
        return (
            f"{bound.name}: vacuous. It says that the {risk} is at most {amount(bound.value)}, with "
            f"probability {sure}; that can't be above 1 anyway, so it says nothing."
        )
    return (
        f"{bound.name}: the {risk} is at most {show(bound.value)}, with probability {sure}. Measured was "
        f"{show(bound.measured)}."
    )
