"""check_engine finds what is wrong with an engine, and says it."""

import inspect
import warnings

import numpy as np
import pytest

import mercer.engines
from mercer.engines import Engine, Tiled
from mercer.kernels import Finite, FunctionKernel, Laplacian
from mercer.operators import KernelOperator
from mercer.testing import LawViolation, check_engine


def engine_of(operator):
    """An engine that makes such operators."""
    return type(f"{operator.__name__}Engine", (Engine,), {"makes": operator})()


class Transposed(KernelOperator):
    def dense(self):
        return super().dense().T.copy()


class IgnoresOut(KernelOperator):
    def fill(self, out):
        return super().fill(np.empty(self.shape, self.dtype))


class Lopsided(KernelOperator):
    def fill(self, out):
        K = super().fill(out)
        if self.symmetric and len(K) > 2:
            K[0, 1] *= 1 + 1e-14
        return K


class Widening(KernelOperator):
    def product(self, V):
        return super().product(V).astype(np.float64)


class LosesRows(KernelOperator):
    def product(self, V):
        out = super().product(V)
        out[512:] = 0
        return out


class IgnoresWeights(KernelOperator):
    def normal(self, V, w=None):
        return super().normal(V)


class SkipsRows(KernelOperator):
    def reduce(self, step):
        n = self.shape[0] // 2
        return [step(slice(0, n), self.among(slice(0, n)).dense())] if n else []


class CountsTwice(KernelOperator):
    def reduce(self, step):
        found = super().reduce(step)
        return found + found[:1]


class NoSparse(KernelOperator):
    def product(self, V):
        return super().product(V) * (0 if hasattr(self.X, "toarray") else 1)


class WrongParts(KernelOperator):
    def facing(self, X):
        return super().facing(X[::-1])


EXPORTED = [v() for v in vars(mercer.engines).values() if inspect.isclass(v) and issubclass(v, Engine)]


@pytest.mark.parametrize("engine", [*EXPORTED, Tiled(threads=2)], ids=repr)
def test_ours_keep_the_laws(engine):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        elsewhere = engine.usable() is not engine
    if elsewhere:
        pytest.skip("its device is not there")
    check_engine(engine)


@pytest.mark.parametrize(
    "operator, words",
    [
        (Transposed, "fill must give K"),
        (IgnoresOut, "`out` was given, but another array came back"),
        (Lopsided, "it is not symmetric to the last bit"),
        (Widening, "product must be K V: float32 must stay float32"),
        (LosesRows, "product must be K V: for Gaussian.* at \\((5[1-9]|6)"),
        (IgnoresWeights, "normal must be"),
        (SkipsRows, "reduce must see every row of K once: row 1 of 3 came 0 times"),
        (CountsTwice, "reduce must add up"),
        (NoSparse, "product must be K V"),
        (WrongParts, "operators made of an operator must be parts of K"),
    ],
)
def test_what_is_wrong_is_found(operator, words):
    with pytest.raises(LawViolation, match=words):
        check_engine(engine_of(operator))


def test_on_ones_own_kernel_and_points():
    words = ["ab", "abc", "x", "xy", "ca", "bb"]
    k = FunctionKernel(lambda a, b: float(len(set(a) & set(b))))
    check_engine(Tiled(), k, words)
    check_engine(Tiled(), Laplacian(), np.random.default_rng(0).standard_normal((50, 3)))
    check_engine(Tiled(), Finite(np.eye(4) + 1), [0, 1, 3, 3, 2])
    with pytest.raises(LawViolation, match="normal must be"):
        check_engine(engine_of(IgnoresWeights), k, words)


def test_only_engines():
    with pytest.raises(TypeError, match="check_engine takes an Engine, got str"):
        check_engine("tiled")
    with pytest.raises(ValueError, match="threads must be a positive integer"):
        check_engine(Tiled(threads=0))
