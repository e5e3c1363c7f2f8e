"""What was asked of a fit is what its model does, says, and keeps in a file."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

import mercer
from hasty import in_haste
from mercer._state import check
from mercer.io import ModelFileError
from mercer.tables.model import evaluation
from mercer.tables.model.decision import Decision
from mercer.tables.model.learn import Question
from mercer.tables.model.preferences import Preferences
from mercer.tables.model.sentences import rare_of
from mercer.tables.reading import Table

RNG = np.random.default_rng(0)
N = 300
X = RNG.standard_normal((N, 2))
Y = np.where(X[:, 0] + 0.7 * RNG.standard_normal(N) > 1.9, "sick", "well")
TABLE = {"a": X[:, 0], "b": X[:, 1]}
NEW = {"a": np.linspace(-1, 4, 60), "b": np.zeros(60)}


def quick(target=Y, **wanted):
    with in_haste():
        return mercer.fit(TABLE, target, target="state", minutes=1.0, **wanted)


@pytest.fixture(scope="module")
def plain():
    return quick()


@pytest.fixture(scope="module")
def costly():
    return quick(costs={("sick", "well"): 20})


@pytest.fixture(scope="module")
def weighted():
    return quick(class_weight="balanced", metric="auc")


def test_without_wishes_the_likeliest_label_is_predicted(plain):
    assert plain.decision is None and plain.evidence.metric == "accuracy"
    likeliest = plain.classes_[plain.predict_proba(NEW).argmax(axis=1)]
    np.testing.assert_array_equal(plain.predict(NEW), likeliest)


def test_costs_decide(costly, plain, tmp_path):
    P = costly.predict_proba(NEW)
    np.testing.assert_allclose(P, plain.predict_proba(NEW))  # costs change labels only
    expected = np.where(P[:, 0] * 20 > P[:, 1], "sick", "well")
    np.testing.assert_array_equal(costly.predict(NEW), expected)
    assert (expected == "sick").sum() > (plain.predict(NEW) == "sick").sum()
    e = costly.evidence
    np.testing.assert_array_equal(
        e.predicted, np.where(e.probability[:, 0] * 20 > e.probability[:, 1], "sick", "well")
    )
    cost = 20 * np.mean((e.truth == "sick") & (e.predicted == "well"))
    cost += np.mean((e.truth == "well") & (e.predicted == "sick"))
    assert (e.scores[0].name, e.scores[0].value) == ("mean cost", pytest.approx(cost))
    again = mercer.load(mercer.save(costly, tmp_path / "m.mercer") or tmp_path / "m.mercer")
    np.testing.assert_array_equal(again.predict(NEW), expected)
    assert again.evidence.sentences == e.sentences
    again.write(NEW, tmp_path / "out.csv")
    np.testing.assert_array_equal(mercer.tables.read(tmp_path / "out.csv")["prediction"], expected)


def test_weights_keep_probabilities_honest(weighted, plain):
    """A balanced fit says about half; taken out of it, what remains is the share there is."""
    e = weighted.evidence
    share = np.mean(Y == "sick")
    assert weighted.machine.class_weight["sick"] > 5
    assert abs(e.probability[:, 0].mean() - share) < 0.5 * share
    # But labels go by the weights.
    assert (e.predicted == "sick").sum() > 1.5 * (plain.evidence.predicted == "sick").sum()
    np.testing.assert_array_equal(
        weighted.predict(NEW), weighted.machine.predict(weighted.columns.transform(NEW))
    )
    assert e.scores[0].name == "AUC" and "weighted error rate" in [s.name for s in e.scores]
    assert e.scores[0].value == pytest.approx(roc_auc_score(e.truth == "sick", e.probability[:, 0]))


def test_a_threshold_is_found_on_other_rows():
    P = np.column_stack([1 - X[:, 0].clip(0.001, 0.999), X[:, 0].clip(0.001, 0.999)])
    question = Question(Table.of(TABLE), Y, "classification", np.unique(Y))
    wanted = Preferences(metric="balanced_accuracy", threshold="auto")
    question = wanted.on(question)
    tested = evaluation.Tested(
        "", np.arange(N), Y, P[:, ::-1], {"linear model": (Y, P)}, np.zeros((2, 1)), 1.0, ()
    )
    found, decided = wanted.decided(question, tested, 0)
    t = decided.decision.threshold
    tries = [
        balanced_accuracy_score(Y, np.where(P[:, 0] >= s, "well", "sick"))
        for s in np.linspace(0.01, 0.99, 99)
    ]
    best = balanced_accuracy_score(Y, decided.decision.labels(P[:, ::-1], question.classes))
    assert 0 < t < 1 and best >= max(tries) - 1e-12
    # What was tested did not choose its own threshold.
    assert balanced_accuracy_score(Y, found.predicted) <= best
    assert "took no part" in decided.said[0]


@pytest.mark.parametrize(
    "wanted, target, match",
    [
        ({"metric": "f1"}, Y, "metric must be 'accuracy'.* or 'r2', got 'f1'"),
        ({"metric": "rmse"}, Y, "'rmse' is none of labels"),
        ({"metric": "auc"}, X[:, 0], "'auc' is none of numbers"),
        ({"threshold": 0.3}, X[:, 0], "threshold is for labels"),
        ({"class_weight": "balanced"}, X[:, 0], "class_weight is for labels"),
        ({"costs": {}}, X[:, 0], "costs is for labels"),
        ({"threshold": 1.0}, Y, "between 0 and 1"),
        ({"threshold": "best"}, Y, "or 'auto'; got 'best'"),
        ({"threshold": True}, Y, "between 0 and 1"),
        ({"threshold": 0.3, "costs": {}}, Y, "say one of them"),
        ({"threshold": 0.3}, np.array(["a", "b", "c"] * 100), "two labels, and there are 3"),
        ({"costs": {("a", "b"): 1}}, Y, "no label 'a'"),
    ],
)
def test_wishes_that_make_no_sense(wanted, target, match):
    with pytest.raises(ValueError, match=match):
        mercer.fit(TABLE, target, minutes=1.0, **wanted)


def test_numbers_by_another_metric():
    model = quick(X[:, 0] + X[:, 1], metric="mae")
    assert [s.name for s in model.evidence.scores] == ["MAE", "RMSE", "R²"]
    assert model.decision is None and repr(model).startswith("<Model of 'state': MAE")


# -- files ------------------------------------------------------------------------------------------


def test_models_with_wrong_decisions(plain, weighted):
    with pytest.raises(ValueError, match="one among 3 labels"):
        check(replace(plain, decision=Decision(costs=np.eye(3))))
    with pytest.raises(ValueError, match="decides on no labels"):
        check(replace(quick(X[:, 0]), decision=Decision(threshold=0.5)))
    wrong = type(weighted.machine)(**weighted.machine.get_params(deep=False))
    wrong.__dict__ |= vars(weighted.machine) | {"class_weight": {"sick": -1.0}}
    with pytest.raises(ValueError, match="weights of its labels"):
        check(replace(weighted, machine=wrong))


@pytest.mark.parametrize("costs", [np.array([[0, np.inf], [1, 0]]), np.zeros((3, 3)), np.zeros((2, 3))])
def test_hostile_files_are_refused(costs, plain, tmp_path):
    object.__setattr__(hostile := replace(plain), "decision", Decision(costs=costs))
    with pytest.raises((ModelFileError, ValueError)):
        mercer.save(hostile, tmp_path / "m.mercer")
        mercer.load(tmp_path / "m.mercer")


def test_a_rare_label_is_mentioned(plain):
    rows = int(np.sum(Y == "sick"))
    assert rare_of(Y) == ("sick", rows)
    said = [s for s in plain.evidence.sentences if s.startswith("'sick' is rare")]
    assert len(said) == 1 and f"{rows} of 300 rows" in said[0] and "average precision" in said[0]
    text = plain.summary()
    assert text.count("is rare") == 1 and "threshold=" in text and "AUC" in text
