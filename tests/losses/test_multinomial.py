"""The multinomial loss against independent references, and against the two-class logistic loss."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn._loss.loss import HalfMultinomialLoss
from sklearn.metrics import log_loss

from mercer.losses import Logistic, Multinomial

RNG = np.random.default_rng(0)
LABELS, S = RNG.integers(4, size=100), RNG.normal(scale=3, size=(100, 4))
Y = np.eye(4)[LABELS]


def test_probability_is_the_softmax_of_plus_s():
    np.testing.assert_allclose(Multinomial().probability(S), softmax(S, axis=1), rtol=1e-13)
    assert Multinomial().probability(np.array([[0.0, 1.0]]))[0, 1] > 0.5


def test_value_is_log_loss():
    assert Multinomial().value(Y, S).mean() == pytest.approx(log_loss(LABELS, softmax(S, axis=1)))


def test_value_and_grad_agree_with_scikit_learn():
    value, grad = HalfMultinomialLoss(n_classes=4).loss_gradient(LABELS.astype(float), S.copy())
    np.testing.assert_allclose(Multinomial().value(Y, S), value, atol=1e-13)
    np.testing.assert_allclose(Multinomial().grad(Y, S), grad, atol=1e-13)


def test_two_classes_are_the_logistic_loss():
    s = np.array([[0.0, d] for d in (-1e4, -40.0, -1.0, 0.0, 1.0, 40.0, 300.0)])
    for label, sign in ((0, -1.0), (1, 1.0)):
        y = np.tile(np.eye(2)[label], (len(s), 1))
        np.testing.assert_allclose(Multinomial().value(y, s), Logistic().value(sign, s[:, 1]), rtol=1e-14)
    np.testing.assert_allclose(
        Multinomial().probability(s)[:, 1], Logistic().probability(s[:, 1]), rtol=1e-14
    )


def test_a_common_shift_changes_nothing():
    # Shifts by powers of two are exact on these scores, so the results are equal, not close.
    s = np.round(S * 4) / 4
    for shift in (2.0**20, -(2.0**20)):
        np.testing.assert_array_equal(Multinomial().value(Y, s + shift), Multinomial().value(Y, s))
        np.testing.assert_array_equal(Multinomial().grad(Y, s + shift), Multinomial().grad(Y, s))


def test_root_against_the_formula():
    p = softmax(S, axis=1)
    root = Multinomial().hess_root(Y, S)
    v = RNG.normal(size=S.shape)
    for i in range(len(S)):
        R = np.diag(np.sqrt(p[i])) - np.outer(p[i], np.sqrt(p[i]))
        np.testing.assert_allclose(R @ R.T, np.diag(p[i]) - np.outer(p[i], p[i]), atol=1e-15)
        np.testing.assert_allclose(root.apply(v)[i], R @ v[i], atol=1e-14)
        np.testing.assert_allclose(root.adjoint(v)[i], R.T @ v[i], atol=1e-14)
        np.testing.assert_allclose(root.diagonal[i], np.diag(R), atol=1e-15)


def test_conjugate_is_the_negative_entropy_on_the_simplex():
    y = np.array([[0.0, 1.0, 0.0]] * 5)
    a = np.array([[0.5, 0.25, 0.25], [0, 1, 0], [1, 0, 0], [0.5, 0.6, -0.1], [0.5, 0.5, 0.5]])
    expected = [0.5 * np.log(0.5) + 0.5 * np.log(0.25), 0, 0, np.inf, np.inf]
    np.testing.assert_allclose(Multinomial().conjugate(y, a - y), expected)


def test_float32_rows_count_as_probabilities():
    # A row of float32 probabilities sums to one only up to rounding.
    s = S.astype(np.float32)
    assert np.isfinite(Multinomial().conjugate(Y, Multinomial().grad(Y, s))).all()


def test_scores_must_be_rows():
    with pytest.raises(ValueError, match=r"\(n, k\)"):
        Multinomial().value(np.ones(3), np.ones(3))
