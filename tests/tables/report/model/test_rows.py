"""How the error fell with the number of rows."""

from dataclasses import replace

import pytest

from mercer import plot
from mercer.tables.model.families import Trial
from mercer.tables.report.model.rows import by_rows, of_search
from mercer.tables.report.page import Report


def _text(model, parse):
    page = Report("t")
    by_rows(page, model)
    return "".join(parse(page.html()).text).replace("\xa0", " ")


def test_nothing_is_known_of_a_small_table(regression_model, parse):
    assert not regression_model.evidence.curve
    assert "What more rows did" not in _text(regression_model, parse)


def test_errors_of_fewer_rows(regression_model, classification_model, parse):
    curve = ((125, 8.0), (250, 4.0), (500, 2.0), (1000, 1.0))
    told = _text(replace(regression_model, evidence=replace(regression_model.evidence, curve=curve)), parse)
    assert "with 125 its RMSE on test rows is 8, with 1,000 it is 1." in told
    assert "From 500 to 1,000 rows it fell by 50 %." in told
    flat = ((500, 0.2), (1000, 0.199))
    e = replace(classification_model.evidence, curve=flat)
    told = _text(replace(classification_model, evidence=e), parse)
    assert "its error rate on test rows is 20.0 %, with 1,000 it is 19.9 %" in told
    assert "it hardly changed" in told
    none = replace(classification_model.evidence, curve=((500, 0.0), (1000, 0.0)))
    assert "hardly changed" in _text(replace(classification_model, evidence=none), parse)


def test_in_the_summary(regression_model):
    e = replace(regression_model.evidence, curve=((500, 2.0), (1000, 1.5)))
    said = "RMSE on test rows with fewer rows to learn from: 2 (500), 1.5 (1,000)"
    assert said in replace(regression_model, evidence=e).summary()
    assert "fewer rows" not in regression_model.summary()


def test_what_the_search_saw(regression_model, parse):
    nan = float("nan")
    made = [
        ("screen", 600, nan),
        ("length scales", 1000, 0.5),
        ("length scales", 1000, 0.25),
        ("last look", 3000, 0.2),
        ("average", 3000, 0.125),
        ("more rows", 9000, 0.0625),
        ("folds", 50, 0.01),
        ("texts", 70, 0.01),
    ]
    trials = tuple(Trial(stage, "keep", "linear", rows, 0.1, fresh, 1.0) for stage, rows, fresh in made)
    assert of_search(trials) == [(1000, 0.25), (3000, 0.125), (9000, 0.0625)]
    told = _text(replace(regression_model, evidence=replace(regression_model.evidence, trials=trials)), parse)
    assert "0.2500 with 1,000, 0.1250 with 3,000 and 0.0625 with 9,000 rows" in told


def test_the_figure():
    ax = plot.error_by_rows([(125, 0.5), (250, 0.25)], plot.axes(), unit="error rate")
    [line] = ax.lines
    assert line.get_xydata().tolist() == [[125, 0.5], [250, 0.25]]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["125", "250"] and ax.get_ylim() == (
        0,
        pytest.approx(0.56),
    )
