"""The law kit finds what is wrong with a kernel or a loss, and says it; what is right passes."""

import numpy as np
import pytest

import mercer.testing
from mercer.kernels import Finite, FunctionKernel, Gaussian, Kernel, Laplacian, Linear, Precomputed, Sigmoid
from mercer.losses import Hinge, Huber, Logistic, Loss, Multinomial, Poisson, Squared
from mercer.losses.base import HessianRoot, aligned
from mercer.testing import LawViolation, check_kernel, check_loss


def test_violations_are_assertion_errors():
    assert issubclass(LawViolation, AssertionError)
    assert LawViolation.__module__ == "mercer.testing"
    assert set(mercer.testing.__all__) >= {"LawViolation", "check_kernel", "check_loss"}


# -- kernels that break one law each ------------------------------------------------------------------------


class Asymmetric(Kernel):
    def pairwise(self, X, Z):
        return X @ Z.T + 0.01 * X[:, :1]


class NotPositive(Kernel):
    def pairwise(self, X, Z):
        return ((X[:, None] - Z[None]) ** 2).sum(axis=2)

    def rule(self):
        return "it says so"  # the kit doesn't take its word


class NotPositiveInThePlane(Kernel):
    """e^{−a²}-like decay of ‖x−z‖₁²: fine in one dimension, not in more."""

    def pairwise(self, X, Z):
        return np.exp(-(np.abs(X[:, None] - Z[None]).sum(axis=2) ** 2))


class WrongDiag(Linear):
    def diagonal(self, X):
        return 1.001 * super().diagonal(X)


class WrongSlope(Gaussian):
    def gradient_x(self, X, Z):
        return 0.99 * super().gradient_x(X, Z)


class WrongSlopeShape(Gaussian):
    def gradient_x(self, X, Z):
        return super().gradient_x(X, Z)[:, :, 0]


class WrongParameterSlope(Gaussian):
    def gradient_log_params(self, X, Z):
        return {"sigma": super().gradient_log_params(X, Z)["sigma"] / self.sigma}


class UnknownParameterSlope(Gaussian):
    def gradient_log_params(self, X, Z):
        return {"width": super().gradient_log_params(X, Z)["sigma"]}


class Mutating(Kernel):
    def pairwise(self, X, Z):
        X -= X.mean()
        return X @ Z.T


class MutatingZ(Linear):
    def pairwise(self, X, Z):
        K = X @ Z.T
        Z *= 1.0 + (X is not Z)
        return K


class DependsOnTheOthers(Kernel):
    """Centres the points it happens to see, so that a block of K depends on the rest."""

    def pairwise(self, X, Z):
        centre = np.vstack([X, Z]).mean(axis=0)
        return (X - centre) @ (Z - centre).T


class WrongShape(Linear):
    def pairwise(self, X, Z):
        return super().pairwise(X, Z).T


class DiagAsColumn(Linear):
    def diagonal(self, X):
        return super().diagonal(X)[:, None]


class Integer(Kernel):
    def pairwise(self, X, Z):
        return np.ones((len(X), len(Z)), int)


class NotFinite(Kernel):
    def pairwise(self, X, Z):
        return np.full((len(X), len(Z)), np.inf)


class Widening(Linear):
    def pairwise(self, X, Z):
        return super().pairwise(X, Z).astype(np.float64)


class WideningDiag(Linear):
    def diagonal(self, X):
        return super().diagonal(X).astype(np.float64)


class Inexact(Linear):
    """Right in float64, but half precision inside otherwise."""

    def pairwise(self, X, Z):
        K = super().pairwise(X, Z)
        return K if K.dtype == np.float64 else K.astype(np.float16).astype(np.float32) * np.float32(1.01)


class NeedsWriteable(Linear):
    def pairwise(self, X, Z):
        X.flags.writeable and X.__setitem__(0, X[0])
        if not X.flags.writeable:
            raise ValueError("assignment destination is read-only")
        return X @ Z.T


