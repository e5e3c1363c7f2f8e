"""Traced formulas: what they hold, what they leave out, and that they compute what the kernel computes."""

import math

import numpy as np
import pytest

import mercer.kernels
from mercer.codegen.formula import PairTracer, View
from mercer.codegen.symbols import NotTraceable
from mercer.kernels import (
    ArcCosine,
    ChiSquared,
    Constant,
    Cosine,
    Finite,
    FunctionKernel,
    Gaussian,
    HistogramIntersection,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    Precomputed,
    Profiled,
    RationalQuadratic,
    Sigmoid,
)
from mercer.kernels.formula import trace
from mercer.kernels.radial import Radial
from mercer.kernels.statistics import DotProduct, SquaredDistance

rng = np.random.default_rng(0)
X, Z = rng.uniform(0.05, 1.5, (9, 3)), rng.uniform(0.05, 1.5, (7, 3))
X[0] = Z[2]

OPERATIONS = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "exp2": np.exp2,
    "log2": np.log2,
    "sqrt": np.sqrt,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "arccos": np.arccos,
    "abs": np.abs,
    "max": np.maximum,
    "min": np.minimum,
}


def run(programme, sources):
    """A programme's value; `sources` says what each kind of source is."""
    values = []
    for operation, *operands in programme.instructions:
        if operation == "constant":
            values.append(programme.constants[operands[0]])
        elif operation in sources:
            values.append(sources[operation](*operands))
        else:
            values.append(OPERATIONS[operation](*(values[o] for o in operands)))
    return values[-1]


def statistic(leaf, A, B):
    """scale · statistic, from the traced summand where there is one."""
    if leaf.term is None:
        return leaf.scale * leaf.statistic.pairwise(A, B)
    terms = (
        run(leaf.term, {"x": lambda c=c: A[:, c, None], "z": lambda c=c: B[None, :, c]})
        for c in range(A.shape[1])
    )
    return leaf.scale * sum(terms)


def evaluate(formula, A, B):
    """k(A, B) by the traced formula, in NumPy."""

    def scalar(i, P):
        return formula.scalars[i].compute(formula.scalars[i].view.points(P))

    value = run(
        formula.programme,
        {
            "leaf": lambda i: statistic(
                formula.leaves[i], formula.leaves[i].view.points(A), formula.leaves[i].view.points(B)
            ),
            "row": lambda i: scalar(i, A)[:, None],
            "column": lambda i: scalar(i, B)[None, :],
        },
    )
    return np.broadcast_to(value, (len(A), len(B)))


def exported():
    """An object of every exported kernel class with a formula that has one on vectors, parameters found."""
    out = []
    for name in mercer.kernels.__all__:
        found = getattr(mercer.kernels, name)
        if isinstance(found, type) and issubclass(found, Kernel) and found.formula is not Kernel.formula:
            try:
                k = found().resolve(X)
                k(X)
            except (TypeError, ValueError, AttributeError, NotImplementedError):
                continue
            out.append(k)
    return out


VARIANTS = [
    Laplacian(0.7, norm="l1"),
    Matern(0.5, 0.8),
    Matern(2.5, 1.1),
    RationalQuadratic(2.0, 0.9),
    RationalQuadratic(0.3, 0.9),
    RationalQuadratic(30.0, 0.9),
    Polynomial(7, 0.3),
    Polynomial(1, 0.0),
    Sigmoid(0.3, -0.2),
    ArcCosine(0),
    ArcCosine(2),
    Periodic(0.7, 1.3),
    Gaussian(np.float32(0.5)),
]
COMPOSITES = [
    0.5 * Gaussian(1.0) + Laplacian(2.0) * Polynomial(2),
    Gaussian(1.0).on([0]) * Gaussian(1.0).on([1]),
    Gaussian(1.0).on([2, 0]).scaled([1.0, 2.0, 3.0]),
    Gaussian(1.0).metric(np.diag([1.0, 2.0, 0.5]) + 0.1),
    Linear().pullback(np.square) + Linear(),
    (Gaussian(1.0) + Linear()).normalize(),
    (Gaussian(1.0).normalize() * Cosine()).normalize(),
    Gaussian(1.0) ** 0.3,
    (Laplacian(1.0) * ChiSquared(0.4)) ** 1.7,
    (Linear() + 1) ** 5,
    (0.3 * Linear()).exp(),
    Constant(2.0) * Constant(3.0) + 1.0,
    Periodic(1.0) + Periodic(0.5),
    HistogramIntersection() * ChiSquared(2.0) + Laplacian(1.0, norm="l1"),
    Gaussian(1.0) + Gaussian(2.0) + Matern(1.5, 1.0),
    sum((c * Gaussian(c) for c in (0.5, 1.0, 2.0)), start=Linear()),
]


