"""Machines of a part of the rows and of all, on every rung of the ladder, against dense solutions."""

import numpy as np
import pytest

from mercer import KernelClassifier, KernelLogistic, KernelRidge, KernelSVC
from mercer.kernels import Gaussian, Laplacian
from mercer.operators import NotPositiveDefinite
from mercer.representations import Full, Nystrom
from mercer.tables.model import fitting
from mercer.tables.model.fitting import (
    effective_dimension,
    fit_alone,
    fit_both,
    fit_few,
    for_rows,
    quadratic,
    solved,
    squares,
)
from mercer.tables.model.speed import Speed

N, PART, MU = 400, 300, 0.3
RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, (N, 2))
Y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * RNG.standard_normal(N) + 50.0
LABELS = np.array(["low", "mid", "top"])[np.digitize(Y, np.quantile(Y, [0.3, 0.7]))]
KERNEL = Laplacian(2.0)
NEW = RNG.uniform(-2, 2, (50, 2))
NEVER, AT_ONCE = (lambda *_: np.inf), (lambda *_: 0.0)


def ridge(kernel=KERNEL, mu=MU):
    return KernelRidge(kernel, lam=mu / N, offset=True, random_state=0)


def classifier(**more):
    return KernelClassifier(KERNEL, "squared", lam=MU / N, offset=True, random_state=0, **more)


def by_hand(kernel, mu, X, Y, there):
    """Least squares with an offset that costs nothing, from one dense system in float64."""
    n, one = len(X), np.ones((len(X), 1))
    system = np.block([[kernel(X, X) + mu * np.eye(n), one], [one.T, np.zeros((1, 1))]])
    found = np.linalg.solve(system, np.vstack([Y, np.zeros((1, Y.shape[1]))]))
    return kernel(there, X) @ found[:n] + found[n]


def numbers_by_hand(rows, kernel=KERNEL, mu=MU):
    return by_hand(kernel, mu, X[rows], Y[rows, None], NEW)[:, 0]


@pytest.fixture
def rung(monkeypatch):
    """Sets the ladder so that one rung is stepped on; which rows exact machines of fewer rows are of."""

    def on(name, rows=160):
        patch = monkeypatch.setattr
        patch(fitting, "fits", lambda n: True)
        patch(Speed, "exact", AT_ONCE if name in ("one factorisation", "anew") else NEVER)
        patch(Speed, "iterated", AT_ONCE if name == "iterations" else NEVER)
        patch(Speed, "rows_within", lambda *_: rows)
        patch(Speed, "centres_within", lambda *_: 10**6 if name == "centres" else 10)
        patch(fitting, "effective_dimension", lambda *_: 1.0 if name == "centres" else np.inf)
        if name == "anew":
            patch(fitting, "fit_nested", _indefinite)

    return on


def _indefinite(*_):
    raise NotPositiveDefinite("the matrix is not positive definite")


RUNGS = ["one factorisation", "anew", "iterations", "centres", "fewer rows"]


def rows_of(name, rows=160):
    """The rows that the two machines are exact for."""
    if name != "fewer rows":
        return np.arange(PART), np.arange(N)
    first = rows * PART // N
    return np.arange(first), np.concatenate([np.arange(first), np.arange(PART, PART + rows - first)])


@pytest.mark.parametrize("name", RUNGS)
def test_numbers(name, rung):
    rung(name)
    made = fit_both(ridge(), X, Y, PART, 10.0)
    # With as many centres as rows of the part, that machine is exact, and the other one is not quite.
    for machine, rows, tol in zip(
        (made.part, made.whole), rows_of(name), (1e-4, 0.1 if name == "centres" else 1e-4), strict=True
    ):
        expected = numbers_by_hand(rows)
        assert np.abs(machine.predict(NEW) - expected).max() <= tol * np.std(expected)
        assert machine.lam * len(rows) == pytest.approx(MU) and machine.plan_.examples == len(rows)
    said = {"centres": "300 centres stand for 400 rows", "fewer rows": "exact on 160 of the 400 rows"}
    assert all(remark.startswith(said[name]) for remark in made.remarks)
    assert len(made.remarks) == (name in said)


