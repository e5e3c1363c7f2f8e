"""Half-spaces of kernels: positive definite, polynomial, of whole numbers, and others."""

import math

import numpy as np
import pytest

from mercer.kernels import (
    Cosine,
    Exp,
    Finite,
    FunctionKernel,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    RationalQuadratic,
)
from mercer.theory.learnability import (
    HalfSpaces,
    KernelHalfSpaces,
    PolynomialHalfSpaces,
    dichotomies,
    shatters,
)


@pytest.mark.parametrize(
    "kernel",
    [Gaussian(1.0), Laplacian(1.0), Laplacian(1.0, norm="l1"), Matern(1.5, 1.0), RationalQuadratic(1.0, 1.0)],
    ids=repr,
)
@pytest.mark.parametrize("offset", [True, False])
def test_positive_definite_kernels_shatter_any_distinct_points(kernel, offset):
    rng = np.random.default_rng(0)
    H = KernelHalfSpaces(kernel, offset)
    assert H.vc_dimension == math.inf and H.growth(5) == 32
    for X in (
        rng.standard_normal((6, 2)),
        np.arange(7)[:, None] * [1, 1],
        rng.permutation(1000)[:5, None] / 100,
    ):
        answer = shatters(H, X)
        assert answer and len(answer.hypotheses) == 2 ** len(X)
        for labels, h in answer.hypotheses.items():
            assert [c == "+" for c in labels] == h(X).tolist()


def test_nearly_singular_matrices():
    """Points far closer than the kernel is wide: K is singular to rounding, the answer is still exact."""
    X = np.linspace(0, 0.05, 6)[:, None]
    assert np.linalg.cond(Gaussian(1.0)(X)) > 1e15
    assert shatters(KernelHalfSpaces(Gaussian(1.0)), X)
    with pytest.raises(ValueError, match="a hypothesis exists"):
        KernelHalfSpaces(Gaussian(1.0)).consistent([[0.0], [1e-12]], "+-")


def test_coincident_points():
    H = KernelHalfSpaces(Gaussian(1.0))
    assert H.consistent([[1.0], [1.0]], "+-") is None and H.consistent([[1.0], [1.0], [2.0]], "++-")
    assert len(dichotomies(H, [[1.0], [1.0], [2.0]])) == 4


def test_linear_and_polynomial_kernels_are_half_spaces():
    rng = np.random.default_rng(1)
    for _ in range(5):
        X = rng.integers(-2, 3, (5, 2))
        for ours, theirs in (
            (KernelHalfSpaces(Linear()), HalfSpaces(2)),
            (KernelHalfSpaces(Linear(), offset=False), HalfSpaces(2, offset=False)),
            (KernelHalfSpaces(Polynomial(1, c=1.0), offset=False), HalfSpaces(2)),
            (KernelHalfSpaces(Polynomial(2)), PolynomialHalfSpaces(2, 2)),
        ):
            assert np.array_equal(dichotomies(ours, X), dichotomies(theirs, X))


def test_dimensions():
    assert KernelHalfSpaces(Polynomial(3), d=2).vc_dimension == math.comb(5, 3)
    assert KernelHalfSpaces(Polynomial(2, c=0), offset=False, d=3).vc_dimension == 6
    assert KernelHalfSpaces(Polynomial(2, c=0), d=3).vc_dimension == 7
    assert KernelHalfSpaces(Linear(), d=3).vc_dimension == 4
    assert KernelHalfSpaces(Linear()).vc_dimension is None
    assert KernelHalfSpaces(Polynomial(2), d=1).growth(4) == PolynomialHalfSpaces(1, 2).growth(4)


def test_singular_finite_kernels():
    matrix = [[1, 1, 0], [1, 1, 0], [0, 0, 1]]  # points 0 and 1 are one
    H = KernelHalfSpaces(Finite(matrix), offset=False)
    assert H.vc_dimension == 2
    assert shatters(H, [0, 2]) and not shatters(H, [0, 1])
    ones = KernelHalfSpaces(Finite(np.ones((3, 3))), offset=False)
    assert len(dichotomies(ones, [0, 1, 2])) == 2


def test_kernels_on_objects_with_whole_values():
    def shared(a, b):
        return len(set(a) & set(b))

    H = KernelHalfSpaces(FunctionKernel(shared), offset=False)
    assert shatters(H, ["ab", "bc", "cd"])
    # φ("ab") + φ("cd") = φ("ac") + φ("bd")
    assert H.consistent(["ab", "cd", "ac", "bd"], "++--") is None
    assert H.consistent(["ab", "cd", "ac", "bd"], "+-+-")


def test_other_kernels_in_floating_point():
    angles = np.array([0.1, 1.0, 2.0, 3.0])
    X = np.c_[np.cos(angles), np.sin(angles)] * [[1.0], [2.0], [0.5], [3.0]]
    H = KernelHalfSpaces(Cosine(), offset=False)  # half-planes through 0, seen by direction only
    assert np.array_equal(
        dichotomies(H, X), dichotomies(HalfSpaces(2, offset=False), X / np.linalg.norm(X, axis=1)[:, None])
    )
    assert H.consistent(X, "+-+-") is None
    periodic = KernelHalfSpaces(Periodic(period=1.0, sigma=1.0))
    assert periodic.consistent([[0.2], [1.2]], "+-") is None  # one point to this kernel
    assert periodic.consistent([[0.2], [0.7]], "+-")


def test_rules():
    g = Gaussian(1.0)
    for kernel in (g, 2 * g, g + Linear(), g * Laplacian(1.0), g**2, g.exp(), g.normalize(), Exp(Linear())):
        assert kernel.strictly(), kernel
    for kernel in (
        Linear(),
        g * Linear(),
        Polynomial(2),
        Periodic(1.0, 1.0),
        g.on([0]),
        Linear() + 1.0,
        0 * g,
    ):
        assert not kernel.strictly(), kernel


def test_what_is_refused():
    with pytest.raises(TypeError, match="must be a Kernel"):
        KernelHalfSpaces(lambda x, z: 1).consistent([[1]], "+")
    with pytest.raises(ValueError, match="leaves sigma to the data"):
        KernelHalfSpaces(Gaussian()).consistent([[1]], "+")
    with pytest.raises(ValueError, match="offset must be"):
        KernelHalfSpaces(Linear(), offset=None).consistent([[1]], "+")
    with pytest.raises(ValueError, match="say in how many"):
        next(KernelHalfSpaces(Linear()).candidates(2, np.random.default_rng(0)))
    with pytest.raises(ValueError, match="not on vectors"):
        next(KernelHalfSpaces(FunctionKernel(min)).candidates(2, np.random.default_rng(0)))