def test_every_kind_of_kernel_is_met():
    names = {type(k).__name__ for k in exported()}
    assert names >= {"ArcCosine", "ChiSquared", "Constant", "Cosine", "Gaussian", "HistogramIntersection"}
    assert names >= {
        "Laplacian",
        "Linear",
        "Matern",
        "Periodic",
        "Polynomial",
        "RationalQuadratic",
        "Sigmoid",
    }


@pytest.mark.parametrize("k", exported() + VARIANTS + COMPOSITES, ids=repr)
def test_a_formula_computes_its_kernel(k):
    K = k.pairwise(X, Z)
    np.testing.assert_allclose(evaluate(trace(k), X, Z), K, rtol=1e-11, atol=1e-13 * np.abs(K).max())


@pytest.mark.parametrize("k", exported() + VARIANTS + COMPOSITES, ids=repr)
def test_a_formula_is_straight_and_holds_nothing_it_does_not_need(k):
    formula = trace(k)
    used, kinds = set(), {"leaf": set(), "constant": set(), "row": set(), "column": set()}
    for i, (operation, *operands) in enumerate(formula.programme.instructions):
        if operation in kinds:
            kinds[operation].add(operands[0])
        else:
            assert operation in OPERATIONS and all(o < i for o in operands)
            used.update(operands)
    last = len(formula.programme.instructions) - 1
    assert used == set(range(last))
    assert len(set(formula.programme.instructions)) == last + 1
    assert kinds["leaf"] == set(range(len(formula.leaves)))
    assert kinds["constant"] == set(range(len(formula.programme.constants)))
    assert kinds["row"] == kinds["column"] == set(range(len(formula.scalars)))
    assert hash(formula.structure) == hash(trace(k).structure)


# -- sharing ------------------------------------------------------------------------------------------------


def views(formula):
    return {leaf.view for leaf in formula.leaves}


def test_leaves_are_shared():
    formula = trace(0.5 * Gaussian(1.0) + Laplacian(1.0) * Polynomial(2))
    assert [type(leaf.statistic) for leaf in formula.leaves] == [SquaredDistance, DotProduct]
    assert views(formula) == {View()}
    assert len(trace(Gaussian(1.0) + Gaussian(2.0) * Matern(1.5, 1.0)).leaves) == 1
    assert len(trace(Periodic(1.0) + Periodic(1.0, 3.0)).leaves) == 1
    assert len(trace(Periodic(1.0) + Periodic(0.5)).leaves) == 2  # the period is part of the statistic


def test_views_are_kept_apart_and_shared():
    formula = trace(Gaussian(1.0).on([0]) * Gaussian(1.0).on([1]))
    assert len(formula.leaves) == len(views(formula)) == 2
    again = trace((Gaussian(1.0) * Laplacian(2.0) + Linear()).on([0]))
    assert len(again.leaves) == 2 and len(views(again)) == 1
    # A transformation of a composite is one view for all of it.
    whole = trace((Gaussian(1.0) * Linear()).scaled([1.0, 2.0, 3.0]))
    (view,) = views(whole)
    assert np.allclose(view.points(X), X / [1.0, 2.0, 3.0])
    # Read from the outside in: first the columns, then their scales.
    (view,) = views(trace(Gaussian(1.0).scaled([2.0, 4.0]).on([2, 0])))
    assert np.allclose(view.points(X), X[:, [2, 0]] / [2.0, 4.0])


def test_scalars_are_shared():
    k = (Gaussian(1.0) + Linear()).normalize()
    assert len(trace(k).scalars) == 1
    assert len(trace(k * k + k).scalars) == 1
    assert len(trace(k + Polynomial(2).normalize()).scalars) == 2
    assert len(trace(Cosine() + ArcCosine(1)).scalars) == 2  # ‖x‖² and "x ≠ 0", for both
    assert len(trace(k.on([0]) + k.on([1])).scalars) == 2


def test_common_parts_are_computed_once():
    once, twice = trace(Gaussian(1.0)), trace(Gaussian(1.0) * Gaussian(1.0))
    assert sum(i[0] == "exp2" for i in once.programme.instructions) == 1
    assert sum(i[0] == "exp2" for i in twice.programme.instructions) == 1


