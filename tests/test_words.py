"""Other libraries' words: a sentence with what to write, which gives the other library's numbers."""

import re

import numpy as np
import pytest
from sklearn import datasets, decomposition, kernel_ridge, linear_model, svm
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.metrics import pairwise
from sklearn.model_selection import GridSearchCV

import mercer
from mercer import (
    FromAlpha,
    FromC,
    KernelOneClass,
    KernelPCA,
    KernelRidge,
    KernelSVC,
    KernelSVR,
    OnlineKernelClassifier,
)
from mercer._words import Worded, in_our_words, kernel_argument, refuse_words
from mercer.features import NystromFeatures, RandomFourierFeatures
from mercer.kernels import Gaussian, Kernel, Laplacian, Linear, Matern, Polynomial
from mercer.losses import Huber, Quantile
from mercer.representations import Nystrom

X, _ = datasets.make_friedman1(60, 5, random_state=0)
Y = 3 * X[:, 0] - X[:, 1] + np.sin(5 * X[:, 2])
LABELS = (np.median(Y) < Y).astype(int)
NAMES = {
    **vars(mercer.kernels),
    **vars(mercer.solvers),
    **vars(mercer.representations),
    **{name: getattr(mercer, name) for name in mercer.__all__},
    **{name: getattr(mercer.features, name) for name in mercer.features.__all__},
    **vars(mercer.online),
}


def said(make, *arguments, **words):
    with pytest.raises(TypeError) as caught:
        make(*arguments, **words)
    return str(caught.value)


def written(make, *arguments, **words):
    """The object that the sentence says to write."""
    call = re.search(r"write (\w+.*?\))(?::|$| for)", said(make, *arguments, **words)).group(1)
    return eval(call, NAMES)


KERNELS = [
    {"kernel": "rbf", "gamma": 0.3},
    {"kernel": "poly", "degree": 2, "gamma": 0.5, "coef0": 1.5},
    {"kernel": "polynomial", "gamma": 2.0},
    {"kernel": "laplacian", "gamma": 0.4},
    {"kernel": "chi2", "gamma": 0.4},
]


@pytest.mark.parametrize("words", KERNELS, ids=lambda words: words["kernel"])
def test_what_is_written_gives_the_numbers_of_ridge_regression(words):
    theirs = kernel_ridge.KernelRidge(alpha=0.7, **words).fit(X, Y)
    ours = written(KernelRidge, alpha=0.7, **words).fit(X, Y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("words", [*KERNELS[:2], {"gamma": 0.2}], ids=str)
def test_and_those_of_support_vector_machines(words):
    theirs = svm.SVC(C=3.0, tol=1e-8, **words).fit(X, LABELS)
    ours = written(KernelSVC, C=3.0, tol=1e-8, verbose=0, **words).fit(X, LABELS)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
    theirs = svm.SVR(C=3.0, tol=1e-8, epsilon=0.2, **words).fit(X, Y)
    ours = written(KernelSVR, C=3.0, tol=1e-8, epsilon=0.2, **words).fit(X, Y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-4)


def test_and_those_of_others():
    theirs = linear_model.LogisticRegression(C=2.0, fit_intercept=False, tol=1e-10).fit(X, LABELS)
    ours = written(mercer.KernelLogistic, Linear(), C=2.0, fit_intercept=False).fit(X, LABELS)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-4)
    theirs = decomposition.KernelPCA(2, kernel="rbf", gamma=0.3).fit_transform(X)
    ours = written(KernelPCA, n_components=2, kernel="rbf", gamma=0.3, eigen_solver="auto").fit_transform(X)
    np.testing.assert_allclose(abs(ours), abs(theirs), atol=1e-6)
    for theirs, cls in ((Nystroem, NystromFeatures), (RBFSampler, RandomFourierFeatures)):
        a = theirs(gamma=0.3, n_components=50, random_state=0).fit_transform(X)
        b = written(cls, gamma=0.3, n_components=50, random_state=0).fit_transform(X)
        assert a.shape == b.shape
        K = Gaussian(np.sqrt(1 / 0.6))(X)
        assert np.abs(b @ b.T - K).max() < 0.6


SGD = [
    {"learning_rate": "optimal", "max_iter": 3},
    {"learning_rate": "constant", "eta0": 0.05, "max_iter": 3, "average": 40},
    {"learning_rate": "invscaling", "eta0": 0.2, "power_t": 0.3, "max_iter": 3},
    {"learning_rate": "adaptive", "eta0": 0.05, "early_stopping": True, "n_iter_no_change": 2, "tol": 1e-3},
    {"learning_rate": "constant", "eta0": 0.05, "validation_fraction": 0.3, "early_stopping": True},
]


