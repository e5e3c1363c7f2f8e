"""Losses as maxima over lines and parabolas: the numbers of the losses themselves, and their envelopes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mercer import losses
from mercer.losses import (
    Absolute,
    EpsilonInsensitive,
    Exponential,
    Hinge,
    Huber,
    Logistic,
    Multinomial,
    Poisson,
    Quantile,
    Squared,
    SquaredHinge,
)
from mercer.losses.dual import DualForm, Smoothed
from mercer.testing import check_loss

WITH = [
    Absolute(),
    EpsilonInsensitive(0.0),
    EpsilonInsensitive(0.7),
    Hinge(),
    Huber(0.5),
    Quantile(0.5),
    Quantile(0.9),
    Quantile([0.1, 0.4, 0.8]),
    Squared(),
    SquaredHinge(),
]
PUBLIC = [getattr(losses, name) for name in losses.__all__ if name not in ("Loss", "FunctionLoss")]
WITH += [v() for v in PUBLIC if v().has_dual and v not in {type(known) for known in WITH}]
KINKED = [loss for loss in WITH if not loss.smooth]
every = pytest.mark.parametrize("loss", WITH, ids=repr)
kinked = pytest.mark.parametrize("loss", KINKED, ids=repr)
N, T = 5, 3
scores = arrays(np.float64, (N, T), elements=st.floats(-6, 6))
seeds = st.integers(0, 2**32 - 1)


def targets(loss, seed):
    rng = np.random.default_rng(seed)
    return rng.choice([-1.0, 1.0], (N, T)) if loss.classification else rng.normal(scale=2, size=(N, T))


def test_who_has_one():
    assert {v for v in PUBLIC if v().has_dual} == {type(v) for v in WITH}
    for loss in (Logistic(), Multinomial(), Poisson(), Exponential()):
        assert not loss.has_dual
        with pytest.raises(NotImplementedError, match="no maximum over lines or parabolas"):
            loss.dual(np.ones((1, 1)))


@every
@settings(max_examples=40)
@given(seed=seeds, s=scores)
def test_the_maximum_is_the_loss(loss, seed, s):
    y = targets(loss, seed)
    form = loss.dual(y)
    assert np.allclose(form.value(s), loss.value(y, s), rtol=1e-12, atol=1e-12)


@every
@settings(max_examples=40)
@given(seed=seeds, s=scores)
def test_the_maximiser_is_the_negative_slope(loss, seed, s):
    """Exactly, kinks included: of several maximisers the smallest, as `grad` gives the least slope."""
    y = targets(loss, seed)
    assert np.allclose(loss.dual(y).maximiser(s), -loss.grad(y, s), atol=1e-12)


@every
@settings(max_examples=30)
@given(seed=seeds, share=arrays(np.float64, (N, T), elements=st.floats(0, 1)))
def test_the_conjugate(loss, seed, share):
    """V*(y, −a) for every a in the box, both by the form and by the loss."""
    y = targets(loss, seed)
    form = loss.dual(y)
    low, high = np.maximum(form.lower, -3), np.minimum(form.upper, 3)
    a = low + share * (high - low)
    assert np.allclose(form.conjugate(a), loss.conjugate(y, -a), atol=1e-9)


@every
def test_the_box_is_where_the_conjugate_is_finite(loss):
    y = targets(loss, 3)
    form = loss.dual(y)
    assert (form.lower <= 0).all() and (form.upper >= 0).all()
    for edge, beyond in ((form.lower, -1e-6), (form.upper, 1e-6)):
        finite = np.isfinite(edge)
        outside = np.where(finite, edge, 0) + beyond
        assert np.isinf(loss.conjugate(y, -outside)[finite]).all()


@every
@settings(max_examples=30)
@given(seed=seeds, s=scores)
def test_no_other_point_of_the_box_gives_more(loss, seed, s):
    y = targets(loss, seed)
    form = loss.dual(y)
    rng = np.random.default_rng([seed, 1])
    best = form.value(s)
    for _ in range(5):
        low, high = np.maximum(form.lower, -20), np.minimum(form.upper, 20)
        a = rng.uniform(low, high)
        other = a * (form.centre - s) - form.kink * np.abs(a) - 0.5 * form.curvature * a**2
        assert (other <= best + 1e-9).all()


@every
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precision_is_that_of_the_targets(loss, dtype):
    y = targets(loss, 0).astype(dtype)
    form = loss.dual(y)
    assert form.value(y).dtype == form.maximiser(y).dtype == dtype


def test_other_classes_of_a_pair_cost_nothing():
    """A target of 0, as between pairs of classes: the box is a point."""
    form = Hinge().dual(np.array([[0.0, 1.0, -1.0]]))
    assert np.array_equal(form.upper - form.lower, [[0, 1, 1]])
    assert np.array_equal(form.value(np.array([[7.0, 0.5, 0.5]])), [[0, 0.5, 1.5]])


# -- kinks rounded off ------------------------------------------------------------------------------------


@kinked
@pytest.mark.parametrize("mu", [1e-3, 0.1, 2.0])
def test_laws_of_the_envelope(loss, mu):
    check_loss(Smoothed(loss, mu))


@every
@pytest.mark.parametrize("mu", [1e-6, 1e-2, 1.0])
@settings(max_examples=25)
@given(seed=seeds, s=scores)
def test_the_envelope_lies_below_and_near(loss, mu, seed, s):
    y = targets(loss, seed)
    form = loss.dual(y)
    below = loss.value(y, s) - Smoothed(loss, mu).value(y, s)
    assert (below >= -1e-12).all()
    # ½ μ max a² where the box is bounded; for any loss at most ½ μ V'².
    most = np.minimum(np.maximum(form.lower**2, form.upper**2), loss.grad(y, s) ** 2)
    assert (below <= 0.5 * mu * most + 1e-12).all()


@kinked
@settings(max_examples=25)
@given(seed=seeds, s=scores, mu=st.sampled_from([0.05, 0.5, 3.0]))
def test_the_envelope_is_moreaus(loss, seed, s, mu):
    """min over t of V(y, t) + (s − t)²/(2μ), on a grid."""
    y = targets(loss, seed)
    t = np.linspace(-20, 20, 4001)[:, None, None]
    values = loss.value(np.broadcast_to(y, (4001, N, T)), np.broadcast_to(t, (4001, N, T)))
    expected = (values + (s - t) ** 2 / (2 * mu)).min(axis=0)
    found = Smoothed(loss, mu).value(y, s)
    # The grid is never below, and its step of 0.01 costs at most (0.01)²/(8μ) and a slope of the loss's.
    assert (expected >= found - 1e-9).all()
    assert (expected <= found + 0.01 * (1 + 0.01 / mu)).all()


def test_finer_is_closer():
    y, s = targets(Hinge(), 0), np.linspace(-2, 2, N * T).reshape(N, T)
    V = Hinge().value(y, s)
    off = [np.abs(Smoothed(Hinge(), mu).value(y, s) - V).max() for mu in (1.0, 0.1, 0.01, 1e-6)]
    assert off == sorted(off, reverse=True) and off[-1] < 0.51e-6 and off[0] == pytest.approx(0.5)


@kinked
def test_its_declarations(loss):
    smoothed = Smoothed(loss, 0.25)
    assert smoothed.smooth and smoothed.convex and smoothed.curved and smoothed.curvature == 4.0
    assert smoothed.classification == loss.classification
    y = targets(loss, 0)
    H = smoothed.hess(y, np.random.default_rng(0).normal(size=(N, T)))
    assert set(np.unique(H)) <= {0.0, 4.0}
    with pytest.raises(ValueError, match="make them the same"):
        smoothed.value(y[:, 0], y)


def test_mixed_precision_follows_the_scores():
    smoothed = Smoothed(EpsilonInsensitive(0.1), 0.5)
    y, s = np.ones((2, 1)), np.zeros((2, 1), np.float32)
    assert {f(y, s).dtype for f in (smoothed.value, smoothed.grad, smoothed.hess)} == {np.dtype(np.float32)}


def test_a_form_of_ones_own():
    """max over |a| ≤ 2 of a (3 − s) − |a|: twice the distance beyond 1 from 3."""
    form = DualForm(np.array([3.0]), np.array([-2.0]), np.array([2.0]), kink=1.0)
    for s, expected in ((3.5, 0.0), (0.0, 4.0), (6.0, 4.0), (4.0, 0.0)):
        assert form.value(np.array([s]))[0] == expected
