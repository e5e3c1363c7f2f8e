"""Laws that every loss obeys; a new Loss subclass in the library is tested here without being named."""

import inspect
import pickle

import numpy as np
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import mercer.losses
from mercer.losses import (
    EpsilonInsensitive,
    FunctionLoss,
    Huber,
    Logistic,
    Loss,
    ModifiedHuber,
    Multinomial,
    Poisson,
    Quantile,
    Squared,
)


def subclasses(cls):
    for sub in cls.__subclasses__():
        yield sub
        yield from subclasses(sub)


def complete(cls):
    """Can it be made without arguments? FunctionLoss, say, needs a function: test_function.py tries it."""
    return all(p.default is not p.empty for p in inspect.signature(cls).parameters.values())


CLASSES = sorted(
    (
        c
        for c in set(subclasses(Loss))
        if c.__module__.startswith("mercer.losses.") and not inspect.isabstract(c) and complete(c)
    ),
    key=lambda c: c.__name__,
)
# Parameters as NumPy scalars too: they must not turn float32 into float64.
LOSSES = [cls() for cls in CLASSES] + [
    EpsilonInsensitive(epsilon=0),
    EpsilonInsensitive(epsilon=np.float64(1.3)),
    Huber(delta=np.float64(0.3)),
    Quantile(q=np.float64(0.9)),
]
CONVEX = [v for v in LOSSES if v.convex]
CURVED = [v for v in LOSSES if v.curved]
CONJUGATED = [v for v in LOSSES if v.has_conjugate]
every = pytest.mark.parametrize("loss", LOSSES, ids=repr)
curved = pytest.mark.parametrize("loss", CURVED, ids=repr)
rough = pytest.mark.parametrize("loss", [v for v in LOSSES if not v.smooth], ids=repr)

N, T = 4, 3
SIZE = 8.0
scores = arrays(np.float64, (N, T), elements=st.floats(-SIZE, SIZE))
seeds = st.integers(0, 2**32 - 1)


def drawn(losses, **strategies):
    """A law of each of these losses, on examples drawn once for all: drawing takes longer than trying."""

    def of(law):
        def test(example):
            for loss in losses:
                note(repr(loss))
                law(loss, **example)

        test.__name__ = test.__qualname__ = law.__name__
        return settings(deadline=None)(given(st.fixed_dictionaries(strategies))(test))

    return of


def targets(loss, seed, n=N, t=T):
    """Targets of the kind the loss is made for."""
    # Never the stream that scores are drawn from.
    return loss.sample_targets(np.random.default_rng([seed, 1]), n, t)


def per_example(a):
    return a if a.ndim == 1 else a.sum(axis=1)


def matched(loss, a):
    """Bring products of shape (n, t) to the shape of the loss's value."""
    return a.sum(axis=1) if loss.joint else a


def quotients(f, s, j, h):
    """One-sided difference quotients of f in column j of s: behind and ahead."""
    e = np.zeros_like(s)
    e[:, j] = h
    here = f(s)
    return (here - f(s - e)) / h, (f(s + e) - here) / h


def dense(apply, n, t):
    """The matrices, (n, t, t), behind a map on (n, t) arrays that works example by example."""
    return np.stack([apply(np.tile(e, (n, 1))) for e in np.eye(t)], axis=-1)


def test_discovery_sees_the_public_losses():
    public = {getattr(mercer.losses, name) for name in mercer.losses.__all__} - {Loss, FunctionLoss}
    assert public == set(CLASSES)
    assert {Squared, Logistic, Multinomial, Poisson} < set(CLASSES)


@every
def test_shapes(loss):
    y, s = targets(loss, 0), np.random.default_rng(0).normal(size=(N, T))
    assert loss.value(y, s).shape == ((N,) if loss.joint else (N, T))
    assert loss.grad(y, s).shape == (N, T)
    if loss.has_conjugate:
        assert loss.conjugate(y, loss.grad(y, s)).shape == loss.value(y, s).shape


@drawn(LOSSES, seed=seeds, s=scores)
def test_grad_lies_between_the_one_sided_difference_quotients(loss, seed, s):
    # For a differentiable loss both quotients tend to V'; at a kink they tend to the ends of the
    # subdifferential. So no point has to be left out.
    y, h = targets(loss, seed), 1e-6
    g = loss.grad(y, s)
    for j in range(T):
        behind, ahead = quotients(lambda a: per_example(loss.value(y, a)), s, j, h)
        tolerance = 1e-5 * (1 + np.abs(loss.value(y, s)).max())
        assert np.all(g[:, j] >= np.minimum(behind, ahead) - tolerance)
        assert np.all(g[:, j] <= np.maximum(behind, ahead) + tolerance)


