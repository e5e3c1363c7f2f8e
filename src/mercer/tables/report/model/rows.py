"""How the error fell with the number of rows, and whether more of them may help."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mercer import plot
from mercer.tables.model import Model
from mercer.tables.model.families import Trial
from mercer.tables.report.model.words import amount, listed, percent
from mercer.tables.report.page import Report

# A fall by less than this with twice the rows is none.
_FLAT = 0.01


def by_rows(page: Report, model: Model) -> None:
    """The learning curve on the test rows, and what the search saw; nothing where neither is known."""
    e = model.evidence
    searched = of_search(e.trials)
    if not e.curve and len(searched) < 2:
        return
    page.section("What more rows did")
    regression = model.task == "regression"
    if e.curve:
        unit, show = ("RMSE", amount) if regression else ("error rate", percent)
        held = ", the label with the largest score being given" if not regression else ""
        with page.beside():
            page.text(
                f"The same machine was fitted to fewer rows, drawn at random: with {e.curve[0][0]:,} its "
                f"{unit} on test rows is {show(e.curve[0][1])}, with {e.curve[-1][0]:,} it is "
                f"{show(e.curve[-1][1])}. " + _last_step(e.curve)
            )
            page.table(
                ("rows", unit),
                [(f"{rows:,}", show(error)) for rows, error in e.curve],
                f"All on the same test rows{held}; the last one is the machine that was tested. Columns, "
                "kernel and nλ are those found with all the rows of the search, so that with fewer of them a "
                "machine of its own would do a little worse than this.",
            )
            page.figure(
                plot.error_by_rows(e.curve, plot.axes(3.9, 2.9), unit=unit),
                f"{unit} on test rows against the number of rows that were learned from.",
            )
    if len(searched) > 1:
        steps = [f"{error:.4f} with {rows:,}" for rows, error in searched]
        page.text(
            "In the search the lowest error on fresh rows (as a share of the variance of the target) was "
            f"{listed(steps)} rows: kernels were improved meanwhile, so that not all of this is due to rows."
        )


def of_search(trials: Sequence[Trial]) -> list[tuple[int, float]]:
    """(rows, lowest error on rows that took no part), for every number of rows on which kernels were judged.

    Folds, and trials of texts, are of other rows than those, and are left out.

    Examples
    --------
    >>> made = [("length scales", 500, 0.3), ("length scales", 500, 0.2), ("last look", 900, 0.1)]
    >>> of_search([Trial(stage, "keep", "gaussian", rows, 0.0, error, 1.0) for stage, rows, error in made])
    [(500, 0.2), (900, 0.1)]
    """
    lowest: dict[int, float] = {}
    for t in trials:
        if t.stage in ("length scales", "last look", "average", "more rows") and not math.isnan(t.fresh):
            lowest[t.rows] = min(t.fresh, lowest.get(t.rows, math.inf))
    return sorted(lowest.items())


def _last_step(curve: Sequence[tuple[int, float]]) -> str:
    """What the last rows did, and what that says of more of them."""
    (before, worse), (now, better) = curve[-2:]
    fall = 1 - better / worse if worse > 0 else 0.0
    if fall < _FLAT:
        return (
            f"From {before:,} to {now:,} rows it hardly changed: more rows of this kind would not help much."
        )
    return (
        f"From {before:,} to {now:,} rows it fell by {percent(fall, 0)}. If it goes on like that, more rows "
        "would still help."
    )
