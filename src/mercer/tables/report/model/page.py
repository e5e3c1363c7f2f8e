"""The page of a model, from the answer to how to get it again."""

from __future__ import annotations

import hashlib

from mercer.tables.model import Model
from mercer.tables.report.model.answer import answer, asked, title
from mercer.tables.report.model.columns import columns, dependence, matter
from mercer.tables.report.model.machine import machine
from mercer.tables.report.model.quality import quality
from mercer.tables.report.model.reproduce import glossary, reproduce
from mercer.tables.report.model.search import tried
from mercer.tables.report.model.trust import certificate, intervals
from mercer.tables.report.model.words import file_name
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
    >>> x = np.linspace(0, 6, 60)
    >>> model = mercer.fit({"x": x}, np.sin(x), target="height", minutes=0.05)
    >>> page = model_report(model, source="/home/me/waves.csv")
    >>> page.title
    'Predicting height'
    >>> "waves.csv" in page.html(), "/home/me" in page.html()
    (True, False)
    """
    command, source = command or model.evidence.command, source or model.evidence.source
    name = file_name(source) if source else None
    page = Report(title(model), asked(model, name), mark_of(name or "", str(model.target)))
    answer(page, model)
    machine(page, model)
    quality(page, model)
    matter(page, model)
    dependence(page, model)
    intervals(page, model)
    tried(page, model)
    columns(page, model)
    certificate(page, model)
    reproduce(page, model, command, name)
    glossary(page, model)
    return page