# -- numbers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "a, b",
    [
        (Gaussian(1.0), Gaussian(2.5)),
        (Laplacian(1.0), Laplacian(0.1)),
        (Polynomial(3, 0.5), Polynomial(3, 2.0)),
        (Sigmoid(1.0, 0.3), Sigmoid(0.2, -0.4)),
        (Periodic(1.0, 1.0), Periodic(0.3, 2.0)),
        (RationalQuadratic(0.3, 1.0), RationalQuadratic(0.7, 3.0)),
        (2 * Gaussian(1.0) + 3.0 * Linear(), 0.3 * Gaussian(7.0) + 0.2 * Linear()),
        (Gaussian(1.0).on([0]) * Linear().on([1]), Gaussian(3.0).on([2, 0]) * Linear().on([0])),
        (Gaussian(1.0).scaled([1.0, 2.0, 3.0]), Gaussian(1.0).scaled([3.0, 2.0, 5.0])),
        (Gaussian(1.0).on([0, 1]), Gaussian(1.0).scaled([3.0, 2.0, 5.0])),
    ],
    ids=repr,
)
def test_structure_does_not_depend_on_numbers(a, b):
    assert trace(a).structure == trace(b).structure
    assert a != b


@pytest.mark.parametrize(
    "a, b",
    [
        (Gaussian(1.0), Laplacian(1.0)),
        (Polynomial(2), Polynomial(3)),
        ((Gaussian(1.0) * Linear()).on([0]), Gaussian(1.0).on([0]) * Linear().on([1])),
        (Laplacian(1.0, norm="l1"), ChiSquared(1.0)),
        (Gaussian(1.0), Gaussian(1.0).normalize()),
        (Matern(1.5, 1.0), Matern(2.5, 1.0)),
    ],
    ids=repr,
)
def test_structure_tells_formulas_apart(a, b):
    assert trace(a).structure != trace(b).structure


def test_a_scale_goes_into_the_points():
    formula = trace(Gaussian(2.0))
    (leaf,) = formula.leaves
    assert formula.programme.instructions == (("leaf", 0), ("exp2", 0))
    assert formula.programme.constants == ()
    assert leaf.scale == pytest.approx(-0.5 / 4 * math.log2(math.e), rel=1e-15)
    assert trace(Laplacian(2.0)).leaves[0].scale == 1.0  # the factor stands behind the root
    assert trace(Laplacian(2.0, norm="l1")).leaves[0].scale == pytest.approx(-0.5 * math.log2(math.e))
    assert trace(Sigmoid(0.3, 1.0)).leaves[0].scale == pytest.approx(0.3)


def test_a_scale_stays_where_it_is_not_the_only_use():
    formula = trace(Gaussian(2.0) + Gaussian(1.0))
    assert [leaf.scale for leaf in formula.leaves] == [1.0]
    # sin² of a multiple is no multiple of sin²: that factor can't go into the points.
    assert [leaf.scale for leaf in trace(Periodic(1.0, 2.0)).leaves] == [1.0]


def test_constants_are_folded():
    formula = trace(Constant(2.0) * Constant(3.0) + 1.0)
    assert formula.programme.constants == (7.0,) and formula.leaves == ()
    assert trace(2.0 * (3.0 * Linear())).leaves[0].scale == 6.0
    # + 0 and · 1 are nothing.
    assert trace(Polynomial(1, 0.0)).programme.instructions == (("leaf", 0),)
    assert trace(1.0 * Linear()).programme == trace(Linear()).programme


def test_numbers_in_numpys_types():
    assert trace(Gaussian(np.float64(2.0))) == trace(Gaussian(2.0))
    k = Polynomial(np.int64(2), np.float32(0.5))
    np.testing.assert_allclose(evaluate(trace(k), X, Z), k(X, Z))


# -- what can't be traced -----------------------------------------------------------------------------------


class CallsNumpy(Radial):
    def profile(self, r2, xp):
        return np.exp(-r2)


class CallsTheUnknown(Radial):
    def profile(self, r2, xp):
        return xp.arctan(r2)


class Branches(Radial):
    def profile(self, r2, xp):
        return r2 if r2 > 1 else xp.exp(r2)


class Truth(Radial):
    def profile(self, r2, xp):
        return r2 or 1.0


class RaisesToItself(Radial):
    def profile(self, r2, xp):
        return (r2 + 1.0) ** r2


class HoldsAnArray(Radial):
    def profile(self, r2, xp):
        return r2 * np.ones(3)


class Pairwise(Kernel):
    def pairwise(self, X, Z):
        return X @ Z.T


