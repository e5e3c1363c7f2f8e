"""Functions that are no kernels, on request: what becomes of their matrix, against dense NumPy and LIBSVM."""

import warnings

import numpy as np
import pytest
from sklearn.svm import SVC, OneClassSVM

from mercer import (
    KernelClassifier,
    KernelLogistic,
    KernelOneClass,
    KernelRegressor,
    KernelRidge,
    KernelSVC,
    KernelSVR,
)
from mercer.kernels import FunctionKernel, Gaussian, Precomputed, Sigmoid
from mercer.kernels.door import NotAKernel
from mercer.operators import NotPositiveDefinite
from mercer.representations import Full
from mercer.solvers import Dual

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 3))
NEW = RNG.standard_normal((20, 3))
LABEL = np.where(X[:, 0] + X[:, 1] ** 2 > 0.8, 1, -1)
Y = X[:, 0] + X[:, 1] ** 2
A, C0 = 0.7, -0.6
W = RNG.uniform(0.3, 2, 60)
W[::7] = 0
TIGHT = Dual(tol=1e-9)


def sigmoid(P, Z):
    return np.tanh(A * P @ Z.T + C0)


def change(K, how):
    """K̃ = K M K and M, by eigenvectors."""
    values, Q = np.linalg.eigh(K)
    new = np.maximum(values, 0) if how == "clip" else np.abs(values)
    return Q @ np.diag(new) @ Q.T, Q @ np.diag(new / values**2) @ Q.T


def test_the_matrix_is_indefinite():
    values = np.linalg.eigvalsh(sigmoid(X, X))
    assert values[0] < -0.1 * values[-1]


@pytest.mark.parametrize("how", ["clip", "flip"])
def test_changed_eigenvalues_by_libsvm_on_the_changed_matrix(how):
    repaired, M = change(sigmoid(X, X), how)
    new = sigmoid(NEW, X) @ M @ sigmoid(X, X)
    theirs = SVC(C=2.0, kernel="precomputed", tol=1e-10).fit(repaired, LABEL)
    ours = KernelSVC.from_C(2.0, kernel=Sigmoid(A, C0), indefinite=how, solver=TIGHT)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours.fit(X, LABEL)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(repaired), atol=1e-5)
    np.testing.assert_allclose(ours.decision_function(NEW), theirs.decision_function(new), atol=1e-5)
    np.testing.assert_array_equal(ours.support_, np.sort(theirs.support_))
    np.testing.assert_array_equal(ours.support_vectors_, X[np.sort(theirs.support_)])
    dual = np.zeros(60)
    dual[theirs.support_] = theirs.dual_coef_[0]
    assert ours.margin() == pytest.approx(1 / np.sqrt(dual @ repaired @ dual), rel=1e-5)
    assert ours.solution_.converged and ours.solution_.certificate.gap < 1e-6
    said = str(ours.plan_)
    negative = (np.linalg.eigvalsh(sigmoid(X, X)) < 0).sum()
    assert f"indefinite={how!r}" in said and f"{negative} of 60 eigenvalues are negative" in said


@pytest.mark.parametrize("how", ["clip", "flip"])
def test_precomputed_matrices(how):
    K = sigmoid(X, X)
    by_points = KernelSVC.from_C(2.0, kernel=Sigmoid(A, C0), indefinite=how, solver=TIGHT).fit(X, LABEL)
    by_matrix = KernelSVC.from_C(2.0, kernel=Precomputed(), indefinite=how, solver=TIGHT).fit(K, LABEL)
    there = by_matrix.decision_function(sigmoid(NEW, X))
    np.testing.assert_allclose(by_points.decision_function(NEW), there, atol=1e-7)
    np.testing.assert_allclose(by_points.margin(), by_matrix.margin(), rtol=1e-6)


