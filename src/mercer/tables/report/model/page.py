"""The page of a model, from the answer to how to get it again."""

from __future__ import annotations

import hashlib

import numpy as np

from mercer.tables.model import Model
from mercer.tables.model.decision import decision_by_weights
from mercer.tables.report.model.answer import answer, asked
from mercer.tables.report.model.columns import columns, dependence, matter, words
from mercer.tables.report.model.directions import directions
from mercer.tables.report.model.machine import machine, tried
from mercer.tables.report.model.quality import certificate, intervals, quality
from mercer.tables.report.model.rows import by_rows
from mercer.tables.report.model.words import counted, file_name
from mercer.tables.report.page import Report


def mark_of(source: str, target: str) -> str:
    """By which the page of a model of this table and target is known."""
    return hashlib.sha256(f"{source}\0{target}".encode(errors="surrogatepass")).hexdigest()


def model_report(model: Model, *, command: str | None = None, source: str | None = None) -> Report:
    """The report page of a model: one HTML file that stands alone.

    Parameters
    ----------
    model : Model
        From `mercer.fit` or `mercer.load`.
    command : str, optional
        The command that made it, for those who want to repeat it. A model of ``mercer fit`` knows it; for one
        of `mercer.fit` the call in Python is shown.
    source : str, optional
        The file the table came from; only its name is shown. A model of ``mercer fit`` knows that, too.

    Returns
    -------
    Report
        ``.write(path)`` puts it into a file, ``.html()`` gives it as a string.

    Examples
    --------
    >>> import mercer, numpy as np
    >>> x = np.linspace(0, 6, 20)
    >>> model = mercer.fit({"x": x}, np.sin(x), target="height", minutes=0.05)
    >>> page = model_report(model, source="/home/me/waves.csv")
    >>> page.title
    'Predicting height'
    >>> "waves.csv" in page.html(), "/home/me" in page.html()
    (True, False)
    """
    command, source = command or model.evidence.command, source or model.evidence.source
    name = file_name(source) if source else None
    page = Report(f"Predicting {model.target}", asked(model, name), mark_of(name or "", str(model.target)))
    answer(page, model)
    machine(page, model)
    quality(page, model)
    by_rows(page, model)
    matter(page, model)
    directions(page, model)
    words(page, model)
    dependence(page, model)
    intervals(page, model)
    tried(page, model)
    columns(page, model)
    certificate(page, model)
    reproduce(page, model, command, name)
    glossary(page, model)
    return page


_GLOSSARY = {
    "λ": "how much a wiggly function is made to pay, against its errors; chosen by leave-one-out.",
    "Leave-one-out": "each row is predicted from all others; for least squares there is an exact formula.",
    "Conformal": "intervals sized by errors on rows not learned from; on average they keep their promise.",
    "RMSE": "root mean squared error: √ of the mean of squared errors, in the units of the target.",
    "MAE": "mean absolute error: how far off a prediction is on average.",
    "R²": "1 − squared errors / variance: 1 is perfect, 0 is no better than the mean.",
    "AUC": "the share of pairs of rows of two labels that are in the right order by probability; 0.5 is "
    "chance. Of several labels it is the mean of one against the rest.",
    "Average precision": "for each row of a label the share of that label among rows at least as likely to "
    "have it, on average; by chance that label's share. Of two labels that of the rarer one.",
    "Balanced accuracy": "the share of each label's rows that were given it, averaged over labels.",
    "Log loss": "−log of the probability given to what came true, on average; 0 is perfect.",
    "Kernel": "a measure of how alike two rows are; the prediction is a weighted sum of such likenesses.",
    "95 % interval": "a range that would hold the true value in 95 of 100 repetitions of the whole test.",
}
_REGRESSION = {"Conformal", "RMSE", "MAE", "R²"}
_CLASSIFICATION = {"Log loss", "AUC", "Average precision", "Balanced accuracy"}


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
        if e.metric not in ("", "accuracy", "rmse"):
            asked += f", metric={e.metric!r}"
        asked += _deciding(model)
        page.code(
            f"import mercer\n\nmodel = mercer.fit({table}, {asked})\n"
            "mercer.tables.report.model_report(model).write('report.html')"
        )
    page.text(
        "The same table, seed and minutes give the same model on the same machine, with the same versions "
        "and number of threads, unless the clock or Ctrl-C cut something short, or memory ran out: "
        + ("a remark below says what." if e.cut else "then a remark below would say so.")
    )
    rows = model.learned_from.removesuffix(" rows")
    page.facts(
        [
            *([("Table", source)] if source else []),
            ("Rows", f"{rows}, {counted(len(model.schema.columns), 'column')} and the target"),
            *([("Equal rows", f"{e.repeated:,} are equal to another one")] if e.repeated else []),
            *([("Groups", f"{e.groups:,}")] if e.groups is not None else []),
            ("Minutes", f"{e.minutes:g} allowed, {e.seconds / 60:.2g} taken"),
            ("Seed", e.seed),
            ("Tested by", e.how),
            *([("Decision", model.decision.words(model.classes_))] if model.decision is not None else []),
            *[("Remark", remark) for remark in e.remarks],
            ("Versions", ", ".join(f"{name} {version}" for name, version in e.versions.items())),
        ]
    )


def _deciding(model: Model) -> str:
    """Arguments of `mercer.fit` that make this decision again."""
    weights, decision = getattr(model.machine, "class_weight", None), model.decision
    out = "" if weights is None else f", class_weight={weights!r}"
    if decision is None or decision.costs is None:
        return out if decision is None else f"{out}, threshold={decision.threshold!r}"
    if weights is not None and model.classes_ is not None:
        implied = decision_by_weights(weights, model.classes_).costs
        if np.array_equal(decision.costs, implied):  # type: ignore[arg-type]
            return out
    return f"{out}, costs={decision.costs.tolist()!r}" if len(decision.costs) <= 4 else f"{out}, costs=costs"


def glossary(page: Report, model: Model) -> None:
    """The words on this page."""
    page.section("Glossary")
    absent = _CLASSIFICATION if model.task == "regression" else _REGRESSION
    page.facts([(word, meaning) for word, meaning in _GLOSSARY.items() if word not in absent])
