"""Compiled loops and losses: made once, and replaced by Python where there is no compiler."""

import numpy as np
import pytest

from mercer import OnlineKernelRegressor
from mercer.kernels import Gaussian
from mercer.losses import FunctionLoss, Hinge, Logistic, Multinomial, Squared
from mercer.online import PassiveAggressiveStep, code, linear_loops
from mercer.online.code import LossCode, loop

X = np.random.default_rng(0).uniform(-2, 2, (40, 2))
Y = np.sin(X[:, 0])


@pytest.fixture
def fresh():
    """Loops are remembered; forget them before and after."""
    loop.cache_clear()
    yield
    loop.cache_clear()


def test_loops_are_made_once(fresh):
    pytest.importorskip("llvmlite")
    for name in ("expansion", "coordinates", "recursive"):
        assert loop(name) is loop(name)
        assert loop(name) is not code.as_python(name)
    assert loop("expansion", "float32") is not loop("expansion", "float64")
    assert code.is_compiled()


def test_without_a_compiler_python_does_the_same(fresh, monkeypatch):
    options = dict(kernel=Gaussian(1.0), loss="huber", budget=10, averaging=True, offset=True)
    expected = OnlineKernelRegressor(**options).fit(X, Y).predict(X)
    aggressive = (
        OnlineKernelRegressor(Gaussian(1.0), lam=0.0, step=PassiveAggressiveStep()).fit(X, Y).predict(X)
    )
    loop.cache_clear()
    monkeypatch.setattr("mercer.online.code.compiled", lambda *a, **k: None)
    assert not code.is_compiled()
    assert loop("recursive") is linear_loops.recursive
    np.testing.assert_allclose(OnlineKernelRegressor(**options).fit(X, Y).predict(X), expected, atol=1e-12)
    plain = OnlineKernelRegressor(Gaussian(1.0), lam=0.0, step=PassiveAggressiveStep()).fit(X, Y)
    np.testing.assert_allclose(plain.predict(X), aggressive, atol=1e-12)


@pytest.mark.parametrize("t", [1, 3])
@pytest.mark.parametrize(
    "loss",
    [Squared(), Hinge(), Logistic(), Multinomial(), FunctionLoss(lambda y, s: (y - s) ** 4)],
    ids=lambda v: type(v).__name__,
)
def test_value_and_slope_of_one_example(loss, t):
    pytest.importorskip("llvmlite")
    from mercer.codegen.subset.compiled import compiled

    call = compiled(
        [
            'def call(f: "function(f64[:], f64[:], f64[:], f64[:,:], int)", y: "f64[:]", s: "f64[:]", '
            'out: "f64[:]", w: "f64[:,:]", t: int):\n'
            "    f(y, s, out, w, t)\n"
        ]
    )
    made = LossCode(loss, t)
    rng = np.random.default_rng(t)
    for _ in range(5):
        made.y[:] = np.eye(t)[0] if loss.joint else rng.choice([-1.0, 1.0], t)
        made.s[:] = rng.normal(size=t)
        call(made.slope, made.y, made.s, made.g, made.w, t)
        call(made.value, made.y, made.s, made.v, made.w, t)
        np.testing.assert_allclose(made.g, loss.grad(made.y[None], made.s[None])[0], rtol=1e-12)
        assert made.v[0] == pytest.approx(loss.value(made.y[None], made.s[None]).sum(), rel=1e-12)


def test_an_error_in_a_loss_reaches_the_caller():
    """It can't be traced, so it is called back; what it raises ends the loop."""
    calls = []

    def fails(y, s):
        if np.asarray(s).size == 1:  # not when the loss is looked at beforehand
            calls.append(1)
        if len(calls) == 7:
            raise ZeroDivisionError("seven")
        return 2 * (np.asarray(s) - np.asarray(y))

    machine = OnlineKernelRegressor(
        Gaussian(1.0), loss=FunctionLoss(lambda y, s: (y - s) ** 2, gradient=fails), step=0.1
    )
    with pytest.raises(ZeroDivisionError, match="seven"):
        machine.fit(X, Y)
    assert len(calls) == 7