@pytest.mark.parametrize("how", ["clip", "flip"])
def test_absent_rows_have_no_say_in_the_spectrum(how):
    machine = KernelSVC.from_C(2.0, kernel=Sigmoid(A, C0), indefinite=how, solver=TIGHT)
    weighted = machine.fit(X, LABEL, W).decision_function(NEW)
    fewer = machine.fit(X[W > 0], LABEL[W > 0], W[W > 0]).decision_function(NEW)
    np.testing.assert_allclose(weighted, fewer, atol=1e-7)


@pytest.mark.parametrize("how", ["clip", "flip"])
def test_least_squares_is_a_linear_system_with_the_changed_matrix(how):
    repaired, M = change(sigmoid(X, X), how)
    c = np.linalg.solve(repaired + 0.01 * 60 * np.eye(60), Y)
    for machine in (
        KernelRegressor(Sigmoid(A, C0), lam=0.01, offset=False, indefinite=how),
        KernelRidge(Sigmoid(A, C0), lam=0.01, offset=False, indefinite=how),
    ):
        machine.fit(X, Y)
        np.testing.assert_allclose(machine.predict(NEW), sigmoid(NEW, X) @ M @ sigmoid(X, X) @ c, atol=1e-8)
        with pytest.raises(ValueError, match="leave out indefinite="):
            machine.predict(NEW, return_std=True)
    # Of the changed matrix; the last machine's.
    inverse = np.linalg.inv(repaired + 0.01 * 59 * np.eye(60))
    np.testing.assert_allclose(machine.loo_residuals(), inverse @ Y / np.diag(inverse), atol=1e-8)


@pytest.mark.parametrize("how", ["clip", "flip"])
def test_one_class_by_libsvm_on_the_changed_matrix(how):
    K = np.tanh(A * X @ X.T + 0.4)  # with C0 the origin lies among what is clipped, and ρ is 0
    repaired, M = change(K, how)
    theirs = OneClassSVM(nu=0.3, kernel="precomputed", tol=1e-9, max_iter=20000).fit(repaired)
    ours = KernelOneClass(Sigmoid(A, 0.4), nu=0.3, indefinite=how, solver=TIGHT).fit(X)
    new = np.tanh(A * NEW @ X.T + 0.4) @ M @ K
    np.testing.assert_allclose(ours.score_samples(NEW), theirs.score_samples(new), atol=1e-5)
    np.testing.assert_allclose(ours.offset_, theirs.offset_[0], rtol=1e-6)


@pytest.mark.parametrize("how", ["clip", "flip"])
def test_other_machines_three_classes_and_single_precision(how):
    three = np.digitize(Y, [0.3, 1.5])
    for machine, y in (
        (KernelSVR(Sigmoid(A, C0), lam=0.01, indefinite=how), Y),
        (KernelClassifier(Sigmoid(A, C0), lam=0.01, indefinite=how), LABEL),
        (KernelLogistic(Sigmoid(A, C0), lam=0.01, indefinite=how), LABEL),
        (KernelClassifier(Sigmoid(A, C0), loss="multinomial", lam=0.01, indefinite=how), three),
        (KernelSVC(Sigmoid(A, C0), lam=0.01, indefinite=how), three),
        (KernelSVC(Sigmoid(A, C0), nu=0.3, indefinite=how), LABEL),
    ):
        double = machine.fit(X, y).scores(NEW)
        single = machine.fit(X.astype(np.float32), y).scores(NEW.astype(np.float32))
        np.testing.assert_allclose(single, double, atol=2e-2 * np.abs(double).max())


@pytest.mark.parametrize("how", ["clip", "flip"])
def test_lam_is_chosen_with_the_changed_matrix(how):
    machine = KernelSVC(Sigmoid(A, C0), indefinite=how, solver=TIGHT).fit(X, LABEL)
    assert f"indefinite={how!r}" in str(machine.plan_) and f"lam = {machine.lam_:.3g}" in str(machine.plan_)
    repaired, _ = change(sigmoid(X, X), how)
    by_matrix = KernelSVC(Precomputed(), lam=machine.lam_, solver=TIGHT).fit(repaired, LABEL)
    there = by_matrix.decision_function(repaired)
    np.testing.assert_allclose(machine.decision_function(X), there, atol=1e-5 * np.abs(there).max())


