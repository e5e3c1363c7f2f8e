"""What bounds know of machines: norms, diagonals and coefficients against plain linear algebra."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from mercer import KernelClassifier, KernelLogistic, KernelRegressor, KernelRidge, KernelSVC, KernelSVR
from mercer.estimators.facts import facts_of
from mercer.features import RandomFourierFeatures
from mercer.kernels import Gaussian, Linear, Polynomial, Precomputed, Spectrum
from mercer.representations import Features
from mercer.theory.applicable import cap_of, spread_of

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 3))
Y = X[:, 0] + 0.3 * RNG.standard_normal(60)
LABELS = np.where(Y > 0, "yes", "no")
THREE = np.digitize(Y, [-0.5, 0.5])


def test_of_least_squares():
    machine = KernelRidge(Gaussian(1.0), lam=0.01, offset=False).fit(X, Y)
    facts, K = facts_of(machine, X, Y), Gaussian(1.0)(X)
    c = np.linalg.solve(K + 0.6 * np.eye(60), Y)
    np.testing.assert_allclose(facts.coef, c, rtol=1e-5, atol=1e-8)
    assert facts.norm == pytest.approx(np.sqrt(c @ K @ c)) and facts.n == 60
    assert facts.sup_diagonal == facts.largest_diagonal == 1.0 and (facts.diagonal == 1).all()
    assert facts.classes == 0 and facts.margins is None and facts.wrong is None
    assert not facts.has_offset and not facts.weighted and not facts.tuned and facts.penalised
    assert facts.space == "full" and np.isinf(facts.width)


def test_of_labels():
    machine = KernelLogistic(Gaussian(), lam=0.01, offset=False).fit(X, LABELS)
    facts = facts_of(machine, X, LABELS)
    sign = np.where(LABELS == "yes", 1, -1)
    np.testing.assert_allclose(facts.margins, sign * machine.decision_function(X))
    np.testing.assert_array_equal(facts.wrong, machine.predict(X) != LABELS)
    np.testing.assert_allclose(facts.coef, machine.dual_coef_, rtol=1e-3, atol=1e-6)
    assert facts.tuned and facts.classes == 2 and facts.support is None


def test_of_support_vectors():
    machine = KernelSVC(Gaussian(1.0), lam=0.01).fit(X, LABELS)
    facts = facts_of(machine, X, LABELS)
    assert facts.support == len(machine.support_) and facts.has_offset
    np.testing.assert_array_equal(np.flatnonzero(facts.coef), machine.support_)
    assert spread_of(facts) == pytest.approx(1 - Gaussian(1.0)(machine.support_vectors_, X).min())


def test_margins_of_more_classes():
    machine = KernelLogistic(Gaussian(1.0), lam=0.01, offset=False).fit(X, THREE)
    facts = facts_of(machine, X, THREE)
    scores = machine.decision_function(X)
    for i in range(60):
        others = np.delete(scores[i], THREE[i])
        assert facts.margins[i] == pytest.approx(scores[i, THREE[i]] - others.max())
    np.testing.assert_array_equal(facts.margins < 0, machine.predict(X) != THREE)
    assert facts_of(KernelSVC(Gaussian(1.0)).fit(X, THREE), X, THREE).margins is None
    assert facts_of(KernelSVC(Gaussian(1.0), multiclass="ovr").fit(X, THREE), X, THREE).margins is not None


def test_of_features():
    machine = KernelRidge(
        Gaussian(1.0), representation=Features(RandomFourierFeatures(n_features=50)), offset=False
    ).fit(X, Y)
    facts = facts_of(machine, X, Y)
    Phi = machine.function_.map.transform(X)
    np.testing.assert_allclose(facts.diagonal, (Phi**2).sum(axis=1))
    assert facts.norm == pytest.approx(np.linalg.norm(machine.function_.coef)) and facts.width == 50
    assert facts.sup_diagonal is None and facts.space == "features"


def test_of_centres():
    machine = KernelRidge(Gaussian(1.0), representation="nystrom", offset=False).fit(X, Y)
    facts = facts_of(machine, X, Y)
    assert facts.space == "centres" and facts.norm == pytest.approx(machine.function_.norm())


def test_the_dimension_of_polynomials():
    assert facts_of(KernelLogistic(Linear(), offset=False).fit(X, LABELS), X, LABELS).width == 3
    facts = facts_of(KernelLogistic(Polynomial(2, 1.0), offset=False).fit(X, LABELS), X, LABELS)
    assert facts.width == 10 and facts.sup_diagonal is None
    assert facts.largest_diagonal == pytest.approx(((X**2).sum(axis=1).max() + 1) ** 2)


def test_sparse_points_and_kernel_matrices():
    plain = facts_of(KernelLogistic(Linear(), lam=0.001, offset=False).fit(X, LABELS), X, LABELS)
    S = csr_array(X)
    sparse = facts_of(KernelLogistic(Linear(), lam=0.001, offset=False).fit(S, LABELS), S, LABELS)
    K = Linear()(X)
    matrix = facts_of(KernelLogistic(Precomputed(), lam=0.001, offset=False).fit(K, LABELS), K, LABELS)
    for other in (sparse, matrix):
        assert other.norm == pytest.approx(plain.norm, rel=1e-4)
        np.testing.assert_allclose(other.diagonal, plain.diagonal)
        np.testing.assert_allclose(other.margins, plain.margins, atol=1e-4)
    assert matrix.space == "full"


def test_of_sparse_features():
    S = csr_array(np.abs(X) * (RNG.random(X.shape) < 0.5))
    machine = KernelRidge(Linear(), representation="features", offset=False).fit(S, Y)
    np.testing.assert_allclose(facts_of(machine, S, Y).diagonal, S.multiply(S).sum(axis=1))


def test_of_features_that_never_occur():
    """Strings too short to have any: f is a constant."""
    machine = KernelClassifier(Spectrum(3), "squared", lam=0.1, representation="features")
    strings, labels = ["a", "b"] * 6, [0, 0, 1] * 4
    assert facts_of(machine.fit(strings, labels), strings, labels).norm == 0


def test_weights_are_noticed():
    weights = RNG.uniform(0.1, 3, 60)
    assert facts_of(KernelRidge(Gaussian(1.0), offset=False).fit(X, Y, weights), X, Y).weighted
    assert facts_of(KernelSVC(class_weight="balanced").fit(X, LABELS), X, LABELS).weighted


@pytest.mark.parametrize(
    "machine",
    [
        KernelSVC(Gaussian(1.0), lam=0.01, offset=False),
        KernelSVC(Gaussian(1.0), lam=0.01),
        KernelSVR(Gaussian(1.0), lam=0.01),
        KernelClassifier(Gaussian(1.0), loss="squared_hinge", lam=0.01, offset=False),
        KernelLogistic(Linear(), lam=0.01, offset=False),
        KernelLogistic(
            Gaussian(1.0),
            lam=0.01,
            representation=Features(RandomFourierFeatures(n_features=50)),
            offset=False,
        ),
        KernelRidge(Polynomial(2), lam=0.01, offset=True),
    ],
    ids=repr,
)
def test_weights_are_noticed_by_dual_coefficients_and_features(machine):
    y = LABELS if hasattr(machine, "decision_function") else Y
    assert not facts_of(machine.fit(X, y), X, y).weighted
    assert not facts_of(machine.fit(X, y, np.full(60, 2.0)), X, y).weighted
    weights = np.random.default_rng(1).uniform(0.1, 3, 60)
    assert facts_of(machine.fit(X, y, weights), X, y).weighted


def test_more_outputs_and_losses_with_kinks():
    both = np.column_stack([Y, -Y])
    facts = facts_of(KernelRidge(Gaussian(1.0), offset=False).fit(X, both), X, both)
    assert facts.scores.shape == (60, 2) and facts.coef is None
    facts = facts_of(KernelRegressor(loss="absolute", solver="smoothing", offset=False).fit(X, Y), X, Y)
    assert facts.coef is None or len(facts.coef) == 60
    assert facts_of(KernelSVR(Gaussian(1.0)).fit(X, Y), X, Y).support is not None
    assert facts_of(KernelClassifier(loss="squared", offset=False).fit(X, LABELS), X, LABELS).coef is not None


def test_other_examples_than_those_it_was_fitted_to():
    machine = KernelRidge(Gaussian(1.0), offset=False).fit(X, Y)
    with pytest.raises(
        ValueError, match="fitted to 60 examples, and X and y hold 50 and 50: .* X_test and y_test"
    ):
        facts_of(machine, X[:50], Y[:50])


def test_caps():
    assert cap_of(np.array([0.0, 2.0])) == 1.0 and cap_of(np.array([0.0, 2.1])) == 2.0
    assert cap_of(np.zeros(3)) == 1.0


def test_what_was_fitted_counts_and_not_what_is_set_since():
    """Weights of three classes, which coefficients do not show; a kernel with a width from the data."""
    rng = np.random.default_rng(0)
    P, y = rng.standard_normal((30, 2)), np.arange(30) % 3
    machine = KernelLogistic(lam=0.1, offset=False).fit(P, y, rng.uniform(1, 2, 30))
    assert facts_of(machine, P, y).weighted and facts_of(machine, P, y).tuned
    machine.fit(P, y).set_params(class_weight="balanced", kernel=Gaussian(1.0))
    assert not facts_of(machine, P, y).weighted and facts_of(machine, P, y).tuned
    assert not facts_of(machine.fit(P, y), P, y).tuned