class NeedsContiguous(Linear):
    def pairwise(self, X, Z):
        flat = (
            np.lib.stride_tricks.as_strided(X, X.shape, (X.shape[1] * X.itemsize, X.itemsize))
            if X.size
            else X
        )
        return flat @ flat.T if X is Z else X @ Z.T


class WorkingConstructor(Kernel):
    def __init__(self, sigma=1.0):
        self.sigma = float(sigma) * 2 / 2

    def pairwise(self, X, Z):
        return np.exp(-((X[:, None] - Z[None]) ** 2).sum(axis=2) / self.sigma)


class ForgetfulEquality(Gaussian):
    def __eq__(self, other):
        return type(self) is type(other)

    __hash__ = Gaussian.__hash__


class Identity(Gaussian):
    __eq__ = object.__eq__
    __hash__ = object.__hash__


class ForgetfulRepr(Gaussian):
    def __repr__(self):
        return "ForgetfulRepr(sigma=1.0)"


class BrokenRepr(Gaussian):
    def __repr__(self):
        return f"BrokenRepr(width={self.sigma})"


class DeafToSetParams(Gaussian):
    def set_params(self, **params):
        return self


BROKEN = {
    Asymmetric(): "not symmetric.*the other way round",
    NotPositive(): r"(?s)not positive semidefinite.*x0 = .*c0 = .*Σ c_i c_j k\(x_i, x_j\) = -",
    NotPositiveInThePlane(): "not positive semidefinite",
    WrongDiag(): r"wrong diag.*k.diag\(X\)\[\d+\] is",
    WrongSlope(
        1.0
    ): r"gradient_x is not the derivative.*∂k\(x_i, z_j\)/∂x_i\[\d\].*difference quotients give",
    WrongSlopeShape(1.0): "wrong shape: gradient_x has shape",
    WrongParameterSlope(2.0): "gradient_log_params is not the derivative.*∂k/∂log sigma",
    UnknownParameterSlope(2.0): "there is no parameter 'width'",
    Mutating(): r"inputs must be left alone.*k\(X\) changed its points",
    MutatingZ(): r"inputs must be left alone.*k\(X, Z\) changed",
    DependsOnTheOthers(): r"k\(X, Z\) must agree with k\(X\)|not symmetric|wrong diag",
    WrongShape(): r"wrong shape: k\(X, Z\) has shape \(12, 5\), not \(5, 12\)",
    DiagAsColumn(): r"wrong shape.*k.diag\(X\) has shape \(\d+, 1\)",
    Integer(): r"arrays of floats.*k\(X\) is int64",
    NotFinite(): "values must be finite",
    Widening(): r"float32 must stay float32.*k\(X\) is float64",
    WideningDiag(): r"float32 must stay float32.*k.diag\(X\) is float64",
    Inexact(): "float32 must agree with float64",
    NeedsWriteable(): "any memory layout must do.*read-only",
    NeedsContiguous(): "any memory layout must do",
    WorkingConstructor(np.float64(1.0)): "constructor must only store.*sigma",
    ForgetfulEquality(1.0): "== must go by content.*change of sigma",
    Identity(1.0): "== and hash must go by content",
    ForgetfulRepr(2.0): "repr must read back",
    BrokenRepr(2.0): "repr must read back.*TypeError",
    DeafToSetParams(2.0): "set_params must set.*sigma stays 2.0",
    Sigmoid(1.0, -1.0): "not positive semidefinite",
    2 * Sigmoid() + 0.1: "not positive semidefinite",
    Finite([[1.0, 2.0], [2.0, 1.0]]): "not positive semidefinite",
}


@pytest.mark.parametrize("kernel", BROKEN, ids=lambda k: type(k).__name__)
def test_a_broken_kernel_is_found_out(kernel):
    with pytest.raises(LawViolation, match=BROKEN[kernel]) as violation:
        check_kernel(kernel)
    assert str(violation.value).startswith(f"{kernel!r} breaks a law: ")