@pytest.mark.parametrize("words", SGD, ids=lambda words: words["learning_rate"])
def test_what_is_written_gives_the_numbers_of_gradient_descent(words):
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    ends = {} if "early_stopping" in words else {"tol": None}
    theirs = linear_model.SGDClassifier(alpha=0.01, shuffle=False, random_state=0, **words, **ends)
    given = {"kernel": Linear(), "loss": "hinge", "budget": None, "random_state": 0}
    ours = written(OnlineKernelClassifier, **given, alpha=0.01, fit_intercept=True, **words)
    expected = theirs.fit(Z, LABELS).decision_function(Z)
    np.testing.assert_allclose(ours.fit(Z, LABELS).decision_function(Z), expected, rtol=1e-6, atol=1e-6)
    assert ours.n_passes_ == theirs.n_iter_


def test_first_parameters():
    assert written(KernelPCA, 2).n_components == 2
    assert written(mercer.KernelKMeans, 3).n_clusters == 3
    assert written(mercer.KernelNeighborsClassifier, 7).n_neighbors == 7
    assert written(mercer.KernelRadiusNeighborsRegressor, 0.5).radius == 0.5
    assert written(KernelSVC, 2.0).lam == FromC(2.0) and written(KernelRidge, 2.0).lam == FromAlpha(2.0)
    assert said(mercer.KernelPerceptron, 3).endswith("KernelPerceptron is its kernel, got 3")
    assert "no parameters" in said(Linear, 3)


def test_sentences_of_machines_that_have_no_such_thing():
    """Words that mean nothing there are answered, too, and never by a parameter that there is not."""
    foreign = (
        "C alpha alphas gamma degree coef0 n_components verbose max_iter tol n_iter fit_intercept n_jobs"
    )
    foreign += " multi_class loss penalty quantile probability epsilon metric p learning_rate eta0 optimizer"
    foreign += " contamination affinity n_neighbors assign_labels shuffle class_weight"
    foreign += (
        " cache_size shrinking algorithm leaf_size copy_X kernel_params length_scale precompute nonsense"
    )
    classes = [getattr(mercer, name) for name in mercer.__all__ if name.startswith(("Kernel", "Online"))]
    for cls in [*classes, NystromFeatures, RandomFourierFeatures, Gaussian, Laplacian]:
        takes = set(cls().get_params(deep=False))
        for word in foreign.split():
            if word in takes:
                continue
            sentence = said(cls, **{word: 1})
            assert sentence.startswith(f"{cls.__name__} has no parameter '{word}'") and len(sentence) < 600
            call = re.search(r"write (\w+\(.*?\)):", sentence)
            if call and "Huber" not in sentence and "C)" not in call.group(1):
                eval(call.group(1), NAMES)


def test_neighbours_and_clusters():
    machine = written(mercer.KernelNeighborsClassifier, p=1)
    assert machine.metric == "minkowski" and machine.metric_params == {"p": 1}
    sentence = said(mercer.KernelNeighborsRegressor, radius=2.0)
    assert "KernelRadiusNeighborsRegressor(radius=2.0)" in sentence
    assert "partial_fit(batch)" in said(mercer.KernelKMeans, batch_size=100)
    assert "empty='teleport'" in said(mercer.KernelKMeans, reassignment_ratio=0.01)


def test_values_that_need_the_data():
    for gamma, sigma in (("scale", np.sqrt(5 * X.var() / 2)), ("auto", np.sqrt(5 / 2))):
        rule = re.search("σ = √(.*?) for", said(KernelSVC, C=1.0, gamma=gamma)).group(1).replace("·", "*")
        assert eval(rule, {"d": 5, "X": X}) == pytest.approx(sigma**2)
        theirs = svm.SVC(C=1.0, gamma=gamma, tol=1e-8).fit(X, LABELS).decision_function(X)
        ours = KernelSVC.from_C(1.0, kernel=Gaussian(sigma)).fit(X, LABELS).decision_function(X)
        np.testing.assert_allclose(ours, theirs, atol=1e-3)
        with pytest.raises(ValueError, match="needs the data"):
            Gaussian.from_gamma(gamma)
    with pytest.raises(ValueError, match="gamma must be a positive number"):
        Laplacian.from_gamma(-1)


