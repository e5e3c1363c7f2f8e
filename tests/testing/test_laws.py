"""Laws over every kernel class the library exports, and over random expressions made of them.

The classes and their examples are in kernel_examples.py.
"""

import math
import pickle
from functools import cache

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from kernel_examples import CLASSES, EXAMPLES, TO_BE_SUBCLASSED, metric, on_histograms, with_one_more
from mercer.kernels import (
    ArcCosine,
    Constant,
    Cosine,
    Finite,
    FunctionKernel,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
    check,
)
from mercer.testing import LawViolation, check_kernel

DIMENSIONS = (1, 2, 5)
CASES = [(k, d) for d in DIMENSIONS for make in EXAMPLES.values() for k in make(d)]
every = pytest.mark.parametrize("kernel, d", CASES, ids=[f"{k!r:.60}-{d}" for k, d in CASES])
on_vectors = pytest.mark.parametrize(
    "kernel, d", [c for c in CASES if c[0].vectors], ids=[f"{k!r:.60}-{d}" for k, d in CASES if k.vectors]
)


def points(kernel, d, n=14, seed=0):
    rng = np.random.default_rng([seed, d])
    if isinstance(kernel, Finite):
        return rng.integers(d, size=n)
    X = rng.standard_normal((n, d))
    return np.abs(X) if on_histograms(kernel) else X


def test_every_kernel_class_has_an_example():
    missing = [c.__name__ for c in CLASSES if c not in TO_BE_SUBCLASSED and c not in EXAMPLES]
    assert missing == [], "add examples to kernel_examples.py"
    for cls, make in EXAMPLES.items():
        assert all(type(k) is cls for d in DIMENSIONS for k in make(d))


def test_every_kernel_class_of_the_library_is_exported():
    def below(cls):
        for sub in cls.__subclasses__():
            yield sub
            yield from below(sub)

    library = {
        c for c in below(Kernel) if c.__module__.startswith("mercer.kernels.") and c.__name__[0] != "_"
    }
    assert {c.__name__ for c in library - set(CLASSES)} <= {"Angular", "Counting", "LogSlope"}


@pytest.mark.parametrize("cls", CLASSES)
def test_documented(cls):
    doc = cls.__doc__
    assert doc and doc.strip()
    assert ">>>" in doc or cls in TO_BE_SUBCLASSED


@every
def test_laws(kernel, d):
    X = points(kernel, d)
    if isinstance(kernel, Sigmoid):
        with pytest.raises(LawViolation, match="not positive semidefinite"):
            check_kernel(kernel, X)
        return
    if isinstance(kernel, ArcCosine) and kernel.order == 0 and d == 1:
        X = np.abs(X)[:1]  # a step function of the sign: its difference quotients are rounding
    check_kernel(kernel, X)


@every
def test_positive_semidefinite_on_many_points(kernel, d):
    X = points(kernel, d, n=60, seed=1)
    K = kernel.resolve(X)(X)
    lowest = np.linalg.eigvalsh(K).min()
    if isinstance(kernel, Sigmoid):
        assert lowest < -1e-3
    else:
        assert lowest > -1e-7 * max(np.abs(K).max(), 1e-300)


@every
def test_how_it_is_known_to_be_a_kernel(kernel, d):
    expected = {Sigmoid: "witness", FunctionKernel: "sampling"}.get(type(kernel), "rule")
    assert check(kernel).by == expected


@on_vectors
def test_single_precision(kernel, d):
    X = points(kernel, d, n=30).astype(np.float32)
    Z = points(kernel, d, n=9, seed=2).astype(np.float32)
    kernel = kernel.resolve(X)
    # arccos near 1 turns a rounding error into its square root.
    tolerance = 5e-4 if isinstance(kernel, ArcCosine) else 1e-5
    for single, double in (
        (kernel(X), kernel(X.astype(float))),
        (kernel(X, Z), kernel(X.astype(float), Z.astype(float))),
        (kernel.diag(X), kernel.diag(X.astype(float))),
    ):
        assert single.dtype == np.float32
        assert double.dtype == np.float64
        np.testing.assert_allclose(single, double, rtol=0, atol=tolerance * max(np.abs(double).max(), 1e-30))
    try:
        slopes = [kernel.gradient_x(X, Z), *kernel.gradient_log_params(X, Z).values()]
    except NotImplementedError:
        return
    assert [s.dtype for s in slopes] == [np.float32] * len(slopes)