@drawn(CURVED, seed=seeds, s=scores)
def test_hess_lies_between_the_one_sided_difference_quotients_of_grad(loss, seed, s):
    y, h = targets(loss, seed), 1e-6
    hess = loss.hess(y, s)
    for j in range(T):
        behind, ahead = (q[:, j] for q in quotients(lambda a: loss.grad(y, a), s, j, h))
        tolerance = 1e-5 * (1 + np.abs(hess).max())
        assert np.all(hess[:, j] >= np.minimum(behind, ahead) - tolerance)
        assert np.all(hess[:, j] <= np.maximum(behind, ahead) + tolerance)


@drawn(CURVED, seed=seeds, s=scores, shift=st.floats(-1e-3, 1e-3))
def test_smooth_means_that_grad_is_locally_lipschitz(loss, seed, s, shift):
    y = targets(loss, seed)
    edges = [loss.hess(y, np.full_like(y, edge)).max() for edge in (-SIZE - 1, SIZE + 1)]
    steepest = loss.curvature or max(edges)  # those without a bound bend most at one end
    moved = loss.grad(y, s + shift) - loss.grad(y, s)
    assert np.all(np.abs(moved) <= 2 * steepest * abs(shift) + 1e-9)


@rough
def test_not_smooth_means_that_grad_jumps(loss):
    s = np.linspace(-20, 20, 400001)[:, np.newaxis]
    # Where outputs hang together one class against another.
    others = np.zeros_like(s)[:, : int(loss.joint)]
    g = loss.grad(np.hstack([np.ones_like(s), others]), np.hstack([s, others]))
    assert np.abs(np.diff(g, axis=0)).max() > 0.4


@rough
def test_no_hess_at_kinks_is_said(loss):
    with pytest.raises(NotImplementedError, match=r"no second derivative.*choose"):
        loss.hess(targets(loss, 0), np.zeros((N, T)))


@drawn(CONVEX, seed=seeds, a=scores, b=scores, w=st.floats(0, 1))
def test_convex_along_segments(loss, seed, a, b, w):
    y = targets(loss, seed)
    chord = w * loss.value(y, a) + (1 - w) * loss.value(y, b)
    assert np.all(loss.value(y, w * a + (1 - w) * b) <= chord + 1e-9 * (1 + np.abs(chord)))


@drawn(CONVEX, seed=seeds, a=scores, b=scores)
def test_subgradient_inequality(loss, seed, a, b):
    y = targets(loss, seed)
    tangent = loss.value(y, a) + matched(loss, loss.grad(y, a) * (b - a))
    assert np.all(loss.value(y, b) >= tangent - 1e-9 * (1 + np.abs(tangent)))


@rough
def test_subgradient_inequality_at_the_kinks_themselves(loss):
    # Integers and the loss's own parameters hit every kink there is.
    y = np.array([[1.0]])
    parameters = list(loss.get_params().values())
    points = np.array([-1.0, 0.0, 1.0, 2.0] + [1 + p for p in parameters] + [1 - p for p in parameters])
    for s in points.reshape(-1, 1, 1):
        tangent = loss.value(y, s) + loss.grad(y, s) * (points[:, np.newaxis, np.newaxis] - s)
        assert np.all(loss.value(np.ones((len(points), 1)), points[:, np.newaxis]) >= tangent[:, 0] - 1e-12)


@drawn([v for v in LOSSES if v.curvature is not None], seed=seeds, s=scores)
def test_curvature_bounds_the_hessian(loss, seed, s):
    R = dense(loss.hess_root(targets(loss, seed), s).apply, N, T)
    assert np.all(np.linalg.norm(R, ord=2, axis=(1, 2)) ** 2 <= loss.curvature * (1 + 1e-12))


@curved
def test_curvature_is_the_least_bound(loss):
    # On a grid around the point where each loss bends most; None means that it grows for ever.
    grid = np.linspace(-3, 3, 61)
    s = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    y = targets(loss, 0, n=len(s), t=2)
    if loss.curvature is None:
        far = np.sign(loss.grad(y, np.full_like(s, 40.0)) + loss.grad(y, np.full_like(s, -40.0))) * 40
        assert np.all(loss.hess(y, far) > 1e15 * loss.hess(y, np.zeros_like(s)))
    else:
        y = y if loss.classification else np.zeros_like(s)
        R = dense(loss.hess_root(y, s).apply, len(s), 2)
        assert np.max(np.linalg.norm(R, ord=2, axis=(1, 2)) ** 2) == pytest.approx(loss.curvature, rel=1e-12)