@pytest.mark.parametrize("name", RUNGS)
def test_labels_of_three_classes(name, rung):
    rung(name)
    made = fit_both(classifier(), X, LABELS, PART, 10.0)
    codes = 2.0 * (LABELS[:, None] == np.unique(LABELS)) - 1
    for machine, rows in zip((made.part, made.whole), rows_of(name), strict=True):
        assert machine.classes_.tolist() == ["low", "mid", "top"]
        scores = by_hand(KERNEL, MU, X[rows], codes[rows], NEW)
        tol = 0.2 if name == "centres" and machine is made.whole else 1e-4
        assert np.abs(machine.scores(NEW) - scores).max() <= tol


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("name", RUNGS)
def test_the_first_machine_has_not_seen_the_rows_that_test_it(name, labels, rung):
    rung(name)
    machine = classifier() if labels else ridge()
    y = LABELS if labels else Y
    other = y.copy()
    other[PART:] = y[PART:][::-1]
    a, b = (fit_both(machine, X, target, PART, 10.0) for target in (y, other))
    np.testing.assert_array_equal(a.part.predict(NEW), b.part.predict(NEW))
    np.testing.assert_array_equal(a.part.dual_coef_, b.part.dual_coef_)
    assert (a.whole.dual_coef_ != b.whole.dual_coef_).any()


def test_a_rare_label_is_among_fewer_rows(rung):
    """A machine that did not know it could not be asked what costs of all labels decide."""
    rung("fewer rows", rows=100)
    y = LABELS.copy()
    y[[PART - 1, N - 1]] = "odd"
    made = fit_both(classifier(), X, y, PART, 10.0)
    assert made.part.classes_.tolist() == made.whole.classes_.tolist() == ["low", "mid", "odd", "top"]
    assert made.part.plan_.examples == 75 and made.whole.plan_.examples == 100


def test_what_single_precision_can_not_solve_is_solved_anew(rung):
    """A kernel that is nearly constant, and next to no noise: seven digits say nothing."""
    kernel, mu = Gaussian(30.0), 1e-7
    y = 1e-3 * (X[:, 0] + X[:, 1])
    rung("one factorisation")
    made = fit_both(ridge(kernel, mu), X, y, PART, 10.0)
    assert solved([made.part, made.whole], 1e-4)
    for machine in (made.part, made.whole):
        np.testing.assert_allclose(machine.predict(NEW), 1e-3 * NEW.sum(axis=1), atol=3e-5)


def test_what_does_not_converge_goes_on_to_the_next_rung(rung, monkeypatch):
    rung("iterations")
    monkeypatch.setattr(fitting, "_ITERATIONS", 2)
    made = fit_both(ridge(mu=1e-6), X, Y, PART, 10.0)
    assert made.whole.plan_.examples == 160 and "exact on 160" in made.remarks[0]


@pytest.mark.parametrize("fails", [True, False])
def test_fewer_rows_that_have_no_factor(fails, rung, monkeypatch):
    """The last rung holds: fewer rows still, each machine by itself."""
    rung("fewer rows")
    if fails:
        monkeypatch.setattr(fitting, "fit_nested", _indefinite)
    else:
        monkeypatch.setattr(fitting, "GOOD", -1.0)
    made = fit_both(ridge(), X, Y, PART, 10.0)
    for machine, rows in zip((made.part, made.whole), rows_of("fewer rows"), strict=True):
        np.testing.assert_allclose(machine.predict(NEW), numbers_by_hand(rows), atol=1e-4)


def test_memory_is_looked_at(monkeypatch):
    monkeypatch.setattr(fitting, "available_memory", lambda: 7 * 200**2)
    made = fit_both(ridge(), X, Y, PART, 1e4)
    assert made.whole.plan_.unknowns < N and made.remarks


def test_duplicated_rows_and_huge_values(rung):
    """Half of the rows are equal to the others, in units of 10¹²: as with units of one."""
    rung("one factorisation")
    twice = np.vstack([X[:200], X[:200]])
    kernel = KERNEL.scaled([1.0, 1.0])
    made = fit_both(KernelRidge(kernel, lam=1e-6 / N, offset=True), twice, 1e12 * Y, PART, 10.0)
    expected = by_hand(KERNEL, 1e-6, twice, 1e12 * Y[:, None], NEW)[:, 0]
    np.testing.assert_allclose(made.whole.predict(NEW), expected, rtol=1e-4)


