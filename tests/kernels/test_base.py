"""What every kernel does with its points, whatever its formula."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from mercer._params import is_integer
from mercer.codegen.symbols import int_power
from mercer.kernels import Gaussian, Kernel, Laplacian, Linear, Polynomial
from mercer.kernels.points import as_objects, as_vectors

X = np.random.default_rng(0).standard_normal((6, 3))
Z = np.random.default_rng(1).standard_normal((4, 3))


class Minimal(Kernel):
    """The least a new kernel needs."""

    def pairwise(self, X, Z):
        return (X @ Z.T) ** 2


def test_pairwise_is_all_a_new_kernel_needs():
    k = Minimal()
    np.testing.assert_allclose(k(X, Z), (X @ Z.T) ** 2)
    np.testing.assert_allclose(k.diag(X), (X**2).sum(axis=1) ** 2)
    np.testing.assert_allclose((k + 2 * k.normalize()).diag(X), (X**2).sum(axis=1) ** 2 + 2)
    assert repr(k) == "Minimal()"
    assert k == Minimal()


def test_what_a_new_kernel_does_not_have_is_said():
    k = Minimal()
    for call, words in (
        (lambda: Kernel()(X), "must define pairwise"),
        (lambda: k.gradient_x(X, Z), "Minimal has no derivative in x"),
        (lambda: k.gradient_log_params(X, Z), "Minimal has no derivative in its parameters"),
        (lambda: k.frequencies(np.random.default_rng(0), 2, 3), "Minimal has no spectral density"),
        (lambda: k.amplitude(), "Minimal is not translation-invariant"),
    ):
        with pytest.raises(NotImplementedError, match=words):
            call()
    assert k.rule() is None


@pytest.mark.parametrize(
    "points, reason",
    [
        ([1.0, 2.0], r"2-D array, got 1-D; X.reshape\(-1, 1\)"),
        (3.0, "2-D array, got 0-D"),
        (np.zeros((2, 2, 2)), "2-D array, got 3-D"),
        ([[np.nan, 1.0]], "NaN or infinity"),
        ([[np.inf, -np.inf]], "NaN or infinity"),
        (np.array([[np.inf, 1.0]], np.float32), "NaN or infinity"),
        (sp.csr_array([[np.nan, 1.0]]), "NaN or infinity"),
        ([["a", "b"]], "works on numbers, but the points hold str"),
        (["a", "b"], "works on numbers"),
        ([[1.0, None]], "works on numbers|NaN"),
        ([[1j, 2.0]], "Complex data not supported"),
    ],
)
def test_bad_points_are_refused_with_the_reason(points, reason):
    for call in (Gaussian(1.0), Gaussian(1.0).diag, Gaussian().resolve, lambda P: Linear()(X, P)):
        with pytest.raises(ValueError, match=reason):
            call(points)


def test_dimensions_must_match():
    with pytest.raises(ValueError, match="3 coordinates on one side and 2 on the other"):
        Gaussian(1.0)(X, Z[:, :2])


def test_large_numbers_are_not_taken_for_infinity():
    big = np.full((2, 3), 3e38, np.float32)  # their sum overflows
    np.testing.assert_array_equal(as_vectors(big), big)


@pytest.mark.parametrize(
    "points",
    [X.tolist(), [tuple(x) for x in X], X.astype(object), np.asfortranarray(X), np.repeat(X, 2, 0)[::2]],
)
def test_ways_to_write_points(points):
    np.testing.assert_allclose(Gaussian(1.0)(points), np.exp(-(cdist(X, X) ** 2) / 2), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.bool_, np.float16, np.longdouble])
def test_other_numbers_become_float64(dtype):
    A = np.array([[1, 0], [1, 1]]).astype(dtype)
    K = Linear()(A)
    assert K.dtype == np.float64
    np.testing.assert_array_equal(K, [[1, 1], [1, 2]])
    S = Linear()(sp.csr_array(np.array([[1, 0], [1, 1]], np.int64)))
    assert S.dtype == np.float64


def test_mixed_precision():
    assert Gaussian(1.0)(X.astype(np.float32), Z).dtype == np.float64
    assert Linear()(X.astype(np.float32), Z.astype(np.float32)).dtype == np.float32


def test_no_points():
    none = np.empty((0, 3))
    for k in (Gaussian(1.0), Linear(), Polynomial() + Laplacian(1.0), Linear().normalize()):
        assert k(none).shape == (0, 0)
        assert k(none, X).shape == (0, 6)
        assert k(X, none).shape == (6, 0)
        assert k.diag(none).shape == (0,)


def test_results_may_be_changed():
    k = Gaussian(1.0)
    d, K = k.diag(X), k(X)
    d += 1
    K += 1
    np.testing.assert_array_equal(k.diag(X), np.ones(6))


@pytest.mark.parametrize("kernel", [Linear(), Gaussian(1.5), Polynomial(2, 1.0)], ids=repr)
def test_induced_distance(kernel):
    K = {
        Linear(): lambda x, z: x @ z,
        Gaussian(1.5): lambda x, z: np.exp(-((x - z) @ (x - z)) / 4.5),
        Polynomial(2, 1.0): lambda x, z: (x @ z + 1) ** 2,
    }[kernel]
    expected = [[K(x, x) + K(z, z) - 2 * K(x, z) for z in Z] for x in X]
    np.testing.assert_allclose(kernel.squared_distance(X, Z), expected, rtol=1e-10)
    np.testing.assert_allclose(kernel.distance(X, Z), np.sqrt(expected), rtol=1e-10)


def test_induced_distance_of_the_linear_kernel_is_euclidean():
    np.testing.assert_allclose(Linear().distance(X, Z), cdist(X, Z), rtol=1e-12)
    D = Linear().distance(X)
    np.testing.assert_allclose(D, cdist(X, X), atol=1e-7)
    assert (np.diag(D) == 0).all()


def test_induced_distance_never_is_nan():
    # k(x,x) and k(x,z) with x = z are summed in different orders, so the difference may be below 0.
    A = np.random.default_rng(0).standard_normal((60, 200))
    for k in (Linear(), Polynomial(3, 1.0)):
        assert (k.diag(A) + k.diag(A) - 2 * np.diag(k(A, A.copy()))).min() < 0
        assert (k.squared_distance(A, A.copy()) >= 0).all()
        assert np.isfinite(k.distance(A, A.copy())).all()


def test_bind_gives_resolved_kernel_and_checked_points():
    k, points = Gaussian().bind([[0, 0], [3, 4]])
    assert k == Gaussian(5.0)
    assert points.dtype == np.float64
    with pytest.raises(ValueError, match="2-D"):
        Gaussian().bind([1.0, 2.0])


@pytest.mark.parametrize(
    "points, shape",
    [
        ([1, 2, 3], (3,)),
        ([[1, 2], [3, 4]], (2, 2)),
        ([[1], [2, 3]], (2,)),
        (["ab", "cd"], (2,)),
        ([], (0,)),
        ([np.eye(2)] * 3, (3,)),
    ],
)
def test_as_objects_keeps_tables_and_lists_apart(points, shape):
    assert as_objects(points).shape == shape


def test_as_objects_takes_data_frames():
    class Frame:  # what pandas and polars have in common
        def to_numpy(self):
            return X

    assert as_objects(Frame()) is X


@pytest.mark.parametrize("p", range(1, 10))
def test_int_power(p):
    s = np.array([-1.5, 0.0, 2.0])
    np.testing.assert_allclose(int_power(s, p), [v**p for v in s.tolist()], rtol=1e-14)


def test_is_integer():
    assert is_integer(2) and is_integer(2.0) and is_integer(np.int8(2)) and is_integer(np.float32(2))
    assert not any(map(is_integer, [2.5, "2", None, True, np.nan, [2]]))
