"""check_engine finds what is wrong with an engine, and says it."""

import numpy as np
import pytest

from mercer.engines import Engine, Tiled
from mercer.kernels import Finite, FunctionKernel, Laplacian
from mercer.testing import LawViolation, check_engine


class Simple(Engine):
    """The shortest right engine."""

    name = "simple"

    def __init__(self):
        pass

    def _K(self, kernel, X, Z):
        if X.shape[0] and Z.shape[0]:
            return kernel.pairwise(X, Z)
        return np.zeros((X.shape[0], Z.shape[0]))

    def gram(self, kernel, X, Z=None, *, out=None):
        K = self._K(kernel, X, X if Z is None else Z)
        if Z is None:
            K = np.tril(K) + np.tril(K, -1).T
        if out is None:
            return K
        out[...] = K
        return out

    def product(self, kernel, X, Z, V):
        return self._K(kernel, X, Z) @ V

    def normal(self, kernel, X, Z, V, w=None):
        K = self._K(kernel, X, Z)
        S = K @ V
        if w is not None:
            S = S * (w if w.ndim == S.ndim else w[:, None])
        return K.T @ S

    def reduce(self, kernel, X, Z, step):
        return [step(slice(0, X.shape[0]), self._K(kernel, X, Z))] if X.shape[0] else []


class Transposed(Simple):
    def gram(self, kernel, X, Z=None, *, out=None):
        return super().gram(kernel, X, Z, out=out).T.copy()


class IgnoresOut(Simple):
    def gram(self, kernel, X, Z=None, *, out=None):
        return super().gram(kernel, X, Z)


class Lopsided(Simple):
    def gram(self, kernel, X, Z=None, *, out=None):
        K = super().gram(kernel, X, Z, out=out)
        if Z is None and len(K) > 2:
            K[0, 1] *= 1 + 1e-14
        return K


class Widening(Simple):
    def product(self, kernel, X, Z, V):
        return super().product(kernel, X, Z, V).astype(np.float64)


class LosesRows(Simple):
    def product(self, kernel, X, Z, V):
        out = super().product(kernel, X, Z, V)
        out[512:] = 0
        return out


class IgnoresWeights(Simple):
    def normal(self, kernel, X, Z, V, w=None):
        return super().normal(kernel, X, Z, V)


class SkipsRows(Simple):
    def reduce(self, kernel, X, Z, step):
        n = X.shape[0] // 2
        return [step(slice(0, n), self._K(kernel, X[:n], Z))] if n else []


class CountsTwice(Simple):
    def reduce(self, kernel, X, Z, step):
        return super().reduce(kernel, X, Z, step) + [self._K(kernel, X, Z).sum(axis=0)]


class NoSparse(Simple):
    def product(self, kernel, X, Z, V):
        if hasattr(X, "toarray"):
            return 0 * super().product(kernel, X, Z, V)
        return super().product(kernel, X, Z, V)


@pytest.mark.parametrize("engine", [Simple(), Tiled(), Tiled(threads=2)], ids=repr)
def test_what_is_right_passes(engine):
    check_engine(engine)


@pytest.mark.parametrize(
    "engine, words",
    [
        (Transposed(), "gram must be K"),
        (IgnoresOut(), "`out` was given, but another array came back"),
        (Lopsided(), "it is not symmetric to the last bit"),
        (Widening(), "product must be K V: float32 must stay float32"),
        (LosesRows(), "product must be K V: for Gaussian.* at \\((5[1-9]|6)"),
        (IgnoresWeights(), "normal must be"),
        (SkipsRows(), "reduce must see every row of K once: row 1 of 3 came 0 times"),
        (CountsTwice(), "reduce must add up"),
        (NoSparse(), "product must be K V"),
    ],
    ids=repr,
)
def test_what_is_wrong_is_found(engine, words):
    with pytest.raises(LawViolation, match=words):
        check_engine(engine)


def test_on_ones_own_kernel_and_points():
    words = ["ab", "abc", "x", "xy", "ca", "bb"]
    k = FunctionKernel(lambda a, b: float(len(set(a) & set(b))))
    check_engine(Tiled(), k, words)
    check_engine(Tiled(), Laplacian(), np.random.default_rng(0).standard_normal((50, 3)))
    check_engine(Tiled(), Finite(np.eye(4) + 1), [0, 1, 3, 3, 2])
    with pytest.raises(LawViolation, match="normal must be"):
        check_engine(IgnoresWeights(), k, words)


def test_only_engines():
    with pytest.raises(TypeError, match="check_engine takes an Engine, got str"):
        check_engine("tiled")
    with pytest.raises(ValueError, match="threads must be a positive integer"):
        check_engine(Tiled(threads=0))
