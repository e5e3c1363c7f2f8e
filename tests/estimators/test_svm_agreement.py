"""SVMs on real data, against LIBSVM (scikit-learn's SVC, SVR, OneClassSVM, NuSVC) and their own duals.

In LIBSVM's terms, with c the coefficients of f = Σ c_i k(x_i,·) + b and C_i = C w_i:

    SVC        P = ½cᵀKc + Σ C_i (1 − y_i f(x_i))₊        D = Σ y_i c_i − ½cᵀKc            0 ≤ y_i c_i ≤ C_i
    SVR        P = ½cᵀKc + Σ C_i (|y_i − f(x_i)| − ε)₊    D = Σ (y_i c_i − ε|c_i|) − ½cᵀKc   |c_i| ≤ C_i
    one class  D = −½cᵀKc, with 0 ≤ c_i ≤ 1 and Σ c_i = νn

and Σ c_i = 0 where there is an offset. Mercer's objective is P/ΣC_i. P ≥ min P = max D ≥ D for every feasible
c, so P − D, computed here in float64, bounds the error whatever the solver says of itself. Conditions
violated by no more than TOL leave P − D ≤ TOL·ΣC_i.
"""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, SVR, NuSVC, OneClassSVM

from mercer import KernelOneClass, KernelSVC, KernelSVR
from mercer.kernels import Gaussian
from mercer.solvers import Dual

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
TOL = 1e-5  # of both sides: the largest violation of the optimality conditions
CLOSE = 2e-4  # of decision values; LIBSVM is within 3e-5 of its own limit at TOL
ROWS, TEST = 1500, 300

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not DATA.is_dir(), reason="the data sets are not beside this checkout"),
]


# -- data -----------------------------------------------------------------------------------------------


def load(path, *keys):
    with np.load(DATA / path, allow_pickle=False) as file:
        return [file[key] for key in keys]


def csr(path, part=""):
    *values, shape = load(path, *(f"X_{part}{key}" for key in ("data", "indices", "indptr", "shape")))
    return sparse.csr_matrix(tuple(values), shape=tuple(shape)).astype(np.float64)


def standardised(X):
    X = X.astype(np.float64)
    std = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(std > 0, std, 1.0)


def one_hot(sequences):
    letters = np.array([list(s) for s in sequences.tolist()])
    return np.concatenate([letters == letter for letter in np.unique(letters)], axis=1).astype(float)


def _covtype():
    X, y = load("covtype.npz", "X", "y")
    return X, y == 2


def _digits():
    X, y = load_digits(return_X_y=True)
    return X / 16, y


# name → (X, y); the labels are the sets' own, made ±1 by `binary`.
SETS = {
    "a9a": lambda: (csr("libsvm/a9a.npz", "train_"), *load("libsvm/a9a.npz", "y_train")),
    "w8a": lambda: (csr("libsvm/w8a.npz"), *load("libsvm/w8a.npz", "y")),
    "mushrooms": lambda: (csr("libsvm/mushrooms.npz"), *load("libsvm/mushrooms.npz", "y")),
    "ijcnn1": lambda: load("libsvm/ijcnn1_val.npz", "X", "y"),
    "letter": lambda: load("libsvm/letter_scale.npz", "X_train", "y_train"),
    "pendigits": lambda: load("libsvm/pendigits.npz", "X_train", "y_train"),
    "usps": lambda: load("usps.npz", "X_train", "y_train"),
    "splice": lambda: (one_hot(load("text/splice.npz", "seq")[0]), *load("text/splice.npz", "y")),
    "covtype": _covtype,
    "german": lambda: load("libsvm/german_numer_scale.npz", "X", "y"),
    "spambase": lambda: load("spambase.npz", "X", "y"),
    "digits": _digits,
}
STANDARDISED = {"covtype", "spambase", "pendigits"}
# One is usual; others make many bounded, and few, multipliers.
CS = {"letter": 10.0, "pendigits": 100.0, "german": 0.1, "digits": 10.0, "covtype": 5.0}


def split(name):
    """Training rows and labels, and rows to predict."""
    X, y = rows_of(name, ROWS + TEST)
    return X[:-TEST], y[:-TEST], X[-TEST:]


@cache
def rows_of(name, n):
    """n random rows and their labels, dense in float64, the same rows every time."""
    X, y = SETS[name]()
    keep = np.random.default_rng(0).permutation(len(y))[:n]
    X, y = X[keep], y[keep].astype(int)
    X = X.toarray() if sparse.issparse(X) else X.astype(np.float64)
    return (standardised(X) if name in STANDARDISED else X), y


