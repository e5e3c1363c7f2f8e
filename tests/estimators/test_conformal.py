"""Intervals: leaving out by formula and by refits, what they hold, files, and what is refused."""

from math import ceil

import numpy as np
import pytest

import mercer
from mercer import KernelRegressor, KernelRidge, KernelSVR
from mercer.estimators.conformal import bound_of, rank_of
from mercer.kernels import Gaussian, Linear
from mercer.losses import Quantile
from mercer.representations import Features, Full, Lasso, Nystrom
from mercer.solvers.jackknife import Jackknife

RNG = np.random.default_rng(1)
G = Gaussian(1.0)
X = RNG.uniform(-3, 3, (60, 1))
Y = np.sin(X[:, 0]) + 0.2 * RNG.standard_normal(60)
NEW = np.linspace(-3, 3, 7)[:, None]


def by_refits(machine, X, y, new, coverage):
    """Jackknife+ as it is defined, n machines."""
    n = len(X)
    said, errors = np.empty((len(new), n)), np.empty(n)
    for i in range(n):
        others = np.arange(n) != i
        left = type(machine)(**machine.get_params(deep=False)).fit(X[others], y[others])
        said[:, i], errors[i] = left.predict(new), abs(y[i] - left.predict(X[[i]])[0])
    rank = ceil((n + 1) * coverage)
    return np.sort(said - errors, axis=1)[:, n - rank], np.sort(said + errors, axis=1)[:, rank - 1]


@pytest.mark.parametrize("offset", [True, False])
@pytest.mark.parametrize(
    "kernel, representation",
    [(G, Full()), (G, Nystrom(centres=X[:9])), (Linear(), Features())],
    ids=["full", "centres", "features"],
)
def test_jackknife_plus_is_that_of_n_refits(kernel, representation, offset):
    machine = KernelRidge(kernel, lam=0.01, offset=offset, representation=representation).fit(X, Y)
    found = machine.predict_interval(NEW, 0.8)
    for mine, theirs in zip(found, by_refits(machine, X, Y, NEW, 0.8), strict=True):
        assert np.abs(mine - theirs).max() < 1e-9
    asked = machine.conformalize(X, Y).predict_interval(NEW, 0.8)
    assert machine.conformal_.method == "jackknife+" and np.allclose(found, asked)


def test_several_targets_have_intervals_each():
    T = np.column_stack([Y, -3 * Y + X[:, 0]])
    lower, upper = KernelRidge(G, lam=0.01).fit(X, T).predict_interval(NEW)
    assert lower.shape == upper.shape == (7, 2)
    for j in range(2):
        alone = KernelRidge(G, lam=0.01).fit(X, T[:, j]).predict_interval(NEW)
        assert np.allclose(alone[0], lower[:, j]) and np.allclose(alone[1], upper[:, j])


def test_cv_plus_is_what_its_definition_says():
    machine = KernelSVR(G, lam=0.01).fit(X, Y).conformalize(X, Y, n_folds=4)
    known = machine.conformal_
    assert known.method == "cv+" and len(known.machines) == 4
    said = np.column_stack([known.machines[k].predict(NEW) for k in known.fold])
    own = np.array([known.machines[k].predict(X[[i]])[0] for i, k in enumerate(known.fold)])
    errors, rank = np.abs(Y - own), ceil(61 * 0.85)
    lower, upper = machine.predict_interval(NEW, 0.85)
    assert np.allclose(lower, np.sort(said - errors, axis=1)[:, 60 - rank])
    assert np.allclose(upper, np.sort(said + errors, axis=1)[:, rank - 1])


@pytest.mark.parametrize("method", ["split", "cv+", "jackknife+"])
def test_new_targets_are_held_as_promised(method):
    """Over 60 draws of 40 examples, 50 new ones each: the mean coverage, with its error."""
    held = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        A = rng.uniform(-3, 3, (90, 1))
        # Errors of uneven size, with heavy tails.
        y = np.sin(A[:, 0]) + 0.2 * (1 + A[:, 0] ** 2) * rng.standard_t(3, 90)
        machine = KernelRidge(G, lam=0.01)
        if method == "split":
            machine.fit(A[:20], y[:20]).conformalize(A[20:40], y[20:40], method=method)
        else:
            machine.fit(A[:40], y[:40]).conformalize(A[:40], y[:40], method=method, n_folds=5)
        lower, upper = machine.predict_interval(A[40:], 0.8)
        held.append(np.mean((lower <= y[40:]) & (y[40:] <= upper)))
    mean, error = np.mean(held), np.std(held) / np.sqrt(60)
    assert mean > machine.conformal_.promise(0.8) - 3 * error
    assert 0.75 < mean < 0.9


def test_quantiles_become_intervals():
    machine = KernelRegressor(G, Quantile([0.9, 0.5, 0.1]), lam=0.01).fit(X[:30], Y[:30])
    machine.conformalize(X[30:], Y[30:], method="split")
    said = machine.predict(X[30:])
    outside = np.sort(np.maximum(said[:, 2] - Y[30:], Y[30:] - said[:, 0]))
    lower, upper = machine.predict_interval(NEW, 0.8)
    bound = outside[ceil(31 * 0.8) - 1]
    assert np.allclose(lower, machine.predict(NEW)[:, 2] - bound)
    assert np.allclose(upper, machine.predict(NEW)[:, 0] + bound)
    crossed = KernelRegressor(G, Quantile([0.1, 0.9]), lam=0.01).fit(X, Y).conformalize(X, Y, n_folds=3)
    lower, upper = crossed.predict_interval(X, 0.8)
    assert np.mean((lower <= Y) & (upper >= Y)) > 0.7


