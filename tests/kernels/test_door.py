"""The door of every machine: what is no kernel is refused with a witness, or said to be none."""

import warnings

import numpy as np
import pytest

import mercer
from mercer.kernels import Finite, FunctionKernel, Gaussian, Kernel, Linear, Precomputed, Radial, Sigmoid
from mercer.kernels.door import NotAKernel, by_rule, doubt

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 3))
Y = np.where(X[:, 0] > 0, "a", "b")
NUMBERS = X[:, 0]
S = RNG.standard_normal((60, 60))
INDEFINITE = S + S.T

MACHINES = {
    "ridge": lambda k: mercer.KernelRidge(k, lam=0.1, offset=False),
    "nystrom": lambda k: mercer.KernelRidge(k, lam=0.1, representation="nystrom", offset=False),
    "svr": lambda k: mercer.KernelSVR(k, lam=0.1),
    "svc": lambda k: mercer.KernelSVC(k, lam=0.1),
    "logistic": lambda k: mercer.KernelLogistic(k, lam=0.1, offset=False),
    "one-class": lambda k: mercer.KernelOneClass(k),
    "PCA": lambda k: mercer.KernelPCA(k, n_components=2),
    "k-means": lambda k: mercer.KernelKMeans(k, n_clusters=2, random_state=0),
    "neighbours": lambda k: mercer.KernelNeighborsClassifier(k),
    "perceptron": lambda k: mercer.KernelPerceptron(k),
    "online": lambda k: mercer.OnlineKernelClassifier(k),
    "features": lambda k: mercer.features.NystromFeatures(k, 10, random_state=0),
}
each = pytest.mark.parametrize("name", MACHINES)


def squared(x, z):
    return float(((x - z) ** 2).sum())


def lopsided(x, z):
    return float(x[0] * z[1])


def fit(name, kernel, points=X):
    machine = MACHINES[name](kernel)
    return machine.fit(points, NUMBERS if name in ("ridge", "nystrom", "svr") else Y)


@each
def test_what_is_no_kernel_is_refused_with_a_witness(name):
    with pytest.raises(NotAKernel, match="(?s)not positive semidefinite.*indefinite=True") as caught:
        fit(name, FunctionKernel(squared))
    rows, c = caught.value.verdict.rows, caught.value.verdict.c
    assert sum(a * b * squared(X[i], X[j]) for a, i in zip(c, rows) for b, j in zip(c, rows)) < 0


@each
def test_an_asymmetric_function_is_called_that(name):
    with pytest.raises(NotAKernel, match="not symmetric") as caught:
        fit(name, FunctionKernel(lopsided))
    i, j = caught.value.verdict.rows
    text = str(caught.value)
    assert f"k(x0, x1) = {lopsided(X[i], X[j]):.6g} but k(x1, x0) = {lopsided(X[j], X[i]):.6g}" in text


@each
def test_a_matrix_with_negative_eigenvalues_is_refused(name):
    kernels = [(Finite(INDEFINITE), np.arange(60))]
    if name not in ("online", "features"):
        kernels.append((Precomputed(), INDEFINITE))
    for kernel, points in kernels:
        with pytest.raises(NotAKernel, match="not positive semidefinite") as caught:
            fit(name, kernel, points)
        rows, c = caught.value.verdict.rows, caught.value.verdict.c
        assert c @ INDEFINITE[np.ix_(rows, rows)] @ c < 0


@pytest.mark.parametrize("name", ["PCA", "k-means", "neighbours", "perceptron", "online", "features"])
def test_where_it_is_the_wish_it_is_said_once(name):
    for kernel in (FunctionKernel(squared, indefinite=True), Sigmoid(1.0, 0.0), 2 * Sigmoid(1.0, 0.0) + 0.0):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fit(name, kernel)
        said = [w for w in caught if "not positive semidefinite on these points" in str(w.message)]
        assert len(said) == 1 and said[0].filename == __file__


def test_nothing_is_certified_where_the_objective_is_not_convex():
    with pytest.warns(UserWarning, match="not convex"):
        machine = mercer.KernelRidge(Sigmoid(1.0, 0.0), lam=5.0, offset=False).fit(X, NUMBERS)
    assert machine.solution_.status == "stationary"
    assert machine.solution_.certificate.gap is None


@pytest.mark.parametrize("kernel, points", [(Precomputed(indefinite=True), INDEFINITE), (Sigmoid(), X)])
def test_explained_variance_of_an_indefinite_kernel_is_a_share(kernel, points):
    K = INDEFINITE if isinstance(kernel, Precomputed) else np.tanh(X @ X.T)
    H = np.eye(60) - 1 / 60
    values = np.linalg.eigvalsh(H @ K @ H)[::-1]
    with pytest.warns(UserWarning, match="positive variance"):
        machine = mercer.KernelPCA(kernel, n_components=4).fit(points)
    positive = values[values > 0].sum()
    np.testing.assert_allclose(machine.explained_variance_ratio_, values[:4] / positive, rtol=1e-8)


