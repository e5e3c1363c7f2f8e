"""Many rows: one part is held out, and what was asked for is looked at on that."""

import numpy as np
import pytest
from sklearn.metrics import (
    balanced_accuracy_score,
    log_loss,
    mean_absolute_error,
    root_mean_squared_error,
    zero_one_loss,
)

import mercer
from mercer._threads import stopping_point
from mercer.operators import NotPositiveDefinite
from mercer.tables.model import evaluation
from mercer.tables.model.deadline import Deadline
from mercer.tables.model.evaluation import PartLearner, _splits
from mercer.tables.model.learn import Question
from mercer.tables.model.speed import Speed
from mercer.tables.reading import Table

N = 400
RNG = np.random.default_rng(0)
X = {"x": RNG.uniform(0, 6, N), "w": RNG.choice(list("abc"), N)}
Y = np.sin(X["x"]) + (X["w"] == "a") + 0.1 * RNG.standard_normal(N)
TWO = np.where(Y > 1.0, "high", "low")
THREE = np.where(Y > 1.3, "high", np.where(Y > 0, "mid", "low"))
WORDS = np.array(
    [" ".join([*RNG.choice(["sofa", "lamp", "rug"], 4), "fine" if y > 1 else "poor"]) for y in Y],
    dtype=object,
)


@pytest.fixture
def quick(hasty, monkeypatch):
    monkeypatch.setattr(evaluation, "_HOLD_OUT_FROM", 300)
    monkeypatch.setattr(evaluation, "_SMALLEST_TEST", 100)
    return lambda X, y, **asked: mercer.fit(X, y, **{"minutes": 1.0, **asked})


def right(e):
    return e.truth, e.predicted


SCORES = {
    "rmse": (Y, lambda e: root_mean_squared_error(*right(e))),
    "mae": (Y, lambda e: mean_absolute_error(*right(e))),
    "accuracy": (THREE, lambda e: zero_one_loss(*right(e))),  # shown as its complement
    "balanced_accuracy": (THREE, lambda e: balanced_accuracy_score(*right(e))),
    "log_loss": (THREE, lambda e: log_loss(e.truth, e.probability)),
    "auc": (TWO, None),
}


@pytest.mark.parametrize("metric", SCORES)
def test_metrics(metric, quick):
    y, score = SCORES[metric]
    e = quick(X, y, metric=metric).evidence
    assert e.how == "100 rows held out of search and fit" and len(e.truth) == 100 and e.metric == metric
    ours, constant = (c.scores[0].value for c in e.contenders[:2])
    if score is not None:
        assert ours == pytest.approx(score(e), rel=1e-6)
    else:  # the share of pairs that are in order
        high, low = (e.probability[e.truth == label, 0] for label in ("high", "low"))
        assert ours == pytest.approx(np.mean(high[:, None] > low), abs=1e-3)
    assert abs(ours - constant) > 0.2


def test_weights(quick):
    """Weighted labels are fitted one machine after the other, and all rows are learned from."""
    model = quick(X, TWO, class_weight={"high": 5.0})
    weights = model.machine.class_weight
    assert weights["high"] == pytest.approx(5 * weights["low"]) and model.machine.plan_.examples == N
    assert model.evidence.cut == () and model.evidence.how.startswith("100 rows")
    assert (model.predict(X) == "high").sum() >= (quick(X, TWO).predict(X) == "high").sum()
    assert np.mean(model.predict(X) == TWO) > 0.8


@pytest.mark.parametrize(
    "wish", [{"threshold": 0.2}, {"threshold": "auto"}, {"costs": {("high", "low"): 9.0}}]
)
def test_decisions(wish, quick):
    model = quick(X, TWO, **wish)
    e = model.evidence
    P = model.predict_proba(X)
    if "costs" in wish:
        expected = np.where(9 * P[:, 0] > P[:, 1], "high", "low")
        cost = np.mean(np.where(e.truth == "high", 9.0, 1.0) * (e.truth != e.predicted))
        assert e.scores[0].value == pytest.approx(cost)
    else:
        expected = np.where(P[:, 1] >= model.decision.threshold, "low", "high")
    np.testing.assert_array_equal(model.predict(X), expected)
    assert len(e.truth) == 100


