"""Kernel logistic regression, against scikit-learn on the mapped features."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score

from mercer import KernelClassifier, KernelLogistic
from mercer.features import ExplicitFeatures
from mercer.kernels import Gaussian, Linear, Polynomial
from mercer.losses import Logistic
from mercer.representations import Nystrom
from mercer.solvers import Newton
from oracles import LOSSES, gaussian, minimum, whitening

RNG = np.random.default_rng(0)
X = RNG.standard_normal((90, 3))
SCORE = X[:, 0] * X[:, 1] + 0.5 * X[:, 2] + 0.3 * RNG.standard_normal(90)
TWO = np.where(SCORE > 0, "yes", "no")
FOUR = np.digitize(SCORE, [-0.6, 0.1, 0.8])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("representation", ["auto", "full"])
@pytest.mark.parametrize("y", [TWO, FOUR], ids=["two classes", "four classes"])
def test_equals_scikit_learn_on_polynomial_features(y, representation, offset, weighted):
    """C = 1/(2λn); with weights C = 1/(2λΣw)."""
    kernel, lam = Polynomial(2, c=1.0), 1e-3
    w = np.random.default_rng(1).uniform(0, 2, 90) if weighted else None
    total = 90 if w is None else w.sum()
    Phi = ExplicitFeatures(kernel).fit(X).transform(X)
    theirs = LogisticRegression(
        C=1 / (2 * lam * total), fit_intercept=offset, tol=1e-12, max_iter=100_000, solver="lbfgs"
    ).fit(Phi, y, sample_weight=w)
    ours = KernelLogistic(kernel, lam=lam, representation=representation, offset=offset).fit(X, y, w)
    assert ours.plan_.representation.name == ("features" if representation == "auto" else "full")
    p = ours.predict_proba(X)
    assert np.abs(p - theirs.predict_proba(Phi)).max() < 1e-5
    assert np.abs(p.sum(axis=1) - 1).max() < 1e-12
    assert np.array_equal(ours.predict(X), theirs.predict(Phi))
    assert np.array_equal(ours.classes_, theirs.classes_)


@pytest.mark.parametrize("representation", ["full", Nystrom(n_centres=90)], ids=["full", "centres"])
@pytest.mark.parametrize("y", [TWO, FOUR], ids=["two classes", "four classes"])
def test_equals_the_dense_minimum(y, representation):
    K = gaussian(X, X)
    Phi = K @ whitening(K)
    machine = KernelLogistic(Gaussian(1.0), lam=1e-2, representation=representation, offset=True).fit(X, y)
    if y is TWO:
        u, b, _ = minimum(LOSSES["Logistic"], Phi, np.where(y == "yes", 1.0, -1.0)[:, None], 1e-2, None, True)
        p = 1 / (1 + np.exp(-(Phi @ u + b)))
        expected = np.hstack([1 - p, p])
    else:
        u, b, _ = minimum(LOSSES["Multinomial"], Phi, np.eye(4)[y], 1e-2, None, True)
        e = np.exp(Phi @ u + b)
        expected = e / e.sum(axis=1, keepdims=True)
    assert np.abs(machine.predict_proba(X) - expected).max() < 1e-6


def test_two_classes():
    machine = KernelLogistic(Gaussian(1.0), lam=1e-2, offset=False).fit(X, TWO)
    f, p = machine.decision_function(X), machine.predict_proba(X)
    assert f.shape == (90,) and machine.dual_coef_.shape == (90,)
    assert np.allclose(p[:, 1], 1 / (1 + np.exp(-f)))  # θ(f) is the probability of the second class
    assert np.array_equal(machine.predict(X), np.where(f > 0, "yes", "no"))
    assert np.allclose(machine.predict_log_proba(X), np.log(p))
    assert machine.classes_.tolist() == ["no", "yes"]


def test_four_classes():
    machine = KernelLogistic(Gaussian(1.0), lam=1e-2, offset=False).fit(X, FOUR)
    f, p = machine.decision_function(X), machine.predict_proba(X)
    assert f.shape == (90, 4) and machine.dual_coef_.shape == (90, 4)
    e = np.exp(f)
    assert np.allclose(p, e / e.sum(axis=1, keepdims=True))
    assert np.array_equal(machine.predict(X), f.argmax(axis=1))
    assert np.abs(machine.dual_coef_.sum(axis=1)).max() < 1e-6  # the k functions add up to 0


def test_two_classes_by_the_multinomial_loss_are_the_same_with_half_the_penalty():
    """s₁ − s₀ with λ(‖f₀‖² + ‖f₁‖²) is s with (λ/2)‖f‖²."""
    a = KernelLogistic(Gaussian(1.0), lam=1e-2, offset=False).fit(X, TWO).predict_proba(X)
    b = (
        KernelClassifier(Gaussian(1.0), loss="multinomial", lam=2e-2, offset=False)
        .fit(X, TWO)
        .predict_proba(X)
    )
    assert np.abs(a - b).max() < 1e-6


def test_more_classes_one_against_the_rest():
    machine = KernelClassifier(Gaussian(1.0), loss=Logistic(), lam=1e-2, offset=False).fit(X, FOUR)
    for j in range(4):
        one = KernelLogistic(Gaussian(1.0), lam=1e-2, offset=False).fit(X, j == FOUR)
        assert np.abs(machine.decision_function(X)[:, j] - one.decision_function(X)).max() < 1e-6


@pytest.mark.parametrize(
    "representation", ["full", Nystrom(n_centres=20), "features"], ids=["full", "centres", "features"]
)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("lam", [1e-3, 1e-6, 1e-10])
def test_separable_data(representation, classes, lam):
    """No overflow and no warning, however far the scores run."""
    x = np.linspace(-3, 3, 60)[:, None]
    x = x[np.abs(np.abs(x[:, 0]) - 1) > 0.3]
    y = (x[:, 0] > -1).astype(int) + (x[:, 0] > 1) * (classes == 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        machine = KernelLogistic(
            Gaussian(1.0), lam=lam, representation=representation, random_state=0, offset=False
        ).fit(x, y)
        p = machine.predict_proba(x)
    assert machine.score(x, y) == 1.0
    assert np.isfinite(p).all() and np.abs(p.sum(axis=1) - 1).max() < 1e-9


@pytest.mark.parametrize("classes", [2, 3])
def test_enormous_logits(classes):
    """Data so far apart that a linear machine scores ±1e4 and more: probabilities of 0 and 1, no warning."""
    x = np.array([[-1e4], [-9e3], [1.0], [2.0], [9e3], [1e4]])
    y = np.array([0, 0, 0, 1, 1, 1]) if classes == 2 else np.array([0, 0, 1, 1, 2, 2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        machine = KernelLogistic(Linear(), lam=1e-9, offset=True).fit(x, y)
        far = 1e3 * x
        p, scores = machine.predict_proba(far), machine.decision_function(far)
        logs = machine.predict_log_proba(far)
    assert np.abs(scores).max() > 1e4
    assert np.isfinite(p).all() and np.allclose(p.sum(axis=1), 1)
    assert p[0, 0] == 1.0 and p[-1, -1] == 1.0
    assert not np.isnan(logs).any()


def test_imbalanced_weights():
    w = np.where(TWO == "yes", 1e-3, 1.0)
    machine = KernelLogistic(Gaussian(1.0), lam=1e-2, offset=True).fit(X, TWO, w)
    assert machine.predict_proba(X)[:, 1].mean() < 0.1


def test_digits():
    """Accuracy of at least 98.8 % in three folds of ten; the width and λ found by a small search."""
    images, labels = load_digits(return_X_y=True)
    # Probabilities settle long before the last digits of the coefficients do.
    machine = KernelLogistic(Gaussian(1.7), lam=3e-6, solver=Newton(tol=1e-4), offset=False)
    folds = list(StratifiedKFold(10, shuffle=True, random_state=0).split(images, labels))[:3]
    scores = cross_val_score(machine, images / 16, labels, cv=folds)
    assert np.mean(scores) >= 0.988
