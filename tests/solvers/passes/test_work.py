"""Sums over examples: gradients against differences, shards against the whole."""

import numpy as np
import pytest

from mercer.engines import Tiled
from mercer.kernels import Gaussian
from mercer.losses import (
    Absolute,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    Multinomial,
    Quantile,
    Squared,
)
from mercer.operators.elsewhere import Elsewhere, FacingColumns
from mercer.rows import ArrayRows
from mercer.rows.base import Reservoir
from mercer.solvers.passes import work
from mercer.solvers.passes.work import FinalSums, Slopes

rng = np.random.default_rng(0)
n, m = 60, 5
X = rng.standard_normal((n, 2))
Z = X[:m]
K = Gaussian(1.0)(X, Z)
w = rng.integers(0, 3, n).astype(float)
numbers = rng.standard_normal((n, 2))
labels = np.where(numbers > 0, 1.0, -1.0)
pairs = labels * (rng.random((n, 2)) < 0.7)  # 0: a pair that is none of this example's business
one_hot = np.eye(2)[(numbers[:, 0] > 0).astype(int)]
c, b = rng.standard_normal((m, 2)), rng.standard_normal(2)
mu = np.array([0.3, 0.1])


def facing(y, w=None, rows=25):
    return Elsewhere(ArrayRows(X, y, w, rows), FacingColumns(Tiled(), Gaussian(1.0), Z), m, X.dtype)


SMOOTH = [(Squared(), numbers), (Huber(0.5), numbers), (Logistic(), labels), (Multinomial(), one_hot)]
KINKED = [
    (Absolute(), numbers),
    (EpsilonInsensitive(0.2), numbers),
    (Quantile((0.1, 0.7)), numbers),
    (Hinge(), labels),
    (Hinge(), pairs),
]


@pytest.mark.parametrize("weights", [None, w], ids=["plain", "weights"])
@pytest.mark.parametrize("loss, y", SMOOTH + KINKED)
def test_the_gradient_is_that_of_differences(loss, y, weights):
    level = None if loss.smooth else mu
    sums = facing(y, weights).adding(Slopes(loss))
    _, _, _, G, g = sums(c, b, level, None)

    def value(c, b):
        return float(np.sum(sums(c, b, level, None)[1]))

    h = 1e-6
    for i, j in np.ndindex(m, 2):
        step = np.zeros((m, 2))
        step[i, j] = h
        assert (value(c + step, b) - value(c - step, b)) / (2 * h) == pytest.approx(G[i, j], abs=1e-5)
    for j, step in enumerate(h * np.eye(2)):
        assert (value(c, b + step) - value(c, b - step)) / (2 * h) == pytest.approx(g[j], abs=1e-5)


@pytest.mark.parametrize("loss, y", KINKED)
def test_smoothing(loss, y):
    """V_μ is below V, by no more than what a dual point loses, which is nowhere negative."""
    s = K @ c + b
    value, smooth, young, slopes = Slopes(loss).at(y, s, mu)
    there = y != 0 if y is pairs else np.ones(y.shape, bool)
    V = np.where(there, loss.value(y, s), 0)
    assert np.allclose(value, V) and (smooth <= value + 1e-12).all() and (young >= 0).all()
    # V + V* + a s ≥ V − V_μ, as V_μ is a maximum over slopes of which V's own has ½ μ a² more.
    assert (young <= value - smooth + 1e-12).all()
    least = Slopes(loss).at(y, s, mu * 1e-9)
    assert np.allclose(least[1], V, atol=1e-8)
    # V*(−a): V at any other score is above the line with this slope.
    other = rng.standard_normal(s.shape)
    assert (np.where(there, loss.value(y, other), 0) >= value - young + slopes * (other - s) - 1e-10).all()


@pytest.mark.parametrize("loss, y", [(Squared(), numbers), (Hinge(), pairs)])
def test_shards_are_no_matter(loss, y):
    level = None if loss.smooth else mu
    reach = None if loss.smooth else np.array([0.2, 0.2])
    whole = facing(y, w, n).adding(Slopes(loss, 10))(c, b, level, reach)
    for rows in (1, 7, 25):
        for ours, theirs in zip(
            facing(y, w, rows).adding(Slopes(loss, 10))(c, b, level, reach), whole, strict=True
        ):
            if isinstance(ours, Reservoir):
                assert np.array_equal(ours.rows, theirs.rows) and ours.count == theirs.count
            else:
                assert np.allclose(ours, theirs, rtol=1e-12)


