"""Factors of roots that went under them: the same values, an operation less."""

import importlib.util

import numpy as np
import pytest

from mercer.codegen.triton.roots import absorbed
from mercer.kernels import Gaussian, Laplacian, Linear, Matern, RationalQuadratic
from mercer.kernels.formula import trace

X = np.random.default_rng(0).standard_normal((30, 3))
OPERATIONS = ("add", "sub", "mul", "div", "sqrt", "exp2", "neg")


def count(formula):
    return sum(i[0] in OPERATIONS for i in formula.programme.instructions)


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch")
@pytest.mark.parametrize(
    ("kernel", "fewer"),
    [
        (Laplacian(0.7), 0),  # a sign in place of a factor
        (Matern(1.5, sigma=2.0), 0),
        (Matern(1.5, sigma=3**0.5), -1),  # the factor that was 1 is one now, and joins an addition
        (Matern(2.5, sigma=2.0), 0),
        (2 * Laplacian(3.0) * Laplacian(1.0), 0),
        (Matern(1.5, 1.0) + Linear(), 0),
        (Matern(0.5, 1.0).scaled([1.0, 2.0, 0.5]), 0),
    ],
    ids=repr,
)
def test_values_stay(kernel, fewer):
    import torch

    from mercer.engines._triton import blocks

    before = trace(kernel)
    after = absorbed(before)
    assert "neg" in {i[0] for i in after.programme.instructions}
    assert count(before) - count(after) == fewer
    leaves = [
        blocks.statistic(leaf, points, points, 0.0)
        for leaf in after.leaves
        for points in [torch.tensor(np.asarray(leaf.view.points(X)))]
    ]
    np.testing.assert_allclose(blocks.evaluate(after, leaves, [], []).numpy(), kernel(X), rtol=1e-13)


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(1.0),  # no root
        RationalQuadratic(1.0, 2.0),
        Laplacian(2.0) + Gaussian(1.0),  # the distance is used for something else
    ],
    ids=repr,
)
def test_what_has_no_such_factor_stays(kernel):
    assert absorbed(trace(kernel)) == trace(kernel)