@pytest.mark.parametrize(
    "kernel", [Asymmetric(), WrongDiag(), WrongSlope(1.0), Mutating(), Sigmoid(1.0, -1.0)], ids=repr
)
def test_a_broken_kernel_is_found_out_on_given_points(kernel):
    X = np.random.default_rng(5).standard_normal((300, 2))
    before = X.copy()
    with pytest.raises(LawViolation, match=BROKEN[kernel]):
        check_kernel(kernel, X)
    np.testing.assert_array_equal(X, before)


def test_the_plane_is_needed_to_find_it_out():
    # exp(−|x−z|²) in one dimension is the Gaussian.
    check_kernel(NotPositiveInThePlane(), np.random.default_rng(0).standard_normal((40, 1)))


class Sloppy(Linear):
    def diagonal(self, X):
        return (1 + 1e-6) * super().diagonal(X)


def test_tolerance():
    with pytest.raises(LawViolation, match="wrong diag"):
        check_kernel(Sloppy())
    check_kernel(Sloppy(), tol=1e-4)


def test_slopes_at_kinks_pass():
    X = np.array([[0.0], [1.0], [1.0], [0.0], [2.0], [1.0]])  # ties between the two halves
    check_kernel(Laplacian(1.0), X)
    check_kernel(Laplacian(1.0, "l1"), X)


@pytest.mark.parametrize(
    "kernel, X",
    [
        (Gaussian(), None),
        (Gaussian(), [[1.0, 2.0], [3.0, 4.0], [0.0, 1.0]]),
        (Gaussian(1.0), [[1, 2]]),
        (Gaussian(1.0), np.ones((3, 2), np.float32)),
        (Gaussian(1.0).scaled([1.0] * 7), None),
        (Finite(np.ones((5, 5))), None),
        (Finite(np.eye(3)), [0, 2, 1, 1]),
        (FunctionKernel(lambda a, b: float(a[:1] == b[:1])), ["kernel", "keep", "mercer"]),
        (Linear() * 1e9, None),
        (Linear() * 1e-9, None),
        (Gaussian(1.0), 1e4 + np.random.default_rng(0).standard_normal((20, 6))),
    ],
    ids=lambda v: repr(v)[:40] if isinstance(v, Kernel) else "",
)
def test_good_kernels_pass(kernel, X):
    check_kernel(kernel, X)


def test_what_can_not_be_tried_is_said():
    with pytest.raises(TypeError, match="wrap functions in FunctionKernel"):
        check_kernel(lambda x, z: 1.0)
    with pytest.raises(
        ValueError, match=r"could not be evaluated on sampled points.*check_kernel\(kernel, X\)"
    ):
        check_kernel(FunctionKernel(lambda a, b: float(a.lower() == b.lower())))
    with pytest.raises(ValueError, match="could not be evaluated"):
        check_kernel(Precomputed())
    with pytest.raises(ValueError, match="at least one point"):
        check_kernel(Gaussian(1.0), np.empty((0, 2)))


# -- losses that break one law each ------------------------------------------------------------------------


class WrongGrad(Squared):
    def grad(self, y, s):
        return 0.5 * super().grad(y, s)


class WrongHess(Logistic):
    def hess(self, y, s):
        return super().hess(y, s) * (1 + 1e-3)


class WrongCurvature(Logistic):
    curvature = 0.2


class NotConvex(Loss):
    def value(self, y, s):
        y, s = aligned(y, s)
        return np.minimum((y - s) ** 2, 1)

    def grad(self, y, s):
        return np.where((y - s) ** 2 < 1, 2 * (s - y), 0)


class WrongConjugate(Hinge):
    def conjugate(self, y, u):
        return super().conjugate(y, u) + 0.1


class SmallConjugate(Hinge):
    def conjugate(self, y, u):
        return super().conjugate(y, u) - 0.1


class WrongRoot(Logistic):
    def hess_root(self, y, s):
        root = super().hess_root(y, s).diagonal ** 2
        return HessianRoot(lambda v: root * v, lambda v: root * v, root)