def test_a_graph_to_be_cut_need_only_be_symmetric():
    weights = np.kron(np.eye(2), 1 - np.eye(5))
    weights[4, 5] = weights[5, 4] = 0.1
    machine = mercer.KernelKMeans(Precomputed(), 2, normalized=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(set(machine.fit(weights).labels_[:5])) == 1
    with pytest.raises(NotAKernel, match="not symmetric"):
        mercer.KernelKMeans(lopsided, 2, normalized=True).fit(np.abs(X))


def test_examples_that_come_one_by_one():
    machine = mercer.OnlineKernelRegressor(FunctionKernel(squared), step=0.1)
    with pytest.raises(NotAKernel):
        for i in range(10):
            machine.partial_fit(X[i : i + 1], NUMBERS[i : i + 1])
    machine = mercer.OnlineKernelRegressor(FunctionKernel(lambda x, z: float(x @ z)), step=0.01)
    for i in range(10):
        machine.partial_fit(X[i : i + 1], NUMBERS[i : i + 1])
    assert machine.n_seen_ == 10


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [300, 900])
def test_rounding_is_no_reason_to_refuse(n, dtype):
    A = np.random.default_rng(1).standard_normal((n, 2)).astype(dtype)
    K = np.exp(-((A[:, None] - A[None]) ** 2).sum(axis=2) / dtype(30))
    assert np.linalg.eigvalsh(K.astype(float))[0] < 0
    assert doubt(Finite(K), np.arange(n)) is None
    assert doubt(Finite(K.astype(np.float32).astype(float)), np.arange(n)) is None
    assert doubt(FunctionKernel(lambda x, z: np.exp(-((x - z) ** 2).sum() / 30)), A[:80]) is None


def test_one_negative_eigenvalue_of_a_large_matrix_is_found():
    """No small part shows it: the vector is spread over all rows."""
    n = 900
    v = np.random.default_rng(2).choice([-1.0, 1.0], n) / n**0.5
    K = np.eye(n) - 1.5 * np.outer(v, v)
    against = doubt(Finite(K), np.arange(n))
    assert against is not None and against.c @ K[np.ix_(against.rows, against.rows)] @ against.c < -0.4
    # Rows that are not used don't matter.
    half = np.arange(n // 2)
    assert doubt(Finite(K), half) is None and np.linalg.eigvalsh(K[: n // 2, : n // 2])[0] > 0


def test_kernels_by_construction_are_not_looked_at(monkeypatch):
    assert by_rule(Gaussian() + 2 * Linear()) and not by_rule(Sigmoid()) and not by_rule(Finite(np.eye(2)))

    class Wrong(Gaussian):
        def profile(self, r2, xp):
            return r2

    class Own(Kernel):
        def __init__(self):
            pass

        def pairwise(self, X, Z):
            return -X @ Z.T

    class Falling(Radial):
        indefinite = True

        def __init__(self):
            pass

        def profile(self, r2, xp):
            return xp.exp(r2 * -1.0) - 0.5

    assert not by_rule(Wrong(1.0)) and not by_rule(Wrong(1.0) + Gaussian(1.0))
    for kernel in (Wrong(1.0), Own()):
        with pytest.raises(NotAKernel):
            mercer.KernelRidge(kernel, lam=0.1, offset=False).fit(X, NUMBERS)
    with pytest.warns(UserWarning, match="not positive semidefinite on these points"):
        mercer.KernelNeighborsClassifier(Falling()).fit(X, Y)


def zero_machines():
    for kernel in (0 * Gaussian(1.0), 0 * Linear(), 0.0 * Gaussian(), Gaussian(1.0) * 0 + 0):
        yield from ((name, kernel) for name in MACHINES if name != "features")


@pytest.mark.parametrize("name, kernel", list(zero_machines()), ids=str)
def test_the_kernel_0_is_a_kernel_and_f_is_0(name, kernel):
    assert mercer.kernels.check(kernel).by == "rule"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mercer.solvers.ConvergenceWarning)
        machine = fit(name, kernel)
    for method in ("predict", "transform", "decision_function", "score_samples", "predict_proba"):
        if hasattr(machine, method):
            answer = getattr(machine, method)(X)
            assert answer.dtype.kind not in "f" or not np.isnan(answer).any()
    if hasattr(machine, "function_"):
        assert not np.any(machine.function_(X))
    if name == "ridge":
        np.testing.assert_array_equal(machine.predict(X), 0)
    np.testing.assert_array_equal(kernel.resolve(X)(X), 0)
    np.testing.assert_array_equal(kernel.resolve(X).distance(X), 0)


def test_features_of_the_kernel_0():
    for features in (
        mercer.features.ExplicitFeatures(0 * Linear()),
        mercer.features.RandomFourierFeatures(0 * Gaussian(1.0) + 0 * Gaussian(2.0), 20, random_state=0),
        mercer.features.NystromFeatures(0 * Gaussian(1.0), 5, random_state=0),
    ):
        Phi = features.fit(X).transform(X)
        np.testing.assert_array_equal(Phi @ Phi.T, np.zeros((60, 60)))
