"""Metrics by scikit-learn, equal rows and weighted ones."""

import numpy as np
import pytest
from sklearn import metrics

from mercer.tables.model.metric import metric_names, metric_of

RNG = np.random.default_rng(0)
TWO, THREE = np.array(["no", "yes"]), np.array([1, 3, 7])
LABELS = ["accuracy", "balanced_accuracy", "log_loss", "auc", "average_precision"]


def drawn(classes, n=200, rounded=1):
    """Labels, probabilities with many ties, and the likeliest label."""
    k = len(classes)
    place = RNG.choice(k, n, p=np.arange(k, 0, -1) / (k * (k + 1) / 2))
    P = RNG.random((n, k)).round(rounded) + 0.1 + 0.4 * (place[:, None] == np.arange(k))
    P /= P.sum(axis=1, keepdims=True)
    return classes[place], classes[P.argmax(axis=1)], P


def by_sklearn(name, truth, predicted, P, classes, w=None):
    if name == "accuracy":
        return metrics.accuracy_score(truth, predicted, sample_weight=w)
    if name == "balanced_accuracy":
        return metrics.balanced_accuracy_score(truth, predicted, sample_weight=w)
    if name == "log_loss":
        return metrics.log_loss(truth, P, labels=classes, sample_weight=w)
    if name == "auc":
        one, more = (P[:, 1], {}) if len(classes) == 2 else (P, {"multi_class": "ovr"})
        return metrics.roc_auc_score(truth, one, sample_weight=w, **more)
    member = truth[:, None] == classes
    if len(classes) == 2:
        member, P = member[:, 1], P[:, 1]
    return metrics.average_precision_score(member, P, sample_weight=w)


@pytest.mark.parametrize("classes", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("name", LABELS)
def test_labels_by_scikit_learn(name, classes):
    truth, predicted, P = drawn(classes)
    metric = metric_of(name, "classification", classes, truth)
    value = by_sklearn(name, truth, predicted, P, classes)
    assert metric.value(truth, predicted, P) == pytest.approx(value, rel=1e-12)
    cost = value if name == "log_loss" else 1 - value
    assert metric.cost(truth, predicted, P) == pytest.approx(cost, rel=1e-12)
    W = RNG.integers(0, 4, (3, len(truth))).astype(float)
    found = metric.values(truth, predicted, P, W)
    for value, w in zip(found, W, strict=True):
        assert value == pytest.approx(by_sklearn(name, truth, predicted, P, classes, w), rel=1e-12)


@pytest.mark.parametrize(
    "name, by",
    [
        ("rmse", metrics.root_mean_squared_error),
        ("mae", metrics.mean_absolute_error),
        ("r2", metrics.r2_score),
    ],
)
def test_numbers_by_scikit_learn(name, by):
    truth = 1e6 + RNG.standard_normal(50)
    predicted = truth + RNG.standard_normal(50)
    metric = metric_of(name, "regression")
    value = by(truth, predicted)
    assert metric.value(truth, predicted) == pytest.approx(value, rel=1e-9)
    assert metric.cost(truth, predicted) == pytest.approx(1 - value if name == "r2" else value, rel=1e-9)
    w = RNG.integers(0, 4, 50).astype(float)
    assert metric.values(truth, predicted, None, w[None])[0] == pytest.approx(
        by(truth, predicted, sample_weight=w), rel=1e-9
    )


def test_average_precision_is_that_of_the_rarer_label():
    truth, predicted, P = drawn(TWO)
    assert np.mean(truth == "no") > 0.5
    swapped = np.where(truth == "no", "yes", "no")  # "no" is the rarer one now
    metric = metric_of("average_precision", "classification", TWO, swapped)
    assert metric.place == 0
    expected = metrics.average_precision_score(swapped == "no", P[:, 0])
    assert metric.value(swapped, predicted, P) == pytest.approx(expected)


def test_a_label_that_is_absent():
    """AUC of three labels where one is missing is that of the others; of one label there is none."""
    truth, predicted, P = drawn(THREE)
    there = truth != 7
    found = metric_of("auc", "classification", THREE).value(truth[there], predicted[there], P[there])
    each = [metrics.roc_auc_score(truth[there] == c, P[there, j]) for j, c in enumerate(THREE[:2])]
    assert found == pytest.approx(np.mean(each))
    assert np.isnan(metric_of("auc", "classification", TWO).value(np.array(["no", "no"]), None, P[:2, :2]))


@pytest.mark.parametrize(
    "name, task, match",
    [
        ("auc", "regression", "choose 'rmse', 'mae' or 'r2'"),
        ("rmse", "classification", "'auc' or 'average_precision'"),
        ("f1", "classification", "metric 'f1' is none of labels"),
        (3, "regression", "metric 3"),
    ],
)
def test_wrong_names(name, task, match):
    with pytest.raises(ValueError, match=match):
        metric_of(name, task, TWO)


def test_words():
    for name in metric_names():
        task = "regression" if name in ("rmse", "mae", "r2") else "classification"
        metric = metric_of(name, task, TWO)
        assert metric.larger_is_better == (name not in ("rmse", "mae", "log_loss"))
        assert metric.words and metric.judges in ("labels", "probabilities", "numbers")