@pytest.mark.parametrize(
    "k, words",
    [
        (FunctionKernel(lambda a, b: 1.0), "FunctionKernel is no formula in vectors"),
        (Finite(np.eye(3)), "Finite is no formula in vectors"),
        (Precomputed(), "Precomputed is no formula in vectors"),
        (Pairwise(), "Pairwise is no formula in vectors"),
        (Gaussian(1.0) + Pairwise(), "Pairwise is no formula in vectors"),
        (Pairwise().normalize().on([0]), "Pairwise is no formula in vectors"),
        (CallsNumpy(), "does not take symbols"),
        (CallsTheUnknown(), "calls xp.arctan, which has no traced version"),
        (Branches(), "compares values"),
        (Truth(), "branches on values"),
        (RaisesToItself(), "an exponent that is not a number"),
        (HoldsAnArray(), "holds a ndarray, not a number|does not take symbols"),
        (Gaussian(), "does not take symbols"),  # its width is still to be found
    ],
    ids=repr,
)
def test_what_can_not_be_traced_says_why(k, words):
    with pytest.raises(NotTraceable, match=words):
        trace(k)


class Distances(Profiled):
    """A user's kernel, with a profile of its own."""

    statistic = SquaredDistance()

    def __init__(self, power=1.0):
        self.power = power

    def profile(self, s, xp):
        return xp.log(xp.maximum(xp.absolute(xp.cos(s)), 0.1) + 1.0) / (2.0 - s * -1.0) + (1.0 - s) ** -2


def test_a_kernel_of_ones_own():
    for k in (Distances(1.0), Distances(2.0) * Gaussian(1.0)):
        np.testing.assert_allclose(evaluate(trace(k), X, Z), k.pairwise(X, Z), rtol=1e-12)


@pytest.mark.parametrize(
    "write, expected",
    [
        (lambda s, xp: xp.clip(s, 0.2, 0.5), lambda s: np.clip(s, 0.2, 0.5)),
        (lambda s, xp: xp.square(s) - 3.0, lambda s: s**2 - 3),
        (lambda s, xp: -s / 3 + 2 / (s + 1), lambda s: -s / 3 + 2 / (s + 1)),
        (lambda s, xp: s**0.5 + s**0 + s**-0.7 + s**3, lambda s: s**0.5 + 1 + s**-0.7 + s**3),
        (lambda s, xp: xp.exp(xp.minimum(s, 1.0)), lambda s: np.exp(np.minimum(s, 1))),
        (lambda s, xp: xp.log(s) * xp.pi + xp.log2(s), lambda s: np.log(s) * np.pi + np.log2(s)),
        (
            lambda s, xp: xp.exp2(xp.tanh(s)) * xp.arccos(xp.sin(s)),
            lambda s: 2 ** np.tanh(s) * np.arccos(np.sin(s)),
        ),
        (lambda s, xp: xp.sqrt(xp.number(4.0)) + s * xp.exp(xp.number(0.0)), lambda s: 2 + s),
        (lambda s, xp: 5 - (0 + s) - 0, lambda s: 5 - s),
        (lambda s, xp: s * 0.0 + 1.0, lambda s: s * 0 + 1),
        (lambda s, xp: (s * 2.0) * 3.0 * s, lambda s: 6 * s * s),
    ],
)
def test_arithmetic(write, expected):
    tracer = PairTracer()
    formula = tracer.formula(write(tracer.statistic(SquaredDistance(), View()), tracer))
    S = SquaredDistance().pairwise(X[1:], Z)
    np.testing.assert_allclose(evaluate(formula, X[1:], Z), expected(S), rtol=1e-12, atol=1e-13)


class Shifted(Gaussian):
    """A formula inherited, values of its own."""

    def pairwise(self, X, Z):
        return super().pairwise(X, Z) + 1


class Nugget(Radial):
    def profile(self, s, xp):
        return xp.exp(s * -1.0) + 0.5 * (s == 0)


class Halved(SquaredDistance):
    def pairwise(self, X, Z):
        return 0.5 * super().pairwise(X, Z)


class OtherStatistic(Radial):
    statistic = Halved()

    def profile(self, s, xp):
        return xp.exp(s * -1.0)


@pytest.mark.parametrize(
    "k, why",
    [
        (Shifted(1.0), "Shifted has a pairwise of its own"),
        (2.0 * Shifted(1.0) + Gaussian(1.0), "Shifted has a pairwise of its own"),
        (Nugget(), "compares values"),
        (OtherStatistic(), "statistic Halved has no formula"),
    ],
)
def test_values_of_ones_own_are_not_overlooked(k, why):
    with pytest.raises(NotTraceable, match=why):
        trace(k)
