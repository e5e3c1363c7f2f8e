"""Vectors that stay where an operator is computed: the same numbers as on the host."""

import importlib.util
import os

import numpy as np
import pytest

from mercer.engines import Tiled
from mercer.kernels import Gaussian
from mercer.operators.resident import add, column_dots, column_norms, like, picked, put, times
from mercer.solvers.pcg import pcg

HAVE = all(importlib.util.find_spec(name) is not None for name in ("torch", "triton"))


def arrays(rng, shape):
    """The same numbers as an array and, where torch is there, as a tensor."""
    V = rng.standard_normal(shape)
    if not HAVE:
        return [V]
    import torch

    return [V.copy(), torch.tensor(V)]


def host(V):
    return V if isinstance(V, np.ndarray) else V.numpy()


@pytest.mark.parametrize("columns", [np.array([0, 1, 2]), np.array([2]), np.array([0, 2]), np.array([], int)])
def test_columns_of_arrays_and_of_tensors(columns):
    rng = np.random.default_rng(0)
    U, V = rng.standard_normal((2, 5, 3))
    W = rng.standard_normal((5, len(columns)))
    for kind in arrays(np.random.default_rng(1), (5, 3)):
        expected = host(kind).copy()
        as_kind = (lambda A: A.copy()) if isinstance(kind, np.ndarray) else kind.new_tensor
        np.testing.assert_array_equal(host(picked(kind, columns)), expected[:, columns])
        changed = like(kind)
        add(changed, columns, as_kind(W))
        expected_sum = expected.copy()
        expected_sum[:, columns] += W
        np.testing.assert_array_equal(host(changed), expected_sum)
        put(changed, columns, as_kind(W))
        expected_sum[:, columns] = W
        np.testing.assert_array_equal(host(changed), expected_sum)
        np.testing.assert_array_equal(host(kind), expected)  # a copy was changed
        np.testing.assert_allclose(column_dots(as_kind(U), as_kind(V)), (U * V).sum(axis=0), rtol=1e-14)
        np.testing.assert_allclose(column_norms(as_kind(U)), np.sqrt((U * U).sum(axis=0)), rtol=1e-14)
        np.testing.assert_array_equal(host(times(as_kind(U), np.arange(3.0))), U * np.arange(3.0))


@pytest.mark.skipif(not HAVE, reason="needs torch and triton")
def test_conjugate_gradients_on_tensors_are_those_on_arrays():
    import torch

    rng = np.random.default_rng(0)
    A = rng.standard_normal((40, 40))
    A, b = A @ A.T + 5 * np.eye(40), rng.standard_normal((40, 3))
    b[:, 1] = np.linalg.eigh(A)[1][:, 0]  # converges at once, and leaves
    T = torch.tensor(A)
    here = pcg(lambda V: A @ V, b, lambda V: V / 7, tol=1e-12, max_iter=100)
    there = pcg(lambda V: T @ V, torch.tensor(b), lambda V: V / 7, tol=1e-12, max_iter=100)
    np.testing.assert_allclose(there.x.numpy(), np.linalg.solve(A, b), rtol=1e-10)
    assert abs(here.iterations - there.iterations) <= 1
    assert there.residual <= 1e-12


@pytest.mark.parametrize(
    "cuda", [False, pytest.param(True, marks=pytest.mark.skipif(not HAVE, reason="needs torch"))]
)
def test_products_with_placed_vectors(cuda):
    rng = np.random.default_rng(0)
    X, Z, V, U = (rng.standard_normal(shape) for shape in ((70, 2), (30, 2), (30, 3), (70, 3)))
    engine = Tiled()
    if cuda:
        import torch

        from mercer.engines import Cuda

        device = "cuda" if torch.cuda.is_available() else "cpu"
        if device == "cpu":
            os.environ.setdefault("TRITON_INTERPRET", "1")
        engine = Cuda(device=device)
    K = engine.operator(Gaussian(1.3), X, Z)
    there, expected = K.resident(), Gaussian(1.3)(X, Z)
    for found, right in (
        (there.multiply(there.place(V)), expected @ V),
        (there.adjoint(there.place(U)), expected.T @ U),
    ):
        assert cuda != isinstance(found, np.ndarray)
        np.testing.assert_allclose(there.fetch(found), right, rtol=1e-10, atol=1e-12)