def test_weight_0_is_absent_and_equal_rows_stay_together():
    w = np.ones(60)
    w[:20] = 0
    wild = Y.copy()
    wild[:20] = 1e3
    a = KernelSVR(G, lam=0.01).fit(X, wild, w).conformalize(X, wild, w, method="cv+")
    b = KernelSVR(G, lam=0.01).fit(X[20:], Y[20:]).conformalize(X[20:], Y[20:], method="cv+")
    assert a.conformal_.errors.shape == b.conformal_.errors.shape == (40, 1)
    assert a.conformal_.errors.max() < 10
    # Each row twice, with a kernel that can know them by heart: errors must not be those on known rows.
    narrow = KernelRidge(Gaussian(1e-3), lam=1e-9, offset=False)
    apart = np.arange(60)[:, None] / 7
    twice = np.vstack([apart, apart]), np.concatenate([Y, Y])
    errors = narrow.fit(*twice).conformalize(*twice, method="cv+").conformal_.errors
    assert np.allclose(np.sort(errors[:, 0]), np.sort(np.abs(twice[1])), atol=1e-3)


def test_files_keep_what_can_be_kept(tmp_path):
    split = KernelSVR(G, lam=0.01).fit(X[:30], Y[:30]).conformalize(X[30:], Y[30:], method="split")
    cross = KernelRidge(G, lam=0.01).fit(X, Y).conformalize(X, Y, method="cv+", n_folds=3)
    closed = KernelRidge(G, lam=0.01).fit(X, Y).conformalize(X, Y)
    for machine in (split, cross, closed):
        mercer.save(machine, tmp_path / "m.mercer")
        again = mercer.load(tmp_path / "m.mercer")
        if machine is closed:
            with pytest.raises(ValueError, match="doesn't hold its examples"):
                again.predict_interval(NEW)
        else:
            assert np.array_equal(again.predict_interval(NEW), machine.predict_interval(NEW))


def test_a_new_fit_forgets_and_single_precision_stays():
    machine = KernelSVR(G, lam=0.01).fit(X[:30], Y[:30]).conformalize(X[30:], Y[30:], method="split")
    lower, _ = machine.predict_interval(NEW.astype(np.float32))
    assert lower.dtype == np.float32
    with pytest.raises(ValueError, match="call conformalize"):
        machine.fit(X, Y).predict_interval(NEW)


def test_too_few_errors_make_infinite_intervals():
    machine = KernelSVR(G, lam=0.01).fit(X[:50], Y[:50]).conformalize(X[50:], Y[50:], method="split")
    lower, upper = machine.predict_interval(NEW, 0.95)
    assert np.isneginf(lower).all() and np.isposinf(upper).all()
    assert rank_of(19, 0.95) == 19 and rank_of(18, 0.95) == 19 and bound_of(np.ones(18), 0.95) == np.inf


@pytest.mark.parametrize("bad", [0, 1, 1.5, -0.1, "most", True, None])
def test_coverages_are_checked(bad):
    with pytest.raises(ValueError, match="coverage must lie between 0 and 1"):
        KernelRidge(G, lam=0.1).fit(X, Y).predict_interval(NEW, bad)


def test_refusals():
    machine = KernelRidge(G, lam=0.1).fit(X, Y)
    for words, options in (
        ("method must be one of", {"method": "bootstrap"}),
        ("n_folds must be a whole number", {"n_folds": 1}),
        ("two examples of positive weight", {"sample_weight": np.eye(60)[0]}),
    ):
        with pytest.raises(ValueError, match=words):
            machine.conformalize(X, Y, **options)
    with pytest.raises(ValueError, match="y are other targets"):
        machine.conformalize(X, Y + 1, method="jackknife+")
    with pytest.raises(ValueError, match="X holds 60 examples and y 50"):
        machine.conformalize(X, Y[:50])
    with pytest.raises(ValueError, match="weighted examples"):
        KernelRidge(G, lam=0.1).fit(X, Y, np.arange(60)).conformalize(X, Y, method="jackknife+")
    with pytest.raises(ValueError, match="only the squared loss"):
        KernelSVR(G, lam=0.1).fit(X, Y).conformalize(X, Y, method="jackknife+")
    lasso = KernelRidge(Linear(), lam=0.1, representation=Lasso()).fit(X, Y)
    assert "squared loss with the penalty" in Jackknife.refusal(lasso.problem(X, Y)[0])
    matrix = KernelRidge("precomputed", lam=0.1).fit(G(X, X), Y)
    with pytest.raises(ValueError, match="precomputed matrix use method='split'"):
        matrix.conformalize(G(X, X), Y, method="cv+")
    same = np.full((10, 1), np.pi)
    with pytest.raises(ValueError, match="all examples are equal"):
        KernelRidge(G, lam=0.1).fit(same, Y[:10]).conformalize(same, Y[:10], method="cv+")
