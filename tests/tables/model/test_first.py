"""A first model: of few rows, with every label, tested on rows it has not seen."""

import numpy as np
import pytest

from mercer import KernelClassifier, KernelRidge
from mercer.tables.model.deadline import Deadline
from mercer.tables.model.first import first_part
from mercer.tables.model.learn import Question
from mercer.tables.reading import Table

RNG = np.random.default_rng(0)
N = 1200
X = RNG.uniform(-2, 2, (N, 2))
Y = np.sin(2 * X[:, 0]) + X[:, 1]


def question(table, y, units=None, texts=()):
    y = np.asarray(y)
    classes = None if y.dtype.kind == "f" else np.unique(y)
    task = "regression" if classes is None else "classification"
    return Question(Table.of(table), y, task, classes, units, texts)


def first(asked, seed=0):
    return first_part(asked, Deadline(60.0), seed)


def test_numbers():
    asked = question(X, Y)
    test, train, learned = first(asked)
    assert len(test) == 200 and len(train) == 600 and not np.isin(test, train).any()
    assert type(learned.machine) is KernelRidge and learned.machine.plan_.examples == 600
    # It is least squares with the kernel and λ that it says, of the rows it says.
    seen = asked.take(train)
    alone = KernelRidge(learned.found.best.kernel, lam=learned.found.best.mu / 600, representation="full")
    alone.fit(seen.points(learned.columns), seen.y)
    expected = alone.predict(learned.columns.transform(asked.table))
    np.testing.assert_allclose(learned.predict(asked.table), expected, rtol=1e-6, atol=1e-8)
    unseen = Y[test] - learned.predict(asked.table.take(test))
    assert np.mean(unseen**2) < 0.05 * np.var(Y)


def test_targets_of_tested_rows_are_not_learned_from():
    test, _, learned = first(question(X, Y))
    changed = Y.copy()
    changed[test] += 100.0
    again, _, other = first(question(X, changed))
    np.testing.assert_array_equal(again, test)
    np.testing.assert_array_equal(other.predict(Table.of(X)), learned.predict(Table.of(X)))


def test_the_seed_draws_the_rows():
    a, b, c = (first(question(X, Y), seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(a[1], b[1])
    np.testing.assert_array_equal(a[2].predict(Table.of(X)), b[2].predict(Table.of(X)))
    assert not np.array_equal(a[1], c[1])


@pytest.mark.parametrize("rare", [1, 2, 3, 7])
def test_every_label_is_known_however_rare(rare):
    """A decision by costs has a row for every label: a model without one of them could not be asked."""
    labels = np.where(Y > 0, "up", "down").astype("<U4")
    labels[RNG.permutation(N)[:rare]] = "rare"
    for seed in range(5):
        test, train, learned = first(question(X, labels), seed)
        assert learned.machine.classes_.tolist() == ["down", "rare", "up"]
        assert len(test) and not np.isin(test, train).any()
        P = learned.predict_proba(Table.of(X))
        np.testing.assert_allclose(P.sum(axis=1), 1)
        assert np.mean(learned.predict(Table.of(X)) == labels) > 0.85


def test_more_labels_than_rows_to_test():
    test, train, learned = first(question({"x": np.arange(10.0)}, list("abcde") * 2))
    assert learned.machine.classes_.tolist() == list("abcde") and isinstance(
        learned.machine, KernelClassifier
    )
    assert len(test) + len(train) == 10 and len(test) >= 1


def test_so_many_labels_that_it_would_take_long():
    assert first(question({"x": np.arange(3000.0)}, np.arange(3000) // 3)) is None


def test_one_class_that_is_all_but_one_row():
    labels = np.where(np.arange(N) == 5, "odd", "even")
    _, train, learned = first(question(X, labels))
    assert 5 in train and learned.machine.classes_.tolist() == ["even", "odd"]


@pytest.mark.parametrize("labels", [False, True])
def test_rows_of_a_group_are_on_one_side(labels):
    units = np.random.default_rng(1).integers(0, 60, N)
    asked = question(X, np.where(Y > 0, "up", "down") if labels else Y, units)
    test, train, _ = first(asked)
    assert len(test) and not np.isin(units[test], units[train]).any()


def test_one_group_only():
    assert first(question(X, Y, np.zeros(N, dtype=int))) is None


def test_a_label_that_all_groups_to_be_tested_would_keep_to_themselves():
    units = np.repeat(np.arange(4), 10)
    asked = question(X[:40], np.where(units == 2, "b", "a"), units)
    found = [made for seed in range(8) if (made := first(asked, seed)) is not None]
    assert 0 < len(found) < 8  # where nothing would be left to test there is no first model
    assert all(learned.machine.classes_.tolist() == ["a", "b"] for _, _, learned in found)


def texts(n):
    return np.array([" ".join(RNG.choice(["sofa", "lamp", "rug", "bed"], 5)) for _ in range(n)], dtype=object)


def test_texts_only():
    assert first(question({"t": texts(N)}, Y, texts=("t",))) is None


def test_texts_beside_numbers_are_left_out():
    _, _, learned = first(question({"x": X[:, 0], "t": texts(N)}, Y, texts=("t",)))
    assert learned.columns.texts == () and learned.columns.width == 1
    assert learned.machine.kernel.vectors


def test_a_wide_table():
    wide = np.random.default_rng(2).standard_normal((900, 700))
    y = wide[:, 0] + 0.1 * wide[:, 1]
    test, train, learned = first(question(wide, y))
    assert np.isfinite(learned.predict(Table.of(wide))).all()
    assert len(test) == 200 and len(train) == 600


@pytest.mark.parametrize(
    "y",
    [np.zeros(60), np.where(np.arange(60) == 7, 1.0, 0.0), np.full(60, 1e12)],
    ids=["zeros", "one", "huge"],
)
def test_targets_with_nothing_in_them(y):
    test, _, learned = first(question(X[:60], y))
    assert len(test) == 15 and np.isfinite(learned.predict(Table.of(X))).all()
