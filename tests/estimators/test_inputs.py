"""What machines take: frames, sparse matrices, pipelines, grids, strings, Gram matrices."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy.sparse import csc_array, csr_array, csr_matrix
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from mercer import KernelClassifier, KernelLogistic, KernelRegressor, KernelRidge
from mercer.features import ExplicitFeatures, NystromFeatures, RandomFourierFeatures
from mercer.kernels import (
    Finite,
    FunctionKernel,
    Gaussian,
    Laplacian,
    Linear,
    Periodic,
    Polynomial,
    Precomputed,
)
from mercer.losses import Huber
from mercer.representations import Nystrom
from mercer.solvers import Newton
from oracles import LOSSES, gaussian, minimum, whitening

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 3))
Y = np.sin(2 * X[:, 0]) + X[:, 1]
LABELS = np.where(Y > 0, "up", "down")
MACHINES = [
    (KernelRidge(Gaussian(1.0), offset=False), Y),
    (KernelRegressor(Gaussian(1.0), loss=Huber(), lam=1e-2, offset=False), Y),
    (KernelLogistic(Gaussian(1.0), offset=False), LABELS),
    (KernelClassifier(Gaussian(1.0), loss="squared_hinge", offset=False), LABELS),
]
each_machine = pytest.mark.parametrize("machine, y", MACHINES, ids=lambda v: type(v).__name__)


# -- frames ---------------------------------------------------------------------------------------


@each_machine
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames(machine, y, frame):
    table = frame({name: X[:, j] for j, name in enumerate("abc")})
    fitted = clone(machine).fit(table, y)
    assert fitted.feature_names_in_.tolist() == ["a", "b", "c"] and fitted.n_features_in_ == 3
    plain = clone(machine).fit(X, y)
    assert np.array_equal(fitted.predict(table), plain.predict(X))
    wrong = frame({name: X[:, j] for j, name in enumerate("acb")})
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict(wrong)


def test_targets_and_weights_from_frames():
    table = pd.DataFrame(X, columns=list("abc"))
    w = np.random.default_rng(1).uniform(0, 1, 60)
    plain = KernelRidge(Gaussian(1.0), offset=False).fit(X, Y, w).predict(X)
    assert np.array_equal(
        KernelRidge(Gaussian(1.0), offset=False).fit(table, pd.Series(Y), pd.Series(w)).predict(table), plain
    )
    two = KernelRidge(Gaussian(1.0), offset=False).fit(table, pd.DataFrame({"u": Y, "v": -Y}))
    assert two.predict(table).shape == (60, 2)
    machine = KernelLogistic(Gaussian(1.0), offset=False).fit(table, pd.Series(LABELS, dtype="category"))
    assert set(machine.predict(table)) == {"up", "down"}
    unweighted = KernelRidge(Gaussian(1.0), offset=False).fit(X, pl.Series(Y)).predict(X)
    assert np.array_equal(unweighted, KernelRidge(Gaussian(1.0), offset=False).fit(X, Y).predict(X))


def test_lists_and_integers():
    a = KernelRidge(Gaussian(1.0), offset=False).fit([[0, 1], [2, 3], [4, 4]], [1, 2, 3]).predict([[1, 1]])
    b = (
        KernelRidge(Gaussian(1.0), offset=False)
        .fit(np.array([[0.0, 1], [2, 3], [4, 4]]), [1.0, 2, 3])
        .predict([[1.0, 1]])
    )
    assert np.array_equal(a, b)


@pytest.mark.parametrize("change", ["fortran", "strided", "read-only"])
def test_memory_layouts(change):
    expected = KernelRidge(Gaussian(1.0), offset=False).fit(X, Y).predict(X)
    given = {"fortran": np.asfortranarray(X), "strided": np.repeat(X, 2, axis=0)[::2], "read-only": X.copy()}[
        change
    ]
    given.flags.writeable = False
    assert np.allclose(
        KernelRidge(Gaussian(1.0), offset=False).fit(given, Y).predict(given), expected, atol=1e-12
    )


def test_data_are_left_alone():
    points, y, w = X.copy(), Y.copy(), np.linspace(1, 2, 60)
    for machine in (
        KernelRidge(offset=False),
        KernelRidge(solver="cg", representation="nystrom", offset=False),
        KernelRegressor(loss="huber", offset=False),
    ):
        machine.fit(points, y, w).predict(points)
    assert np.array_equal(points, X) and np.array_equal(y, Y) and np.array_equal(w, np.linspace(1, 2, 60))


# -- sparse ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("container", [csr_array, csr_matrix, csc_array])
@pytest.mark.parametrize("representation", ["auto", "full", "nystrom"])
@pytest.mark.parametrize(
    "kernel", [Linear(), Polynomial(2), Gaussian(1.0), Gaussian(), 2 * Linear() + Gaussian(1.0)], ids=repr
)
def test_sparse_equals_dense(kernel, representation, container):
    S = np.where(X > 0.3, X, 0)
    machine = KernelRidge(kernel, lam=1e-2, representation=representation, offset=True)
    dense = clone(machine).fit(S, Y).predict(S)
    sparse = clone(machine).fit(container(S), Y).predict(container(S))
    assert np.abs(dense - sparse).max() < 1e-7 * np.abs(dense).max()


def test_sparse_classification_of_texts():
    texts = [
        "a kernel trick",
        "the kernel matrix",
        "cats and dogs",
        "a dog and a cat",
        "kernel of a matrix",
        "my cat",
    ]
    y = ["maths", "maths", "pets", "pets", "maths", "pets"]
    machine = make_pipeline(CountVectorizer(), KernelLogistic(Linear(), lam=1e-2, offset=False)).fit(texts, y)
    assert machine.predict(["kernel", "cat"]).tolist() == ["maths", "pets"]


def test_sparse_weights_and_leave_one_out():
    S, w = np.where(X > 0.3, X, 0), np.linspace(0, 1, 60)
    a = KernelRidge(Gaussian(1.0), lam=1e-2, offset=False).fit(S, Y, w)
    b = KernelRidge(Gaussian(1.0), lam=1e-2, offset=False).fit(csr_array(S), Y, w)
    assert np.abs(a.loo_residuals() - b.loo_residuals()).max() < 1e-8


@pytest.mark.parametrize("kernel", [Laplacian(1.0, norm="l1"), Periodic()], ids=repr)
def test_kernels_that_take_no_sparse_matrices_say_so(kernel):
    assert not get_tags(KernelRidge(kernel, offset=False)).input_tags.sparse
    with pytest.raises(TypeError, match="Sparse data was passed for X, but dense data is required"):
        KernelRidge(kernel, offset=False).fit(csr_array(X), Y)


# -- scikit-learn's tools -------------------------------------------------------------------------


@each_machine
def test_pipeline_and_cross_validation(machine, y):
    pipe = make_pipeline(StandardScaler(), machine)
    scores = cross_val_score(pipe, X, y, cv=KFold(4))
    expected = []
    for train, test in KFold(4).split(X):
        scaler = StandardScaler().fit(X[train])
        fitted = clone(machine).fit(scaler.transform(X[train]), y[train])
        expected.append(fitted.score(scaler.transform(X[test]), y[test]))
    assert np.allclose(scores, expected)
    assert cross_val_predict(pipe, X, y, cv=3).shape == (60,)


def test_grid_search_over_nested_parameters():
    grid = {"kernel__left__sigma": [0.3, 1.0], "kernel__right__degree": [1, 2], "lam": [1e-3, 1e-1]}
    given = Gaussian(99.0) + Polynomial(7)
    search = GridSearchCV(KernelRidge(given, offset=False), grid, cv=KFold(3)).fit(X, Y)
    assert len(search.cv_results_["params"]) == 8
    assert given == Gaussian(99.0) + Polynomial(7)  # what was given is never changed
    best = search.best_params_
    kernel = Gaussian(best["kernel__left__sigma"]) + Polynomial(best["kernel__right__degree"])
    assert search.best_estimator_.kernel == kernel
    by_hand = KernelRidge(kernel, lam=best["lam"], offset=False)
    assert search.best_score_ == pytest.approx(cross_val_score(by_hand, X, Y, cv=KFold(3)).mean())
    scores = search.cv_results_["mean_test_score"]
    assert len(np.unique(scores.round(12))) == 8  # each combination made a difference


def test_grid_search_over_the_rest():
    grid = {
        "kernel": [Gaussian(1.0), Laplacian(1.0)],
        "loss__delta": [0.05, 0.2],
        "representation__n_centres": [10, 20],
        "solver__tol": [1e-6],
    }
    machine = KernelRegressor(
        loss=Huber(), representation=Nystrom(), solver=Newton(), random_state=0, offset=False
    )
    search = GridSearchCV(machine, grid, cv=2).fit(X, Y)
    best = search.best_estimator_
    assert (best.loss.delta, best.representation.n_centres) == tuple(
        search.best_params_[k] for k in ("loss__delta", "representation__n_centres")
    )
    assert best.solver == Newton(tol=1e-6) and machine.solver == Newton()
    assert len(np.unique(search.cv_results_["mean_test_score"].round(12))) == 8


@each_machine
def test_clone_and_params(machine, y):
    again = clone(machine.fit(X, y))
    assert again.get_params() == machine.get_params() and not hasattr(again, "function_")
    again.set_params(kernel__sigma=5.0)
    assert machine.kernel == Gaussian(1.0) and again.kernel == Gaussian(5.0)
    assert repr(clone(machine)).startswith(type(machine).__name__ + "(kernel=Gaussian(sigma=1.0)")


@each_machine
def test_pickles_predict_the_same(machine, y):
    fitted = clone(machine).fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict(X), fitted.predict(X))
    assert np.array_equal(again.function_(X), fitted.function_(X))
    assert again.kernel_ == fitted.kernel_ and str(again.plan_) == str(fitted.plan_)


def test_refitting_forgets():
    machine = KernelLogistic(Gaussian(1.0), offset=False)
    machine.fit(X, np.arange(60) % 3)
    machine.fit(X[:, :2], LABELS)
    assert machine.n_features_in_ == 2 and machine.classes_.tolist() == ["down", "up"]
    assert machine.decision_function(X[:, :2]).shape == (60,)


def test_fit_resolves_a_copy_of_the_kernel():
    given = Gaussian()
    machine = KernelRidge(given, offset=False).fit(X, Y)
    distances = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))[np.triu_indices(60, 1)]
    assert given.sigma is None and machine.kernel is given
    assert machine.kernel_.sigma == pytest.approx(np.median(distances))


@pytest.mark.parametrize(
    "map", [ExplicitFeatures(), RandomFourierFeatures(n_features=6), NystromFeatures(n_centres=6)], ids=repr
)
@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_set_output_on_feature_maps(map, container):
    table = pd.DataFrame(X, columns=list("abc"))
    out = clone(map).set_output(transform=container).fit_transform(table)
    assert isinstance(out, pd.DataFrame if container == "pandas" else pl.DataFrame)
    fitted = clone(map).fit(table)
    assert list(out.columns) == fitted.get_feature_names_out().tolist()
    pipe = (
        make_pipeline(clone(map), KernelRidge(Linear(), offset=False))
        .set_output(transform=container)
        .fit(table, Y)
    )
    assert pipe.predict(table).shape == (60,)


@each_machine
def test_metadata_routing(machine, y):
    w = np.linspace(0, 2, 60)
    direct = clone(machine).fit(X, y, sample_weight=w).predict(X)
    with sklearn.config_context(enable_metadata_routing=True):
        asked = clone(machine).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        pipe = make_pipeline(
            StandardScaler(with_mean=False, with_std=False).set_fit_request(sample_weight=False), asked
        )
        assert np.array_equal(pipe.fit(X, y, sample_weight=w).predict(X), direct)
        search = GridSearchCV(asked, {"lam": [1e-2, 1e-1]}, cv=KFold(2)).fit(X, y, sample_weight=w)
        lam = search.best_params_["lam"]
        halves = []
        for train, test in KFold(2).split(X):
            fitted = clone(machine).set_params(lam=lam).fit(X[train], y[train], w[train])
            halves.append(fitted.score(X[test], y[test], w[test]))
        assert search.best_score_ == pytest.approx(np.mean(halves))
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError):
            make_pipeline(clone(machine)).fit(X, y, sample_weight=w)


# -- other than vectors ---------------------------------------------------------------------------

WORDS = ["kernel", "colonel", "mercer", "merger", "kern", "corn", "acorn", "mercy", "cornea", "merit"]


def shared(a, b):
    return float(len(set(a) & set(b)))


K_WORDS = np.array([[shared(a, b) for b in WORDS] for a in WORDS])
LENGTHS = np.array([float(len(w)) for w in WORDS])


@pytest.mark.parametrize(
    "as_what",
    [list, tuple, lambda w: np.array(w, dtype=object), pd.Series],
    ids=["list", "tuple", "array", "series"],
)
@pytest.mark.parametrize("kernel", [FunctionKernel(shared), shared], ids=["kernel", "function"])
def test_strings(kernel, as_what):
    machine = KernelRidge(kernel, lam=0.1, offset=False).fit(as_what(WORDS), LENGTHS)
    c = np.linalg.solve(K_WORDS + 0.1 * 10 * np.eye(10), LENGTHS)
    assert np.allclose(machine.predict(as_what(WORDS)), K_WORDS @ c)
    new = [shared("kernmercer", w) for w in WORDS] @ c
    assert machine.predict(as_what(["kernmercer"])) == pytest.approx(new)
    assert machine.loo_residuals().shape == (10,)


def test_strings_with_everything_else():
    y, w = np.array(["m" in word for word in WORDS]), np.arange(1.0, 11.0)
    logistic = KernelLogistic(FunctionKernel(shared), lam=1e-2, offset=True).fit(WORDS, y, w)
    Phi = K_WORDS @ whitening(K_WORDS)
    u, b, _ = minimum(LOSSES["Logistic"], Phi, np.where(y, 1.0, -1.0)[:, None], 1e-2, w, True)
    assert np.abs(logistic.decision_function(WORDS) - (Phi @ u + b)[:, 0]).max() < 1e-5
    centres = KernelRidge(
        FunctionKernel(shared), lam=0.1, representation=Nystrom(n_centres=10), offset=False
    ).fit(WORDS, LENGTHS)
    full = KernelRidge(FunctionKernel(shared), lam=0.1, offset=False).fit(WORDS, LENGTHS)
    assert np.allclose(centres.predict(WORDS), full.predict(WORDS))
    few = KernelRidge(
        FunctionKernel(shared), lam=0.1, representation=Nystrom(centres=["kernel", "mercer"]), offset=False
    )
    assert few.fit(WORDS, LENGTHS).dual_coef_.shape == (2,)
    iterative = KernelRidge(FunctionKernel(shared), lam=0.1, solver="cg", offset=False).fit(WORDS, LENGTHS)
    assert np.allclose(iterative.predict(WORDS), full.predict(WORDS))
    scores = cross_val_score(
        KernelRidge(FunctionKernel(shared), offset=False), np.array(WORDS, dtype=object), LENGTHS, cv=2
    )
    assert np.isfinite(scores).all()


def test_a_normalised_kernel_on_strings():
    machine = KernelRidge(FunctionKernel(shared).normalize() + 1, lam=0.1, offset=False).fit(WORDS, LENGTHS)
    size = np.sqrt(np.diag(K_WORDS))
    K = K_WORDS / size[:, None] / size + 1
    assert np.allclose(machine.predict(WORDS), K @ np.linalg.solve(K + np.eye(10), LENGTHS))


@pytest.mark.parametrize("kernel", ["precomputed", Precomputed()], ids=repr)
def test_precomputed(kernel):
    K, new = gaussian(X, X), RNG.standard_normal((7, 3))
    for machine, y in (
        (KernelRidge(lam=1e-2, offset=False), Y),
        (KernelLogistic(lam=1e-2, offset=False), LABELS),
    ):
        given = clone(machine).set_params(kernel=kernel).fit(K, y)
        points = clone(machine).set_params(kernel=Gaussian(1.0)).fit(X, y)
        if y is LABELS:
            assert np.array_equal(given.predict(gaussian(new, X)), points.predict(new))
        else:
            assert np.abs(given.predict(gaussian(new, X)) - points.predict(new)).max() < 1e-9
        assert np.allclose(given.dual_coef_, points.dual_coef_, rtol=1e-6, atol=1e-8)


def test_precomputed_in_grid_search():
    K = gaussian(X, X)
    assert get_tags(KernelRidge("precomputed", offset=False)).input_tags.pairwise
    assert not get_tags(KernelRidge("gaussian", offset=False)).input_tags.pairwise
    grid = {"lam": np.logspace(-6, 0, 4)}
    given = GridSearchCV(KernelRidge("precomputed", offset=False), grid, cv=KFold(3)).fit(K, Y)
    points = GridSearchCV(KernelRidge(Gaussian(1.0), offset=False), grid, cv=KFold(3)).fit(X, Y)
    assert np.allclose(given.cv_results_["mean_test_score"], points.cv_results_["mean_test_score"])


def test_precomputed_with_centres_and_weights():
    K, w = gaussian(X, X), np.linspace(0, 2, 60)
    a = (
        KernelRidge("precomputed", lam=1e-2, representation=Nystrom(n_centres=60), offset=False)
        .fit(K, Y, w)
        .predict(K)
    )
    b = KernelRidge(Gaussian(1.0), lam=1e-2, offset=False).fit(X, Y, w).predict(X)
    assert np.abs(a - b).max() < 1e-5


@pytest.mark.parametrize(
    "points", [[0, 2, 2, 1, 0], np.array([0, 2, 2, 1, 0]), [[0], [2], [2], [1], [0]]], ids=str
)
def test_finite_domain(points):
    M = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]])
    y = np.array([1.0, 3.0, 5.0, 0.0, 2.0])
    index = np.ravel(points)
    K = M[np.ix_(index, index)]  # singular: points come twice
    machine = KernelRidge(Finite(M), lam=0.1, offset=False).fit(points, y)
    c = np.linalg.solve(K + 0.5 * np.eye(5), y)
    assert np.allclose(machine.predict([0, 1, 2]), M[:, index] @ c)


def test_setting_a_kernels_parameter_leaves_the_default_alone():
    one = KernelRidge(offset=False).set_params(kernel__sigma=0.3)
    assert one.kernel.sigma == 0.3 and KernelRidge(offset=False).kernel.sigma is None
