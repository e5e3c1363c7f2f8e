"""Learned metrics: planted directions, refits, and the rules by which gradients become metrics."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics import mean_squared_error

from mercer import KernelClassifier, KernelRidge
from mercer.functions import gradient_outer_product
from mercer.kernels import Gaussian, Laplacian, LengthScales, Mahalanobis, Matern, Spectrum
from mercer.selection import MetricRule, learned_metric, loo, metric_rounds, recursion

U = np.array([0.6, -0.8, 0.0, 0.0, 0.0, 0.0])


def planted(n, seed, noise=0.05):
    """y = g(uᵀx), with five directions that say nothing."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, len(U)))
    return X, np.sin(2 * X @ U) + noise * rng.standard_normal(n)


X, Y = planted(200, 0)
NEW, TRUE = planted(500, 1, noise=0.0)


@pytest.mark.parametrize("kernel", [Laplacian(), Gaussian(), Matern(1.5)], ids=repr)
def test_a_planted_direction_is_found(kernel):
    found = learned_metric(KernelRidge(kernel), X, Y, rounds=3)
    assert abs(np.linalg.eigh(found.metric)[1][:, -1] @ U) > 0.95
    before, after = (
        KernelRidge(one.kernel, lam=one.lam).fit(X, Y).predict(NEW)
        for one in (found.rounds[0], found.rounds[found.best])
    )
    assert mean_squared_error(TRUE, after) < 0.5 * mean_squared_error(TRUE, before)
    assert found.loo_mse < 0.5 * found.loo_mse_before
    np.testing.assert_array_equal(found.machine.fit(X, Y).predict(NEW), after)


def test_length_scales_tell_columns_apart():
    rng = np.random.default_rng(2)
    points = rng.uniform(-2, 2, (150, 4))
    found = learned_metric(KernelRidge(Laplacian()), points, np.sin(2 * points[:, 1]), diagonal=True)
    assert isinstance(found.machine.kernel, LengthScales) and np.argmin(found.machine.kernel.lengths) == 1
    assert np.count_nonzero(found.metric) == 4 and found.metric[1, 1] > 3
    assert found.loo_mse < 0.5 * found.loo_mse_before


# -- the errors ----------------------------------------------------------------------------------------------


def refits(K, Y, mu, units):
    """Residuals of (K + μI) c = y without one unit after the other."""
    left = np.empty_like(Y)
    for unit in np.unique(units):
        out, kept = np.flatnonzero(units == unit), np.flatnonzero(units != unit)
        c = np.linalg.solve(K[np.ix_(kept, kept)] + mu * np.eye(len(kept)), Y[kept])
        left[out] = Y[out] - K[np.ix_(out, kept)] @ c
    return left


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("sample", [800, 30])
@pytest.mark.parametrize("start", [Laplacian(2.0), Gaussian(1.0).scaled([1.0, 2.0, 3.0, 1.0, 2.0, 3.0])])
def test_errors_of_rounds_are_those_of_refits(together, sample, start, monkeypatch):
    monkeypatch.setattr(recursion, "_SAMPLE", sample)
    points, y = X[:60], np.column_stack([Y[:60], X[:60, 2] ** 2])
    y = y - y.mean(axis=0)
    units = np.arange(60) // 3 if together else np.arange(60)
    found = metric_rounds(points, y, start, 0.1, units, rounds=2)
    assert len(found) == 3 and found[0][:2] == (start, 0.1)
    for kernel, mu, error in found:
        assert error == pytest.approx(np.mean(refits(kernel(points), y, mu, units) ** 2), rel=1e-8)
    assert found[2][2] < found[0][2]


@pytest.mark.parametrize("offset", [False, True])
def test_errors_are_those_of_the_machines(offset):
    y = Y[:70] + 3.0 * offset
    found = learned_metric(KernelRidge(Laplacian(), offset=offset), X[:70], y, rounds=2)
    for one in found.rounds:
        machine = KernelRidge(one.kernel, lam=one.lam, offset=offset)
        assert one.loo_mse == pytest.approx(np.mean(loo(machine, X[:70], y) ** 2), rel=1e-8)
    assert found.loo_mse == found.rounds[found.best].loo_mse
    assert found.best == np.argmin([one.held_out_mse for one in found.rounds])


