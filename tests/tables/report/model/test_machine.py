"""What was tried: what was kept stands out, and is what the model is."""

import re
from dataclasses import replace

import pytest

from mercer.kernels import Gaussian, Laplacian, Matern
from mercer.tables.model.machines import LossTrial
from mercer.tables.model.search import Trial
from mercer.tables.report.model.machine import _chosen, _family, tried
from mercer.tables.report.page import Report


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
    ],
)  # fmt: skip
def test_names_of_the_search(kernel, name):
    assert _family(kernel) == name


def _bold(model):
    page = Report("t")
    tried(page, model)
    rows = re.findall(r"<tr class=best>(.*?)</tr>", page.html())
    return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in rows]


def test_what_was_kept_is_bold(regression_model):
    e = regression_model.evidence
    family = _family(regression_model.machine.kernel_)
    outliers = regression_model.columns.outliers
    assert family in {t.kernel for t in e.trials}
    (row,) = _bold(replace(regression_model, evidence=replace(e, loss_trials=())))
    assert row[1:3] == [family, outliers]
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
