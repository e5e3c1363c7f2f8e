"""The model itself: in a line, as a formula, with its parameters."""

from __future__ import annotations

from mercer.plot.style import number
from mercer.tables.model import Model
from mercer.tables.report.model.formula import formula
from mercer.tables.report.model.words import counted
from mercer.tables.report.page import Report

_LOSSES = {
    "Squared": "squared: large errors count most",
    "Huber": "Huber's: squared for small errors, absolute for large ones, so that outliers pull less",
    "Hinge": "hinge: a support vector machine",
    "Logistic": "logistic: fits probabilities",
    "Multinomial": "multinomial logistic: fits probabilities",
}


def machine(page: Report, model: Model) -> None:
    """Kernel, λ, loss, centres."""
    page.section("The model")
    m = model.machine
    n, unknowns = m.plan_.examples, m.plan_.unknowns
    page.code(str(model))
    page.text(
        "It predicts by comparing: a new row x is measured against rows xᵢ it has learned from, with a "
        "kernel k that is largest for equal rows and falls with their distance. Each xᵢ votes with its "
        "coefficient cᵢ:"
    )
    several = model.classes_ is not None and len(model.classes_) > 2
    page.formula(
        "f(x) = b + Σᵢ cᵢ k(xᵢ, x)" + (",   one f for each label" if several else ""), *formula(m.kernel_)
    )
    where = "each divided by its spread" if model.columns.outliers == "keep" else (
        "each scaled by its quartiles, values far out drawn in"
    )  # fmt: skip
    loss = type(m.loss_).__name__
    exact = unknowns == n
    page.facts(
        [
            ("Rows", f"{n:,} were learned from"),
            (
                "Coefficients" if exact else "Centres",
                f"{unknowns:,}: one a row, nothing is approximated"
                if exact
                else f"{unknowns:,} rows stand for all {n:,} (Nyström's method)",
            ),
            ("Coordinates", f"{len(model.columns.origin_):,}, from {_used(model)}; numbers {where}"),
            ("Loss", f"{m.loss_!r}: {_LOSSES[loss].split(': ', 1)[1]}" if loss in _LOSSES else repr(m.loss_)),
            ("λ", f"{number(m.lam_)}: the price of a function that bends, against that of an error"),
        ]
    )


def _used(model: Model) -> str:
    used = len(model.columns.encoders_)
    total = len(model.schema.columns)
    return counted(used, "column") if used == total else f"{used:,} of {counted(total, 'column')}"