@pytest.mark.parametrize("offset", [False, True])
def test_held_out_errors_are_those_of_halves(offset):
    """The metric of a half, with the width and λ of all, is judged on the other half."""
    points, y = X[:60], Y[:60] + 3.0 * offset
    found = learned_metric(KernelRidge(Laplacian(2.0), offset=offset), points, y, rounds=1, ridge=0.0)
    squares, spread = np.zeros((2, 60)), np.cov(points.T)
    first = recursion.halves(np.arange(60))
    for here in (first, ~first):
        kernel, machine = found.rounds[0].kernel, None
        for r, one in enumerate(found.rounds):
            if r:
                outer = gradient_outer_product(machine.function_, points[here])
                whole = one.metric / one.width**2
                kernel = Laplacian(2.0).metric(outer * np.sum(spread * whole) / np.sum(spread * outer))
            lam = one.lam * 59 / here.sum()
            machine = KernelRidge(kernel, lam=lam, offset=offset, solver="cholesky").fit(
                points[here], y[here]
            )
            squares[r, ~here] = (machine.predict(points[~here]) - y[~here]) ** 2
    np.testing.assert_allclose([one.held_out_mse for one in found.rounds], squares.mean(axis=1), rtol=1e-6)


def test_halves_are_of_units():
    units = np.random.default_rng(0).integers(0, 21, 100)
    first = recursion.halves(units)
    assert not set(units[first]) & set(units[~first])
    assert {len(set(units[part])) for part in (first, ~first)} == {10, 11}


def test_the_shape_of_a_kernel_follows_from_metric_and_width():
    for start in (Matern(1.5, 2.0), Matern(1.5, 2.0).scaled([1.0, 2.0, 1.0, 3.0, 1.0, 1.0])):
        for one in learned_metric(KernelRidge(start), X[:60], Y[:60], rounds=1).rounds:
            assert np.trace(one.metric) == pytest.approx(len(U))
            same = Matern(1.5, 2.0 * one.width).metric(one.metric)
            np.testing.assert_allclose(one.kernel(X[:9]), same(X[:9]), rtol=1e-8)


def test_units_of_the_metric_do_not_matter():
    """In other units the same distances are learned: M is a gradient's square, and changes with them."""
    units = np.array([1.0, 10.0, 0.1, 1.0, 3.0, 1.0])
    rule = MetricRule(ridge=0.0)
    here = metric_rounds(X[:80], Y[:80, None], Laplacian(2.0), 0.1, np.arange(80), 2, rule=rule)
    other = Laplacian(2.0).scaled(units)
    there = metric_rounds(X[:80] * units, Y[:80, None], other, 0.1, np.arange(80), 2, rule=rule)
    for (a, mu, error), (b, nu, other_error) in zip(here, there):
        assert (nu, other_error) == pytest.approx((mu, error), rel=1e-6)
        np.testing.assert_allclose(b(X[:80] * units), a(X[:80]), rtol=1e-6)


# -- rules ---------------------------------------------------------------------------------------------------