@rough
def test_rough_losses_declare_no_curvature(loss):
    assert loss.curvature is None


@curved
def test_hess_root(loss):
    rng = np.random.default_rng(1)
    n, t, h = 50, 4, 1e-6
    y, s = targets(loss, 2, n, t), rng.normal(scale=2, size=(n, t))
    root = loss.hess_root(y, s)
    R = dense(root.apply, n, t)
    np.testing.assert_allclose(dense(root.adjoint, n, t), R.transpose(0, 2, 1), atol=1e-14)
    np.testing.assert_allclose(root.diagonal, np.diagonal(R, axis1=1, axis2=2), atol=1e-14)
    H = R @ R.transpose(0, 2, 1)
    np.testing.assert_allclose(np.diagonal(H, axis1=1, axis2=2), loss.hess(y, s), rtol=1e-12, atol=1e-14)
    e = h * np.eye(t)
    differences = [(loss.grad(y, s + e[j]) - loss.grad(y, s - e[j])) / (2 * h) for j in range(t)]
    np.testing.assert_allclose(H, np.stack(differences, axis=-1), rtol=1e-5, atol=1e-7)


@drawn(CONJUGATED, seed=seeds, s=scores, u=arrays(np.float64, (N, T), elements=st.floats(-3, 3)))
def test_fenchel_young_inequality(loss, seed, s, u):
    y = targets(loss, seed)
    both = loss.value(y, s) + loss.conjugate(y, u)
    product = matched(loss, u * s)
    assert not np.isnan(both).any()
    assert np.all(both >= product - 1e-9 * (1 + np.abs(product)))


@drawn([v for v in CONJUGATED if v.convex], seed=seeds, s=scores, elsewhere=scores)
def test_fenchel_young_at_gradients(loss, seed, s, elsewhere):
    # Gradients lie in the conjugate's domain, so here nothing is infinite.
    y = targets(loss, seed)
    u = loss.grad(y, elsewhere)
    conjugate = loss.conjugate(y, u)
    assert np.isfinite(conjugate).all()
    scale = 1e-9 * (1 + matched(loss, np.abs(u)) * SIZE + np.abs(conjugate))
    assert np.all(loss.value(y, s) + conjugate >= matched(loss, u * s) - scale)
    np.testing.assert_array_less(
        np.abs(loss.value(y, elsewhere) + conjugate - matched(loss, u * elsewhere)), scale
    )


@drawn(
    [v for v in CONJUGATED if v.convex and not v.joint],
    seed=seeds,
    u=arrays(np.float64, (N, T), elements=st.floats(-3, 3)),
)
def test_conjugate_is_finite_exactly_on_the_range_of_slopes(loss, seed, u):
    # The slopes of a convex function rise from one end to the other. (In between lie, for the
    # unbounded ones, values that need scores too large to try; 600 reaches past ±3 for all.)
    y = targets(loss, seed)
    low, high = loss.grad(y, np.full_like(y, -600.0)), loss.grad(y, np.full_like(y, 600.0))
    finite = np.isfinite(loss.conjugate(y, u))
    assert finite[(low < u) & (u < high)].all()
    assert not finite[(u < low - 1e-12) | (u > high + 1e-12)].any()


@every
@pytest.mark.parametrize("size", [30.0, 800.0, 1e4, 1e6])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_scores_make_no_noise(loss, size, dtype):
    y = targets(loss, 3, n=4, t=2).astype(dtype)
    s = dtype(size) * np.array([[1, -1], [-1, 1], [1, 1], [-1, -1]], dtype=dtype)
    with np.errstate(all="raise", under="ignore"):
        results = [loss.value(y, s), loss.grad(y, s), loss.link(s)]
        if loss.curved:
            results += [loss.hess(y, s), loss.hess_root(y, s).diagonal]
        if loss.has_probability:
            results.append(loss.probability(s))
        if loss.has_conjugate:
            results.append(loss.conjugate(y, s))
    assert not any(np.isnan(r).any() for r in results)
    if loss.convex:
        zero = np.zeros_like(s)
        tangent = loss.value(y, zero) + matched(loss, loss.grad(y, zero) * s)
        assert np.all(loss.value(y, s) >= tangent - 1e-5 * (1 + np.abs(tangent)))


