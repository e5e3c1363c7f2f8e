"""How much predictions depend on columns: by the errors of shuffled ones, and what is done without time."""

from types import SimpleNamespace

import numpy as np
import pytest

from mercer import KernelClassifier, KernelRidge
from mercer.kernels import Gaussian
from mercer.tables.model.columns import Columns
from mercer.tables.model.deadline import Deadline
from mercer.tables.model.importance import REPEATS, importances
from mercer.tables.model.learn import Question
from mercer.tables.reading import Table

RNG = np.random.default_rng(0)
N = 300
TABLE = {"heavy": RNG.uniform(-2, 2, N), "light": RNG.uniform(-2, 2, N), "luck": RNG.standard_normal(N)}
Y = 3 * TABLE["heavy"] + 0.5 * TABLE["light"]
TEST, TRAIN = np.arange(0, N, 2), np.arange(1, N, 2)


def question(y):
    classes = None if y.dtype.kind == "f" else np.unique(y)
    return Question(Table.of(TABLE), y, "regression" if classes is None else "classification", classes)


def parts(asked, splits=((TEST, TRAIN),)):
    made = []
    for test, train in splits:
        seen = asked.take(train)
        columns = Columns().fit(seen.table)
        machine = KernelRidge(Gaussian(3.0), lam=1e-4) if asked.classes is None else None
        machine = machine or KernelClassifier(Gaussian(3.0), "squared", lam=1e-4)
        machine.fit(columns.transform(seen.table), seen.y)
        made.append((test, train, SimpleNamespace(columns=columns, machine=machine)))
    return made


def test_numbers_by_hand():
    """The target is linear: a shuffled column is wrong by √2 of the spread of what it adds."""
    deadline = Deadline(1e6)
    found = importances(parts(question(Y)), question(Y), 1e6, 0, deadline)
    assert found.shape == (3, REPEATS) and deadline.cut == []
    for j, (name, slope) in enumerate([("heavy", 3.0), ("light", 0.5)]):
        expected = np.sqrt(2) * slope * np.std(TABLE[name][TEST])
        assert found[j].mean() == pytest.approx(expected, rel=0.15)
    assert abs(found[2]).max() < 0.05


def test_labels_are_errors():
    y = np.where(TABLE["heavy"] > 0, "up", "down")
    found = importances(parts(question(y)), question(y), 1e6, 0, Deadline(1e6))
    # A label that is shuffled with its column is wrong half of the time.
    assert found[0].mean() == pytest.approx(0.5, abs=0.12) and abs(found[1:]).max() < 0.1


def test_several_parts_are_pooled():
    splits = ((TEST, TRAIN), (TRAIN, TEST))
    asked = question(Y)
    both = importances(parts(asked, splits), asked, 1e6, 0, Deadline(1e6))
    one, other = (importances(parts(asked, [split]), asked, 1e6, 0, Deadline(1e6)) for split in splits)
    np.testing.assert_allclose(both[0], np.sqrt((one[0] ** 2 + other[0] ** 2) / 2), rtol=0.02)


def test_columns_for_which_there_is_no_time():
    """They count as if nothing depended on them, and that is said."""
    deadline = Deadline(1e6)
    found = importances(parts(question(Y)), question(Y), 0.0, 0, deadline)
    np.testing.assert_array_equal(found, np.zeros((3, REPEATS)))
    assert deadline.cut == ["the importance of columns"]


def test_the_clock_ends_it_in_between(monkeypatch):
    from mercer.selection.search import Clock

    left = iter([False, True, True, True])

    def up(self):
        self.ended = self.ended or next(left)
        return self.ended

    monkeypatch.setattr(Clock, "up", up)
    deadline = Deadline(1e6)
    found = importances(parts(question(Y)), question(Y), 1e6, 0, deadline)
    assert found[0].mean() > 1 and not found[1:].any()
    assert deadline.cut == ["the importance of columns"]


def test_only_some_rows_are_shuffled_where_there_is_little_time():
    asked, calls = question(Y), []
    made = parts(asked)
    predict = made[0][2].machine.predict
    made[0][2].machine.predict = lambda X: calls.append(len(X)) or predict(X)
    importances(made, asked, 1e6, 0, Deadline(1e6))
    assert set(calls) == {150, 150 * REPEATS}
    calls.clear()
    importances(made, asked, 1e-4, 0, Deadline(1e6))
    assert calls[1:] == [20 * REPEATS] * len(calls[1:])
