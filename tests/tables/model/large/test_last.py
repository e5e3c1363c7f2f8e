"""The last machine against the same one fitted in memory."""

import numpy as np
import pytest

from mercer import KernelRidge, KernelSVC
from mercer.kernels import Gaussian
from mercer.rows import ArrayRows
from mercer.tables.model.columns import Columns
from mercer.tables.model.large.last import error_on, fit_last, with_probabilities
from mercer.tables.model.learn import Learned, Question
from mercer.tables.reading import Table

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, (1200, 2))
F = np.sin(2 * X[:, 0]) + X[:, 1]


def _learned(machine, X):
    columns = Columns().fit(Table.of({"a": X[:, 0], "b": X[:, 1]}))
    return Learned(columns, machine, None, None, ())


def _question(y, classes=None):
    task = "regression" if classes is None else "classification"
    return Question(Table.of({"a": X[:, 0], "b": X[:, 1]}), y, task, classes)


def test_it_is_the_machine_in_memory_with_the_same_nλ():
    """With a centre at every row there is one solution: that of all rows."""
    y, lam = F + 0.1 * RNG.standard_normal(1200), 1e-2
    points = Columns().fit_transform(Table.of({"a": X[:, 0], "b": X[:, 1]}))
    sample = KernelRidge(Gaussian(1.0), lam=lam, offset=True).fit(points[:300], y[:300])
    said = []
    last = fit_last(_learned(sample, X), ArrayRows(points, y), 1200, None, said.append)
    exact = KernelRidge(Gaussian(1.0), lam=lam / 4, offset=True, representation="full").fit(points, y)
    np.testing.assert_allclose(last.predict(points), exact.predict(points), atol=1e-4)
    assert said[0] == "Fitting to all rows: pass 1, 1,200 of 1,200 rows"
    found = with_probabilities(_learned(sample, X), last, _question(y))
    assert found.machine is last and found.calibration is None
    assert error_on(found, _question(y)) == pytest.approx(
        np.sqrt(np.mean((exact.predict(points) - y) ** 2)), 1e-3
    )


def test_scores_become_probabilities_by_rows_kept_aside():
    y = np.where(F + 0.5 * RNG.standard_normal(1200) > 0, "up", "down")
    points = Columns().fit_transform(Table.of({"a": X[:, 0], "b": X[:, 1]}))
    svm = KernelSVC.from_C(1.0, kernel=Gaussian(1.0)).set_params(probability=True).fit(points[:200], y[:200])
    last = fit_last(_learned(svm, X), ArrayRows(points[:900], y[:900]), 60, None, lambda text: None)
    rest = _question(y, np.unique(y)).take(np.arange(900, 1200))
    found = with_probabilities(_learned(svm, X), last, rest)
    P = found.predict_proba(rest.table)
    right = found.machine.classes_[P.argmax(axis=1)] == rest.y
    assert abs(P.max(axis=1).mean() - right.mean()) < 0.06
    assert error_on(found, rest) == pytest.approx(1 - right.mean())
