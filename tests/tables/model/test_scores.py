"""Scores with intervals, and who is better: the same resamples for all, units as a whole."""

import numpy as np
import pytest

from mercer.tables.model.learn import Question
from mercer.tables.model.preferences import Preferences
from mercer.tables.model.scores import Contender, Resamples, Score, wilson
from mercer.tables.reading import Table

RNG = np.random.default_rng(0)


def contenders(seed=0):
    """One that guesses, and one that knows."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(["no", "yes"], 300)
    right = (truth == "yes").astype(float)
    p, q = rng.random(300), np.clip(0.3 * right + 0.35 + 0.3 * rng.random(300), 0, 1)
    classes = np.unique(truth)
    question = Preferences(metric="auc").on(Question(Table.of({"x": p}), truth, "classification", classes))
    answers = {
        name: (classes[(s > 0.5).astype(int)], np.column_stack([1 - s, s]))
        for name, s in {"mercer": p, "gradient boosting": q, "linear model": p}.items()
    }
    resamples = Resamples.of(question, truth, np.arange(300), 0)
    return question, resamples.contenders(answers)


def test_another_model_that_is_better():
    _, (ours, boosting, linear) = contenders()
    assert boosting.better and not boosting.worse and not linear.better and linear.apart == (0, 0)
    assert ours.apart is None and not ours.better
    gap = boosting.scores[0].value - ours.scores[0].value
    assert -boosting.apart[1] < gap < -boosting.apart[0]


def test_intervals_of_auc_by_the_formula_of_hanley_and_mcneil():
    question, (ours, *_) = contenders()
    auc, n1 = ours.scores[0], int(np.sum(question.y == "yes"))
    n0, a = len(question.y) - n1, auc.value
    q1, q2 = a / (2 - a), 2 * a * a / (1 + a)
    variance = (a * (1 - a) + (n1 - 1) * (q1 - a * a) + (n0 - 1) * (q2 - a * a)) / (n1 * n0)
    assert auc.high - auc.low == pytest.approx(2 * 1.96 * np.sqrt(variance), rel=0.2)


def test_no_error_in_few_rows_proves_little():
    truth = np.repeat(["no", "yes"], [30, 10])
    right = np.column_stack([truth == "no", truth == "yes"]).astype(float)
    question = Question(Table.of({"x": np.zeros(40)}), truth, "classification", np.unique(truth))
    scores = {s.name: s for s in Resamples.of(question, truth, np.arange(40), 0).scores(truth, right)}
    for name in ("AUC", "average precision", "balanced accuracy"):
        assert scores[name] == Score(name, 1.0, pytest.approx(1 - wilson(0.0, 10)[1]), 1.0, True)


def test_copies_have_one_say():
    truth = RNG.choice(["no", "yes"], 40)
    P = RNG.dirichlet(np.ones(2), 40)
    four, classes = np.repeat(np.arange(40), 4), np.unique(truth)
    question = Question(Table.of({"x": np.zeros(40)}), truth, "classification", classes)
    said = classes[P.argmax(axis=1)]
    one = Resamples.of(question, truth, np.arange(40), 0).scores(said, P)
    many = Resamples.of(question, truth[four], four, 0).scores(said[four], P[four])
    for a, b in zip(one, many, strict=True):
        assert (b.name, b.value, b.low, b.high) == (
            a.name,
            *(pytest.approx(v) for v in (a.value, a.low, a.high)),
        )


def test_a_file_of_an_earlier_version_has_no_comparison():
    assert not Contender("constant", ()).better and not Contender("constant", ()).worse


def test_one_set_of_rows_says_nothing_of_others():
    """Intervals are all there could be, and nobody is better beyond noise."""
    rng = np.random.default_rng(0)
    y = rng.standard_normal(40)
    asked = Question(Table.of(y[:, None]), y, "regression", None)
    answers = {"mercer": (y + 1.0, None), "other": (y, None)}
    ours, other = Resamples.of(asked, y, np.zeros(40, dtype=int), 0).contenders(answers)
    intervals = {s.name: (s.low, s.high) for s in ours.scores}
    assert intervals == {"RMSE": (0.0, np.inf), "MAE": (0.0, np.inf), "R²": (-np.inf, 1.0)}
    assert other.apart == (-np.inf, np.inf) and not other.better
