"""What was tried: what was kept stands out, and is what the model is."""

import re
from copy import copy
from dataclasses import replace

import numpy as np
import pytest

from mercer.kernels import Forest, Gaussian, Laplacian, Linear, Matern, Polynomial
from mercer.tables.model.families import FAMILIES, Trial
from mercer.tables.model.kernel_names import meaning, name_of
from mercer.tables.model.machines import LossTrial
from mercer.tables.model.search import METRICS
from mercer.tables.report.model.answer import answer
from mercer.tables.report.model.machine import _chosen, machine, tried
from mercer.tables.report.page import Report

_FOREST = Forest.grow(np.arange(20.0)[:, None], np.arange(20.0), trees=3)


@pytest.mark.parametrize(
    "kernel, name",
    [
        (Gaussian(1.0).scaled([1.0, 2.0]), "gaussian"),
        (Matern(1.5, 3.7), "matern 3/2, one width"),
        (
            0.5 * Laplacian(1.0, norm="l1").scaled([1.0]) + 0.2 * Laplacian(1.0).scaled([2.0]),
            "laplacian l1 + laplacian",
        ),
        (Matern(2.5, 1.0).scaled([1.0]), "Matern(nu=2.5, sigma=1.0)"),
        (Laplacian(2.0).metric([[1.0]]), "laplacian, learned metric"),
        (3.0 * Polynomial(2, c=4.0), "quadratic, one width"),
        (Linear().scaled([2.0]) + 0.5 * _FOREST, "linear + forest"),
    ],
)  # fmt: skip
def test_names_of_the_search(kernel, name):
    assert name_of(kernel) == name


def _bold(model):
    page = Report("t")
    tried(page, model)
    rows = re.findall(r"<tr class=best>(.*?)</tr>", page.html())
    return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in rows]


@pytest.mark.parametrize("place", [0, 2])
def test_what_was_kept_is_bold(regression_model, place):
    e = replace(regression_model.evidence, loss_trials=())
    (row,) = _bold(replace(regression_model, evidence=e))
    kept = e.trials[e.kept]
    assert row[:2] == [kept.stage, kept.kernel] and row[2] == regression_model.columns.outliers
    (row,) = _bold(replace(regression_model, evidence=replace(e, kept=place)))
    assert row[:4] == [e.trials[place].stage, e.trials[place].kernel, e.trials[place].outliers, "60"]
    # What lies before those that are shown is nowhere.
    many = (*e.trials, *[Trial("folds", "keep", "gaussian", 7, 0.5, 0.6, 1.0)] * 20)
    assert _bold(replace(regression_model, evidence=replace(e, kept=0, trials=many))) == []


def test_what_was_kept_of_an_earlier_version(regression_model):
    e = replace(regression_model.evidence, kept=None)
    family = name_of(regression_model.machine.kernel_)
    outliers = regression_model.columns.outliers
    # Of two trials of one kernel, the later one.
    last = Trial("last look", outliers, family, 77, 0.5, 0.6, 1.0)
    (row,) = _bold(replace(regression_model, evidence=replace(e, trials=(*e.trials, last), loss_trials=())))
    assert row == ["last look", family, outliers, "77", "0.5000", "0.6000", "1.00"]


def test_the_loss_that_was_kept_is_bold(regression_model):
    trials = (LossTrial("huber, 1.2", 0.1, 2.0, 50), LossTrial("squared", 0.1, 2.5, 50))
    trials += (LossTrial("huber, 1.2", 0.2, float("inf"), 50),)
    evidence = replace(regression_model.evidence, trials=(), loss_trials=trials)
    (row,) = _bold(replace(regression_model, evidence=evidence))
    assert row[0] == "squared" and row[2] == "2.500"


def test_the_mark_on_the_curve(regression_model, wide_model):
    """λ times the number of rows is what is kept: the curve was drawn on fewer of them."""
    e = regression_model.evidence
    assert _chosen(regression_model) == pytest.approx(1e4 * e.lams[0])
    half = replace(regression_model, evidence=replace(e, loo_rows=60, lams=2 * e.lams))
    assert _chosen(half) == pytest.approx(2 * regression_model.machine.lam_)
    far = replace(regression_model, evidence=replace(e, lams=1e9 * e.lams))
    assert _chosen(far) is None


def _texts(model, parse):
    page = Report("t")
    machine(page, model)
    tried(page, model)
    return " ".join(parse(page.html()).text).replace("\xa0", " ")


def test_what_was_averaged(regression_model, parse):
    e = regression_model.evidence
    assert "What was averaged" not in _texts(regression_model, parse)
    parts = (("laplacian l1", 0.25), ("matern 3/2, one width", 0.5), ("forest", 0.25))
    averaged = replace(regression_model, evidence=replace(e, parts=parts))
    text = _texts(averaged, parse)
    assert "an average of 3 that" in text
    for words in ("kinks", "smooth curves, without kinks; the same width for all columns", "decision trees"):
        assert words in text
    assert re.findall(r"(\d+) % *(laplacian l1|matern 3/2, one width|forest)", text) == [
        ("25", "laplacian l1"),
        ("50", "matern 3/2, one width"),
        ("25", "forest"),
    ]
    assert (
        "Averaged kernels: laplacian l1 (25%), matern 3/2, one width (50%), forest (25%)"
        in averaged.summary()
    )


def test_every_name_of_the_search_has_a_meaning():
    for name in [*FAMILIES, "forest", *METRICS.values(), *(f"{name}, one width" for name in FAMILIES)]:
        assert meaning(name), name
    assert meaning("Matern(nu=2.5, sigma=1.0)") == ""


def test_likeness_is_said_of_what_falls_with_the_distance(regression_model, parse):
    fitted = regression_model.machine

    def text(kernel):
        other = copy(fitted)
        other.kernel_ = kernel
        return _texts(replace(regression_model, machine=other), parse)

    assert "falls with their distance" in text(Gaussian(1.0))
    assert "falls with their distance" not in text(Gaussian(1.0) + Linear())


def test_stages_are_told_in_their_order(regression_model, parse):
    text = _texts(regression_model, parse)
    assert (
        "Stage by stage: one width for all columns; every way of choosing, in three folds; the best of"
        in text
    )
    made = [
        Trial(stage, "keep", "linear", 9, 0.5, 0.4, 1.0) for stage in ("screen", "last look", "more rows")
    ]
    e = replace(regression_model.evidence, trials=tuple(made), kept=2)
    text = _texts(replace(regression_model, evidence=e), parse)
    assert "Stage by stage: one width for all columns; the best on more rows; λ again." in text


def test_what_the_clock_cut_is_said_first(regression_model, parse):
    assert "warn" not in _answer(regression_model).split("</style>")[1]
    e = replace(regression_model.evidence, cut=("the time was up before <b>x</b> was done",))
    text = _answer(replace(regression_model, evidence=e)).split("</style>")[1]
    assert '<aside class="warn"><p>The time was up before &lt;b&gt;x&lt;/b&gt; was done.' in text


def _answer(model):
    page = Report("t")
    answer(page, model)
    return page.html()