class DiagonalSoftmax(Multinomial):
    """Takes the root of the diagonal for a root of the Hessian."""

    def hess_root(self, y, s):
        return Loss.hess_root(self, y, s)


class WrongAdjoint(Multinomial):
    def hess_root(self, y, s):
        root = super().hess_root(y, s)
        return HessianRoot(root.apply, root.apply, root.diagonal)


class SecretlyJoint(Multinomial):
    joint = False

    def value(self, y, s):
        return np.repeat(super().value(y, s)[:, None], s.shape[1], axis=1)


class WrongLossShape(Squared):
    def value(self, y, s):
        return super().value(y, s).sum(axis=1)


class WideningLoss(Squared):
    def grad(self, y, s):
        return super().grad(y, s).astype(np.float64)


class MutatingLoss(Squared):
    def value(self, y, s):
        s -= y
        return s**2


class InfiniteLoss(Squared):
    def value(self, y, s):
        return np.full(s.shape, np.inf, s.dtype)


class StoringHalf(Huber):
    def __init__(self, delta=1.0):
        self.delta = delta / 2


class Spreading(Loss):
    """Takes whatever NumPy can broadcast."""

    def value(self, y, s):
        return (s - y) ** 2

    def grad(self, y, s):
        return 2 * (s - y)


class Shares(Poisson):
    """For numbers between 0 and 1, of which it gives no examples."""

    def check_targets(self, y):
        if np.any((y < 0) | (y > 1)):
            raise ValueError("Shares needs targets between 0 and 1")


class KnownShares(Shares):
    def sample_targets(self, rng, n, t):
        return rng.random((n, t))


BROKEN_LOSSES = {
    Spreading(): r"shapes that differ must be refused: .*aligned\(y, s\)",
    Shares(): r"check_targets takes: it says .*between 0 and 1.*define sample_targets",
    WrongGrad(): r"grad is not the derivative of value.*∂V/∂s\[0\] at example \d+ is",
    WrongHess(): "hess is not the derivative of grad",
    WrongCurvature(): "curvature must bound the Hessian.*above 0.2",
    NotConvex(): "declared convex, but is not",
    WrongConjugate(): "Fenchel–Young.*at the gradient",
    SmallConjugate(): "Fenchel–Young",
    WrongRoot(): "R with R Rᵀ the Hessian",
    DiagonalSoftmax(): "R with R Rᵀ the Hessian.*column 0",
    WrongAdjoint(): "adjoint is not the transpose",
    SecretlyJoint(): "declare joint = True",
    WrongLossShape(): r"wrong shape: value has shape \(20,\)",
    WideningLoss(): "scores decide the dtype: grad is float64 for float32",
    MutatingLoss(): "inputs must be left alone: value changed them",
    InfiniteLoss(): "values must be finite",
    StoringHalf(3.0): "constructor must only store.*delta",
}


@pytest.mark.parametrize("loss", BROKEN_LOSSES, ids=lambda v: type(v).__name__)
def test_a_broken_loss_is_found_out(loss):
    with pytest.raises(LawViolation, match=BROKEN_LOSSES[loss]) as violation:
        check_loss(loss)
    assert str(violation.value).startswith(f"{loss!r} breaks a law: ")


class Truncated(NotConvex):
    convex = False


class OnlyGradient(Loss):
    """The least a new loss needs."""

    def value(self, y, s):
        y, s = aligned(y, s)
        return np.sqrt(1 + (s - y) ** 2)

    def grad(self, y, s):
        y, s = aligned(y, s)
        return (s - y) / np.sqrt(1 + (s - y) ** 2)


@pytest.mark.parametrize(
    "loss", [Truncated(), OnlyGradient(), KnownShares(), Huber(0.3), Multinomial(), Hinge()], ids=repr
)
def test_good_losses_pass(loss):
    check_loss(loss)


def test_only_losses_are_checked():
    with pytest.raises(TypeError, match="takes a Loss"):
        check_loss(Gaussian(1.0))
    with pytest.raises(ValueError, match="delta"):
        check_loss(Huber(-1.0))
