"""What a machine has learned is its own: arrays the caller overwrites, sparse and dense forms, weights."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import mercer
from mercer.functions import KernelFunction
from mercer.kernels import (
    Cosine,
    Finite,
    FunctionKernel,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
)
from mercer.online import Projection
from mercer.representations import Nystrom

RNG = np.random.default_rng(0)
X = RNG.standard_normal((50, 3)) * (RNG.random((50, 3)) < 0.7)
Q = RNG.standard_normal((8, 3)) * (RNG.random((8, 3)) < 0.7)
NUMBERS = X @ [1.0, 2.0, -1.0] + 0.1 * RNG.standard_normal(50)
LABELS = (NUMBERS > 0).astype(int)
W = RNG.integers(1, 4, 50).astype(float)

# Machine, targets, and does it take weights?
MACHINES = {
    "ridge": (lambda k: mercer.KernelRidge(k, lam=0.01), NUMBERS, True),
    "nystrom": (
        lambda k: mercer.KernelRidge(k, lam=0.01, representation=Nystrom(9), random_state=0),
        NUMBERS,
        True,
    ),
    "huber": (lambda k: mercer.KernelRegressor(k, loss="huber", lam=0.01), NUMBERS, True),
    "svr": (lambda k: mercer.KernelSVR(k, lam=0.01), NUMBERS, True),
    "svc": (lambda k: mercer.KernelSVC(k, lam=0.01), LABELS, True),
    "logistic": (lambda k: mercer.KernelLogistic(k, lam=0.01), LABELS, True),
    "one-class": (lambda k: mercer.KernelOneClass(k, nu=0.3), None, True),
    "PCA": (lambda k: mercer.KernelPCA(k, n_components=2), None, False),
    "PCA centres": (lambda k: mercer.KernelPCA(k, 2, Nystrom(9), random_state=0), None, False),
    "k-means": (lambda k: mercer.KernelKMeans(k, n_clusters=3, random_state=0), None, True),
    "classes nearby": (lambda k: mercer.KernelNeighborsClassifier(k, n_neighbors=3), LABELS, False),
    "numbers nearby": (
        lambda k: mercer.KernelNeighborsRegressor(k, n_neighbors=3, weights="distance", search="blocks"),
        NUMBERS,
        False,
    ),
    "perceptron": (lambda k: mercer.KernelPerceptron(k, max_iter=5, prediction="voted"), LABELS, False),
    "online": (lambda k: mercer.OnlineKernelRegressor(k, step=0.05), NUMBERS, True),
    "online, projected": (
        lambda k: mercer.OnlineKernelRegressor(k, step=0.05, budget=Projection(9)),
        NUMBERS,
        True,
    ),
    "features": (lambda k: mercer.features.NystromFeatures(k, 9, random_state=0), None, False),
}
METHODS = (
    "predict",
    "predict_proba",
    "decision_function",
    "score_samples",
    "transform",
    "inverse_transform",
    "kneighbors",
    "reconstruction_error",
)
each = pytest.mark.parametrize("name", MACHINES)


def fitted(name, kernel, points, y=None, w=None):
    make, targets, weighted = MACHINES[name]
    targets = targets if y is None else y
    arguments = {"sample_weight": w} if weighted and w is not None else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mercer.solvers.ConvergenceWarning)
        return make(kernel).fit(points, targets, **arguments)


def answers(machine, points):
    found = {}
    for method in METHODS:
        if not hasattr(machine, method) or (method != "predict" and isinstance(points, list)):
            continue
        given = np.zeros((2, 2)) if method == "inverse_transform" else points
        result = getattr(machine, method)(given)
        for i, part in enumerate(result if isinstance(result, tuple) else (result,)):
            assert type(part) is np.ndarray
            found[f"{method} {i}"] = part
    return found


def same(a, b, **tolerance):
    assert a.keys() == b.keys()
    for key in a:
        np.testing.assert_allclose(a[key], b[key], err_msg=key, **(tolerance or {"rtol": 0, "atol": 0}))


FORMS = {
    "array": lambda A: A.copy(),
    "float32": lambda A: A.astype(np.float32),
    "column order": lambda A: np.asfortranarray(A),
    "frame": lambda A: pd.DataFrame(A, columns=list("abc")),
    "sparse": sp.csr_array,
}


def overwrite(points):
    if isinstance(points, pd.DataFrame):
        points.loc[:, :] = 7.0
    elif sp.issparse(points):
        points.data[:] = 7.0
        points.indices[:] = 0
    else:
        points[:] = 7.0


@each
@pytest.mark.parametrize("form", FORMS)
def test_what_the_caller_does_to_his_arrays_afterwards_is_his_business(name, form):
    make = FORMS[form]
    for kernel in (Gaussian(1.2), Linear()):
        points, y, w = make(X), MACHINES[name][1], W.copy()
        y = None if y is None else y.copy()
        machine = fitted(name, kernel, points, y, w)
        before = answers(machine, make(Q))
        overwrite(points)
        w[:] = 1e3
        if y is not None:
            y[:] = 0
        same(answers(machine, make(Q)), before)
        if name == "ridge":
            expected = fitted(name, kernel, make(X), None, W.copy()).loo_residuals()
            np.testing.assert_array_equal(machine.loo_residuals(), expected)


@each
def test_matrices_lists_and_centres_are_the_machines_own(name):
    if name not in ("online", "online, projected", "features", "PCA centres", "numbers nearby"):
        K = Gaussian(1.0)(X)
        machine = fitted(name, Precomputed(), K)
        rows = Gaussian(1.0)(Q, X)
        before = machine.predict(rows) if hasattr(machine, "predict") else machine.transform(rows)
        K[:] = 0
        after = machine.predict(rows) if hasattr(machine, "predict") else machine.transform(rows)
        np.testing.assert_array_equal(after, before)
    words = np.array(["tree", "street", "moon", "noon", "mono", "enter", "rest", "root", "sun", "nun"] * 5)
    words = words.astype(object)
    kernel = FunctionKernel(lambda a, b: float(len(set(a) & set(b))))
    machine = fitted(name, kernel, words)
    before = answers(machine, ["tent", "son"])
    words[:] = "x"
    same(answers(machine, ["tent", "son"]), before)


def test_centres_and_functions_are_their_own():
    Z, M = X[:9].copy(), Gaussian(1.0)(X)
    machine = mercer.KernelRidge(Gaussian(1.0), lam=0.01, representation=Nystrom(centres=Z)).fit(X, NUMBERS)
    before = machine.predict(Q)
    Z[:] = 0
    np.testing.assert_array_equal(machine.predict(Q), before)
    for kernel, points, at in ((Gaussian(1.0), X.copy(), Q), (Finite(M), np.arange(50), [1, 2])):
        c = NUMBERS.copy()
        f = KernelFunction(kernel, points, c)
        g = f.zero().combination(points, c)
        before = f(at)
        points[:] = 0
        c[:] = 0
        M[:] = 0
        np.testing.assert_array_equal(f(at), before)
        np.testing.assert_array_equal(g(at), before)


# -- sparse and dense --------------------------------------------------------------------------------------

SPARSE = {
    "csr_matrix": sp.csr_matrix,
    "csr_array": sp.csr_array,
    "coo": sp.coo_matrix,
    "csc": sp.csc_array,
    "float32": lambda A: sp.csr_array(A.astype(np.float32)),
}


@each
def test_dense_and_sparse_may_be_mixed(name):
    some = ["csr_array", "float32"]
    for kernel, forms in {
        Gaussian(1.3): list(SPARSE),
        Linear(): ["csr_matrix"],
        Gaussian().scaled(): some,
        0.1 * Polynomial(2) + Cosine(): some,
    }.items():
        if name == "one-class" and isinstance(kernel, Linear):
            continue  # points on the edge: rounding decides
        for form in forms:
            make, dense = SPARSE[form], X.astype(np.float32 if form == "float32" else np.float64)
            tolerance = {"rtol": 2e-3, "atol": 2e-3} if form == "float32" else {"rtol": 1e-6, "atol": 1e-6}
            machine = fitted(name, kernel, dense)
            reference = answers(machine, Q.astype(dense.dtype))
            same(answers(machine, make(Q)), reference, **tolerance)
            machine = fitted(name, kernel, make(X))
            same(answers(machine, Q.astype(dense.dtype)), reference, **tolerance)
            same(answers(machine, make(Q)), reference, **tolerance)


def test_a_tree_takes_what_it_says_it_takes():
    machine = mercer.KernelNeighborsClassifier(Matern(), n_neighbors=3, search="tree")
    assert machine.__sklearn_tags__().input_tags.sparse
    dense = answers(machine.fit(X, LABELS), Q)
    for make in SPARSE.values():
        tolerance = {"rtol": 1e-5, "atol": 1e-5}
        same(answers(machine.fit(make(X), LABELS), make(Q)), dense, **tolerance)
        same(answers(machine.fit(make(X), LABELS), Q), dense, **tolerance)
        same(answers(machine.fit(X, LABELS), make(Q)), dense, **tolerance)
        assert machine.search_ == "tree"


# -- weights -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    "kernel", [Gaussian().scaled(), (Laplacian() * Linear().scaled() + 1) ** 2], ids=repr
)
def test_parameters_from_data_count_weights_as_copies(kernel, make):
    weights = RNG.integers(0, 4, 50).astype(float)
    far = X + 1000.0 * (X != 0)
    repeated = np.repeat(far, weights.astype(int), axis=0)
    a, b = kernel.resolve(make(far), weights).get_params(), kernel.resolve(make(repeated)).get_params()
    lengths = next(key for key in a if key.endswith("lengths"))
    np.testing.assert_allclose(a[lengths], repeated.std(axis=0), rtol=1e-10)
    for key in a:
        if key.endswith(("lengths", "sigma")):
            np.testing.assert_allclose(a[key], b[key], rtol=1e-12)


@pytest.mark.parametrize(
    "name", [n for n in MACHINES if MACHINES[n][2] and not n.startswith(("online", "k-"))]
)
def test_weights_are_repetitions_with_length_scales_from_data(name):
    weights = np.array(RNG.integers(0, 3, 50), float)
    index = np.repeat(np.arange(50), weights.astype(int))
    y = MACHINES[name][1]
    a = fitted(name, Gaussian(1.0).scaled(), X, y, weights)
    b = fitted(name, Gaussian(1.0).scaled(), X[index], None if y is None else y[index])
    np.testing.assert_allclose(a.kernel_.lengths, b.kernel_.lengths, rtol=1e-12)
    if name not in ("one-class", "nystrom"):  # whose offset may be any of an interval; whose centres differ
        np.testing.assert_allclose(a.predict(Q), b.predict(Q), atol=1e-3)


# -- neighbours without a say ------------------------------------------------------------------------------


def test_where_no_neighbour_has_weight_all_examples_answer():
    def near(d):
        return (d < 0.5).astype(float)

    far = np.vstack([Q + 100, X[:1]])
    y = np.where(np.arange(50) % 5 == 0, "a", "b")
    machine = mercer.KernelNeighborsClassifier(Linear(), n_neighbors=3, weights=near).fit(X, y)
    shares = machine.predict_proba(far)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_allclose(shares[:-1], [[0.2, 0.8]] * len(Q))
    np.testing.assert_array_equal(machine.predict(far), machine.classes_[shares.argmax(axis=1)])
    machine = mercer.KernelNeighborsRegressor(Linear(), n_neighbors=3, weights=near).fit(X, NUMBERS)
    np.testing.assert_allclose(machine.predict(Q + 100), NUMBERS.mean())
    automatic = mercer.KernelNeighborsRegressor(Linear(), weights=lambda d: 0 * d).fit(X, NUMBERS)
    np.testing.assert_allclose(automatic.predict(Q), NUMBERS.mean())