@pytest.mark.parametrize("wish", [{}, {"class_weight": "balanced"}], ids=["as they are", "weighted"])
@pytest.mark.parametrize("beside", [False, True])
def test_texts(beside, wish, quick):
    table = {"t": WORDS, **({"x": X["x"]} if beside else {})}
    model = quick(table, TWO, kinds={"t": "text"}, **wish)
    assert model.machine.plan_.examples == N and model.evidence.cut == ()
    assert np.mean(model.predict(table) == TWO) > 0.9 and len(model.evidence.truth) == 100


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (None, "the fit to all rows was done"),
        (KeyboardInterrupt, "it was interrupted before the fit to all rows was done: this model knows some"),
        (
            NotPositiveDefinite,
            "a solver failed () before the fit to all rows was done: this model knows some",
        ),
    ],
)
def test_a_fit_that_comes_to_no_end(error, said, quick, monkeypatch):
    """What was fitted to fewer rows before it remains, not the first model, which knows one width."""

    def endless(*_):
        while error is None:
            stopping_point()
        raise error

    monkeypatch.setattr(Speed, "exact", lambda self, n: np.inf)
    monkeypatch.setattr(Speed, "rows_within", lambda *_: 200)
    monkeypatch.setattr(evaluation, "fit_both", endless)
    monkeypatch.setattr(evaluation, "_LATE_FITS", 0.02)
    model = quick(X, Y, minutes=0.5)
    assert model.machine.plan_.examples == 200 and len(model.evidence.truth) == 100
    few = "exact on 200 of the 400 rows: with all of them it would not be done in time"
    assert few in model.evidence.remarks and any(said in cut for cut in model.evidence.cut)
    assert model.evidence.scores[0].value < 0.5 * np.std(Y)


def test_groups(quick):
    groups = np.arange(N) // 8
    e = quick(X, Y, groups=groups).evidence
    assert "rows that are equal or of one group kept together (50 sets of rows)" in e.how
    tested = np.unique(groups[np.isin(Y, e.truth)])
    assert len(e.truth) == 8 * len(tested)  # all rows of a group, or none


def test_over_a_cluster_with_weights(quick, cluster):
    here, there = (quick(X, TWO, class_weight="balanced", client=c) for c in (None, cluster))
    np.testing.assert_allclose(here.predict_proba(X), there.predict_proba(X), rtol=1e-6, atol=1e-8)
    assert here.evidence.scores[0].value == pytest.approx(there.evidence.scores[0].value)


@pytest.mark.parametrize("y", [Y, TWO, THREE], ids=["numbers", "two", "three"])
def test_targets_of_the_rows_held_out_are_not_looked_at(y, hasty, monkeypatch):
    """Neither by the search nor by the fit: with other ones the tested machine is the same."""
    monkeypatch.setattr(evaluation, "_HOLD_OUT_FROM", 300)
    monkeypatch.setattr(evaluation, "_SMALLEST_TEST", 100)
    # Numbers are split without looking at them, labels by their shares: so they change among each other.
    asked = _question(y)
    splits = _splits(asked, 0)
    [(_, test)] = splits
    other = y.copy()
    other[test] = np.roll(y[test], 1)
    made = [_held_out(_question(target), splits) for target in (y, other)]
    (one, last), (two, other_last) = made
    np.testing.assert_array_equal(one.predict(asked.table), two.predict(asked.table))
    assert one.machine.kernel_ == two.machine.kernel_
    a, b = (learned.machine.scores(learned.columns.transform(asked.table)) for learned in (last, other_last))
    assert (a != b).any()


def _question(y):
    classes = None if y.dtype.kind == "f" else np.unique(y)
    return Question(Table.of(X), y, "regression" if classes is None else "classification", classes)


def _held_out(asked, splits):
    from mercer.selection.crew import HERE
    from mercer.tables.model.search import silent

    (_, _, part), last = PartLearner(asked, splits, 60.0, 0, silent, HERE, Deadline(60.0)).held_out()
    return part, last


def test_more_labels_than_rows_to_test():
    """Some would be tested, and some not: then there are folds."""
    y = np.array([f"l{i // 2}" for i in range(4000)])
    asked = Question(Table.of({"x": np.arange(4000.0)}), y, "classification", np.unique(y))
    splits = _splits(asked, 0)
    assert len(splits) == 2 and sum(len(test) for _, test in splits) == 4000
    few = np.array([f"l{i // 100}" for i in range(4000)])
    asked = Question(Table.of({"x": np.arange(4000.0)}), few, "classification", np.unique(few))
    assert [len(test) for _, test in _splits(asked, 0)] == [800]
