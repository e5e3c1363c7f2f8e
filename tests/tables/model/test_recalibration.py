"""Probabilities from the scores of rows that took no part."""

from dataclasses import replace

import numpy as np
import pytest

from mercer import KernelClassifier, KernelLogistic
from mercer.estimators.calibration import Calibration
from mercer.kernels import Laplacian
from mercer.tables.model.columns import Columns
from mercer.tables.model.families import Candidate, Found
from mercer.tables.model.learn import Learned, Question
from mercer.tables.model.recalibration import recalibrated
from mercer.tables.reading import Table


def question(n=900, classes=2, seed=0):
    """Labels that a score says something of, and noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    edges = np.linspace(-1, 1, classes + 1)[1:-1] if classes > 2 else [0.0]
    y = np.digitize(X[:, 0] + 0.8 * rng.standard_normal(n), edges)
    return Question(Table.of(X), y, "classification", np.unique(y))


def learned(asked, rows, slopes, machine=None):
    """Least squares that follows its own rows, whose probabilities are wildly sure of themselves."""
    seen = asked.take(rows)
    columns = Columns("keep").fit(seen.table, seen.codes())
    kernel = Laplacian(1.0)
    machine = machine or KernelClassifier(kernel, "squared", lam=1e-6, offset=True, representation="full")
    machine.fit(seen.points(columns), seen.y)
    found = Found(Candidate("keep", "laplacian", kernel, 1e-3), ())
    return Learned(columns, machine, slopes, found, ())


def parts_of(asked, slopes, tests):
    everything = np.arange(len(asked.y))
    made = [(test, np.setdiff1d(everything, test)) for test in tests]
    return [(test, train, learned(asked, train, slopes)) for test, train in made]


@pytest.mark.parametrize("classes, slopes", [(2, (30.0, 30.0)), (4, (30.0,))])
def test_slopes_are_those_of_the_tested_rows_and_probabilities_those_of_others(classes, slopes):
    asked, sure = question(classes=classes), Calibration(slopes)
    parts = parts_of(asked, sure, np.array_split(np.random.default_rng(1).permutation(900), 3))
    final = learned(asked, np.arange(900), sure)
    after, P = recalibrated(asked, parts, final, 0)
    rows = np.concatenate([test for test, _, _ in parts])
    scores = np.concatenate(
        [part.machine.scores(part.columns.transform(asked.take(test).table)) for test, _, part in parts]
    )
    coding = final.machine.coding_
    whole = Calibration.of_scores(scores, asked.y[rows], coding)
    np.testing.assert_allclose(after.calibration.slopes, whole.slopes)
    assert after.machine is final.machine
    # In the order of the rows; near those by slopes of all rows, of which each is a nine-hundredth.
    order = np.argsort(rows)
    np.testing.assert_allclose(P, whole.probability(scores, coding)[order], atol=0.05)
    truth = asked.y[rows][order]
    loss = -np.mean(np.log(P[np.arange(900), truth]))
    before = sure.probability(scores, coding)[order]
    assert loss < 0.7 * -np.mean(np.log(np.maximum(before[np.arange(900), truth], 1e-15)))
    assert loss < np.log(classes)


def test_a_row_has_no_say_in_its_own_probability():
    """Its label is changed, and only other rows' probabilities move."""
    asked, sure = question(), Calibration((30.0, 30.0))
    parts = parts_of(asked, sure, [np.arange(300)])
    final = parts[0][2]
    _, P = recalibrated(asked, parts, final, 0)
    y = asked.y.copy()
    y[7] = 1 - y[7]
    _, Q = recalibrated(replace(asked, y=y), parts, final, 0)
    # Rows are dealt out by their labels, so that some may have come to another fold: hardly moved, then.
    assert abs(P[7] - Q[7]).max() < 0.02 and (P[:300] != Q[:300]).any()


def test_where_nothing_changes():
    asked, sure = question(), Calibration((30.0, 30.0))
    few = parts_of(asked, sure, [np.arange(100)])
    assert recalibrated(asked, few, few[0][2], 0) == (few[0][2], None)
    # A machine with probabilities of its own.
    own = learned(asked, np.arange(600), None, KernelLogistic(Laplacian(1.0), lam=1e-3))
    parts = [(np.arange(600, 900), np.arange(600), own)]
    assert recalibrated(asked, parts, own, 0) == (own, None)
    # A label that one of the machines has never seen.
    y = asked.y.copy()
    y[:60] = 2
    three = replace(asked, y=y, classes=np.unique(y))
    part = learned(three, np.arange(60, 600), sure)
    assert recalibrated(three, [(np.arange(600, 900), np.arange(60, 600), part)], part, 0) == (part, None)
    # Numbers.
    numbers = replace(asked, y=asked.y.astype(float), task="regression", classes=None)
    assert recalibrated(numbers, few, few[0][2], 0) == (few[0][2], None)