def test_rules():
    A = np.array([[4.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    for Q in (np.eye(3), turn):
        for power, values in ((1.0, [2.4, 0.6, 0.0]), (0.5, [2.0, 1.0, 0.0])):
            found = MetricRule(power, ridge=0.0)(Q @ A @ Q.T)
            np.testing.assert_allclose(found, (Q * values) @ Q.T, atol=1e-7)
        spread = 0.9 * (Q * [2.4, 0.6, 0.0]) @ Q.T + 0.1 * np.eye(3)
        np.testing.assert_allclose(MetricRule(ridge=0.1)(Q @ A @ Q.T), spread, atol=1e-12)
        first = MetricRule(share=0.75, ridge=0.1)(Q @ A @ Q.T)
        np.testing.assert_allclose(first, 3 * np.outer(Q[:, 0], Q[:, 0]), atol=1e-12)
        two = MetricRule(share=0.999, ridge=0.1)(Q @ A @ Q.T)
        np.testing.assert_allclose(two, (Q[:, :2] * [2.31, 0.69]) @ Q[:, :2].T, atol=1e-12)
    mixed = turn @ A @ turn.T
    diagonal = MetricRule(diagonal=True, ridge=0.0)(mixed)
    np.testing.assert_allclose(diagonal, np.diag(np.diag(mixed)) * 3 / 5, atol=1e-12)
    np.testing.assert_array_equal(MetricRule()(np.zeros((2, 2))), np.eye(2))


def test_a_low_rank():
    found = learned_metric(KernelRidge(Gaussian()), X, Y, share=0.9, ridge=0.0)
    ranks = [np.linalg.matrix_rank(one.metric, hermitian=True, tol=1e-9) for one in found.rounds]
    assert ranks[0] == len(U) and ranks[-1] < len(U) and found.best > 0


# -- many kinds of data --------------------------------------------------------------------------------------


def test_several_outputs_and_float32():
    both = np.column_stack([np.sin(2 * X[:, 0]), np.cos(2 * X[:, 1])])
    wide = learned_metric(KernelRidge(Laplacian()), X, both, rounds=1)
    assert set(np.argsort(np.diag(wide.metric))[-2:]) == {0, 1}
    single = learned_metric(KernelRidge(Laplacian()), X.astype(np.float32), both, rounds=1)
    np.testing.assert_allclose(single.rounds[1].metric, wide.rounds[1].metric, rtol=1e-3, atol=1e-3)
    assert single.machine.fit(X.astype(np.float32), both).predict(X[:3].astype(np.float32)).shape == (3, 2)


def test_labels():
    labels = np.where(X @ U > 0, "up", "down")
    found = learned_metric(KernelClassifier(Laplacian()), X, labels, rounds=2)
    assert abs(np.linalg.eigh(found.metric)[1][:, -1] @ U) > 0.95
    fitted = found.machine.fit(X, labels)
    assert np.mean(fitted.predict(NEW) == np.where(NEW @ U > 0, "up", "down")) > 0.93


@pytest.mark.parametrize("value", [0.0, 0.1])
def test_constant_targets(value):
    found = learned_metric(KernelRidge(Laplacian()), X[:30], np.full(30, value))
    assert len(found.rounds) == 1 and found.loo_mse == 0
    np.testing.assert_array_equal(found.metric, np.eye(len(U)))


def test_fewer_rows_than_columns():
    rng = np.random.default_rng(3)
    points = rng.standard_normal((12, 40))
    found = learned_metric(KernelRidge(Laplacian()), points, points[:, 0], rounds=2)
    assert len(found.rounds) == 3 and all(np.isfinite(one.held_out_mse) for one in found.rounds)
    assert np.isfinite(found.machine.fit(points, points[:, 0]).predict(points)).all()


def test_copies_and_groups_are_left_out_together():
    points, y = np.repeat(X[:30], 2, axis=0), np.repeat(Y[:30], 2)
    found = learned_metric(KernelRidge(Laplacian(), offset=False), points, y, rounds=1)
    grouped = learned_metric(
        KernelRidge(Laplacian(), offset=False), points + 0.0, y, rounds=1, groups=np.arange(60) // 2
    )
    for one, other in zip(found.rounds, grouped.rounds):
        assert one.loo_mse == other.loo_mse
        mu = one.lam * 58  # without two of sixty rows
        left = refits(one.kernel(points), y[:, None], mu, np.arange(60) // 2)
        assert one.loo_mse == pytest.approx(np.mean(left**2), rel=1e-6)


def test_too_few_rows_for_halves():
    found = learned_metric(KernelRidge(Laplacian()), X[:3], Y[:3], rounds=1)
    assert np.isnan(found.rounds[0].held_out_mse)
    assert found.best == np.argmin([one.loo_mse for one in found.rounds])


def test_a_sample_has_whole_units(monkeypatch):
    monkeypatch.setattr(recursion, "_SAMPLE", 10)
    units = np.random.default_rng(0).integers(0, 20, 100)
    rows = recursion.sample(units)
    assert 10 <= len(rows) < 30 and not np.intersect1d(units[rows], np.delete(units, rows)).size
    two = np.repeat([0, 1], [50, 3])
    assert len(recursion.sample(two)) == 53


def test_time_is_up():
    assert len(learned_metric(KernelRidge(Laplacian()), X, Y, minutes=0.0).rounds) == 1
    assert len(metric_rounds(X, Y[:, None], Laplacian(2.0), 0.1, np.arange(200), seconds=0.0)) == 1


def test_the_machine_given_stays_as_it_is():
    machine = KernelRidge(Laplacian(), lam=0.3)
    before = clone(machine)
    found = learned_metric(machine, X[:40], Y[:40], rounds=1)
    assert machine.get_params() == before.get_params() and not hasattr(machine, "kernel_")
    assert "best after" in repr(found) and isinstance(found.rounds[1].kernel, Mahalanobis)


@pytest.mark.parametrize(
    "kernel, points, said",
    [
        (Laplacian(1.0, norm="l1"), X[:9], "function of ‖x−z‖"),
        (Gaussian(1.0) + Laplacian(1.0), X[:9], "function of ‖x−z‖"),
        (Gaussian(1.0), sp.csr_matrix(X[:9]), "toarray"),
        (Spectrum(2), ["ab", "bc", "cd"] * 3, "kernel of vectors"),
        (Gaussian(1.0), np.repeat(X[:1], 9, axis=0), "two examples that are not equal"),
    ],
)
def test_what_has_no_metric(kernel, points, said):
    with pytest.raises(ValueError, match=said):
        learned_metric(KernelRidge(kernel), points, Y[:9])


@pytest.mark.parametrize(
    "wrong", [{"power": 0.0}, {"share": 0.0}, {"share": 1.5}, {"ridge": -0.1}, {"rounds": -1}]
)
def test_wrong_numbers(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        learned_metric(KernelRidge(Laplacian()), X[:9], Y[:9], **wrong)
