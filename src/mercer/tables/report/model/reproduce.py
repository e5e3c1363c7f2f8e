"""How to get the same model again, and what the words mean."""

from __future__ import annotations

from mercer.tables.model import Model
from mercer.tables.report.model.words import counted
from mercer.tables.report.page import Report

_GLOSSARY = {
    "λ": "how much a wiggly function is made to pay, against its errors; chosen by leave-one-out.",
    "Leave-one-out": "each row is predicted from all others; for least squares there is an exact formula.",
    "Conformal": "intervals sized by errors on rows not learned from; on average they keep their promise.",
    "RMSE": "root mean squared error: √ of the mean of squared errors, in the units of the target.",
    "MAE": "mean absolute error: how far off a prediction is on average.",
    "R²": "1 − squared errors / variance: 1 is perfect, 0 is no better than the mean.",
    "Log loss": "−log of the probability given to what came true, on average; 0 is perfect.",
    "Kernel": "a measure of how alike two rows are; the prediction is a weighted sum of such likenesses.",
    "95 % interval": "a range that would hold the true value in 95 of 100 repetitions of the whole test.",
}
_REGRESSION = {"Conformal", "RMSE", "MAE", "R²"}


def reproduce(page: Report, model: Model, command: str | None, source: str | None) -> None:
    """Command, seed, versions."""
    page.section("Reproduce")
    e = model.evidence
    if command:
        page.code(command)
    else:
        table = f"mercer.tables.read({source!r})" if source else "table"
        asked = f"{model.target!r}, task={model.task!r}, minutes={e.minutes:g}, random_state={e.seed}"
        if e.groups is not None:
            asked += ", groups=groups"
        page.code(
            f"import mercer\n\nmodel = mercer.fit({table}, {asked})\n"
            "mercer.tables.report.model_report(model).write('report.html')"
        )
    page.text(
        "The same table, seed and minutes give the same model on the same machine, with the same versions "
        "and number of threads, however busy it is; if time or memory ran out all the same, a remark below "
        "says so."
    )
    page.facts(
        [
            *([("Table", source)] if source else []),
            ("Rows", f"{e.rows:,}, {counted(len(model.schema.columns), 'column')} and the target"),
            *([("Equal rows", f"{e.repeated:,} are equal to another one")] if e.repeated else []),
            *([("Groups", f"{e.groups:,}")] if e.groups is not None else []),
            ("Minutes", f"{e.minutes:g} allowed, {e.seconds / 60:.2g} taken"),
            ("Seed", e.seed),
            ("Tested by", e.how),
            *[("Remark", remark) for remark in e.remarks],
            ("Versions", ", ".join(f"{name} {version}" for name, version in e.versions.items())),
        ]
    )


def glossary(page: Report, model: Model) -> None:
    """The words on this page."""
    page.section("Glossary")
    absent = {"Log loss"} if model.task == "regression" else _REGRESSION
    page.facts([(word, meaning) for word, meaning in _GLOSSARY.items() if word not in absent])
