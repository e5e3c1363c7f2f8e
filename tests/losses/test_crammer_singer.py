"""Crammer and Singer's hinge loss against its formula, LIBLINEAR and a dense quadratic programme."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC

import mercer
from mercer import KernelClassifier, KernelSVC
from mercer.kernels import Gaussian, Linear
from mercer.losses import CrammerSinger, Hinge
from mercer.representations import Nystrom
from mercer.testing import check_loss
from oracles import gaussian, shares_minimum, whitening

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 3))
LABEL = np.array(["u", "v", "w"])[np.digitize(X[:, 0] + 0.6 * RNG.standard_normal(40), [-0.5, 0.6])]
Y = np.array([name == LABEL for name in "uvw"], float).T
NEW = RNG.standard_normal((20, 3))
W = RNG.uniform(0.2, 2, 40)
W[:4] = 0


def machine(kernel, **parameters):
    return KernelClassifier(kernel, loss="crammer_singer", **parameters)


def test_the_loss():
    y, s = np.eye(3)[[0, 1, 2, 0]], RNG.standard_normal((4, 3))
    for i, own in enumerate([0, 1, 2, 0]):
        others = max(s[i, other] for other in range(3) if other != own)
        assert CrammerSinger().value(y, s)[i] == pytest.approx(max(0, 1 + others - s[i, own]))
    check_loss(CrammerSinger())
    with pytest.raises(ValueError, match="shape"):
        CrammerSinger().value(np.ones(3), np.ones(3))


def test_subgradients_at_kinks_are_the_shortest():
    y = np.eye(3)[[0, 0]]
    at = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])  # just ahead; two classes that are equally much ahead
    np.testing.assert_allclose(CrammerSinger().grad(y, at), [[0, 0, 0], [-1, 0.5, 0.5]])


def test_two_classes_are_the_hinge_loss():
    s, y = RNG.standard_normal((30, 2)), np.eye(2)[RNG.integers(2, size=30)]
    sign = (2 * y[:, 1] - 1)[:, None]
    expected = Hinge().value(sign, s[:, 1:] - s[:, :1])[:, 0]
    np.testing.assert_allclose(CrammerSinger().value(y, s), expected, atol=1e-14)
    # Two functions ±f/2 have half the norm of one: λ for λ/2.
    two = machine(Gaussian(1.0), lam=0.02).fit(X, LABEL == "u")
    one = KernelSVC(Gaussian(1.0), lam=0.01).fit(X, LABEL == "u")
    np.testing.assert_allclose(two.decision_function(NEW), one.decision_function(NEW), atol=1e-4)


@pytest.mark.parametrize("representation", ["features", "full"])
@pytest.mark.parametrize("C", [0.1, 2.0])
def test_liblinear(C, representation):
    theirs = LinearSVC(multi_class="crammer_singer", C=C, fit_intercept=False, tol=1e-10, max_iter=10**6).fit(
        X, LABEL
    )
    for points in (X, sp.csr_matrix(X), X.astype(np.float32)):
        lam = 1 / (2 * C * 40)
        ours = machine(Linear(), lam=lam, offset=False, representation=representation).fit(points, LABEL)
        assert ours.solution_.converged
        np.testing.assert_allclose(ours.decision_function(points), theirs.decision_function(X), atol=2e-4)
        two = np.sort(theirs.decision_function(X), axis=1)[:, -2:]
        clear = two[:, 1] - two[:, 0] > 1e-3  # on a kink two classes are equally far ahead
        np.testing.assert_array_equal(ours.predict(points)[clear], theirs.predict(X)[clear])


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("weights", [None, W], ids=["equal", "weighted"])
def test_a_dense_quadratic_programme(offset, weights):
    T = whitening(gaussian(X, X))
    U, b, value = shares_minimum(gaussian(X, X) @ T, Y, 0.01, weights, offset)
    ours = machine(Gaussian(1.0), lam=0.01, offset=offset).fit(X, LABEL, weights)
    assert ours.solution_.solver == "interior" and ours.solution_.converged
    assert ours.solution_.certificate.objective == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(ours.scores(NEW), gaussian(NEW, X) @ T @ U + b, atol=1e-3)
    c = ours.solution_.dual_coef
    np.testing.assert_allclose(c.sum(axis=1), 0, atol=1e-9)
    if offset:
        np.testing.assert_allclose(c.sum(axis=0), 0, atol=1e-6)
    else:
        assert 0 <= ours.solution_.certificate.gap < 1e-7
    if weights is not None:
        assert not c[W == 0].any()


def test_single_precision_centres_and_files(tmp_path):
    double = machine(Gaussian(1.0), lam=0.01).fit(X, LABEL).decision_function(NEW)
    ours = machine(Gaussian(1.0), lam=0.01).fit(X.astype(np.float32), LABEL)
    np.testing.assert_allclose(ours.decision_function(NEW.astype(np.float32)), double, atol=2e-3)
    centres = machine(Gaussian(1.0), lam=0.01, representation=Nystrom(centres=X)).fit(X, LABEL)
    np.testing.assert_allclose(centres.decision_function(NEW), double, atol=1e-4)
    mercer.save(ours, tmp_path / "m.mercer")
    np.testing.assert_array_equal(mercer.load(tmp_path / "m.mercer").predict(NEW), ours.predict(NEW))


def test_lam_is_found_and_classes_that_are_easy_or_rare():
    assert machine(Gaussian(1.0)).fit(X, LABEL).lam_ > 0
    centres = np.array([[0.0, 0], [9, 0], [0, 9], [9, 9]])
    y = np.array([0] * 20 + [1] * 20 + [2] * 20 + [3])
    P = centres[y] + np.random.default_rng(1).uniform(-1, 1, (61, 2))
    easy = machine(Linear(), lam=1e-3).fit(P, y)
    np.testing.assert_array_equal(easy.predict(P), y)
    repeated = machine(Linear(), lam=1e-3).fit(np.vstack([P, P]), np.append(y, y))
    np.testing.assert_allclose(repeated.decision_function(P), easy.decision_function(P), atol=1e-3)


def test_what_is_too_large_says_what_fits():
    many = np.arange(900) % 30
    with pytest.raises(ValueError, match=r"Nystrom\(n_centres=200\)"):
        machine(Gaussian(1.0), lam=0.01, representation="full").fit(RNG.standard_normal((900, 3)), many)
