"""Models beside ours: which rows and columns they get, and what they say."""

import warnings

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, RidgeCV

from mercer.selection.search import Clock
from mercer.tables.model import Columns
from mercer.tables.model.beside import answer, answers_beside, as_they_stand, fit_in_time, others, widened
from mercer.tables.model.deadline import Deadline
from mercer.tables.model.learn import Question
from mercer.tables.reading import Table

RNG = np.random.default_rng(0)
N = 600
PLACE = RNG.integers(0, 90, N)
WORDS = np.array([f"w{i}" for i in PLACE], dtype=object)
Y = RNG.standard_normal(90)[PLACE] + 0.5 * RNG.standard_normal(N)


def question(table, y):
    y = np.asarray(y)
    classes = None if y.dtype.kind == "f" else np.unique(y)
    return Question(Table.of(table), y, "regression" if classes is None else "classification", classes)


def test_peers_get_levels_as_they_stand():
    few = np.array(["a", "b", None] * 200, dtype=object)
    table = Table.of({"x": np.where(np.arange(N) % 9, Y, np.nan), "few": few, "w": WORDS})
    columns = Columns().fit(table, Y)
    X, levels = as_they_stand(columns, table, columns.training_points(table, Y))
    assert levels.tolist() == [False, True, True]
    np.testing.assert_array_equal(X[:, 0], table["x"])
    np.testing.assert_array_equal(X[:3, 1], [0, 1, np.nan])
    assert len(np.unique(X[:, 2])) == len(set(WORDS)) and X[:, 2].max() < 255
    # Too many levels to tell apart: by the target, as the rows that are learned from have it.
    many = Table.of({"w": np.array([f"w{i % 300}" for i in range(N)], dtype=object)})
    columns = Columns().fit(many, Y)
    points = columns.training_points(many, Y)
    X, levels = as_they_stand(columns, many, points)
    assert not levels.any()
    np.testing.assert_array_equal(X, points[:, -1:])


def test_boosting_is_scikit_learns_with_levels_of_its_own():
    asked = question({"w": WORDS, "x": Y + RNG.standard_normal(N)}, Y)
    columns = Columns().fit(asked.table, Y)
    points = asked.points(columns)
    there, deadline = columns.transform(asked.table), Deadline(1e6)
    found = answers_beside(asked, asked, points, there, columns, 1e6, deadline)
    assert list(found) == ["constant", "linear model", "gradient boosting"] and not deadline.cut
    levels = np.unique(WORDS, return_inverse=True)[1]
    X = np.column_stack([levels, asked.table["x"]])
    by_hand = HistGradientBoostingRegressor(random_state=0, categorical_features=[0]).fit(X, Y).predict(X)
    # Levels have other numbers, which mean nothing.
    assert np.corrcoef(found["gradient boosting"][0], by_hand)[0, 1] > 0.99


@pytest.mark.parametrize("labels", [["a"] * 9 + ["b"] * 8 + ["c"], list("abcdefghij") * 2, ["a", "b"] * 5])
def test_gradient_boosting_of_few_examples(labels):
    """It stops early by itself, which needs every class on both sides."""
    n = len(labels)
    seen = question({"x": np.arange(float(n))}, labels)
    points = np.arange(float(n))[:, None]
    model = others(seen)["gradient boosting"]
    predicted, P = answer(model, points, points, seen, Clock(1e6))
    assert len(predicted) == n and P.shape == (n, len(model.classes_))
    assert model.classes_.tolist() == sorted(set(labels))


def test_probabilities_of_classes_not_seen_are_0():
    P = widened(np.array([[0.25, 0.75]]), np.array(["a", "c"]), np.array(["a", "b", "c"]))
    np.testing.assert_array_equal(P, [[0.25, 0.0, 0.75]])


# -- in limited time ---------------------------------------------------------------------------------


def wide(n, d=50, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, X[:, 0] + np.sin(3 * X[:, 1]) + 0.1 * rng.standard_normal(n)


@pytest.fixture
def large(monkeypatch):
    """Tables of some thousand rows are large enough to be timed."""
    monkeypatch.setattr("mercer.tables.model.beside._QUICK", 1000)


def test_with_time_to_spare_boosting_is_scikit_learns(large):
    """A few iterations first, and the others later, are the same trees."""
    X, y = wide(3000)
    clock, model = Clock(1e6), HistGradientBoostingRegressor(max_iter=30, random_state=0)
    fit_in_time(model, X, y, clock)
    plain = HistGradientBoostingRegressor(max_iter=30, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict(X), plain.predict(X), rtol=1e-10)
    assert not clock.ended and model.n_iter_ == 30


def test_without_time_there_are_fewer_iterations(large):
    X, y = wide(3000)
    clock, model = Clock(0.0), HistGradientBoostingRegressor(max_iter=30, random_state=0)
    fit_in_time(model, X, y, clock)
    assert clock.ended and model.n_iter_ == 5
    plain = HistGradientBoostingRegressor(max_iter=5, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict(X), plain.predict(X), rtol=1e-10)


def test_small_tables_are_fitted_whatever_the_clock_says():
    """Numbers are one output, however many different ones there are."""
    X, y = wide(400, d=30)
    clock, model = Clock(0.0), HistGradientBoostingRegressor(max_iter=30, random_state=0)
    fit_in_time(model, X, y, clock)
    assert model.n_iter_ == 30 and not clock.ended


@pytest.mark.parametrize("seconds", [1e6, 0.0])
def test_labels_in_limited_time(seconds, large):
    X, y = wide(3000)
    labels, clock = np.digitize(y, [-0.5, 0.5]), Clock(seconds)
    model = LogisticRegression(max_iter=300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # which `answer` does, too
        fit_in_time(model, X, labels, clock)
    assert clock.ended == (seconds == 0)
    plain = LogisticRegression(max_iter=300).fit(X, labels)
    if seconds:
        np.testing.assert_allclose(
            model.predict_proba(X), plain.predict_proba(X), atol=1e-2
        )  # to its tolerance
    else:
        assert model.n_iter_.max() <= 5 and model.score(X, labels) > 0.4


@pytest.mark.parametrize("cv", [None, 3])
def test_a_spectrum_of_fewer_rows(cv):
    X, y = wide(3000)
    lams = np.logspace(-3, 4, 15)
    model, clock = RidgeCV(lams, cv=cv), Clock(1e6)
    fit_in_time(model, X, y, clock)
    np.testing.assert_allclose(model.coef_, RidgeCV(lams, cv=cv).fit(X, y).coef_)
    assert not clock.ended
    model, clock = RidgeCV(lams, cv=cv), Clock(0.0)
    fit_in_time(model, X, y, clock)
    assert clock.ended and abs(model.coef_[0] - 1) < 0.5  # of 200 rows or fewer
    assert np.abs(model.coef_ - RidgeCV(lams).fit(X, y).coef_).max() > 1e-6


def test_what_was_cut_is_said(large):
    asked = question({f"x{j}": wide(3000)[0][:, j] for j in range(50)}, wide(3000)[1])
    columns = Columns().fit(asked.table)
    points, deadline = columns.transform(asked.table), Deadline(1e6)
    found = answers_beside(asked, asked, points, points, columns, 1e-9, deadline)
    assert list(found) == ["constant", "linear model", "gradient boosting"]
    assert deadline.cut == ["the linear model beside it", "the gradient boosting beside it"]
    # Without any time there is a constant, which is nothing to be said.
    deadline = Deadline(1e6)
    assert list(answers_beside(asked, asked, points, points, columns, 0.0, deadline)) == ["constant"]
    assert deadline.cut == []
