"""The base class: what a user's own loss gets for free, and what it is told when something is missing."""

import numpy as np
import pytest

from mercer.losses import Hinge, Huber, Logistic, Loss, Multinomial, Poisson, Quantile, Squared


class Quartic(Loss):
    """A user's loss with the least that is required."""

    def value(self, y, s):
        return (y - s) ** 4

    def grad(self, y, s):
        return 4 * (s - y) ** 3


class DoubleWell(Quartic):
    """Not convex: its second derivative is negative around y."""

    convex = False

    def hess(self, y, s):
        return 12 * (s - y) ** 2 - 4


class Probit(Loss):
    """A user's classification loss."""

    classification = True

    def value(self, y, s):
        return np.exp(-y * s)

    def grad(self, y, s):
        return -y * np.exp(-y * s)


def test_value_and_grad_are_required():
    with pytest.raises(TypeError, match="abstract"):
        Loss()


def test_own_loss_encodes_and_decodes():
    targets, coding = Quartic().encode([1.0, 2.0])
    np.testing.assert_array_equal(targets, [[1.0], [2.0]])
    np.testing.assert_array_equal(coding.decode(targets), [1.0, 2.0])
    assert list(Probit().encode(["b", "a"])[1].classes) == ["a", "b"]


def test_own_loss_without_hess_is_told():
    with pytest.raises(NotImplementedError, match="Quartic does not define hess"):
        Quartic().hess(np.zeros((1, 1)), np.zeros((1, 1)))


def test_own_loss_without_conjugate_is_told():
    with pytest.raises(NotImplementedError, match="Quartic does not define its conjugate"):
        Quartic().conjugate(np.zeros((1, 1)), np.zeros((1, 1)))


def test_negative_curvature_counts_as_zero_in_the_root():
    root = DoubleWell().hess_root(np.zeros((2, 1)), np.array([[0.0], [1.0]]))
    np.testing.assert_allclose(root.diagonal, [[0.0], [np.sqrt(8.0)]])


def test_scalar_target_serves_a_column_of_scores():
    s = np.array([[0.0], [2.0]])
    np.testing.assert_array_equal(Hinge().value(1.0, s), [[1.0], [0.0]])


def test_integer_scores_become_float64():
    assert Logistic().value([[1]], [[2]]).dtype == np.float64
    assert Squared().link([[2]]).dtype == np.float64


@pytest.mark.parametrize("loss", [Poisson(), Quantile(), Huber()], ids=repr)
def test_labels_are_refused_by_regression_losses(loss):
    with pytest.raises(ValueError, match=f"{type(loss).__name__} is a loss for numbers.*Logistic"):
        loss.encode_labels(["a", "b"])


@pytest.mark.parametrize("loss", [Logistic(), Hinge(), Multinomial()], ids=repr)
def test_numbers_are_refused_by_classification_losses(loss):
    with pytest.raises(ValueError, match=f"{type(loss).__name__} is a loss for labels.*Squared"):
        loss.encode_targets([0.5, 1.5])


def test_squared_takes_both():
    np.testing.assert_array_equal(Squared().encode_labels([5, 7])[0], [[-1.0], [1.0]])
    np.testing.assert_array_equal(Squared().encode_targets([5, 7])[0], [[5.0], [7.0]])
    assert Squared().encode([5, 7])[1].classes is None
