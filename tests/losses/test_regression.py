"""Residual losses against independent references."""

import numpy as np
import pytest
from scipy.special import huber
from sklearn.metrics import mean_absolute_error, mean_pinball_loss, mean_squared_error
from sklearn.svm import LinearSVR

from mercer import KernelRegressor
from mercer.kernels import Linear
from mercer.losses import Absolute, EpsilonInsensitive, Huber, Quantile, Squared, SquaredEpsilonInsensitive
from mercer.solvers import Dual

RNG = np.random.default_rng(0)
Y, S = RNG.normal(scale=2, size=(200, 1)), RNG.normal(scale=2, size=(200, 1))


def test_squared_is_twice_half_the_square():
    assert Squared().value(Y, S).mean() == pytest.approx(mean_squared_error(Y, S))
    np.testing.assert_allclose(Squared().grad(Y, S), 2 * (S - Y))
    np.testing.assert_array_equal(Squared().hess(Y, S), np.full_like(S, 2.0))


@pytest.mark.parametrize("delta", [0.1, 1.0, 3.0])
def test_huber_is_twice_scipys(delta):
    np.testing.assert_allclose(Huber(delta).value(Y, S), 2 * huber(delta, Y - S), rtol=1e-12)


def test_huber_tends_to_squared():
    np.testing.assert_array_equal(Huber(delta=1e3).value(Y, S), Squared().value(Y, S))


def test_huber_at_its_corner():
    y, s = np.zeros((1, 2)), np.array([[1.0, np.nextafter(1.0, 2.0)]])
    np.testing.assert_array_equal(Huber(delta=1.0).hess(y, s), [[2.0, 0.0]])
    np.testing.assert_array_equal(Huber(delta=1.0).conjugate(y, [[2.0, 2.1]]), [[1.0, np.inf]])


def test_absolute():
    assert Absolute().value(Y, S).mean() == pytest.approx(mean_absolute_error(Y, S))


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0])
def test_epsilon_insensitive_is_the_distance_to_a_tube(epsilon):
    nearest = np.clip(S, Y - epsilon, Y + epsilon)
    loss = EpsilonInsensitive(epsilon)
    assert loss.value(Y, S).mean() == pytest.approx(mean_absolute_error(nearest, S))
    squared = SquaredEpsilonInsensitive(epsilon)
    assert squared.value(Y, S).mean() == pytest.approx(mean_squared_error(nearest, S))


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("solver", ["newton", Dual(tol=1e-8), "auto"], ids=str)
def test_squared_epsilon_insensitive_is_liblinears(solver, offset):
    """An offset is a feature there, penalised as all are: one more coordinate that is always 1."""
    X, w = RNG.normal(size=(80, 3)), np.array([1.0, -2.0, 0.5])
    y = X @ w + 3 + 0.3 * RNG.normal(size=80)
    theirs = LinearSVR(
        loss="squared_epsilon_insensitive",
        epsilon=0.3,
        C=0.7,
        tol=1e-12,
        max_iter=100_000,
        fit_intercept=offset,
    ).fit(X, y)
    kernel = Linear() + 1.0 if offset else Linear()
    ours = KernelRegressor.from_C(
        0.7, kernel=kernel, loss=SquaredEpsilonInsensitive(0.3), offset=False, solver=solver
    ).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-6)
    assert ours.solution_.status == "converged" and ours.solution_.certificate.gap < 1e-8


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
def test_quantile_is_the_pinball_loss(q):
    assert Quantile(q).value(Y, S).mean() == pytest.approx(mean_pinball_loss(Y, S, alpha=q))


def test_quantile_minimiser_is_the_quantile():
    y = np.arange(1.0, 102.0)
    risk = [Quantile(0.9).value(y, np.full_like(y, s)).sum() for s in y]
    assert y[np.argmin(risk)] == np.quantile(y, 0.9)


@pytest.mark.parametrize(
    "loss, y, s",
    [
        (Absolute(), 1.0, 1.0),
        (EpsilonInsensitive(0.5), 1.0, 1.5),
        (EpsilonInsensitive(0.5), 1.0, 0.5),
        (Quantile(0.9), 1.0, 1.0),
    ],
)
def test_subgradient_at_a_kink_is_zero(loss, y, s):
    assert loss.grad([[y]], [[s]]) == 0


@pytest.mark.parametrize(
    "loss, inside, outside",
    [
        (Absolute(), [-1.0, 1.0], [-1.01, 1.01]),
        (EpsilonInsensitive(0.5), [-1.0, 1.0], [-1.01, 1.01]),
        (Huber(0.5), [-1.0, 1.0], [-1.01, 1.01]),
        (Quantile(0.75), [-0.75, 0.25], [-0.76, 0.26]),
    ],
    ids=repr,
)
def test_domain_of_the_conjugate(loss, inside, outside):
    assert np.isfinite(loss.conjugate([3.0, 3.0], inside)).all()
    assert np.isposinf(loss.conjugate([3.0, 3.0], outside)).all()


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf, "1", None])
def test_huber_validates_delta(bad):
    check_refused(Huber(delta=bad), "positive number delta")


@pytest.mark.parametrize("bad", [-0.1, np.nan, np.inf, "0", None])
def test_epsilon_insensitive_validates_epsilon(bad):
    check_refused(EpsilonInsensitive(epsilon=bad), "epsilon ≥ 0")
    check_refused(SquaredEpsilonInsensitive(epsilon=bad), "epsilon ≥ 0")


@pytest.mark.parametrize("bad", [0.0, 1.0, -0.5, 50, np.nan, None])
def test_quantile_validates_q(bad):
    check_refused(Quantile(q=bad), "between 0 and 1")


def check_refused(loss, says):
    one = np.ones((1, 1))
    for use in (
        loss.validate,
        lambda: loss.value(one, one),
        lambda: loss.grad(one, one),
        lambda: loss.conjugate(one, one),
        lambda: loss.encode_targets([1.0]),
    ):
        with pytest.raises(ValueError, match=says):
            use()
