"""Functions in H_K: the Hilbert space laws, against explicit float64 matrices and closed forms."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from mercer.engines import Tiled
from mercer.features import ExplicitFeatures
from mercer.functions import FeatureFunction, KernelFunction, kernel, section, terms, zero
from mercer.kernels import (
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
from mercer.kernels.algebra import Constant

rng = np.random.default_rng(0)


def squared(X, Z):
    return np.sum((X[:, None] - Z[None]) ** 2, axis=-1)


def gauss(X, Z, sigma=1.0):
    return np.exp(-squared(X, Z) / (2 * sigma**2))


def shared_letters(a, b):
    return len(set(a) & set(b))


B = rng.standard_normal((6, 2))
SINGULAR = B @ B.T  # rank 2 on six points
VECTORS = {
    "gaussian": (Gaussian(1.0), gauss),
    "laplacian": (Laplacian(2.0), lambda X, Z: np.exp(-np.sqrt(squared(X, Z)) / 2)),
    "polynomial": (Polynomial(3, c=0.5), lambda X, Z: (X @ Z.T + 0.5) ** 3),
    "sum": (Gaussian(2.0) + 3 * Linear(), lambda X, Z: gauss(X, Z, 2.0) + 3 * X @ Z.T),
    "constant": (Constant(2.0), lambda X, Z: np.full((len(X), len(Z)), 2.0)),
}


@pytest.fixture(params=VECTORS)
def case(request):
    k, closed = VECTORS[request.param]
    X, Z = rng.standard_normal((8, 3)), rng.standard_normal((5, 3))
    return k, closed, X, Z


# -- against explicit matrices ------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [(), (3,)])
def test_values_inner_products_and_norms(case, columns):
    k, closed, X, Z = case
    a, b = rng.standard_normal((8, *columns)), rng.standard_normal((5, *columns))
    f, g = KernelFunction(k, X, a), KernelFunction(k, Z, b)
    np.testing.assert_allclose(f(Z), closed(Z, X) @ a, rtol=1e-11, atol=1e-12)
    inner = np.sum(a * (closed(X, Z) @ b), axis=0)
    np.testing.assert_allclose(f @ g, inner, rtol=1e-11, atol=1e-11)
    assert f.squared_norm() == pytest.approx(np.sum(a * (closed(X, X) @ a)), rel=1e-12)
    d = np.concatenate([a, -b])
    XZ = np.concatenate([X, Z])
    assert f.distance(g) == pytest.approx(np.sqrt(np.sum(d * (closed(XZ, XZ) @ d))), rel=1e-11)


def test_reproducing_property(case):
    k, _, X, Z = case
    f = KernelFunction(k, X, rng.standard_normal(8))
    for x, value in zip(Z, f(Z), strict=True):
        assert f @ section(k, x) == pytest.approx(value, rel=1e-12)
        assert section(k, x) @ f == pytest.approx(value, rel=1e-12)
        assert f.at(x) == pytest.approx(value, rel=1e-12)


def test_a_tuple_of_functions_meets_one_function(case):
    k, closed, X, Z = case
    a = rng.standard_normal((8, 2))
    f = KernelFunction(k, X, a)
    np.testing.assert_allclose(f @ section(k, Z[0]), (closed(Z, X) @ a)[0], rtol=1e-11)
    np.testing.assert_allclose(section(k, Z[0]) @ f, (closed(Z, X) @ a)[0], rtol=1e-11)
    np.testing.assert_allclose(f.output(1)(Z), (closed(Z, X) @ a)[:, 1], rtol=1e-11, atol=1e-12)
    assert f.output([1, 0]).outputs == 2


def test_singular_finite_domain():
    k = Finite(SINGULAR)
    a = rng.standard_normal(6)
    f = KernelFunction(k, np.arange(6), a)
    values = SINGULAR @ a
    np.testing.assert_allclose(f(np.arange(6)), values, rtol=1e-12)
    for i in range(6):
        assert f @ section(k, i) == pytest.approx(values[i], rel=1e-12)
    # The norm depends on the values of f only, whichever of many coefficients gave them.
    assert f.squared_norm() == pytest.approx(values @ np.linalg.pinv(SINGULAR) @ values, rel=1e-11)
    null = np.linalg.svd(SINGULAR)[2][2:].T  # four directions of coefficients that mean the zero function
    other = KernelFunction(k, np.arange(6), a + null @ rng.standard_normal(4))
    assert f.distance(other) < 1e-7 * f.norm()
    for direction in null.T:
        assert KernelFunction(k, np.arange(6), direction).norm() < 1e-7


def test_objects():
    k = FunctionKernel(shared_letters)
    f = KernelFunction(k, ["kernel", "colonel"], [1.0, -2.0])
    assert f(["mercer", "lonely"]).tolist() == [2 - 2 * 2, 3 - 2 * 4]
    assert f.at("kernel") == 5 - 2 * 3
    assert f @ section(k, "kernel") == f.at("kernel")
    assert f.squared_norm() == 5 - 2 * 2 * 3 + 4 * 5
    with pytest.raises(TypeError, match="no gradient"):
        f.gradient(["kernel"])


def test_points_given_by_their_kernel_values():
    K = np.array([[2.0, 1.0], [1.0, 3.0]])
    f = KernelFunction(Finite(K), [0, 1], [1.0, 2.0])
    assert f([[0.5, 0.25]]).tolist() == [1.0]
    assert f.at([0.5, 0.25]) == 1.0


def test_sparse_points():
    S = sparse.random_array((9, 30), density=0.2, format="csr", rng=1)
    T = sparse.random_array((4, 30), density=0.2, format="csr", rng=2)
    a, b = rng.standard_normal(9), rng.standard_normal(4)
    f, g = KernelFunction(Gaussian(1.0), S, a), KernelFunction(Gaussian(1.0), T, b)
    D, E = S.toarray(), T.toarray()
    np.testing.assert_allclose(f(T), gauss(E, D) @ a, rtol=1e-11)
    np.testing.assert_allclose((f + g)(E), gauss(E, D) @ a + gauss(E, E) @ b, rtol=1e-11)
    assert len(f + g) == 13 and len(f + 2 * f) == 9
    assert len(f + f.combination(S[[3, 1]], np.ones(2))) == 9
    assert f.at(T[[0]]) == pytest.approx((gauss(E, D) @ a)[0], rel=1e-11)
    slope = np.einsum("nm,nmd,m->nd", gauss(E, D), D[None] - E[:, None], a)
    np.testing.assert_allclose(f.gradient(T), slope, atol=1e-12)


def test_float32_points_keep_their_type_and_float64_inner_products():
    X = rng.standard_normal((40, 3)).astype(np.float32)
    a = rng.standard_normal(40).astype(np.float32)
    f = KernelFunction(Gaussian(1.0), X, a)
    assert f(X).dtype == np.float32
    assert (np.float64(2.0) * f).coef.dtype == np.float32
    X, a = X.astype(float), a.astype(float)
    assert f.squared_norm() == pytest.approx(a @ gauss(X, X) @ a, rel=1e-12)


# -- laws -------------------------------------------------------------------------------------------


@st.composite
def functions(draw, k, count):
    """Functions on a small grid of points, so that points often coincide."""
    out = []
    for _ in range(count):
        n = draw(st.integers(0, 5))
        points = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
        coef = draw(st.lists(st.floats(-3, 3), min_size=n, max_size=n))
        points = np.array(points, dtype=int) if isinstance(k, Finite) else np.array(points, float)[:, None]
        out.append(KernelFunction(k, points, coef))
    return out


def explicit(f, size=5):
    """f as a vector of coefficients on the grid: the whole space is R^size here."""
    v = np.zeros(size)
    for x, a in zip(np.ravel(f.points), f.coef, strict=True):
        v[int(x)] += a
    return v


@pytest.mark.parametrize("k", [Gaussian(1.0), Finite(SINGULAR[:5, :5])], ids=["gaussian", "singular"])
@settings(max_examples=60, deadline=None, derandomize=True)
@given(data=st.data())
def test_algebra_laws(k, data):
    f, g, h = data.draw(functions(k, 3))
    c = data.draw(st.floats(-2, 2))
    grid = np.arange(5) if isinstance(k, Finite) else np.arange(5.0)[:, None]
    K = SINGULAR[:5, :5] if isinstance(k, Finite) else gauss(grid, grid)
    F, G, H = explicit(f), explicit(g), explicit(h)

    def same(u, coef):
        np.testing.assert_allclose(u(grid), K @ coef, atol=1e-9)

    same(f + g, F + G)
    same(f - g, F - G)
    same(-f, -F)
    same(c * f, c * F)
    same(f * c, c * F)
    same(f / 4, F / 4)
    same((f + g) + c * h, F + G + c * H)
    same(sum([f, g, h]), F + G + H)
    same(f.compress(), F)
    assert (f + c * g) @ h == pytest.approx((F + c * G) @ K @ H, abs=1e-8)
    assert f @ g == pytest.approx(g @ f, abs=1e-9)
    assert abs(f @ g) <= f.norm() * g.norm() + 1e-7
    assert (f + g).norm() <= f.norm() + g.norm() + 1e-7
    assert f.distance(g) == pytest.approx(np.sqrt(max((F - G) @ K @ (F - G), 0)), abs=1e-6)
    parallelogram = (f + g).squared_norm() + (f - g).squared_norm()
    assert parallelogram == pytest.approx(2 * f.squared_norm() + 2 * g.squared_norm(), abs=1e-8)
    assert (f - f).norm() == 0
    assert len(f + g) <= len(f) + len(g)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(data=st.data())
def test_repeated_steps_do_not_grow(data):
    # Whatever the order of the terms of a gradient, f − η∇ has no more terms than there are points.
    k = Gaussian(1.0)
    f = zero(k)
    for _ in range(6):
        x, z = (section(k, [float(data.draw(st.integers(0, 4)))]) for _ in range(2))
        f = f - 0.1 * data.draw(st.sampled_from([x + 2 * f + z, 2 * f + x, z + f, (x + f) + (f + z)]))
    assert len(f) <= 5


# -- sums put equal points together -------------------------------------------------------------------


def test_sums_on_the_same_points_share_them():
    X = rng.standard_normal((5, 2))
    f, g = KernelFunction(Linear(), X, np.ones(5)), KernelFunction(Linear(), X, np.arange(5.0))
    assert (f + g).points is f.points
    np.testing.assert_array_equal((f + g).coef, 1 + np.arange(5))
    h = KernelFunction(Linear(), X[1:4].copy(), [1.0, 2.0, 3.0])
    np.testing.assert_array_equal((h + f).coef, [1, 2, 3, 4, 1])


def test_sums_of_objects_share_equal_ones():
    k = FunctionKernel(shared_letters)
    f = KernelFunction(k, ["ab", "cd"], [1.0, 2.0]) + KernelFunction(k, ["cd", "ef", "ab"], np.ones(3))
    assert dict(zip(f.points, f.coef, strict=True)) == {"cd": 3, "ef": 1, "ab": 2}
    sets = FunctionKernel(lambda a, b: float(a @ b))
    a, b = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    points = np.empty(2, object)
    points[:] = [a, b]
    f = KernelFunction(sets, points, np.ones(2))
    assert len(f + KernelFunction(sets, points[::-1], np.ones(2))) == 2  # not hashable: told by identity


def test_negative_zero_is_zero():
    f = KernelFunction(Linear(), [[0.0], [1.0]], [1.0, 1.0]) + KernelFunction(
        Linear(), [[2.0], [-0.0]], [1.0, 1.0]
    )
    assert len(f) == 3


def test_points_of_different_forms():
    K = np.eye(2)
    with pytest.raises(ValueError, match="different forms"):
        section(Finite(K), 0) + section(Finite(K), [0.5, 0.5])


# -- gradients in x -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "k",
    [
        Gaussian(1.1),
        Laplacian(1.5),
        Matern(2.5, sigma=1.0),
        RationalQuadratic(0.8, sigma=1.0),
        Periodic(2.0, 1.0),
        Polynomial(3),
        Gaussian(1.0) * Linear() + 2.0,
        Polynomial(2).normalize(),
        Gaussian(1.0).on([1]),
    ],
    ids=repr,
)
@pytest.mark.parametrize("columns", [(), (2,)])
def test_gradient_against_finite_differences(k, columns, monkeypatch):
    monkeypatch.setattr(kernel, "_ENTRIES", 40)  # several blocks of rows and of terms
    monkeypatch.setattr(kernel, "_TERMS_AT_ONCE", 4)
    f = KernelFunction(k, rng.standard_normal((9, 2)), rng.standard_normal((9, *columns)))
    X = rng.standard_normal((7, 2))
    G = f.gradient(X)
    assert G.shape == (7, *columns, 2)
    for j in range(2):
        step = np.zeros(2)
        step[j] = 1e-5
        np.testing.assert_allclose(G[..., j], (f(X + step) - f(X - step)) / 2e-5, rtol=1e-6, atol=1e-7)


# -- fewer terms --------------------------------------------------------------------------------------


def test_compress_merges_and_drops_without_changing_anything():
    f = KernelFunction(Gaussian(1.0), [[1.0], [2.0], [1.0], [3.0], [4.0]], [1.0, 0.0, 2.0, 5.0, 0.0])
    g = f.compress()
    assert g.points.ravel().tolist() == [1.0, 3.0] and g.coef.tolist() == [3.0, 5.0]
    several = KernelFunction(Gaussian(1.0), [[1.0], [2.0], [1.0]], [[1.0, 0.0], [0.0, 0.0], [-1.0, 0.0]])
    assert len(several.compress()) == 0 and several.compress().outputs == 2


@pytest.mark.parametrize("tol", [1e-6, 1e-3, 0.1, 1.5])
@pytest.mark.parametrize("columns", [(), (2,)])
@pytest.mark.parametrize("route", ["projection", "dropping"])
def test_compress_keeps_its_promise(case, tol, columns, route, monkeypatch):
    if route == "dropping":
        monkeypatch.setattr(terms, "_BASIS_ENTRIES", 0)
    k, closed, X, _ = case
    X = np.concatenate([X, X + 1e-4, 3 * X])
    a = rng.standard_normal((24, *columns)) * np.logspace(0, -6, 24).reshape(24, *(1 for _ in columns))
    f = KernelFunction(k, X, a)
    g = f.compress(tol)
    d, P = np.concatenate([a, -g.coef]), np.concatenate([X, g.points.reshape(-1, 3)])
    error = np.sqrt(max(np.sum(d * (closed(P, P) @ d)), 0))
    norm = np.sqrt(np.sum(a * (closed(X, X) @ a)))
    assert error <= tol * norm * (1 + 1e-6)
    assert len(g) <= 24
    if tol > 1:
        assert len(g) == 0


def test_compress_finds_the_dimension_of_the_space():
    X = rng.standard_normal((50, 2))
    f = KernelFunction(Linear(), X, rng.standard_normal(50))
    assert len(f.compress(1e-6)) <= 2
    smooth = KernelFunction(Gaussian(2.0), np.linspace(0, 1, 300)[:, None], rng.standard_normal(300))
    assert len(smooth.compress(1e-4)) < 15


def test_compress_of_a_zero_in_disguise_and_bad_tolerances():
    f = KernelFunction(Finite(np.ones((2, 2))), [0, 1], [1.0, -1.0])
    assert len(f.compress(1e-3)) == 0
    with pytest.raises(ValueError, match="tol must be"):
        f.compress(-1.0)
    with pytest.raises(ValueError, match="tol must be"):
        f.compress(np.nan)


# -- the zero function, and refusals --------------------------------------------------------------------


@pytest.mark.parametrize("outputs", [None, 2])
def test_zero(outputs):
    k = Gaussian(1.0)
    o = zero(k, outputs)
    f = KernelFunction(k, [[0.0]], np.ones((1,) if outputs is None else (1, outputs)))
    shape = (3,) if outputs is None else (3, outputs)
    np.testing.assert_array_equal(o(np.ones((3, 4))), np.zeros(shape))
    np.testing.assert_array_equal(o.gradient(np.ones((3, 4))), np.zeros((*shape, 4)))
    assert (o + f)(np.zeros((1, 1))).ravel()[0] == 1.0
    assert o.norm() == 0 and (o + o).norm() == 0 and len(3 * o) == 0
    np.testing.assert_array_equal(o @ f, 0.0 if outputs is None else np.zeros(2))
    assert len(o.compress(0.1)) == 0 and len(f.zero()) == 0


def test_refusals():
    f, g = section(Gaussian(1.0), [0.0]), section(Gaussian(2.0), [0.0])
    phi = ExplicitFeatures(Linear()).fit(np.ones((1, 1)))
    for combine in (f.__add__, f.__sub__, f.inner, f.distance):
        with pytest.raises(ValueError, match=r"Gaussian\(sigma=1.0\) and Gaussian\(sigma=2.0\)"):
            combine(g)
        with pytest.raises(TypeError, match="different spaces"):
            combine(FeatureFunction(phi, [1.0]))
    with pytest.raises(TypeError, match="unsupported operand"):
        f + 1.0
    with pytest.raises(TypeError, match="unsupported operand"):
        f * f
    with pytest.raises(TypeError, match="unsupported operand"):
        f @ 3
    with pytest.raises(ValueError, match="kernel.resolve"):
        section(Gaussian(), [0.0])
    with pytest.raises(TypeError, match="must be a mercer.kernels.Kernel"):
        KernelFunction("rbf", [[0.0]], [1.0])
    with pytest.raises(TypeError, match="must be a mercer.kernels.Kernel"):
        zero("rbf")
    with pytest.raises(ValueError, match=r"shape \(1,\) or \(1, t\)"):
        KernelFunction(Gaussian(1.0), [[0.0]], [1.0, 2.0])
    with pytest.raises(ValueError, match="coordinates on one side"):
        f([[0.0, 1.0]])
    with pytest.raises(ValueError, match="number of outputs"):
        f + KernelFunction(Gaussian(1.0), [[0.0]], [[1.0, 2.0]])
    with pytest.raises(ValueError, match="single function"):
        f.output(0)
    indefinite = KernelFunction(Finite([[0.0, 1.0], [1.0, 0.0]]), [0, 1], [1.0, -1.0])
    with pytest.raises(ValueError, match="not positive semidefinite"):
        indefinite.norm()


def test_numpy_scalars_reprs_and_pickles():
    f = KernelFunction(Gaussian(1.0), [[0.0], [1.0]], [[1.0, 2.0], [3.0, 4.0]], engine=Tiled(threads=1))
    assert (np.float64(2) * f).coef[0, 0] == 2 and (np.int64(2) * f / np.array(4.0)).coef[0, 0] == 0.5
    assert repr(f) == "KernelFunction(Gaussian(sigma=1.0), 2 terms, 2 outputs)"
    assert repr(section(Linear(), [1.0])) == "KernelFunction(Linear(), 1 term)"
    assert (f + f).engine == Tiled(threads=1)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(f))([[0.5]]), f([[0.5]]))


# -- projections --------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [(), (2,)])
def test_projections(case, columns):
    k, closed, X, Z = case
    f = KernelFunction(k, X, rng.standard_normal((8, *columns)))
    g = f.project(Z)
    # The coefficients are those of dense least squares in the space.
    expected = np.linalg.pinv(closed(Z, Z), rcond=1e-12) @ closed(Z, X) @ f.coef
    np.testing.assert_allclose(g(X), closed(X, Z) @ expected, rtol=1e-6, atol=1e-6)
    # What is left is orthogonal to every section: the values at the points are those of f.
    np.testing.assert_allclose(g(Z), f(Z), rtol=1e-8, atol=1e-8)
    rest = f - g
    for z in Z:
        np.testing.assert_allclose(rest @ section(k, z), 0, atol=1e-7)
    # Pythagoras.
    assert f.squared_norm() == pytest.approx(g.squared_norm() + f.distance(g) ** 2, rel=1e-7)
    # No other combination of the sections is nearer.
    for _ in range(5):
        other = g + KernelFunction(k, Z, 0.1 * rng.standard_normal((5, *columns)))
        assert f.distance(g) <= f.distance(other) + 1e-9
    # What lies in the span stays, and so does a projection.
    np.testing.assert_allclose(g.project(Z)(X), g(X), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(f.project(X)(Z), f(Z), rtol=1e-6, atol=1e-7)


def test_projections_onto_repeated_and_float32_points():
    k = Gaussian(1.0)
    Z = rng.standard_normal((6, 2)).astype(np.float32)
    f = KernelFunction(
        k, rng.standard_normal((5, 2)).astype(np.float32), rng.standard_normal(5).astype(np.float32)
    )
    once, twice = f.project(Z), f.project(np.concatenate([Z, Z]))
    np.testing.assert_allclose(twice(Z), once(Z), atol=1e-10)
    assert twice.squared_norm() == pytest.approx(once.squared_norm(), rel=1e-9)
    assert once.coef.dtype == np.float64
    near = f.project(np.concatenate([Z, Z + np.float32(1e-3)]))  # almost singular
    assert f.squared_norm() == pytest.approx(near.squared_norm() + f.distance(near) ** 2, rel=1e-6)


def test_projections_elsewhere():
    k = Finite(SINGULAR)
    f = KernelFunction(k, range(6), rng.standard_normal(6))
    assert f.distance(f.project([0, 1])) < 1e-6  # two points span a space of dimension two
    words = KernelFunction(FunctionKernel(shared_letters), ["abc", "cd"], [1.0, 2.0])
    g = words.project(["ab", "d"])
    np.testing.assert_allclose(g(["ab", "d"]), words(["ab", "d"]), rtol=1e-12)
    phi = ExplicitFeatures(Polynomial(2)).fit(np.zeros((1, 2)))
    h = FeatureFunction(phi, rng.standard_normal(6))
    Z = rng.standard_normal((3, 2))
    g = h.project(Z)
    np.testing.assert_allclose(g(Z), h(Z), rtol=1e-9)
    assert h.squared_norm() == pytest.approx(g.squared_norm() + h.distance(g) ** 2)
    assert (
        h.distance(h.project(rng.standard_normal((6, 2)))) < 1e-6 * h.norm()
    )  # as many points as dimensions
    assert zero(Gaussian(1.0)).project([[0.0], [1.0]]).norm() == 0


def test_the_representer_theorem():
    """The objective of a projection onto the examples' sections is never larger, for any loss."""
    from mercer.functions.functionals import Risk, SquaredNorm
    from mercer.losses import Hinge

    k = Laplacian(1.0)
    X = rng.standard_normal((10, 2))
    y = np.sign(X[:, 0])
    C = Risk(k, X, y, Hinge()) + 0.1 * SquaredNorm()
    f = KernelFunction(k, rng.standard_normal((20, 2)), rng.standard_normal(20))
    g = f.project(X)
    np.testing.assert_allclose(Risk(k, X, y, Hinge())(g), Risk(k, X, y, Hinge())(f), atol=1e-9)
    assert C(g) < C(f)