def test_a_kernel_is_left_alone():
    plain = KernelSVC(Gaussian(1.0), lam=0.01, solver=TIGHT).fit(X, LABEL)
    for how in ("clip", "flip", "allow"):
        machine = KernelSVC(Gaussian(1.0), lam=0.01, indefinite=how, solver=TIGHT).fit(X, LABEL)
        np.testing.assert_allclose(machine.decision_function(NEW), plain.decision_function(NEW), atol=1e-9)
        assert "eigenvalues" not in str(machine.plan_)


def test_taken_as_it_is_by_libsvm():
    """A little indefinite: both take the steps of the best pair from 0, and end in the same place."""
    a, c = 0.25, -0.1
    K = np.tanh(a * X @ X.T + c)
    values = np.linalg.eigvalsh(K)
    assert values[0] < -1e-3
    theirs = SVC(C=1.0, kernel="sigmoid", gamma=a, coef0=c, tol=1e-9).fit(X, LABEL)

    def function(x, z):
        return float(np.tanh(a * np.dot(x, z) + c))

    for kernel, points, new in (
        (FunctionKernel(function), X, NEW),
        (Precomputed(), K, np.tanh(a * NEW @ X.T + c)),
    ):
        refused = KernelSVC.from_C(1.0, kernel=kernel, solver=TIGHT)
        with pytest.raises(NotAKernel, match="indefinite="):
            refused.fit(points, LABEL)
        with pytest.warns(UserWarning, match="not positive semidefinite"):
            ours = refused.set_params(indefinite="allow").fit(points, LABEL)
        assert ours.solution_.status == "stationary" and ours.solution_.certificate.gap is None
        assert "taken as it is" in str(ours.plan_)
        np.testing.assert_allclose(ours.decision_function(new), theirs.decision_function(NEW), atol=1e-4)


def test_badly_indefinite_functions_are_taken_too():
    """A point that no pair of coefficients improves, by the conditions on the dense matrix."""
    K = sigmoid(X, X)
    for C in (1.0, 50.0):
        machine = KernelSVC.from_C(C, kernel=Precomputed(), indefinite="allow", solver=Dual(tol=1e-6))
        with pytest.warns(UserWarning, match="not positive semidefinite"):
            machine.fit(K, LABEL)
        c = machine.solution_.dual_coef[:, 0]
        slope = K @ c - LABEL
        lower, upper = np.minimum(C * LABEL, 0), np.maximum(C * LABEL, 0)
        assert ((c >= lower) & (c <= upper)).all() and abs(c.sum()) < 1e-9
        assert slope[c > lower].max() - slope[c < upper].min() <= 1e-5
        assert machine.solution_.certificate.gap is None


def test_refusals():
    with pytest.raises(ValueError, match="indefinite must be None, 'clip', 'flip' or 'allow'"):
        KernelSVC(indefinite="shift").fit(X, LABEL)
    with pytest.raises(ValueError, match="needs representation='full'"):
        KernelSVC(Sigmoid(A, C0), indefinite="clip", representation="nystrom").fit(X, LABEL)
    with pytest.raises(ValueError, match="Full: indefinite must be"):
        KernelSVC(representation=Full("allow")).fit(X, LABEL)
    upside_down = FunctionKernel(lambda x, z: -float(x @ z))
    with warnings.catch_warnings(), pytest.raises(NotPositiveDefinite, match="'flip' makes one of it"):
        warnings.simplefilter("ignore")
        KernelClassifier(upside_down, lam=0.01, indefinite="allow").fit(X, LABEL)
    lopsided = FunctionKernel(lambda x, z: float(x[0] - 2 * z[0]))
    for how in ("clip", "flip", "allow"):
        with pytest.raises(NotAKernel, match="symmetric"):
            KernelSVC(lopsided, indefinite=how).fit(X, LABEL)