def test_a_kernel_of_ones_own_beside_its_words():
    assert "here Gaussian(sigma=2.0)" in said(KernelRidge, kernel=Gaussian(2.0), gamma=1.0)
    assert "did you mean 'lam'" in said(KernelRidge, lamb=1.0)
    assert "lam=0.0005, step=0.1" in said(OnlineKernelClassifier, alpha=1e-3, eta0=0.1)
    assert "its parameters: a, b" in in_our_words("Some", ("a", "b"), {"C": 1}, {})
    assert kernel_argument("poly", {}) == "Polynomial(3, 1.0)"


def test_words_of_kernels_losses_and_centres():
    """What is inside a machine is given the words of the other library, too."""
    cubic = written(Polynomial, degree=3, coef0=1.0, gamma=0.1)
    expected = pairwise.polynomial_kernel(X, degree=3, coef0=1.0, gamma=0.1)
    np.testing.assert_allclose(cubic(X), expected, rtol=1e-5)  # numbers are written with six digits
    assert written(Nystrom, n_components=7) == Nystrom(7)
    assert "q=0.3" in said(Quantile, quantile=0.3) and "delta=1.35" in said(Huber, epsilon=1.35)
    assert written(KernelOneClass, contamination=0.1).nu == 0.1
    assert "order is Matern(nu, sigma)" in said(Matern, 2.0, nu=1.5)
    assert "sample_weight" in said(OnlineKernelClassifier, class_weight="balanced")
    graph = written(mercer.KernelKMeans, n_clusters=2, affinity="nearest_neighbors", n_neighbors=10)
    assert graph.kernel == "precomputed" and graph.normalized
    with pytest.raises(ValueError, match=r"Gaussian\.from_gamma\(0\.5\)"):
        KernelRidge().set_params(kernel__gamma=np.float64(0.5))
    with pytest.raises(ValueError, match=r"Gaussian\(sigma=1\.0\)\.scaled\(\[1\.0, 2\.0\]\)"):
        Gaussian([1.0, 2.0])(X[:, :2])


def test_lam_in_any_words_whatever_it_was():
    for machine in (KernelSVC(), KernelSVC(lam=0.1), KernelSVC.from_alpha(2.0), KernelSVC.from_C(2.0)):
        assert machine.set_params(lam__C=3.0).lam == FromC(3.0)
    assert KernelRidge().set_params(lam__alpha=3.0).lam == FromAlpha(3.0)
    assert KernelSVC().set_params(lam=FromC(1.0), lam__C=3.0).lam == FromC(3.0)
    theirs = GridSearchCV(svm.SVC(gamma=0.5), {"C": [0.1, 10.0]}, cv=2).fit(X, LABELS)
    ours = GridSearchCV(KernelSVC.from_gamma(0.5), {"lam__C": [0.1, 10.0]}, cv=2).fit(X, LABELS)
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])
    with pytest.raises(ValueError, match="parameter 'lam'"):  # it has none
        KernelOneClass().set_params(lam__C=3.0)


def test_set_params_and_searches_say_it_too():
    with pytest.raises(ValueError, match=r"lam=FromC\(2\)"):
        KernelSVC().set_params(C=2)
    with pytest.raises(ValueError, match="Invalid parameter 'nonsense'"):
        KernelSVC().set_params(nonsense=2)
    with pytest.raises(ValueError, match=r"lam=FromC\(1\)"):
        GridSearchCV(KernelSVC(), {"C": [1, 10]}, cv=2, error_score="raise").fit(X, LABELS)


def test_constructors_are_what_they_were():
    class Mine(KernelRidge):
        pass

    class Open(Worded):
        def __init__(self, a=1, **others):
            self.a, self.others = a, others

    class Cauchy(Kernel):
        def __init__(self, width=1.0):
            self.width = width

    assert Mine.from_gamma(2.0).kernel == Gaussian(0.5) and clone(Mine(lam=2.0)).lam == 2.0
    assert said(Mine, alpha=1.0).startswith("Mine has no parameter 'alpha'")
    assert Open(2, C=3).others == {"C": 3}
    assert "width" in said(Cauchy, widht=2.0)
    assert refuse_words(Cauchy, (1.0,), {}) is None
    with pytest.raises(TypeError, match="positional"):  # Python's own words for what no library would write
        Cauchy(1.0, 2.0)
