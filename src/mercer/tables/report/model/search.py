"""What was tried on the way: kernels, λ, losses."""

from __future__ import annotations

import math

from mercer import plot
from mercer.kernels import Kernel
from mercer.kernels.transforms import LengthScales
from mercer.losses import Squared
from mercer.plot.style import number
from mercer.tables.model import Model
from mercer.tables.model.model import kernel_terms
from mercer.tables.model.search import FAMILIES
from mercer.tables.report.model.words import MOST, amount, more, percent
from mercer.tables.report.page import Report


def tried(page: Report, model: Model) -> None:
    """The leave-one-out curve, the kernels, the losses."""
    page.section("What was tried")
    e = model.evidence
    rows = f"{e.loo_rows:,} of {e.rows:,} rows" if e.loo_rows < e.rows else f"all {e.rows:,} rows"
    chosen = _chosen(model)
    with page.beside():
        page.text(*_explained(model, chosen))
        page.figure(
            plot.loo_curve(e.lams, e.loo, chosen, plot.axes(3.9, 3.1)),
            f"Leave-one-out error of least squares with the chosen kernel, on {rows}, as a share of the "
            "variance of the target.",
        )
    _kernels(page, model)
    _losses(page, model)
    page.text(f"Search, tests and fits together took {_duration(e.seconds)}.")


def _chosen(model: Model) -> float | None:
    """The model's λ on the scale of the curve; None if the model has another loss than the curve."""
    e = model.evidence
    if not isinstance(model.machine.loss_, Squared):
        return None
    # What is kept from one number of rows to another is λ times that number.
    lam = float(model.machine.lam_) * model.machine.plan_.examples / e.loo_rows
    return lam if e.lams.min() <= lam <= e.lams.max() else None


def _explained(model: Model, chosen: float | None) -> list[str]:
    e = model.evidence
    out = [
        "λ weighs smoothness against closeness to the data. Too small, and the model learns noise by "
        "heart; too large, and it sees nothing. Leave-one-out predicts each row from all the others: an "
        "honest error for every λ, computed exactly and without refitting."
    ]
    lam = number(float(model.machine.lam_))
    if not isinstance(model.machine.loss_, Squared):
        out.append(
            "The curve is that of the search, which goes by squared errors. The final model has another "
            f"loss and a λ of its own, {lam}."
        )
    elif chosen is not None and e.loo_rows != model.machine.plan_.examples:
        out.append(
            f"With all rows the same model has λ = {lam}: what is kept from one number of rows to another "
            "is λ times that number."
        )
    near = e.lams[e.loo <= 1.01 * e.loo.min()]
    factor = float(near.max() / near.min())
    if factor >= 10:
        out.append(
            f"The choice is not delicate: over a factor of {amount(factor, 1)} in λ the error stays within "
            "1 % of the lowest."
        )
    return out


def _kernels(page: Report, model: Model) -> None:
    trials = model.evidence.trials
    if not trials:
        return
    shown = trials[-MOST:]
    family = _family(model.machine.kernel_)
    ours = [i for i, t in enumerate(shown) if t.kernel == family and t.outliers == model.columns.outliers]
    cells = {
        "stage": [t.stage for t in shown],
        "kernel": [t.kernel for t in shown],
        "outliers": [t.outliers for t in shown],
        "rows": [f"{t.rows:,}" for t in shown],
        "leave-one-out": [f"{t.loo:.4f}" for t in shown],
        "fresh rows": ["—" if math.isnan(t.fresh) else f"{t.fresh:.4f}" for t in shown],
        "seconds": [f"{t.seconds:.2f}" for t in shown],
    }
    fresh = any(not math.isnan(t.fresh) for t in shown)
    if not fresh:
        del cells["fresh rows"]
    page.table(
        list(cells),
        zip(*cells.values(), strict=True),
        "Kernels, in the order they were tried; bold is what was kept. Errors are mean squares as a share "
        "of the variance, 1 being no better than the mean. Outliers: numbers are kept as they are, or "
        "those far out are squashed. First one width for all columns, then a length scale for each, by "
        "gradient; a sum of two kernels is taken if it pays for its complexity."
        + (" Fresh rows took no part in the trial." if fresh else ""),
        strong=ours[-1:],
        more=more(len(trials), "earlier trial"),
    )


def _losses(page: Report, model: Model) -> None:
    trials = model.evidence.loss_trials
    if not trials:
        why = (
            "no long tails among the errors"
            if model.task == "regression"
            else "a label is too rare to compare"
        )
        page.text(f"Only the squared loss was fitted: {why}.")
        return
    name = type(model.machine.loss_).__name__.lower()
    name = "logistic" if name == "multinomial" else name
    same = [i for i, t in enumerate(trials) if t.loss.split(",")[0] == name]
    best = min(same, key=lambda i: trials[i].error) if same else None
    rate = model.task == "classification"
    page.table(
        ("loss", "λ", "error rate" if rate else "RMSE", "rows"),
        [(t.loss, number(t.lam), _error(t.error, rate), f"{t.rows:,}") for t in trials],
        "Losses compared by cross-validation in three parts, with that kernel; bold is what was kept. "
        "Another loss than the squared one must do clearly better to be taken.",
        strong=[] if best is None else [best],
    )


def _error(value: float, rate: bool) -> str:
    if math.isinf(value):
        return "—"  # not solved
    return percent(value, 2) if rate else amount(value, 4)


def _family(kernel: Kernel) -> str:
    """The name the search has for a kernel."""
    return " + ".join(
        _named(term.kernel) if isinstance(term, LengthScales) else f"{_named(term)}, one width"
        for _, term in kernel_terms(kernel)
    )


def _named(kernel: Kernel) -> str:
    for name, family in FAMILIES.items():
        width = {parameter: getattr(family, parameter) for parameter in family.positive}
        if type(kernel) is type(family) and kernel.replace(**width) == family:
            return name
    return repr(kernel)


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} seconds" if seconds < 100 else f"{seconds / 60:.1f} minutes"