@every
def test_copies(kernel, d):
    assert clone(kernel) == kernel
    if "<lambda>" not in repr(kernel):
        again = pickle.loads(pickle.dumps(kernel))
        assert again == kernel
        assert hash(again) == hash(kernel)


@on_vectors
def test_sparse_points_are_taken_or_refused(kernel, d):
    X = points(kernel, d)
    X[::2, 0] = 0
    kernel = kernel.resolve(X)
    for make in (sp.csr_matrix, sp.csr_array):
        if kernel.sparse:
            np.testing.assert_allclose(
                kernel(make(X)), kernel(X), rtol=1e-7, atol=1e-7 * np.abs(kernel(X)).max()
            )
            np.testing.assert_allclose(kernel.diag(make(X)), kernel.diag(X), rtol=1e-12)
        else:
            with pytest.raises(TypeError, match="sparse"):
                kernel(make(X))


@on_vectors
def test_bad_points_are_refused(kernel, d):
    if isinstance(getattr(kernel, "kernel", kernel), Constant):
        return  # looks at nothing
    X = points(kernel, d)
    kernel = kernel.resolve(X)
    bad = X.copy()
    bad[3, 0] = np.nan
    for call in (lambda: kernel(bad), lambda: kernel(X, bad), lambda: kernel.diag(bad)):
        with pytest.raises(ValueError, match="NaN"):
            call()
    with pytest.raises(ValueError, match="2-D"):
        kernel(X[:, 0])
    with pytest.raises(ValueError, match="on the other|features|columns"):
        kernel(X, np.hstack([X, X]))


# -- random expressions -------------------------------------------------------------------------------------
#
# An expression is a nested tuple. `build` makes the kernel with the operators people type; `evaluate`
# computes k(x, z) for two lists of numbers from the textbook formulas and calls nothing of the library.

width = st.floats(0.5, 3.0)
nonnegative = st.just(0.0) | st.floats(0.01, 2)  # not next to 0: a difference quotient of 5e-324 is rounding
leaves = st.one_of(
    st.tuples(st.just("gaussian"), width),
    st.tuples(st.just("laplacian"), width, st.sampled_from(["l1", "l2"])),
    st.tuples(st.just("matern"), st.sampled_from([0.5, 1.5, 2.5]), width),
    st.tuples(st.just("rational"), width, width),
    st.tuples(st.just("periodic"), width, width),
    st.tuples(st.just("cosine")),
    st.tuples(st.just("linear")),
    st.tuples(st.just("polynomial"), st.integers(1, 3), nonnegative),
    st.tuples(st.just("arccos"), st.sampled_from([1, 2])),
    st.tuples(st.just("constant"), nonnegative),
)
bounded = leaves.filter(lambda e: e[0] not in ("linear", "polynomial", "arccos"))


@cache
def expressions(d, depth=3, smooth=False):
    """Expressions in d variables; `smooth` leaves out maps, whose derivative is unknown."""
    if depth == 0:
        return leaves
    inner = expressions(d, depth - 1, smooth)
    choices = [
        leaves,
        st.tuples(st.just("sum"), inner, inner),
        st.tuples(st.just("product"), inner, inner),
        st.tuples(st.just("scale"), st.floats(0.1, 3.0), inner),
        st.tuples(st.just("power"), st.integers(1, 3), inner),
        st.tuples(st.just("exp"), bounded),
        st.tuples(st.just("exp"), st.tuples(st.just("normalize"), inner)),
        st.tuples(st.just("normalize"), inner),
        st.tuples(st.just("scaled"), st.tuples(*[st.floats(0.5, 2.0)] * d), inner),
        st.tuples(st.just("metric"), st.just(d), inner),
        st.lists(st.integers(0, d - 1), min_size=1, max_size=3).flatmap(
            lambda c: st.tuples(st.just("on"), st.just(tuple(c)), expressions(len(c), depth - 1, smooth))
        ),
    ]
    if not smooth:
        choices.append(st.tuples(st.just("map"), expressions(d + 1, depth - 1)))
    return st.one_of(choices)


