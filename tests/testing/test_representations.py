"""check_representation finds what is wrong with a representation, and says it."""

from dataclasses import replace

import numpy as np
import pytest

import mercer.representations
from mercer.features import NystromFeatures, RandomFourierFeatures
from mercer.functions import KernelFunction
from mercer.kernels import FunctionKernel, Gaussian
from mercer.operators import Matrix
from mercer.representations import Built, Features, Full, Lasso, Nystrom, Representation, Uniform
from mercer.testing import LawViolation, check_representation

EXPORTED = [getattr(mercer.representations, name) for name in mercer.representations.__all__]
OURS = [v() for v in EXPORTED if issubclass(v, Representation) and v is not Representation]
POINTS = np.random.default_rng(1).standard_normal((5, 3))


@pytest.mark.parametrize(
    "representation",
    [
        *OURS,
        Nystrom(n_centres=10),
        Nystrom(n_centres=6, centres="leverage"),
        Nystrom(n_centres=6, centres="k-means++"),
        Nystrom(n_centres=6, centres="pivoted_cholesky"),
        Nystrom(n_centres=6, centres=Uniform()),
        Nystrom(centres=POINTS),
        Features(n_features=20),
        Features(RandomFourierFeatures(n_features=8, random_state=3)),
        Features(NystromFeatures(n_centres=4)),
        Lasso(n_features=20),
    ],
    ids=repr,
)
def test_ours_keep_the_laws(representation):
    check_representation(representation)
    check_representation(representation, Gaussian(0.7), POINTS)


def test_points_that_are_no_vectors():
    words = ["so", "sow", "sew", "we", "new", "ewe"]
    shared = FunctionKernel(lambda a, b: float(len(set(a) & set(b))))
    check_representation(Full(), shared, words)
    check_representation(Nystrom(n_centres=3), shared, words)


class EverySecond(Representation):
    """A function of every second point."""

    def build(self, kernel, X, rng, engine, seen=None):
        Z = X[::2] if seen is None else X[seen][::2]
        A, B = (engine.operator(kernel, P, Z) for P in (X, Z))
        return Built(A, B, lambda c: KernelFunction(kernel, Z, c, engine))

    def size(self, kernel, n, d):
        return (n + 1) // 2


class WrongSize(EverySecond):
    def size(self, kernel, n, d):
        return n // 2 + 1


class WrongB(EverySecond):
    def build(self, *args):
        built = super().build(*args)
        return replace(built, B=Matrix(built.B.dense()[:-1, :-1]))


class WrongLift(EverySecond):
    def build(self, *args):
        built = super().build(*args)
        return replace(built, lift=lambda c: built.lift(c[::-1]))


class OneColumn(EverySecond):
    def build(self, *args):
        built = super().build(*args)
        return replace(built, lift=lambda c: built.lift(c if c.ndim == 1 else c[:, :1]))


class WrongNorm(EverySecond):
    def build(self, *args):
        built = super().build(*args)
        return replace(built, B=Matrix(2 * built.B.dense()))


class Restless(Nystrom):
    def build(self, kernel, X, rng, engine, seen=None):
        return super().build(kernel, X, np.random.default_rng(), engine, seen)


class BrokenOperator(EverySecond):
    def build(self, *args):
        built = super().build(*args)

        class Adjointless(Matrix):
            def adjoint(self, U):
                return 2 * super().adjoint(U)

        return replace(built, A=Adjointless(built.A.dense()))


class LooksEverywhere(EverySecond):
    def build(self, kernel, X, rng, engine, seen=None):
        return super().build(kernel, X, rng, engine, None)


class Meddling(EverySecond):
    def build(self, kernel, X, rng, engine, seen=None):
        X *= 1.5
        return super().build(kernel, X, rng, engine, seen)


class NotAValue(EverySecond):
    def __init__(self, step=2):
        self.step = step + 1


def test_a_representation_of_ones_own():
    check_representation(EverySecond())


@pytest.mark.parametrize(
    ("wrong", "law"),
    [
        (WrongSize(), "size must say how many unknowns there are: 13 for"),
        (WrongB(), r"A and B must fit .*: B is \(11, 11\), not \(12, 12\)"),
        (WrongLift(), r"lift\(c\) at the points must be A c"),
        (OneColumn(), r"lift\(c\) at the points must be A c: shapes"),
        (WrongNorm(), "cᵀB c must be ‖lift"),
        (Restless(n_centres=5), "the same random numbers must build the same thing"),
        (BrokenOperator(), "adjoint must be the transpose"),
        (LooksEverywhere(), "learned from the rows seen"),
        (Meddling(), "inputs must be left alone"),
        (NotAValue(), "the constructor must only store"),
    ],
    ids=lambda case: type(case).__name__,
)
def test_what_is_wrong_is_found(wrong, law):
    with pytest.raises(LawViolation, match=law):
        check_representation(wrong)


def test_what_is_no_representation():
    with pytest.raises(TypeError, match="takes a Representation, got str"):
        check_representation("nystrom")
