"""Models beside ours: which rows and columns they get, and what they say."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

from mercer.selection.search import Clock
from mercer.tables.model import Columns
from mercer.tables.model.beside import answer, answers_beside, as_they_stand, others, widened
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