def build(e):
    match e:
        case ("gaussian", sigma):
            return Gaussian(sigma)
        case ("laplacian", sigma, norm):
            return Laplacian(sigma, norm=norm)
        case ("matern", nu, scale):
            return Matern(nu, scale)
        case ("rational", alpha, scale):
            return RationalQuadratic(alpha, scale)
        case ("periodic", period, scale):
            return Periodic(period, scale)
        case ("cosine",):
            return Cosine()
        case ("linear",):
            return Linear()
        case ("polynomial", degree, c):
            return Polynomial(degree, c)
        case ("arccos", order):
            return ArcCosine(order)
        case ("constant", value):
            return Constant(value)
        case ("sum", a, b):
            return build(a) + build(b)
        case ("product", a, b):
            return build(a) * build(b)
        case ("scale", c, a):
            return c * build(a)
        case ("power", p, a):
            return build(a) ** p
        case ("exp", a):
            return build(a).exp()
        case ("normalize", a):
            return build(a).normalize()
        case ("scaled", lengths, a):
            return build(a).scaled(lengths)
        case ("metric", d, a):
            return build(a).metric(metric(d))
        case ("on", columns, a):
            return build(a).on(list(columns))
        case ("map", a):
            return build(a).pullback(with_one_more)
    raise ValueError(e)


def evaluate(e, x, z):
    dot = sum(a * b for a, b in zip(x, z, strict=True))
    r = math.dist(x, z)
    match e:
        case ("gaussian", sigma):
            return math.exp(-(r**2) / (2 * sigma**2))
        case ("laplacian", sigma, "l2"):
            return math.exp(-r / sigma)
        case ("laplacian", sigma, "l1"):
            return math.exp(-sum(abs(a - b) for a, b in zip(x, z, strict=True)) / sigma)
        case ("matern", nu, scale):
            a = math.sqrt(2 * nu) * r / scale
            return {0.5: 1, 1.5: 1 + a, 2.5: 1 + a + a**2 / 3}[nu] * math.exp(-a)
        case ("rational", alpha, scale):
            return (1 + r**2 / (2 * alpha * scale**2)) ** -alpha
        case ("periodic", period, scale):
            return math.exp(
                -2
                * sum(math.sin(math.pi * (a - b) / period) ** 2 for a, b in zip(x, z, strict=True))
                / scale**2
            )
        case ("cosine",):
            size = math.hypot(*x) * math.hypot(*z)
            return dot / size if size else 0.0
        case ("linear",):
            return dot
        case ("polynomial", degree, c):
            return (dot + c) ** degree
        case ("arccos", order):
            size = math.hypot(*x) * math.hypot(*z)
            if size == 0:
                return 0.0
            t = math.acos(max(-1.0, min(1.0, dot / size)))
            if order == 1:
                return size * (math.sin(t) + (math.pi - t) * math.cos(t)) / math.pi
            return (
                size**2
                * (3 * math.sin(t) * math.cos(t) + (math.pi - t) * (1 + 2 * math.cos(t) ** 2))
                / math.pi
            )
        case ("constant", value):
            return value
        case ("sum", a, b):
            return evaluate(a, x, z) + evaluate(b, x, z)
        case ("product", a, b):
            return evaluate(a, x, z) * evaluate(b, x, z)
        case ("scale", c, a):
            return c * evaluate(a, x, z)
        case ("power", p, a):
            return evaluate(a, x, z) ** p
        case ("exp", a):
            return math.exp(evaluate(a, x, z))
        case ("normalize", a):
            own = evaluate(a, x, x), evaluate(a, z, z)
            return evaluate(a, x, z) / math.sqrt(own[0]) / math.sqrt(own[1]) if min(own) > 0 else 0.0
        case ("scaled", lengths, a):
            return evaluate(a, *([v / s for v, s in zip(p, lengths, strict=True)] for p in (x, z)))
        case ("metric", d, a):
            root = scipy.linalg.sqrtm(metric(d))
            return evaluate(
                a, *([sum(w * v for w, v in zip(row, p, strict=True)) for row in root] for p in (x, z))
            )
        case ("on", columns, a):
            return evaluate(a, *([p[k] for k in columns] for p in (x, z)))
        case ("map", a):
            return evaluate(a, *([*map(math.tanh, p), p[0] * p[-1]] for p in (x, z)))
    raise ValueError(e)


