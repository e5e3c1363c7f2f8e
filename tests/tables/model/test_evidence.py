"""What is known of a model: every number recomputed from what it is about."""

import dataclasses
import math

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import (
    average_precision_score,
    balanced_accuracy_score,
    log_loss,
    mean_absolute_error,
    r2_score,
    roc_auc_score,
    root_mean_squared_error,
)

from mercer import KernelRidge
from mercer.selection import path
from mercer.tables.model import Evidence
from mercer.tables.model.learn import Question
from mercer.tables.model.scores import Resamples, wilson
from mercer.tables.reading import Table

EVERY = ["price_model", "species_model", "yes_model"]
RANKS = ["balanced accuracy", "AUC", "average precision"]
every = pytest.mark.parametrize("name", EVERY)


@pytest.fixture
def evidence(name, request):
    return request.getfixturevalue(name).evidence


def plain(value, where):
    """Numbers, text, arrays of them, and containers of those: what can be written to a file."""
    if value is None or isinstance(value, (str, bool, int, float)):
        return
    if isinstance(value, np.ndarray):
        assert value.dtype.kind in "fiubU", where
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            plain(getattr(value, field.name), f"{where}.{field.name}")
    elif isinstance(value, tuple):
        for i, item in enumerate(value):
            plain(item, f"{where}[{i}]")
    else:
        assert isinstance(value, dict), f"{where} is a {type(value).__name__}"
        for key, item in value.items():
            assert isinstance(key, str)
            plain(item, f"{where}[{key!r}]")


@every
def test_plain_data(evidence):
    assert isinstance(evidence, Evidence)
    plain(evidence, "evidence")


@every
def test_every_row_was_tested(evidence, name, houses, flowers):
    truth = {"price_model": houses[1], "species_model": flowers[1]}.get(
        name, np.where(flowers[1] == "rose", "yes", "no")
    )
    assert evidence.rows == len(truth)
    np.testing.assert_array_equal(evidence.truth, truth)
    assert evidence.how == "5-fold cross-validation, the whole search repeated in each fold"


@every
def test_scores_of_all_contenders(evidence, name):
    assert [c.name for c in evidence.contenders] == [
        "mercer",
        "constant",
        "linear model",
        "gradient boosting",
    ]
    names = ["RMSE", "MAE", "R²"] if name == "price_model" else ["error rate", "accuracy", "log loss", *RANKS]
    for contender in evidence.contenders:
        assert [s.name for s in contender.scores] == names
        for score in contender.scores:
            assert score.low <= score.value <= score.high
            assert score.larger_is_better == (score.name in ("R²", "accuracy", *RANKS))
    assert evidence.scores == evidence.contenders[0].scores
    # The model does better than a constant: otherwise these tables say nothing.
    assert evidence.scores[0].high < evidence.contenders[1].scores[0].low


def test_scores_of_numbers(price_model):
    e = price_model.evidence
    rmse, mae, r2 = (s.value for s in e.scores)
    assert rmse == pytest.approx(root_mean_squared_error(e.truth, e.predicted))
    assert mae == pytest.approx(mean_absolute_error(e.truth, e.predicted))
    assert r2 == pytest.approx(r2_score(e.truth, e.predicted))


@pytest.mark.parametrize("name", EVERY[1:])
def test_scores_of_labels(evidence, name, request):
    wrong, right, loss, balanced, auc, precision = evidence.scores
    assert wrong.value == np.mean(evidence.truth != evidence.predicted)
    assert right.value == pytest.approx(1 - wrong.value) and right.low == pytest.approx(1 - wrong.high)
    classes = request.getfixturevalue(name).classes_
    assert loss.value == pytest.approx(log_loss(evidence.truth, evidence.probability, labels=classes))
    truth, P = evidence.truth, evidence.probability
    assert balanced.value == pytest.approx(balanced_accuracy_score(truth, evidence.predicted))
    if len(classes) == 2:  # "yes" is rarer
        area, mean = roc_auc_score(truth, P[:, 1]), average_precision_score(truth == "yes", P[:, 1])
    else:
        area = roc_auc_score(truth, P, multi_class="ovr")
        mean = average_precision_score(truth[:, None] == classes, P)
    assert (auc.value, precision.value) == pytest.approx((area, mean))
    assert (classes[evidence.probability.argmax(axis=1)] == evidence.predicted).all()


@pytest.mark.parametrize("errors, n", [(0, 10), (3, 10), (10, 10), (17, 400)])
def test_wilson_by_scipy(errors, n):
    interval = binomtest(errors, n).proportion_ci(0.95, method="wilson")
    assert wilson(errors, n) == pytest.approx((interval.low, interval.high), abs=1e-12)


def test_the_interval_of_the_error_by_the_bootstrap(price_model):
    """About as wide as 1.96 standard errors say."""
    e = price_model.evidence
    square = (e.truth - e.predicted) ** 2
    rmse = e.scores[0]
    half = 1.96 * square.std() / math.sqrt(len(square)) / (2 * rmse.value)
    assert rmse.high - rmse.low == pytest.approx(2 * half, rel=0.25)


@every
def test_importance(evidence, name, request):
    increases = [i.increase for i in evidence.importance]
    assert increases == sorted(increases, reverse=True)
    model = request.getfixturevalue(name)
    assert {i.column for i in evidence.importance} == set(model.schema.names)
    by_name = {i.column: i for i in evidence.importance}
    if name == "price_model":
        assert evidence.importance[0].column == "size"
        assert by_name["size"].increase > by_name["city"].increase > abs(by_name["noise"].increase)
        for unused in ("id", "country"):
            assert by_name[unused].increase == 0 and by_name[unused].length is None
    else:
        assert evidence.importance[-1].column == "luck" and abs(by_name["luck"].increase) < 0.05
        assert by_name["long"].increase > 0.1
    assert all(i.spread >= 0 and (i.length is None or i.length > 0) for i in evidence.importance)


