"""check_operator finds what is wrong with an operator, and says it."""

import numpy as np
import pytest

from mercer.operators import Identity, Matrix, Operator
from mercer.testing import LawViolation, check_operator

M = np.random.default_rng(0).standard_normal((9, 4))


class Plain(Operator):
    """Only what is required: everything else is derived."""

    def __init__(self, M=M):
        self.M = M
        self.shape, self.dtype = M.shape, M.dtype

    def blocks(self):
        for i in range(0, self.shape[0], 4):
            yield slice(i, min(i + 4, self.shape[0])), self.M[i : i + 4]


class MissingRows(Plain):
    def blocks(self):
        yield slice(0, 4), self.M[:4]


class OutOfOrder(Plain):
    def blocks(self):
        yield slice(4, 9), self.M[4:]
        yield slice(0, 4), self.M[:4]


class WrongProduct(Plain):
    def __matmul__(self, V):
        return super().__matmul__(V) * (1 + 1e-6)


class WrongAdjoint(Plain):
    def adjoint(self, U):
        return -super().adjoint(U)


class WrongRows(Plain):
    def rows(self, index):
        return super().rows(index)[::-1]


class WrongSandwich(Plain):
    def sandwich(self, V, middle):
        return super().sandwich(V, lambda rows, S: S)


class WrongGramian(Plain):
    def gramian(self, w=None, T=None):
        return super().gramian(None, T)


class WrongSquares(Plain):
    def column_squares(self, w=None):
        return np.sqrt(super().column_squares(w))


class Shared(Matrix):
    def dense(self):
        return self.values


class Narrow(Plain):
    def __matmul__(self, V):
        return super().__matmul__(V).astype(np.float32)


class Mutating(Plain):
    def __matmul__(self, V):
        out = super().__matmul__(V)
        V *= 2
        return out


class WrongDiag(Matrix):
    def diag(self):
        return super().diag() + 1


@pytest.mark.parametrize(
    "A", [Plain(), Plain(M.T.copy()), Matrix(M), Identity(3), Matrix(M[:4]), Matrix(M.astype(np.float32))]
)
def test_what_is_right_passes(A):
    check_operator(A)


@pytest.mark.parametrize(
    "A, words",
    [
        (MissingRows(), "blocks must yield every row once, in order: they end after 4 of 9 rows"),
        (OutOfOrder(), "blocks must yield every row once, in order: after 0 rows come 4 to 9"),
        (WrongProduct(), "@ must be the product"),
        (WrongAdjoint(), "adjoint must be the transpose"),
        (WrongRows(), "rows must be rows"),
        (WrongSandwich(), "sandwich must be Aᵀ m"),
        (WrongGramian(), "gramian must be .* with weights"),
        (WrongSquares(), "column_squares must be its diagonal"),
        (Shared(M.copy()), "dense must be a fresh array"),
        (Narrow(), "the result is float32, not float64"),
        (Mutating(), "@ must be the product|inputs must be left alone"),
        (WrongDiag(M[:4].copy()), "diag must be the diagonal"),
    ],
    ids=lambda v: type(v).__name__ if isinstance(v, Operator) else "",
)
def test_what_is_wrong_is_found(A, words):
    with pytest.raises(LawViolation, match=words):
        check_operator(A)


def test_tolerance():
    check_operator(WrongProduct(), tol=1e-4)


def test_only_operators():
    with pytest.raises(TypeError, match="check_operator takes an Operator, got ndarray"):
        check_operator(M)
