"""Machines that ask all within a radius: against scikit-learn's, and by hand where nobody is near."""

import pickle
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.neighbors import RadiusNeighborsClassifier, RadiusNeighborsRegressor

import mercer
from mercer import KernelRadiusNeighborsClassifier, KernelRadiusNeighborsRegressor
from mercer.kernels import Gaussian, Linear


def points(n, d=3, seed=0):
    return np.random.default_rng(seed).random((n, d))


X, T = points(150), np.concatenate([points(40, seed=1), points(150)[:10]])  # some are examples
LABELS = np.array(["low", "middle", "high"])[np.digitize(X[:, 0], [0.3, 0.6])]
WEIGHTS = ["uniform", "distance", lambda d: np.exp(-d)]


def theirs_weights(weights):
    """scikit-learn hands a function an array of arrays."""
    if not callable(weights):
        return weights
    return lambda d: np.array([weights(row) for row in d] + [None], dtype=object)[:-1]


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("search", ["tree", "blocks"])
def test_classes_are_those_of_scikit_learn(weights, search):
    ours = KernelRadiusNeighborsClassifier(metric="euclidean", radius=0.4, weights=weights, search=search)
    ours.fit(X, LABELS)
    theirs = RadiusNeighborsClassifier(0.4, weights=theirs_weights(weights)).fit(X, LABELS)
    np.testing.assert_allclose(ours.predict_proba(T), theirs.predict_proba(T), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(ours.predict(T), theirs.predict(T))
    np.testing.assert_array_equal(ours.radius_neighbors(T)[1][3], np.sort(theirs.radius_neighbors(T)[1][3]))


@pytest.mark.parametrize("weights", WEIGHTS)
def test_means_are_those_of_scikit_learn(weights):
    for y in (X[:, 0] ** 2, np.stack([X[:, 0], X[:, 1] ** 2], axis=1)):
        ours = KernelRadiusNeighborsRegressor(Linear(), radius=0.4, weights=weights).fit(X, y)
        theirs = RadiusNeighborsRegressor(0.4, weights=theirs_weights(weights)).fit(X, y)
        np.testing.assert_allclose(ours.predict(T), theirs.predict(T), rtol=1e-9)
        assert ours.predict(T).shape == (50, *y.shape[1:])


@pytest.mark.parametrize("metric", ["manhattan", "chebyshev", "cosine"])
def test_other_distances(metric):
    ours = KernelRadiusNeighborsClassifier(metric=metric, radius=0.15, outlier_label="high").fit(X, LABELS)
    theirs = RadiusNeighborsClassifier(0.15, metric=metric, outlier_label="high").fit(X, LABELS)
    np.testing.assert_allclose(ours.predict_proba(T), theirs.predict_proba(T), atol=1e-12)


def test_the_distance_of_a_kernel():
    """A Gaussian's is 1 where k(x,z) = ½, which is ‖x−z‖ = σ√(2 ln 2)."""
    near = 0.5 * np.sqrt(2 * np.log(2))
    ours = KernelRadiusNeighborsClassifier(Gaussian(0.5), radius=1.0).fit(X, LABELS)
    theirs = RadiusNeighborsClassifier(near).fit(X, LABELS)
    np.testing.assert_allclose(ours.predict_proba(T), theirs.predict_proba(T))


def test_several_columns_of_labels():
    Y = np.stack([LABELS, np.where(X[:, 1] > 0.5, "up", "down")], axis=1)
    far = np.concatenate([T, [[9.0, 9.0, 9.0]]])
    for label, its in (("most_frequent", "most_frequent"), (["low", "up"], ["low", "up"])):
        ours = KernelRadiusNeighborsClassifier(metric="euclidean", radius=0.4, outlier_label=label).fit(X, Y)
        theirs = RadiusNeighborsClassifier(0.4, outlier_label=its).fit(X, Y)
        np.testing.assert_array_equal(ours.predict(far), theirs.predict(far))
        for a, b in zip(ours.predict_proba(far), theirs.predict_proba(far), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-12)
    with pytest.raises(ValueError, match="outlier_label has 3 labels for 2 columns"):
        KernelRadiusNeighborsClassifier(outlier_label=["a", "b", "c"]).fit(X, Y)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_nobody_near(dtype):
    far = np.array([[9.0, 9.0, 9.0], X[0]], dtype)
    A = X.astype(dtype)
    machine = KernelRadiusNeighborsClassifier(metric="euclidean", radius=0.4).fit(A, LABELS)
    for call in (machine.predict, machine.predict_proba):
        with pytest.raises(ValueError, match="1 of 2 points have no neighbours within radius=0.4 .*row 0"):
            call(far)
    machine.set_params(outlier_label="somewhere else").fit(A, LABELS)
    assert machine.predict(far)[0] == "somewhere else" and machine.predict(far)[1] == LABELS[0]
    with pytest.warns(UserWarning, match="none of the classes"):
        shares = machine.predict_proba(far)
    assert not shares[0].any() and shares[1].sum() == pytest.approx(1)
    machine.set_params(outlier_label="most_frequent").fit(A, LABELS)
    names, counts = np.unique(LABELS, return_counts=True)
    assert machine.predict(far)[0] == machine.outlier_label_ == names[counts.argmax()]
    assert machine.predict_proba(far)[0].tolist() == (names == names[counts.argmax()]).tolist()
    numbers = KernelRadiusNeighborsRegressor(metric="euclidean", radius=0.4).fit(A, X[:, :2])
    with pytest.warns(UserWarning, match="1 of 2 points have no neighbours .*NaN"):
        found = numbers.predict(far)
    assert np.isnan(found[0]).all() and np.isfinite(found[1]).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        numbers.predict(far[1:])


@pytest.mark.parametrize(
    ("y", "label"), [(LABELS, 3), ((X[:, 0] > 0.5).astype(int), "far"), (LABELS, ["low"])]
)
def test_labels_of_another_kind(y, label):
    with pytest.raises(ValueError, match="not of the kind of the labels"):
        KernelRadiusNeighborsClassifier(outlier_label=label).fit(X, y)


def test_numbers_as_labels():
    y = np.digitize(X[:, 0], [0.3, 0.6])
    machine = KernelRadiusNeighborsClassifier(metric="euclidean", radius=0.4, outlier_label=-1).fit(X, y)
    found = machine.predict([[9.0, 9.0, 9.0], X[0]])
    assert found.tolist() == [-1, y[0]] and found.dtype.kind == "i"


def test_neighbours_without_weight():
    """There is somebody, but nobody counts: all examples answer."""
    machine = KernelRadiusNeighborsRegressor(metric="euclidean", radius=1.0, weights=lambda d: 0 * d)
    machine.fit(X, X[:, 0])
    np.testing.assert_allclose(machine.predict(T), X[:, 0].mean())


def test_copies_outweigh_the_others():
    machine = KernelRadiusNeighborsRegressor(metric="euclidean", radius=5.0, weights="distance")
    machine.fit([[0.0], [0.0], [1.0]], [1.0, 3.0, 9.0])
    assert machine.predict([[0.0]]).tolist() == [2.0]


def test_sparse_points():
    S = np.where(X > 0.5, X, 0)
    dense, sparse = (
        KernelRadiusNeighborsClassifier(Linear(), radius=0.5).fit(A, LABELS) for A in (S, csr_array(S))
    )
    np.testing.assert_allclose(sparse.predict_proba(csr_array(S)), dense.predict_proba(S), atol=1e-12)


def test_one_class_and_one_example():
    machine = KernelRadiusNeighborsClassifier(radius=0.1).fit([[1.0]], ["a"])
    assert machine.predict([[1.0]]).tolist() == ["a"] and machine.predict_proba([[1.0]]).tolist() == [[1.0]]


def test_trips_through_files(tmp_path):
    Y = np.stack([LABELS, np.where(X[:, 1] > 0.5, "up", "down")], axis=1)
    machines = [
        KernelRadiusNeighborsClassifier(metric="manhattan", outlier_label="far").fit(X, LABELS),
        KernelRadiusNeighborsClassifier(metric="manhattan", outlier_label="most_frequent").fit(X, Y),
        KernelRadiusNeighborsRegressor(radius=1.2, weights="distance").fit(X, X[:, :2]),
    ]
    for machine in machines:
        mercer.save(machine, tmp_path / "near.mercer")
        for again in (pickle.loads(pickle.dumps(machine)), mercer.load(tmp_path / "near.mercer")):
            np.testing.assert_array_equal(machine.predict(T), again.predict(T))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"radius": -1}, "radius must be a number of at least 0"),
        ({"weights": "gaussian"}, "weights must be"),
        ({"weights": lambda d: d[:, :1]}, "returned weights of shape"),
        ({"weights": lambda d: -d - 1}, "negative"),
        ({"metric": "nearness"}, "metric must be one of"),
    ],
)
def test_wrong_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        KernelRadiusNeighborsRegressor(**parameters).fit(X, X[:, 0]).predict(T)