@pytest.mark.parametrize("name", RUNGS)
@pytest.mark.parametrize("y", [np.zeros(N), np.where(np.arange(N) == 17, 1.0, 0.0)], ids=["zeros", "one"])
def test_targets_with_nothing_in_them(name, y, rung):
    rung(name)
    made = fit_both(ridge(mu=1e-6), X, y, PART, 10.0)
    for machine in (made.part, made.whole):
        assert np.isfinite(machine.predict(NEW)).all() and np.abs(machine.predict(NEW)).max() < 2


# -- by itself ---------------------------------------------------------------------------------------


def test_alone_is_exact_where_there_is_time():
    machine, said = fit_alone(ridge(), X, Y, 10.0)
    np.testing.assert_allclose(machine.predict(NEW), numbers_by_hand(np.arange(N)), rtol=1e-6)
    assert isinstance(machine.representation, Full) and said == ()


def test_alone_with_centres(monkeypatch):
    monkeypatch.setattr(Speed, "exact", NEVER)
    monkeypatch.setattr(fitting, "fit_seconds", NEVER)
    machine, said = fit_alone(ridge(), X, Y, 10.0)
    assert isinstance(machine.representation, Nystrom) and said == ()  # forecasts decide, as the minutes say
    monkeypatch.undo()
    monkeypatch.setattr(fitting, "available_memory", lambda: 1000)
    machine, [said] = fit_alone(ridge(), X, Y, 10.0)
    assert isinstance(machine.representation, Nystrom) and "memory that is free" in said


def test_machines_that_represent_themselves():
    machine, said = fit_alone(KernelSVC(KERNEL, lam=1e-3), X, LABELS, 1.0)
    assert machine.score(X, LABELS) > 0.8 and said == ()


def test_which_machines_are_least_squares():
    plain, weighted = classifier(), classifier(class_weight="balanced")
    assert squares(plain) and squares(ridge()) and not squares(weighted)
    assert quadratic(weighted) and not quadratic(KernelClassifier(KERNEL, "hinge"))
    for machine in (KernelSVC(KERNEL), KernelLogistic(KERNEL)):
        assert not quadratic(machine) and not squares(machine)


def test_other_numbers_of_rows_keep_what_lambda_weighs():
    assert for_rows(ridge(), N, 2 * N).lam == pytest.approx(MU / (2 * N))
    assert for_rows(KernelSVC(KERNEL, lam="auto"), N, 2 * N).lam == "auto"


# -- forecasts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("mu", [1e-3, 0.3, 30.0])
def test_effective_dimension_by_its_definition(mu):
    K = KERNEL(X, X)
    expected = np.trace(K @ np.linalg.inv(K + mu * np.eye(N)))
    assert effective_dimension(KERNEL, mu, X) == pytest.approx(expected, rel=1e-6)


def test_effective_dimension_from_a_sample():
    """Of a smooth kernel it hardly grows with the rows, of a rough one with little noise as fast as they."""
    many = np.random.default_rng(3).uniform(-2, 2, (1200, 2))
    for kernel, mu in ((Gaussian(1.0), 0.1), (KERNEL, 0.3), (Laplacian(0.05), 1e-3)):
        K = kernel(many, many)
        expected = np.trace(K @ np.linalg.inv(K + mu * np.eye(len(many))))
        assert effective_dimension(kernel, mu, many, few=300) == pytest.approx(expected, rel=0.2)


def test_few_rows_are_exact_too():
    slow = Speed(factor=1e9, value=1e-3)  # a thousand rows at least, so here all
    made = fit_few(ridge(), X, Y, PART, 0.0, slow)
    np.testing.assert_allclose(made.whole.predict(NEW), numbers_by_hand(np.arange(N)), rtol=1e-3)
    np.testing.assert_allclose(made.part.predict(NEW), numbers_by_hand(np.arange(PART)), rtol=1e-3)