def table(e, X, Z):
    return np.array([[evaluate(e, x, z) for z in Z.tolist()] for x in X.tolist()])


def random_points(n, d, seed):
    return np.random.default_rng(seed).uniform(-2, 2, (n, d))


cases = st.integers(1, 3).flatmap(lambda d: st.tuples(st.just(d), expressions(d)))
smooth_cases = st.integers(1, 3).flatmap(lambda d: st.tuples(st.just(d), expressions(d, smooth=True)))
seeds = st.integers(0, 10**6)
quick = settings(deadline=None, max_examples=200)


@quick
@given(case=cases, seed=seeds)
def test_an_expression_means_what_it_says(case, seed):
    d, e = case
    k, X, Z = build(e), random_points(4, d, seed), random_points(3, d, seed + 1)
    own, cross = table(e, X, X), table(e, X, Z)
    scale = max(np.abs(own).max(), np.abs(cross).max())
    np.testing.assert_allclose(k(X, Z), cross, rtol=1e-9, atol=1e-9 * scale)
    np.testing.assert_allclose(k(X), own, rtol=1e-9, atol=1e-9 * scale)
    np.testing.assert_allclose(k.diag(X), np.diag(own), rtol=1e-9, atol=1e-9 * scale)


@quick
@given(case=cases, seed=seeds)
def test_an_expression_is_positive_semidefinite(case, seed):
    d, e = case
    K = build(e)(random_points(25, d, seed))
    assert np.abs(K - K.T).max() <= 1e-12 * np.abs(K).max()
    assert np.linalg.eigvalsh(K).min() >= -1e-9 * np.abs(K).max()
    assert check(build(e)).by == "rule"


NAMES = {**{c.__name__: c for c in CLASSES}, "with_one_more": with_one_more}


@quick
@given(case=cases)
def test_an_expression_is_a_value(case):
    k = build(case[1])
    assert eval(repr(k), dict(NAMES)) == k
    assert clone(k) == k
    assert hash(clone(k)) == hash(k)
    parameters = k.get_params()
    for name, value in parameters.items():
        if isinstance(value, float):
            changed = clone(k).set_params(**{name: value + 0.25})
            assert changed.get_params()[name] == value + 0.25
            assert changed != k
            others = {
                p: v for p, v in changed.get_params().items() if isinstance(v, (float, str)) and p != name
            }
            assert all(parameters[p] == v for p, v in others.items())
    assert k == build(case[1])


def test_nested_names_follow_the_expression():
    k = (Gaussian(1.0) * Linear() + 2 * Laplacian(3.0)).normalize()
    names = k.get_params()
    assert names["kernel__left__left__sigma"] == 1.0
    assert names["kernel__right__kernel__sigma"] == 3.0
    assert names["kernel__right__factor"] == 2
    changed = clone(k).set_params(kernel__left__left__sigma=5.0, kernel__right__factor=7)
    assert changed == (Gaussian(5.0) * Linear() + 7 * Laplacian(3.0)).normalize()


def difference(f, h):
    return (f(h) - f(-h)) / (2 * h)


@quick
@given(case=smooth_cases, seed=seeds)
def test_derivatives_of_an_expression(case, seed):
    d, e = case
    k, X, Z = build(e), random_points(3, d, seed), random_points(4, d, seed + 1)
    slope, h = k.gradient_x(X, Z), 1e-6
    assert slope.shape == (3, 4, d)
    size = np.abs(k(X, Z)).max() + np.abs(k.diag(X)).max()
    for j, axis in enumerate(np.eye(d)):
        numeric = difference(lambda t, axis=axis: k(X + t * axis, Z), h)
        np.testing.assert_allclose(
            slope[:, :, j], numeric, rtol=1e-5, atol=1e-5 * (size + np.abs(slope).max())
        )
    for name, slope in k.gradient_log_params(X, Z).items():
        value = np.asarray(k.get_params()[name], float)
        for at in np.ndindex(value.shape):

            def moved(t, name=name, value=value, at=at):
                new = value.copy()
                new[at] *= math.exp(t)
                return clone(k).set_params(**{name: new if new.shape else float(new)})(X, Z)

            numeric = difference(moved, h)
            np.testing.assert_allclose(
                slope[(..., *at)], numeric, rtol=1e-5, atol=1e-5 * (size + np.abs(slope).max())
            )
