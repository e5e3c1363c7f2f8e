"""The first words: recomputed from the predictions, and honest about other models."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import mean_absolute_error, root_mean_squared_error

from mercer.tables.model.evidence import Contender, Score
from mercer.tables.report.model.answer import answer, asked
from mercer.tables.report.page import Report


def _words(model, parse):
    page = Report("t")
    answer(page, model)
    return " ".join(" ".join(parse(page.html()).text).split())


def test_numbers_of_a_regression(regression_model, parse):
    e = regression_model.evidence
    text = _words(regression_model, parse)
    rmse, mae = root_mean_squared_error(e.truth, e.predicted), mean_absolute_error(e.truth, e.predicted)
    size = np.abs(e.truth - e.predicted)
    assert f"typically off by {rmse:#.3g};" in text and f"{mae:#.3g} average error" not in text
    assert f"average error (MAE) {mae:#.3g}" in text
    assert (
        f"off by less than {np.median(size):#.3g}, one in ten by more than {np.quantile(size, 0.9):#.3g}"
        in text
    )


def test_numbers_of_a_classification(classification_model, parse):
    e = classification_model.evidence
    wrong = int(np.sum(e.truth != e.predicted))
    text = _words(classification_model, parse)
    assert f"Of 120 rows it had not seen, the model gave {wrong} the wrong label: about" in text
    assert f"{100 * wrong / 120:.1f} %" in text


def test_the_question(regression_model, classification_model):
    assert "one of 3 labels, given 2 other columns of weather.csv, 120 rows?" in asked(
        classification_model, "weather.csv"
    )
    assert "a number, given 5 other columns of a table of 120 rows?" in asked(regression_model, None)


@pytest.mark.parametrize(
    "theirs, words",
    [
        ((2.0, 1.9, 2.1), "is clearly below that of a linear model (error 50 % smaller)."),
        ((1.05, 0.95, 1.2), "close to a linear model (error 5 % smaller): the difference may be chance"),
        ((0.5, 0.4, 0.6), "is clearly above that of a linear model (error 100 % larger). On this table"),
        ((0.0, 0.0, 0.0), "above that of a linear model (error 1 against 0)"),
        ((1.0, 0.9, 1.1), "(the same error)"),
    ],
)
def test_comparison(regression_model, parse, theirs, words):
    others = regression_model.evidence.scores[1:]
    ours = Contender("mercer", (Score("RMSE", 1.0, 0.9, 1.1, False), *others))
    linear = Contender("linear model", (Score("RMSE", *theirs, False),))
    evidence = replace(regression_model.evidence, contenders=(ours, linear))
    assert words in _words(replace(regression_model, evidence=evidence), parse).replace("\xa0", " ")


def test_without_a_single_error(classification_model, parse):
    e = classification_model.evidence
    best = (Score("error rate", 0.0, 0.0, 0.03, False), Score("accuracy", 1.0, 0.97, 1.0, True), e.scores[2])
    evidence = replace(e, predicted=e.truth, contenders=(Contender("mercer", best), *e.contenders[1:]))
    assert "none at all" in _words(replace(classification_model, evidence=evidence), parse)


def test_the_chosen_metric_is_first(classification_model, parse):
    e = classification_model.evidence
    auc = next(s for s in e.scores if s.name == "AUC")
    scores = (auc, *(s for s in e.scores if s is not auc))
    others = tuple(
        replace(c, scores=(next(s for s in c.scores if s.name == "AUC"),)) for c in e.contenders[1:]
    )
    said = ("gradient boosting tested better: AUC 1 against 0.5",)
    evidence = replace(e, contenders=(Contender("mercer", scores), *others), metric="auc", sentences=said)
    text = _words(replace(classification_model, evidence=evidence), parse)
    assert text.index("Judged by AUC") < text.index("the wrong label")
    assert "Gradient boosting tested better: AUC 1 against 0.5." in text
    assert text.index("judges order; 0.5 is chance") < text.index("judges probabilities")
    assert f"against {others[0].scores[0].value:#.3g}" in text
