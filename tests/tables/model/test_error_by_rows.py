"""How the error falls with the number of rows: machines of fewer rows, from the same factor."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from mercer import KernelClassifier, KernelRidge
from mercer.kernels import Forest, Gaussian
from mercer.selection.crew import HERE
from mercer.tables.model import evaluation, fitting
from mercer.tables.model.deadline import Deadline
from mercer.tables.model.evaluation import PartLearner
from mercer.tables.model.fitting import fit_both
from mercer.tables.model.learn import Question
from mercer.tables.model.search import silent
from mercer.tables.model.speed import Speed
from mercer.tables.reading import Table


@pytest.fixture
def examples():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (900, 2))
    return X, np.sin(3 * X[:, 0]) * X[:, 1] + 0.1 * rng.standard_normal(900)


def alone(machine, X, y, rows, whole):
    """A machine fitted to the first rows alone, densely, with the same λn."""
    again = clone(machine).set_params(
        lam=machine.lam * whole / rows, representation="full", solver="cholesky"
    )
    return again.fit(X[:rows], y[:rows])


def test_errors_are_those_of_machines_fitted_alone(examples):
    X, y = examples
    machine = KernelRidge(Gaussian(0.7), lam=1e-3)
    curve = fit_both(machine, X, y, 720, 100.0).curve
    assert [rows for rows, _ in curve] == [90, 180, 360, 720]
    for rows, error in curve:
        left = alone(machine, X, y, rows, 900).predict(X[720:]) - y[720:]
        assert error == pytest.approx(np.sqrt(np.mean(left**2)), rel=1e-3)
    assert curve[-1][1] < 0.8 * curve[0][1]


def test_shares_of_wrong_labels(examples):
    X, y = examples
    labels = np.array(["low", "middle", "high"])[np.digitize(y, [-0.5, 0.5])]
    machine = KernelClassifier(Gaussian(0.7), loss="squared", lam=1e-3)
    for rows, error in fit_both(machine, X, labels, 720, 100.0).curve:
        assert error == np.mean(alone(machine, X, labels, rows, 900).predict(X[720:]) != labels[720:])


def test_without_one_of_the_labels_a_machine_says_nothing(examples):
    X, y = examples
    labels = np.where(y > 0, "a", "b")
    labels[200] = "rare"
    assert [
        rows
        for rows, _ in fit_both(
            KernelClassifier(Gaussian(0.7), loss="squared", lam=1e-3), X, labels, 720, 100.0
        ).curve
    ] == [
        360,
        720,
    ]


def test_a_forest_knows_more_rows(examples):
    X, y = examples
    kernel = Gaussian(0.7) + Forest.grow(X[:720], y[:720], trees=10)
    assert fit_both(KernelRidge(kernel, lam=1e-3), X, y, 720, 100.0).curve == ()


def test_only_where_there_is_time(examples, monkeypatch):
    X, y = examples
    monkeypatch.setattr(Speed, "exact", lambda *_: 10.0)
    fitted = fit_both(KernelRidge(Gaussian(0.7), lam=1e-3), X, y, 720, 10.5)
    assert fitted.part.plan_.examples == 720 and fitted.curve == ()
    assert len(fit_both(KernelRidge(Gaussian(0.7), lam=1e-3), X, y, 720, 12.0).curve) == 4


def test_nothing_is_said_of_machines_far_from_their_minimum(examples, monkeypatch):
    X, y = examples
    found = [alone(KernelRidge(Gaussian(0.7), lam=1e-3), X, y, rows, 900) for rows in (180, 720)]
    assert [rows for rows, _ in fitting.error_by_rows(found, X[720:], y[720:])] == [180, 720]
    assert fitting.error_by_rows(found[1:], X[720:], y[720:]) == ()
    monkeypatch.setattr(fitting, "GOOD", 0.0)
    assert fitting.error_by_rows(found, X[720:], y[720:]) == ()


def test_of_some_of_the_rows_too(examples, monkeypatch):
    X, y = examples
    machine = KernelRidge(Gaussian(0.05), lam=1e-6, representation="full")  # which centres can't stand for
    monkeypatch.setattr(Speed, "rows_within", lambda *_: 450)
    monkeypatch.setattr(Speed, "centres_within", lambda *_: 10)
    fitted = fitting._some_of(machine, X, y, 720, 100.0, Speed.of(machine.kernel, X))
    assert fitted.remarks == ("exact on 450 of the 900 rows: with all of them it would not be done in time",)
    assert [rows for rows, _ in fitted.curve] == [90, 180, 360]
    _, error = fitted.curve[-1]
    left = alone(machine, X, y, 360, 900).predict(X[720:]) - y[720:]
    assert error == pytest.approx(np.sqrt(np.mean(left**2)), rel=1e-3)


@pytest.mark.parametrize("grouped", [False, True])
def test_rows_are_drawn_however_the_table_is_sorted(hasty, monkeypatch, grouped):
    """By the target: the first rows of the table alone would say nothing of the others."""
    monkeypatch.setattr(evaluation, "_HOLD_OUT_FROM", 400)
    monkeypatch.setattr(evaluation, "_SMALLEST_TEST", 100)
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 6, 500))
    y = np.round(x, 1) + 0.1 * rng.standard_normal(500)
    units = np.repeat(np.arange(250), 2) if grouped else None
    question = Question(Table.of({"x": x}), y, "regression", None, units)
    splits = evaluation._splits(question, 0)
    tests = PartLearner(question, splits, 60.0, 0, silent, HERE, Deadline(60.0))
    (test, train, part), final = tests.held_out()
    assert len(test) + len(train) == 500 and not set(test) & set(train)
    assert part.curve == final.curve and [rows for rows, _ in part.curve][-1] == len(train)
    assert part.curve[0][1] < 0.5  # with the smallest rows only it would be about 3
    predicted = part.machine.predict(part.columns.transform(question.table.take(test)))
    assert part.curve[-1][1] == pytest.approx(np.sqrt(np.mean((predicted - y[test]) ** 2)))


def test_what_the_clock_cut_is_remembered(hasty):
    x = np.random.default_rng(0).uniform(0, 6, 60)
    question = Question(Table.of({"x": x}), np.sin(x), "regression", None)
    deadline = Deadline(60.0)
    deadline.cut_short("the search for a kernel")
    tested, _ = evaluation.evaluate(question, deadline, 0, silent)
    assert tested.cut == deadline.remarks() and tested.remarks[-1:] == tested.cut
    assert replace(tested, cut=()).cut == evaluation.evaluate(question, Deadline(60.0), 0, silent)[0].cut