@every
def test_the_leave_one_out_curve(evidence, name, request, houses, flowers):
    assert len(evidence.lams) == len(evidence.loo) and (np.diff(evidence.lams) > 0).all()
    assert evidence.loo_rows == evidence.rows
    # Nothing learned explains nothing; the best λ explains much.
    assert evidence.loo.min() < 0.6 and evidence.loo[-1] > 0.8
    if name == "price_model":
        model = request.getfixturevalue(name)
        X = model.columns.transform(houses[0])
        machine = KernelRidge(model.machine.kernel_, offset=True)
        expected = path(machine, X, houses[1], evidence.lams).loo_mse / np.var(houses[1])
        np.testing.assert_allclose(evidence.loo, expected, rtol=1e-6)


def test_coverage(price_model, species_model):
    levels = [level for level, _ in price_model.evidence.coverage]
    assert levels == [0.5, 0.6, 0.7, 0.8, 0.9, 0.95]
    for level, measured in price_model.evidence.coverage:
        # Half of the rows on each side: three standard deviations.
        assert abs(measured - level) < 3 * math.sqrt(2 * level * (1 - level) / 55) + 0.02
    assert species_model.evidence.coverage == ()


@pytest.mark.parametrize("name", EVERY[1:])
def test_reliability(evidence, name):
    assert sum(count for _, _, count in evidence.reliability) == evidence.rows
    total = sum(right * count for _, right, count in evidence.reliability)
    assert total / evidence.rows == pytest.approx(evidence.scores[1].value)
    sure = [mean for mean, _, _ in evidence.reliability]
    assert sure == sorted(sure) and 1 / evidence.probability.shape[1] <= sure[0] and sure[-1] <= 1


def test_no_reliability_of_numbers(price_model):
    assert price_model.evidence.reliability == () and price_model.evidence.probability is None


@every
def test_bounds(evidence, name):
    risk, n = evidence.risk, evidence.rows
    assert risk.bounds == evidence.bounds and risk.delta == 0.05
    first, sure = risk.bounds[0], [b for b in risk.bounds if not b.on_average]
    assert first.name == "Test-set bound" and "machines like this one" in first.assumptions
    events = round(0.05 / first.delta)
    assert {b.delta for b in sure} == {0.05 / events}
    if name == "price_model":
        cap = float(risk.measure.rpartition(" ")[2])
        error = np.minimum(np.abs(evidence.truth - evidence.predicted), cap)
        assert first.measured == pytest.approx(error.mean()) and first.value < cap
        assert first.value <= error.mean() + cap * np.sqrt(np.log(events / 0.05) / (2 * n))
    else:
        wrong = int((evidence.truth != evidence.predicted).sum())
        two_sided = binomtest(wrong, n).proportion_ci(1 - 2 * first.delta, method="exact")
        assert first.value == pytest.approx(two_sided.high) and first.measured == wrong / n
        assert {"Margin bound"} <= {b.name for b in risk.bounds} or name == "species_model"
    for bound in risk.bounds[1:]:
        assert bound.value >= bound.measured
        assert bound.on_average or "tuned" in bound.assumptions or bound.name == "VC bound"


@every
def test_what_was_tried(evidence):
    assert "screen" in {t.stage for t in evidence.trials} and len(evidence.trials) > 6
    assert evidence.seconds > 0 and "converged" in evidence.certificate


def test_remarks_and_columns_left_out(price_model):
    e = price_model.evidence
    first, *others = e.remarks
    assert first == "regression: 'price' holds numbers"
    assert all(remark.startswith("rows cluster") for remark in others)  # which depends on the kernel
    assert e.dropped == {
        "id": "110 different values in 110 rows: names or free text",
        "country": "constant",
    }


@every
def test_a_page_of_text(name, request):
    model = request.getfixturevalue(name)
    text = model.summary()
    lines = text.splitlines()
    assert lines[0] == (
        f"{model.task.capitalize()} of {model.target!r}, {model.evidence.rows} rows, "
        f"{len(model.schema.names)} columns"
    )
    for word in ("mercer", "constant", "linear model", "gradient boosting", "Tested by", "Solver:", "≤"):
        assert word in text
    for nonsense in ("nan", "inf]", "[inf", "-0 ", "None", "array("):
        assert nonsense not in text
    assert max(len(line) for line in lines if not line.startswith("Note: rows cluster")) < 250
    if name == "price_model":
        assert "Left out: id (110 different values in 110 rows: names or free text)" in lines
        assert any(line.startswith("Columns that matter") and "size +" in line for line in lines)
        assert any(line.startswith("Intervals of nominal 90 % covered") for line in lines)


@pytest.mark.parametrize("predicted, r2", [([2.0, 2.0, 2.0], 1.0), ([1.0, 2.0, 3.0], 0.0)])
def test_test_rows_that_are_all_alike(predicted, r2):
    """As scikit-learn has it."""
    truth, predicted = np.full(3, 2.0), np.array(predicted)
    asked = Question(Table.of({"x": truth}), truth, "regression", None)
    scores = Resamples.of(asked, truth, np.arange(3), 0).scores(predicted, None)
    assert scores[2].value == r2 == r2_score(truth, predicted)
    assert 0 <= scores[2].low <= scores[2].high <= 1
