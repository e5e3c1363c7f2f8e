"""K(X, Z) of a graph against the kernel itself, for every kernel on vectors that the library has."""

import numpy as np
import pytest

from kernel_examples import EXAMPLES
from mercer.codegen.formula import View
from mercer.codegen.onnx.graph import OnnxGraph
from mercer.codegen.onnx.pairs import GraphPoints
from mercer.codegen.symbols import NotTraceable, Symbol
from mercer.kernels import (
    ArcCosine,
    Dot,
    Finite,
    Forest,
    FunctionKernel,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    PullBack,
    Radial,
)
from mercer.onnx.scores import diagonal, kernel_matrix

# A map is a Python function, of which no formula can be written down; of trees none is.
FORMULAS = [c for c in EXAMPLES if c.formula is not Kernel.formula and c not in (Forest, PullBack)]


def points(d):
    """Some of Z, some others, and the origin; none negative, for histograms."""
    rng = np.random.default_rng(d)
    Z = rng.uniform(0, 2, (7, d))
    return np.vstack([Z[:3], rng.uniform(0, 2, (5, d)), np.zeros((1, d))]), Z


@pytest.mark.parametrize("d", [1, 2, 5, 20])
@pytest.mark.parametrize("cls", FORMULAS, ids=lambda c: c.__name__)
def test_kernels(cls, d, at):
    X, Z = points(d)
    for example in EXAMPLES[cls](d):
        kernel = example.resolve(Z)
        K = at(lambda p, k=kernel: kernel_matrix(p, k, Z), X)
        np.testing.assert_allclose(K, kernel(X, Z), rtol=1e-10, atol=1e-12, err_msg=repr(kernel))
        own = at(lambda p, k=kernel: diagonal(p, k, View()), X)
        # A cosine of 1 − 1e-16 is an angle of 1e-8.
        np.testing.assert_allclose(own, kernel.diag(X), rtol=1e-10, atol=1e-8, err_msg=repr(kernel))


class Cauchy(Radial):
    def profile(self, r2, xp):
        return 1 / (1 + r2)


class Fourth(Dot):
    def profile(self, s, xp):
        return xp.log(xp.exp(s) + 1.0) * xp.cos(s) + xp.maximum(xp.abs(s), 0.5)


@pytest.mark.parametrize("kernel", [Cauchy(), Fourth(), (Cauchy() + Fourth()).normalize()], ids=repr)
def test_kernels_of_ones_own(kernel, at):
    X, Z = points(3)
    np.testing.assert_allclose(at(lambda p: kernel_matrix(p, kernel, Z), X), kernel(X, Z), rtol=1e-10)


@pytest.mark.parametrize("d", [3, 30])
def test_distances_far_from_the_origin(d, at):
    """Near-duplicates, and data whose size is large compared with the distances that matter."""
    rng = np.random.default_rng(0)
    Z = 1e5 + rng.standard_normal((20, d))
    X = Z + 1e-3 * rng.standard_normal(Z.shape)
    exact = np.exp(-np.sqrt(np.square(X[:, None] - Z[None]).sum(axis=2)))
    K = at(lambda p: kernel_matrix(p, Laplacian(1.0), Z), X)
    np.testing.assert_allclose(K, exact, rtol=0, atol=1e-9)


def test_angles_to_the_last_digits(at):
    """Between vectors that are almost parallel or opposite the arc cosine is steep."""
    angle = np.concatenate([[0.0, 1e-8, 1e-6, 1e-4], np.linspace(0.01, np.pi, 60)])
    X = np.c_[np.cos(angle), np.sin(angle)]
    Z = np.array([[1.0, 0.0]])
    K = at(lambda p: kernel_matrix(p, ArcCosine(0), Z), X)[:, 0]
    # 1 − θ/π; the cosine itself is known to 1e-16, which is 1e-8 in the angle near 0.
    np.testing.assert_allclose(K, 1 - angle / np.pi, rtol=0, atol=1e-8)
    np.testing.assert_allclose(K, ArcCosine(0)(X, Z)[:, 0], rtol=0, atol=2e-14)


class Wavy(Radial):
    def profile(self, r2, xp):
        return xp.arctan(r2)


@pytest.mark.parametrize(
    "kernel, match",
    [
        (Linear().pullback(np.square), "not linear"),
        (FunctionKernel(np.dot), "no formula in vectors"),
        (Wavy(), "arctan"),
        (Finite(np.eye(3)), "no formula in vectors"),
    ],
)
def test_kernels_that_are_no_formulas(kernel, match, at):
    X, Z = points(3)
    with pytest.raises(NotTraceable, match=match):
        at(lambda p: kernel_matrix(p, kernel, Z), X)


def test_columns_are_picked_not_multiplied():
    """Of very many columns a matrix could not even be made."""
    graph = OnnxGraph()
    seen = GraphPoints(graph, Symbol(graph, "X"), 100_000)
    seen.through(View().then(Gaussian(1.0).on([3, 4])))
    assert [n.op_type for n in graph.nodes] == ["Gather"]
    seen.through(View().then(Gaussian(1.0).scaled(np.full(100_000, 2.0))))
    assert [n.op_type for n in graph.nodes] == ["Gather", "Mul"]
