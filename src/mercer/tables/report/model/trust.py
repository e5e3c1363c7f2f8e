"""How far to trust it: intervals checked, the solver's certificate, bounds labelled for what they are."""

from __future__ import annotations

import numpy as np

from mercer import plot
from mercer.plot.style import number
from mercer.solvers import Certificate
from mercer.tables.model import Model
from mercer.tables.model.conformal import Conformal
from mercer.tables.report.model.words import amount, percent
from mercer.tables.report.page import Report
from mercer.theory import Bound, RiskCertificate


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
            if model.conformal.spread is None
            else "Here intervals are wider where errors are larger; how much was learned from the errors."
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
            + ("." if model.conformal.spread is None else "; for eight rows in ten it lies in this range."),
        )


def _width(conformal: Conformal, level: float) -> str:
    """The half width, or the range that most of them lie in."""
    if conformal.spread is None:
        return amount(float(conformal.half_width(np.zeros((1, 0)), level)[0]))
    points = conformal.spread.function_.points  # type: ignore[attr-defined]  # those of test rows
    widths = conformal.half_width(points, level)
    low, high = np.quantile(widths, [0.1, 0.9])
    return f"{amount(float(low))} to {amount(float(high))}"


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
        (name, f"{_sentence(words)} It assumes {bound.assumptions}.")
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


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]


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
