"""How points are laid out for the loops: which way distances are made, and what lies where."""

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from mercer.codegen.symbols import NotTraceable
from mercer.engines.fused import layout as module
from mercer.engines.fused.layout import Layout
from mercer.engines.fused.recipe import UNROLL
from mercer.kernels import ChiSquared, Constant, Cosine, Gaussian, Laplacian, Linear, Periodic, Polynomial
from mercer.kernels.formula import trace

rng = np.random.default_rng(0)


def layout(k, d, dtype=np.float64, far=0.0):
    X, Z = rng.standard_normal((20, d)).astype(dtype) + dtype(far), rng.standard_normal((9, d)).astype(dtype)
    return Layout(trace(k), X, Z + dtype(far), np.dtype(dtype)), X, Z + dtype(far)


def kinds(k, d):
    return [g.kind for g in layout(k, d)[0].groups]


@pytest.fixture
def small_loops(monkeypatch):
    """The bounds of a processor with short vectors."""
    monkeypatch.setattr(module, "_OWN_LOOP", {True: 40, False: 40})


def test_distances_are_made_in_the_way_that_suits_their_dimension(small_loops):
    for d, kind, unrolled, loaded in (
        (1, "difference", True, False),
        (4, "difference", True, False),
        (5, "distance", True, False),
        (16, "distance", True, False),
        (17, "distance", False, False),
        (40, "distance", False, False),
        (41, "distance", False, True),
    ):
        (group,) = layout(Gaussian(1.0), d)[0].groups
        assert (group.kind, group.size is not None, group.loaded) == (kind, unrolled, loaded), d
        assert group.negative


def test_leaves_of_one_view_share_their_coordinates():
    k = Gaussian(1.0) + Laplacian(1.0) * Polynomial(2)
    assert kinds(k, 7) == ["both"]
    assert kinds(k, 3) == ["difference", "dot"]  # exact differences are worth more than sharing
    assert kinds(Gaussian(1.0).on([0]) * Gaussian(1.0).on([1]), 3) == ["difference", "difference"]
    assert kinds(ChiSquared(1.0) * Laplacian(1.0, norm="l1") + Linear(), 7) == ["dot", "sum", "sum"]
    assert kinds(Constant(2.0), 3) == []


def test_blas_has_one_job_at_a_time(small_loops):
    first, second, third = slice(0, 50), slice(50, 110), slice(3, 13)
    k = Laplacian(1.0).on(third) + Gaussian(1.0).on(first) * Linear().on(second)
    assert sorted(g.loaded for g in layout(k, 130)[0].groups) == [False, False, True]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("block", [1, 8, 256])
def test_what_lies_where(block, dtype):
    """Blocks of [position][point]: norms, scalars, then coordinates, centred and scaled."""
    L, X, Z = layout(Gaussian(0.7), 7, dtype)
    rows = -(-20 // block) * block
    eps = 20 * np.finfo(dtype).eps
    out = np.full(rows * L.width, np.nan, dtype)
    table = L.pack(X, block, rows, "x", out).reshape(-1, L.width, block)
    points = np.swapaxes(table, 1, 2).reshape(rows, L.width)
    assert L.slots == 1 and L.width == 1 + 7
    factor = np.sqrt(np.log2(np.e)) / 0.7  # the exponent is −½‖factor·(x − z)‖²
    centred = X.astype(float) - np.median(Z, axis=0)
    assert np.allclose(points[:20, 1:], factor * centred, rtol=eps, atol=eps)
    assert np.allclose(points[:20, 0], -0.5 * (factor * centred) ** 2 @ np.ones(7), rtol=eps)
    assert np.array_equal(points[20:], np.tile(points[19], (rows - 20, 1)))  # the last one repeated


def test_sizes_are_filled_up_where_the_loop_is_unrolled_by_a_few():
    L, X, _ = layout(Gaussian(0.7), 18)
    assert L.sizes == [20] and 20 % UNROLL == 0
    packed = L.pack(X, 4, 20, "x", np.full(20 * L.width, np.nan)).reshape(5, L.width, 4)
    assert (packed[:, 1 + 18 :] == 0).all() and np.isfinite(packed).all()


def test_both_from_one_inner_product():
    """The shift turns inner products of centred points back into those of the points as given."""
    L, X, Z = layout(Laplacian(1.0) * Linear(), 7, far=3.0)
    x = L.pack(X, 1, 20, "x", np.empty(20 * L.width)).reshape(20, L.width)
    z = L.pack(Z, 1, 9, "z", np.empty(9 * L.width)).reshape(9, L.width)
    inner = x[:, L.slots :] @ z[:, L.slots :].T
    dot, distance = (L.constants[i] for i in (1, 0))
    assert np.allclose(dot * inner + x[:, 1, None] + z[None, :, 1], X @ Z.T)
    exact = ((X[:, None] - Z[None]) ** 2).sum(axis=2)
    assert np.allclose(distance * inner + x[:, 0, None] + z[None, :, 0], exact)


def test_scalars_come_after_norms():
    L, X, _ = layout(Cosine() * Gaussian(1.0), 7)
    packed = L.pack(X, 1, 20, "x", np.empty(20 * L.width)).reshape(20, L.width)
    assert L.slots == 2 + 2
    assert np.allclose(packed[:, 2], (X**2).sum(axis=1)) and (packed[:, 3] == 1).all()


def test_constants_are_those_of_groups_then_of_terms_then_of_the_formula():
    formula = trace(Periodic(0.5, 2.0) * Periodic(3.0, 1.0) + 7.0)
    L = Layout(formula, np.ones((2, 3)), np.ones((2, 3)), np.dtype(float))
    terms = [c for leaf in formula.leaves for c in leaf.term.constants]
    assert L.constants.tolist() == [
        *(leaf.scale for leaf in formula.leaves),
        *terms,
        *formula.programme.constants,
    ]


def test_points_far_away_are_centred():
    """Norms stay as small as the spread of the points."""
    L, X, _ = layout(Gaussian(1.0), 7, np.float32, far=1e4)
    packed = L.pack(X, 1, 20, "x", np.empty(20 * L.width, np.float32)).reshape(20, L.width)
    assert np.abs(packed).max() < 100


def test_points_that_are_no_vectors():
    from scipy.sparse import csr_array

    for wrong in (csr_array, lambda P: np.asarray(P)[:, 0], lambda P: np.asarray(P).astype(int)):

        class Given(Gaussian):
            def points(self, X):
                return X

        k = Given(1.0).pullback(wrong)
        with pytest.raises(NotTraceable, match="not rows of numbers"):
            Layout(trace(k), np.ones((3, 2)), np.ones((3, 2)), np.dtype(float))


def test_input_is_left_alone():
    L, X, _ = layout(Gaussian(1.0) * Cosine(), 7)
    before = X.copy()
    X.flags.writeable = False
    L.pack(X, 8, 24, "x", np.empty(24 * L.width))
    assert np.array_equal(X, before)
