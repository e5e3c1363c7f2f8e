"""Tests on rows a machine has not seen: which rows, which other models, which columns matter."""

import numpy as np
import pytest
from sklearn.linear_model import RidgeCV

from hasty import in_haste
from mercer.selection.search import Clock
from mercer.tables.model import evaluation as module
from mercer.tables.model.deadline import Deadline
from mercer.tables.model.importance import _importance
from mercer.tables.model.learn import Question, learn
from mercer.tables.reading import Table


def silent(text):
    pass


def question(table, y):
    y = np.asarray(y)
    classes = None if y.dtype.kind == "f" else np.unique(y)
    return Question(Table.of(table), y, "regression" if classes is None else "classification", classes)


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(0)
    x, w = rng.uniform(0, 6, 100), rng.choice(["a", "b", "c"], 100)
    table = {"x": x, "w": w, "luck": rng.standard_normal(100), "same": np.ones(100)}
    asked = question(table, np.sin(x) + 2.0 * (w == "a") + 0.05 * rng.standard_normal(100))
    with in_haste(folds=5):
        return asked, *module.evaluate(asked, Deadline(60.0), 0, silent)


def test_every_row_once(numbers):
    _, result, learned = numbers
    np.testing.assert_array_equal(result.rows, np.arange(100))
    assert result.predicted.shape == (100,) and result.probability is None
    assert learned.machine.plan_.examples == 100


def test_honest(numbers):
    """The machine fitted to a row knows it better than those that were tested on it."""
    asked, result, learned = numbers
    seen = np.mean((learned.predict(asked.table) - asked.y) ** 2)
    unseen = np.mean((result.predicted - asked.y) ** 2)
    assert seen < unseen < 0.3 * np.var(asked.y)


def test_memory_does_not_help(hasty):
    """A target that only its own row knows: errors as large as without any model."""
    rng = np.random.default_rng(1)
    asked = question({"x": np.arange(60.0)}, rng.choice([-1.0, 1.0], 60) + 0.01 * rng.standard_normal(60))
    result, _ = module.evaluate(asked, Deadline(60.0), 0, silent)
    assert np.mean((result.predicted - asked.y) ** 2) > 0.8


def test_other_models_are_what_they_are_called(numbers):
    asked, result, _ = numbers
    constant, _ = result.others["constant"]
    assert len(np.unique(constant)) == 5  # the mean of every fold's other rows
    assert abs(constant.mean() - asked.y.mean()) < 1e-6
    assert list(result.others) == ["constant", "linear model", "gradient boosting"]
    linear, _ = result.others["linear model"]
    x = asked.table["x"]
    design = np.column_stack([x, asked.table["luck"], *(asked.table["w"] == v for v in "abc")]).astype(float)
    design = (design - design.mean(axis=0)) / design.std(axis=0)
    by_hand = RidgeCV(np.logspace(-3, 4, 15)).fit(design, asked.y).predict(design)
    assert np.corrcoef(linear, by_hand)[0, 1] > 0.97


def test_columns_that_matter(numbers):
    _, result, _ = numbers
    x, w, luck, same = result.importance.mean(axis=1)
    assert min(x, w) > 5 * abs(luck) and min(x, w) > 0.2 and same == 0


def test_importance_by_hand(numbers):
    """A column without any influence left: the error is that of a machine that can't see it."""
    asked, result, _ = numbers
    spread = np.std(2.0 * (asked.table["w"] == "a"))
    # Shuffled, its contribution is wrong by √2 of its spread.
    before = np.sqrt(np.mean((result.predicted - asked.y) ** 2))
    expected = np.sqrt(before**2 + 2 * spread**2) - before
    assert result.importance[1].mean() == pytest.approx(expected, rel=0.25)


def test_fewer_rows_are_shuffled_where_there_is_no_time(numbers):
    asked, _, learned = numbers
    points, predicted = learned.columns.transform(asked.table), learned.predict(asked.table)
    out, _, count = _importance(learned, asked, points, predicted, 1.0, 0, Clock(1e6))
    assert count == 100 and out.shape == (4, 3)
    few, _, count = _importance(learned, asked, points, predicted, 1e-9, 0, Clock(1e6))
    assert count == 20
    assert np.sqrt(few[0] / 20).mean() == pytest.approx(np.sqrt(out[0] / 100).mean(), rel=0.6)


def left_out_by_hand(kernel, mu, X, y):
    """Mean size of the errors of one least squares fit a row, without it."""
    K, n = kernel(X, X), len(y)
    sizes = []
    for i in range(n):
        rest = np.delete(np.arange(n), i)
        # f + b with the penalty μ‖f‖²: the offset is a row and a column of ones.
        system = np.block(
            [[K[np.ix_(rest, rest)] + mu * np.eye(n - 1), np.ones((n - 1, 1))], [np.ones(n - 1), 0]]
        )
        solved = np.linalg.solve(system, np.append(y[rest], 0))
        sizes.append(abs(y[i] - K[i, rest] @ solved[:-1] - solved[-1]))
    return np.mean(sizes)


def test_gain_is_the_ratio_of_leave_one_out_errors():
    """Half of the rows against all of them, on a curve that needs them all."""
    rng = np.random.default_rng(3)
    x = np.sort(rng.uniform(0, 20, 40))
    asked = question({"x": x}, np.sin(2 * x) + 0.3 * rng.standard_normal(40))
    train, test = np.arange(0, 40, 2), np.arange(1, 40, 2)
    half, whole = (learn(part, 0.5, 0, silent) for part in (asked.take(train), asked))
    gain = module._gain([(test, train, half)], whole, asked)
    sizes = []
    for learned, part in ((half, asked.take(train)), (whole, asked)):
        best = learned.found.best
        X = learned.columns.transform(part.table)
        # Leaving one out keeps λ, so that λ times the number of rows is a little smaller.
        sizes.append(left_out_by_hand(best.kernel, best.mu * (1 - 1 / len(X)), X, part.y))
    assert gain == pytest.approx(np.clip(sizes[1] / sizes[0], 0.5, 1), rel=1e-6)


def test_gain_of_what_is_learned_already(numbers):
    """Many rows and noise: a quarter more of them changes little. Labels have none."""
    _, result, learned = numbers
    assert 0.7 < result.gain <= 1
    labels = question({"x": np.arange(20.0)}, ["a", "b"] * 10)
    assert module._gain([], learned, labels) == 1


@pytest.mark.parametrize(
    "labels, folds",
    [(["a", "b"] * 6, 5), (["a", "b", "c"] * 4, 4), (["a"] * 10 + ["b"] * 2, 2), (list("abcdef") * 2, 2)],
)
def test_as_many_folds_as_the_rarest_class_allows(labels, folds):
    asked = question({"x": np.arange(float(len(labels)))}, labels)
    splits = module._splits(asked, 0)
    assert len(splits) == folds
    np.testing.assert_array_equal(
        np.sort(np.concatenate([test for _, test in splits])), np.arange(len(labels))
    )
    for train, _ in splits:
        assert set(asked.y[train]) == set(labels)