@every
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_decide_the_dtype(loss, dtype):
    y, s = targets(loss, 4), np.random.default_rng(4).normal(size=(N, T)).astype(dtype)
    results = [loss.value(y, s), loss.grad(y, s), loss.link(s)]
    if loss.has_conjugate:
        results.append(loss.conjugate(y, s))
    if loss.curved:
        root = loss.hess_root(y, s)
        results += [loss.hess(y, s), root.diagonal, root.apply(s), root.adjoint(s)]
    if loss.has_probability:
        results.append(loss.probability(s))
    assert [r.dtype for r in results] == [dtype] * len(results)


@every
def test_float32_agrees_with_float64(loss):
    y, s = (
        targets(loss, 5).astype(np.float32),
        np.random.default_rng(5).normal(size=(N, T)).astype(np.float32),
    )
    for f in [loss.value, loss.grad] + [loss.hess] * loss.curved:
        np.testing.assert_allclose(f(y, s), f(y, s.astype(np.float64)), rtol=1e-5, atol=1e-6)


@every
def test_inputs_are_left_alone(loss):
    y, s = targets(loss, 6), np.random.default_rng(6).normal(size=(N, T))
    before = y.copy(), s.copy()
    loss.value(y, s), loss.grad(y, s), loss.link(s)
    if loss.has_conjugate:
        loss.conjugate(y, s)
    if loss.curved:
        loss.hess(y, s), loss.hess_root(y, s).apply(s)
    np.testing.assert_array_equal(y, before[0])
    np.testing.assert_array_equal(s, before[1])


@every
def test_shapes_that_would_broadcast_are_refused(loss):
    with pytest.raises(ValueError, match="shape"):
        loss.value(targets(loss, 0)[:, 0], np.zeros((N, 1)))


@every
def test_probability_is_declared(loss):
    s = np.random.default_rng(7).normal(size=(N, T))
    if loss.has_probability:
        p = loss.probability(s)
        assert p.shape == s.shape
        if isinstance(loss, ModifiedHuber):  # which is sure from the margin on
            np.testing.assert_array_equal(p == 1, s >= 1)
            np.testing.assert_array_equal(p == 0, s <= -1)
        else:
            assert np.all((p > 0) & (p < 1))
    else:
        with pytest.raises(NotImplementedError, match=r"Logistic\(\)"):
            loss.probability(s)


@pytest.mark.parametrize("loss", [v for v in LOSSES if v.has_probability], ids=repr)
@pytest.mark.parametrize("truth", [0.1, 0.5, 0.8])
def test_probability_recovers_the_truth_from_the_best_score(loss, truth):
    # The score that minimises the expected loss over y ~ truth must give back truth.
    grid = np.linspace(-5, 5, 20001)[:, np.newaxis]
    if loss.joint:
        s = np.hstack([-grid / 2, grid / 2])
        no, yes = np.tile([1.0, 0.0], (len(s), 1)), np.tile([0.0, 1.0], (len(s), 1))
    else:
        s, no, yes = grid, -np.ones_like(grid), np.ones_like(grid)
    risk = truth * loss.value(yes, s) + (1 - truth) * loss.value(no, s)
    assert loss.probability(s)[risk.argmin(), -1] == pytest.approx(truth, abs=1e-3)


@every
def test_quadratic_means_constant_hess(loss):
    if not loss.curved:
        assert not loss.quadratic
        return
    y, s = targets(loss, 8, n=500), np.random.default_rng(8).normal(scale=3, size=(500, T))
    assert loss.quadratic == (np.ptp(loss.hess(y, s)) == 0)


@every
def test_value_objects(loss):
    again = pickle.loads(pickle.dumps(loss))
    assert again == loss
    assert hash(again) == hash(loss)
    assert type(loss)(**loss.get_params()) == loss
    assert eval(repr(loss), vars(mercer.losses).copy()) == loss
    assert loss != (Huber() if not isinstance(loss, Huber) else Quantile())


@every
def test_encode_agrees_with_classification(loss):
    y = np.array([0, 1, 2, 1, 0]) if loss.classification else targets(loss, 9, n=5, t=1)[:, 0]
    encoded, coding = loss.encode(y)
    assert (coding.classes is not None) == loss.classification
    assert encoded.shape == (5, coding.n_outputs)
    assert encoded.dtype == np.float64


@pytest.mark.parametrize("cls", CLASSES)
def test_documented_with_an_example(cls):
    assert ">>>" in cls.__doc__
    assert "V(y, s)" in cls.__doc__
