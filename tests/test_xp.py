"""Dual numbers differentiate whatever is computed with them."""

import copy

import numpy as np
import pytest
import scipy.sparse as sp

from mercer._xp import DualNumber, dual, issparse, n_points, take

x0 = np.array([0.3, 0.7, 1.9])

# Every operation, once with the number on either side.
FORMULAS = {
    "x + 2": lambda x, xp: x + 2,
    "2 + x": lambda x, xp: 2 + x,
    "x + x": lambda x, xp: x + x,
    "x - 2": lambda x, xp: x - 2,
    "2 - x": lambda x, xp: 2 - x,
    "-x": lambda x, xp: -x,
    "3 * x": lambda x, xp: 3 * x,
    "x * x": lambda x, xp: x * x,
    "x / 3": lambda x, xp: x / 3,
    "3 / x": lambda x, xp: 3 / x,
    "x / (1 + x)": lambda x, xp: x / (1 + x),
    "x ** 3": lambda x, xp: x**3,
    "x ** -0.5": lambda x, xp: x**-0.5,
    "x ** x": lambda x, xp: x**x,
    "2 ** x": lambda x, xp: 2**x,
    "array * x": lambda x, xp: np.array([1.0, -2.0, 3.0]) * x,
    "array - x": lambda x, xp: np.array([1.0, -2.0, 3.0]) - x,
    "exp": lambda x, xp: xp.exp(x * -2.0),
    "log": lambda x, xp: xp.log(x),
    "sqrt": lambda x, xp: xp.sqrt(x),
    "sin": lambda x, xp: xp.sin(x),
    "cos": lambda x, xp: xp.cos(x),
    "tanh": lambda x, xp: xp.tanh(x),
    "arccos": lambda x, xp: xp.arccos(x * 0.5),
    "clip": lambda x, xp: xp.clip(x, 0.5, 1.0) * x,
    "π": lambda x, xp: x * xp.pi,
    "constants": lambda x, xp: x * (xp.exp(1.0) + xp.sqrt(2.0)),
}


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("speed", [1.0, -2.5])
def test_slope_is_the_derivative(name, speed):
    f, h = FORMULAS[name], 1e-6
    result = f(DualNumber(x0, speed), dual)
    np.testing.assert_allclose(result.value, f(x0, np), rtol=1e-14)
    numeric = (f(x0 + h * speed, np) - f(x0 - h * speed, np)) / (2 * h)
    np.testing.assert_allclose(np.broadcast_to(result.slope, (3,)), numeric, rtol=1e-7, atol=1e-9)


def test_chain_rule():
    def f(x, xp):
        return xp.exp(-xp.sqrt(x * x + 1) / 2) * xp.cos(x) / (x + 3)

    h = 1e-6
    np.testing.assert_allclose(
        f(DualNumber(x0), dual).slope, (f(x0 + h, np) - f(x0 - h, np)) / (2 * h), rtol=1e-7
    )


def test_where_there_is_no_slope_it_is_zero():
    assert dual.sqrt(DualNumber(np.array([0.0]))).slope[0] == 0
    assert dual.arccos(DualNumber(np.array([1.0]))).slope[0] == 0
    np.testing.assert_array_equal(
        dual.clip(DualNumber(np.array([-1.0, 0.0, 0.5, 1.0])), 0, 1).slope, [0, 0, 1, 0]
    )


def test_single_precision_stays():
    x = DualNumber(x0.astype(np.float32), np.ones(3, np.float32))
    for name, f in FORMULAS.items():
        if "array" not in name and name != "constants":
            result = f(x, dual)
            assert (name, result.value.dtype) == (name, np.float32)
            assert (name, np.result_type(result.slope)) == (name, np.float32)


def test_unknown_functions_have_no_derivative():
    with pytest.raises(NotImplementedError, match="xp.maximum"):
        dual.maximum(DualNumber(x0), 0)
    assert type(copy.deepcopy(dual)) is type(dual)


def test_points_of_all_kinds():
    sparse = sp.eye(3).tocsr()
    assert issparse(sparse) and issparse(sp.coo_array(np.eye(2)))
    assert not issparse(np.eye(2)) and not issparse([[1.0]])
    assert n_points(sparse) == n_points(np.eye(3)) == 3
    np.testing.assert_array_equal(take(sparse, [2, 0]).toarray(), np.eye(3)[[2, 0]])
