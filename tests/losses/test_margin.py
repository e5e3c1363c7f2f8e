"""Margin losses against independent references."""

import math

import numpy as np
import pytest
from sklearn._loss.loss import ExponentialLoss
from sklearn.linear_model import SGDClassifier, _sgd_fast
from sklearn.metrics import hinge_loss, log_loss

from mercer.losses import Exponential, Hinge, Logistic, ModifiedHuber, SquaredHinge

RNG = np.random.default_rng(0)
Y, S = RNG.choice([-1.0, 1.0], size=(200, 1)), RNG.normal(scale=2, size=(200, 1))


def test_logistic_is_log_loss():
    loss = Logistic()
    assert loss.value(Y, S).mean() == pytest.approx(log_loss(Y[:, 0], loss.probability(S)[:, 0]))


def test_logistic_sign():
    # The erratum: a positive score speaks for y = +1.
    assert Logistic().probability([[2.0]]) > 0.5
    assert Logistic().value([[1.0]], [[2.0]]) < Logistic().value([[-1.0]], [[2.0]])


@pytest.mark.parametrize("m", [-1e5, -1e4, -50.0, -1.0, 0.0, 1.0, 50.0, 700.0])
def test_logistic_far_out(m):
    exact = math.log1p(math.exp(-abs(m))) + max(-m, 0.0)
    value = Logistic().value([[1.0]], [[m]])
    np.testing.assert_allclose(value, exact, rtol=1e-14)
    np.testing.assert_array_equal(Logistic().value([[-1.0]], [[-m]]), value)


def test_logistic_derivatives_keep_their_small_tails():
    # 1 − sigmoid(50) would round to 0.
    np.testing.assert_allclose(Logistic().grad([[1.0]], [[50.0]]), -math.exp(-50), rtol=1e-12)
    np.testing.assert_allclose(Logistic().hess([[1.0]], [[50.0]]), math.exp(-50), rtol=1e-12)


def test_hinge():
    assert Hinge().value(Y, S).mean() == pytest.approx(hinge_loss(Y[:, 0], S[:, 0]))
    np.testing.assert_allclose(SquaredHinge().value(Y, S), Hinge().value(Y, S) ** 2)


def test_at_the_corner():
    y, s = [[1.0, -1.0]], [[1.0, -1.0]]
    np.testing.assert_array_equal(Hinge().grad(y, s), [[0.0, 0.0]])
    np.testing.assert_array_equal(SquaredHinge().hess(y, s), [[0.0, 0.0]])


def test_modified_huber_is_that_of_scikit_learn():
    theirs, loss = _sgd_fast.ModifiedHuber(), ModifiedHuber()
    y, s = np.append(Y, [1.0, 1.0, -1.0, -1.0]), np.append(S, [-1.0, 1.0, 1.0, -1.0])
    pairs = [*zip(y.tolist(), s.tolist())]
    value, slope = loss.value(y[:, None], s[:, None]), loss.grad(y[:, None], s[:, None])
    np.testing.assert_allclose(value[:, 0], [theirs.py_loss(p, t) for t, p in pairs], rtol=1e-14)
    np.testing.assert_allclose(slope[:, 0], [theirs.py_dloss(p, t) for t, p in pairs], rtol=1e-14)
    linear = SGDClassifier(loss="modified_huber", random_state=0).fit(S, Y[:, 0])
    expected = linear.predict_proba(S)[:, 1]
    np.testing.assert_allclose(loss.probability(linear.decision_function(S)[:, None])[:, 0], expected)


@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 0.93, 1.0])
def test_the_best_score_of_modified_huber_is_its_probability(p):
    s = np.linspace(-1.5, 1.5, 30001)[:, None]
    price = p * ModifiedHuber().value(1.0, s) + (1 - p) * ModifiedHuber().value(-1.0, s)
    best = s[[int(np.argmin(price))]]
    np.testing.assert_allclose(ModifiedHuber().probability(best), p, atol=1e-4)


def test_exponential():
    reference = ExponentialLoss().loss(y_true=(Y[:, 0] + 1) / 2, raw_prediction=S[:, 0].copy())
    np.testing.assert_allclose(Exponential().value(Y, S)[:, 0], reference)
    np.testing.assert_allclose(
        Exponential().probability(S)[:, 0], ExponentialLoss().predict_proba(S[:, 0].copy())[:, 1]
    )


def test_exponential_overflows_to_infinity_in_silence():
    with np.errstate(all="raise"):
        assert np.isposinf(Exponential().value([[1.0]], [[-1e4]]))
        assert np.isneginf(Exponential().grad([[1.0]], [[-1e4]]))


@pytest.mark.parametrize(
    "loss, inside, outside",
    [
        (Logistic(), [-1.0, 0.0], [-1.01, 0.01]),
        (Hinge(), [-1.0, 0.0], [-1.01, 0.01]),
        (SquaredHinge(), [-10.0, 0.0], [0.01, 1.0]),
        (ModifiedHuber(), [-4.0, 0.0], [-4.01, 0.01]),
        (Exponential(), [-10.0, 0.0], [0.01, 1.0]),
    ],
    ids=repr,
)
def test_domain_of_the_conjugate(loss, inside, outside):
    # For y = −1 the domain is mirrored.
    for y in (1.0, -1.0):
        assert np.isfinite(loss.conjugate(y, y * np.array(inside))).all()
        assert np.isposinf(loss.conjugate(y, y * np.array(outside))).all()


def test_logistic_conjugate_is_the_negative_entropy():
    np.testing.assert_allclose(Logistic().conjugate(1.0, [-0.25]), 0.25 * np.log(0.25) + 0.75 * np.log(0.75))
    np.testing.assert_array_equal(Logistic().conjugate(1.0, [-1.0, 0.0]), [0.0, 0.0])