def test_blocks_are_no_matter(monkeypatch):
    """Losses of many rows are computed on several cores."""
    whole = facing(pairs, w, n).adding(FinalSums(Hinge()))(c, b, mu, np.zeros(2), np.zeros((0, 2)))
    monkeypatch.setattr(work, "_BLOCK", 7)
    for ours, theirs in zip(
        facing(pairs, w, n).adding(FinalSums(Hinge()))(c, b, mu, np.zeros(2), np.zeros((0, 2))),
        whole,
        strict=True,
    ):
        assert np.allclose(*(getattr(v, "value", v) for v in (ours, theirs)), rtol=1e-12)
    nothing = facing(numbers, w).adding(Slopes(Squared()))(0 * c, b, None, None)
    assert nothing[0] == pytest.approx((w[:, None] * (numbers - b) ** 2).sum())
    assert np.allclose(nothing[3], K.T @ (w[:, None] * 2 * (b - numbers)))


def test_who_is_near_a_kink(monkeypatch):
    s = K @ c + b
    moved = np.abs(1 - labels * s) < [0.3, 0.1]
    for own, columns in ((2, moved.T), (1, [moved.any(axis=1)])):  # of each output, or of any
        monkeypatch.setattr(work, "OWN_WINDOWS", own)
        found = Slopes(Hinge(), n).close(labels, s, np.zeros(2), np.array([0.3, 0.1]), 100)
        for near, right in zip(found, columns, strict=True):
            assert np.array_equal(near.rows, 100 + np.flatnonzero(right)) and near.count == right.sum()
    [few] = Slopes(Hinge(), 2).close(labels, s, np.zeros(2), np.array([9.0, 9.0]), 0)
    assert len(few.rows) == 2


@pytest.mark.parametrize("loss, y", [(Logistic(), labels), (Hinge(), labels)])
def test_final_sums(loss, y):
    level = None if loss.smooth else mu
    errors = np.array([1e-3, 1e-4])
    shifts = np.array([[0.1, -0.2], [0.3, 0.4]] if loss.smooth else np.zeros((0, 2)))
    sums = facing(y, w).adding(FinalSums(loss))(c, b, level, errors, shifts)
    s = K @ c + b
    value, _, _, _, slope, turned, drawn, shaken, sized, squares, size = sums
    assert np.sum(value) == pytest.approx((w[:, None] * loss.value(y, s)).sum())
    _, _, _, slopes = Slopes(loss).at(y, s, level)
    # k(x,x) = 1
    assert np.allclose(sized, (w[:, None] * np.abs(slopes)).sum(axis=0))
    assert np.allclose(squares, np.square(w[:, None] * slopes).sum(axis=0))
    assert np.allclose(slope, (w[:, None] * slopes).sum(axis=0))
    worst = (w[:, None] * np.abs(loss.value(y, s + errors) - loss.value(y, s))).sum()
    assert shaken >= worst * (1 - 1e-6) and shaken <= (w[:, None] * errors).sum() * 1.01
    assert np.allclose(size, sized)
    if loss.smooth:
        moved = np.stack([loss.grad(y, s + shift) for shift in shifts])
        assert np.allclose(turned, (w[:, None] * moved).sum(axis=1))
        assert np.allclose(drawn, (w[:, None] * np.abs(moved - slopes)).sum(axis=1))


def test_absent_examples():
    """What has weight 0 may be as large as it likes."""
    y = numbers.copy()
    y[w == 0] = 1e6
    for sums in (Slopes(Squared()), FinalSums(Absolute())):
        given = (None, None) if sums.loss.smooth else (mu, np.zeros(2), np.zeros((0, 2)))
        there = facing(y, w).adding(sums)(c, b, *given)
        others = facing(numbers, w).adding(sums)(c, b, *given)
        for ours, theirs in zip(there, others, strict=True):
            assert np.allclose(*(getattr(v, "value", v) for v in (ours, theirs)), rtol=1e-9, atol=1e-9)