def binary(y):
    """±1: the upper half of the classes against the lower."""
    classes = np.unique(y)
    return np.where(y >= classes[len(classes) // 2], 1, -1)


def table(name, n=ROWS):
    X, y = load(f"uci/{name}.npz", "X", "y")
    keep = np.random.default_rng(0).permutation(len(y))[:n]
    return standardised(X[keep]), (y[keep] - y[keep].mean()) / y[keep].std()


def scale(X):
    return float(1 / (X.shape[1] * X.var()))


# -- formulas -------------------------------------------------------------------------------------------


def coefficients(machine, n):
    """c of f = Σ c_i k(x_i,·) + b, of a binary or regression machine, ours or theirs."""
    c = np.zeros(n)
    c[np.asarray(machine.support_)] = np.asarray(machine.dual_coef_).ravel()
    return c


def intercept(machine):
    return float(np.asarray(machine.intercept_).ravel()[0])


def hinge_primal(K, y, C, c, b):
    f = K @ c
    return c @ f / 2 + np.sum(C * np.maximum(0, 1 - y * (f + b)))


def hinge_dual(K, y, c):
    return y @ c - c @ K @ c / 2


def tube_primal(K, y, C, epsilon, c, b):
    f = K @ c
    return c @ f / 2 + np.sum(C * np.maximum(0, np.abs(y - f - b) - epsilon))


def tube_dual(K, y, epsilon, c):
    return y @ c - epsilon * np.abs(c).sum() - c @ K @ c / 2


def assert_in_box(u, C):
    """0 ≤ u ≤ C, up to rounding."""
    C = np.broadcast_to(C, u.shape)
    assert (u >= -1e-9 * C).all()
    assert (u <= C * (1 + 1e-9)).all()


def box_maximum(K, y, C):
    """max D without an offset, by bound-constrained quasi-Newton steps: the value, from a feasible point."""

    def negative(u):
        Ku = y * (K @ (y * u))
        return u @ Ku / 2 - u.sum(), Ku - 1

    bounds = [(0.0, bound) for bound in np.broadcast_to(C, y.shape)]
    options = {"maxiter": 20_000, "maxfun": 50_000, "ftol": 1e-15, "gtol": 1e-7, "maxcor": 30}
    found = minimize(negative, np.zeros(len(y)), jac=True, bounds=bounds, method="L-BFGS-B", options=options)
    return -found.fun, y * found.x


def ours(C, gamma, **parameters):
    tol = parameters.pop("tol", TOL)
    return KernelSVC.from_C(C, kernel=Gaussian((0.5 / gamma) ** 0.5), solver=Dual(tol=tol), **parameters)


def weights(kind, y):
    """(arguments of the constructor, sample_weight, the factors of C)"""
    if kind == "sample":
        w = np.random.default_rng(1).uniform(0.2, 2.0, len(y))
        return {}, w, w
    if kind == "class":
        return {"class_weight": {-1: 0.7, 1: 3.0}}, None, np.where(y == 1, 3.0, 0.7)
    if kind == "balanced":
        sizes = np.where(y == 1, np.sum(y == 1), np.sum(y == -1))
        return {"class_weight": "balanced"}, None, len(y) / (2 * sizes)
    return {}, None, np.ones(len(y))


# -- classification -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["none", "sample", "class", "balanced"])
@pytest.mark.parametrize("name", SETS)
def test_equals_svc(name, kind):
    X, labels, T = split(name)
    y, C, gamma, n = binary(labels), CS.get(name, 1.0), scale(X), len(X)
    given, w, factors = weights(kind, y)
    theirs = SVC(C=C, gamma=gamma, tol=TOL, **given).fit(X, y, sample_weight=w)
    machine = ours(C, gamma, offset=True, **given).fit(X, y, sample_weight=w)

    K, Ci = rbf_kernel(X, gamma=gamma), C * factors
    c = coefficients(machine, n)
    assert_in_box(y * c, Ci)
    assert abs(c.sum()) < 1e-8 * np.abs(c).sum()
    dual, expected = hinge_dual(K, y, c), hinge_dual(K, y, coefficients(theirs, n))
    assert abs(dual - expected) <= 1e-6 * expected
    primal = hinge_primal(K, y, Ci, c, intercept(machine))
    assert primal - dual <= 2 * TOL * Ci.sum()

    f, g = machine.decision_function(T), theirs.decision_function(T)
    assert f.shape == (len(T),)
    assert np.abs(f - g).max() < CLOSE
    sure = np.abs(g) > CLOSE
    assert sure.mean() > 0.9
    assert np.array_equal(machine.predict(T)[sure], theirs.predict(T)[sure])
    assert np.abs(f - rbf_kernel(T, X, gamma=gamma) @ c - intercept(machine)).max() < 1e-8
    assert np.array_equal(machine.classes_, theirs.classes_)

    certificate = machine.solution_.certificate
    assert abs(certificate.objective - primal / Ci.sum()) <= 1e-6 * certificate.objective
    if certificate.gap is not None:
        assert certificate.gap >= (primal - max(dual, expected)) / Ci.sum() - 1e-9 * certificate.objective
        assert certificate.gap <= 2 * TOL


@pytest.mark.parametrize("kind", ["none", "sample", "class"])
@pytest.mark.parametrize("name", SETS)
def test_without_offset(name, kind):
    """LIBSVM can't leave b out: the gap is the judge, a quasi-Newton method on the box the second opinion."""
    X, labels = rows_of(name, 400)
    y, C, gamma = binary(labels), CS.get(name, 1.0), scale(X)
    given, w, factors = weights(kind, y)
    machine = ours(C, gamma, offset=False, **given).fit(X, y, sample_weight=w)
    K, Ci = rbf_kernel(X, gamma=gamma), C * factors
    c = coefficients(machine, len(y))
    assert_in_box(y * c, Ci)
    assert intercept(machine) == 0
    expected, reference = box_maximum(K, y, Ci)
    dual, primal = hinge_dual(K, y, c), hinge_primal(K, y, Ci, c, 0.0)
    assert primal - dual <= 2 * TOL * Ci.sum()
    assert abs(dual - expected) <= 1e-6 * expected
    assert np.abs(machine.decision_function(X) - K @ reference).max() < 1e-3
    assert abs(machine.solution_.certificate.objective - primal / Ci.sum()) <= 1e-6 * primal / Ci.sum()


@pytest.mark.parametrize("kind", ["none", "sample"])
@pytest.mark.parametrize("name", ["letter", "pendigits", "usps", "splice", "digits"])
def test_many_classes_vote_as_in_libsvm(name, kind):
    X, y, T = split(name)
    C, gamma = CS.get(name, 1.0), scale(X)
    w = weights(kind, y)[1]
    theirs = SVC(C=C, gamma=gamma, tol=TOL, decision_function_shape="ovo").fit(X, y, sample_weight=w)
    machine = ours(C, gamma, offset=True, multiclass="ovo").fit(X, y, sample_weight=w)
    pairs = theirs.decision_function(T)
    k = len(theirs.classes_)
    votes = np.zeros((len(T), k), int)
    first, second = np.triu_indices(k, 1)
    for column, (i, j) in enumerate(zip(first, second)):
        votes[:, i] += pairs[:, column] > 0
        votes[:, j] += pairs[:, column] <= 0
    # A tie is broken by the order of the classes there, and may be broken otherwise here.
    top = np.sort(votes, axis=1)
    sure = (np.abs(pairs) > CLOSE).all(axis=1) & (top[:, -1] > top[:, -2])
    assert sure.mean() > 0.7
    assert np.array_equal(machine.predict(T)[sure], theirs.predict(T)[sure])
    # The same multipliers but for those that equal rows can exchange.
    assert abs(len(machine.support_) - len(theirs.support_)) <= 0.02 * len(X)


@pytest.mark.parametrize("name", ["a9a", "w8a", "mushrooms"])
def test_sparse_rows_give_the_same_machine(name):
    X, y = SETS[name]()
    X, y = X[:ROWS].astype(np.float64), binary(y[:ROWS].astype(int))
    gamma = scale(X.toarray())
    dense = ours(1.0, gamma).fit(X.toarray(), y)
    thin = ours(1.0, gamma).fit(X, y)
    theirs = SVC(C=1.0, gamma=gamma, tol=TOL).fit(X, y)
    f = thin.decision_function(X)
    assert np.abs(f - dense.decision_function(X.toarray())).max() < CLOSE
    assert np.abs(f - theirs.decision_function(X)).max() < CLOSE


@pytest.mark.parametrize("name", ["a9a", "letter", "usps", "covtype"])
def test_single_precision(name):
    """float32 rows, LIBSVM's usual tolerance: decisions within a few of these tolerances."""
    X, labels = rows_of(name, ROWS)
    X, y, gamma = X.astype(np.float32), binary(labels), scale(X)
    machine = ours(1.0, gamma, tol=1e-3).fit(X, y)
    theirs = SVC(C=1.0, gamma=gamma, tol=TOL).fit(X, y)
    f, g = np.asarray(machine.decision_function(X)), theirs.decision_function(X)
    assert np.abs(f - g).max() < 2e-2
    sure = np.abs(g) > 2e-2
    assert np.array_equal(machine.predict(X)[sure], theirs.predict(X)[sure])


@pytest.mark.parametrize("nu", [0.2, 0.4])
@pytest.mark.parametrize("name", ["ijcnn1", "usps", "splice", "german"])
def test_nu_svc_is_the_machine_with_its_c(name, nu):
    """LIBSVM divides ν's multipliers by the margin it found, so its bound C is the largest of them."""
    X, labels = rows_of(name, ROWS)
    y, gamma = binary(labels), scale(X)
    if nu > 2 * min(np.mean(y == 1), np.mean(y == -1)):
        nu = min(np.mean(y == 1), np.mean(y == -1))  # above twice the smaller share there is no such machine
    theirs = NuSVC(nu=nu, gamma=gamma, tol=1e-6).fit(X, y)
    C = float(np.abs(theirs.dual_coef_).max())
    machine = ours(C, gamma, offset=True).fit(X, y)
    f, g = machine.decision_function(X), theirs.decision_function(X)
    assert np.abs(f - g).max() < 5e-3


# -- regression and one class ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["none", "sample"])
@pytest.mark.parametrize("epsilon", [0.02, 0.3])
@pytest.mark.parametrize("name", ["airfoil", "concrete", "energy", "housing", "skillcraft", "wine"])
def test_equals_svr(name, epsilon, kind):
    X, y = table(name)
    C, gamma, n = 2.0, scale(X), len(X)
    w = np.random.default_rng(1).uniform(0.2, 2.0, n) if kind == "sample" else None
    Ci = C * (np.ones(n) if w is None else w)
    theirs = SVR(C=C, epsilon=epsilon, gamma=gamma, tol=TOL).fit(X, y, sample_weight=w)
    machine = regressor(C, epsilon, gamma, offset=True).fit(X, y, sample_weight=w)
    K, c = rbf_kernel(X, gamma=gamma), coefficients(machine, n)
    assert_in_box(np.abs(c), Ci)
    assert abs(c.sum()) < 1e-8 * np.abs(c).sum()
    dual, expected = tube_dual(K, y, epsilon, c), tube_dual(K, y, epsilon, coefficients(theirs, n))
    assert abs(dual - expected) <= 1e-6 * expected
    primal = tube_primal(K, y, Ci, epsilon, c, intercept(machine))
    assert primal - dual <= 2 * TOL * Ci.sum()
    p, q = machine.predict(X), theirs.predict(X)
    assert np.abs(p - q).max() < CLOSE
    assert np.abs(p - K @ c - intercept(machine)).max() < 1e-8
    certificate = machine.solution_.certificate
    assert abs(certificate.objective - primal / Ci.sum()) <= 1e-6 * certificate.objective


@pytest.mark.parametrize("name", ["airfoil", "housing", "wine"])
def test_regression_without_offset_has_no_gap(name):
    X, y = table(name, 500)
    C, epsilon, gamma = 2.0, 0.1, scale(X)
    machine = regressor(C, epsilon, gamma, offset=False).fit(X, y)
    K, c = rbf_kernel(X, gamma=gamma), coefficients(machine, len(y))
    assert_in_box(np.abs(c), C)
    assert intercept(machine) == 0
    dual = tube_dual(K, y, epsilon, c)
    assert tube_primal(K, y, C, epsilon, c, 0.0) - dual <= 2 * TOL * C * len(y)


def regressor(C, epsilon, gamma, **parameters):
    kernel = Gaussian((0.5 / gamma) ** 0.5)
    return KernelSVR.from_C(C, epsilon=epsilon, kernel=kernel, solver=Dual(tol=TOL), **parameters)


@pytest.mark.parametrize("nu", [0.1, 0.5])
@pytest.mark.parametrize("name", ["ijcnn1", "usps", "pendigits", "covtype", "german"])
def test_equals_one_class_svm(name, nu):
    X, _, T = split(name)
    gamma, n = scale(X), len(X)
    theirs = OneClassSVM(nu=nu, gamma=gamma, tol=TOL).fit(X)
    machine = KernelOneClass(Gaussian((0.5 / gamma) ** 0.5), nu=nu, solver=Dual(tol=TOL)).fit(X)
    K = rbf_kernel(X, gamma=gamma)
    c, reference = coefficients(machine, n), coefficients(theirs, n)
    assert_in_box(c, 1.0)
    assert abs(c.sum() - nu * n) < 1e-6 * nu * n
    assert abs(c @ K @ c - reference @ K @ reference) <= 1e-6 * (reference @ K @ reference)
    f, g = machine.decision_function(T), theirs.decision_function(T)
    assert f.shape == g.shape
    assert np.abs(f - g).max() < CLOSE
    sure = np.abs(g) > CLOSE
    assert np.array_equal(machine.predict(T)[sure], theirs.predict(T)[sure])
