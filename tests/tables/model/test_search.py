"""The search for a kernel: what it finds where the answer is known."""

from functools import cache

import numpy as np
import pytest

from mercer import KernelRidge
from mercer.kernels import Gaussian
from mercer.selection import path
from mercer.selection.search import Clock
from mercer.tables.model.effort import Effort
from mercer.tables.model.search import FAMILIES, Candidate, KernelSearch, likelihood_share

FEW = Effort(100, 120, 150, 15, 8, 2, by_folds=True)
MANY = Effort(100, 120, 150, 15, 8, 2, by_folds=False)
ways = pytest.mark.parametrize("effort", [FEW, MANY], ids=["folds", "fresh rows"])


def surface(n, seed, d=6):
    """Two features of six matter, one of them much more quickly than the other."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, (np.sin(3 * X[:, 0]) + 0.3 * X[:, 1] ** 2 + 0.1 * rng.standard_normal(n))[:, None]


X, Y = surface(200, 0)


def small(n):
    """Few steps on n rows."""
    return Effort(min(n, 100), min(n, 120), min(n, 150), 10, 6, 2, by_folds=True)


def run(points=None, Y=Y, effort=FEW, seconds=1e6, seed=0, tell=lambda text: None, **more):
    return KernelSearch(points or {"keep": X}, Y, effort, Clock(seconds), seed, tell, **more).run()


@cache
def at_first(effort):
    """The search that several tests look at."""
    return run(effort=effort)


@ways
def test_better_than_one_tuned_width(effort):
    found = at_first(effort)
    fresh_X, fresh_Y = surface(1000, 1)

    def error(kernel, lam):
        machine = KernelRidge(kernel, lam=lam, offset=True).fit(X, Y)
        return float(np.mean((machine.predict(fresh_X) - fresh_Y) ** 2))

    paths = [(Gaussian(s), path(KernelRidge(Gaussian(s), offset=True), X, Y)) for s in (0.5, 1, 2, 4)]
    kernel, tuned = min(paths, key=lambda p: p[1].loo_mse.min())
    ours = error(found.best.kernel, found.best.mu / len(X))
    assert ours < 0.6 * error(kernel, tuned.best_lam)
    assert found.best.mu > 0 and np.isfinite(found.best.error)


@ways
def test_the_same_seed_finds_the_same(effort):
    a, b = at_first(effort), run(effort=effort)
    assert a.best.kernel == b.best.kernel and a.best.mu == b.best.mu
    assert sorted((t.stage, t.kernel, t.loo) for t in a.trials) == sorted(
        (t.stage, t.kernel, t.loo) for t in b.trials
    )
    assert run(seed=4, effort=effort).best.kernel != a.best.kernel


def test_units_of_the_target_do_not_matter():
    a, b = at_first(FEW), run(Y=1e6 * Y + 1e7)
    assert a.best.family == b.best.family and b.best.mu == pytest.approx(a.best.mu, rel=1e-2)
    assert b.best.error == pytest.approx(a.best.error, rel=1e-3)


@ways
def test_what_was_tried_is_written_down(effort):
    said = []
    found = run({"keep": X, "squash": np.tanh(X)}, effort=effort, tell=said.append)
    stages = [t.stage for t in found.trials]
    # Two preparations with the first family, then the other families.
    assert stages.count("screen") == 2 + len(FAMILIES) - 1
    if effort.by_folds:
        # Every finalist with length scales and with one width, a sum and a mixture; then the best of them.
        assert stages.count("folds") == 2 * effort.finalists + 2 and stages.count("last look") == 1
    else:
        assert stages.count("length scales") == effort.finalists and stages.count("last look") >= 2
    for trial in found.trials:
        assert trial.outliers in ("keep", "squash") and 0 < trial.loo < 2 and trial.seconds >= 0
        assert trial.rows in (100, 120, 150)
        judged = trial.stage == "folds" or (trial.stage != "screen" and not effort.by_folds)
        assert trial.fresh > 0 if judged else np.isnan(trial.fresh)
    assert len(said) >= 3 and all(isinstance(text, str) for text in said)


def test_the_preparation_that_helps():
    """Outliers drawn in, the rest can be seen again; without outliers numbers stay as they are."""
    wild = X.copy()
    wild[::10] *= 1000
    wild /= wild.std(axis=0)
    assert run({"keep": wild, "squash": X}).best.outliers == "squash"
    assert run({"keep": X, "squash": np.tanh(X)}).best.outliers == "keep"


def test_fresh_rows_judge_where_there_are_enough():
    """Recomputed, for the one that was chosen."""
    found = at_first(MANY)
    order = np.random.default_rng(0).permutation(200)
    at, fresh = order[:150], order[150:]
    Z = (Y - Y.mean()) / Y.std()
    K = found.best.kernel(X[at]) + found.best.mu * np.eye(150)
    predicted = found.best.kernel(X[fresh], X[at]) @ np.linalg.solve(K, Z[at])
    assert found.best.error == pytest.approx(float(np.mean((predicted - Z[fresh]) ** 2)), rel=1e-6)


def test_folds_choose_what_they_judged_best():
    """Length scales where one feature is all there is; of noise nothing."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((60, 8))
    one = run({"keep": X}, np.sin(3 * X[:, :1]) + 0.01 * rng.standard_normal((60, 1)), small(60))
    folds = {t.kernel: t.fresh for t in one.trials if t.stage == "folds"}
    assert not min(folds, key=folds.get).endswith(", one width")
    assert folds["laplacian l1"] < 0.5 * folds["laplacian l1, one width"]
    assert one.best.family == min(folds, key=folds.get)
    noise = run({"keep": X}, rng.standard_normal((60, 1)), small(60))
    folds = {t.kernel: t.fresh for t in noise.trials if t.stage == "folds"}
    assert min(folds.values()) > 0.7


@ways
def test_out_of_time_there_still_is_an_answer(effort):
    clock = Clock(0.0)
    found = KernelSearch({"keep": X}, Y, effort, clock, 0, lambda text: None).run()
    assert isinstance(found.best, Candidate) and found.best.error < 1.5
    assert clock.ended


@ways
def test_copies_do_not_help(effort):
    """Noise, every row four times: nothing is found, as nothing is in the rows themselves."""
    rng = np.random.default_rng(2)
    points, noise = rng.standard_normal((50, 3)), rng.standard_normal((50, 1))
    four = np.repeat(np.arange(50), 4)
    found = run({"keep": points[four]}, noise[four], effort, units=four)
    assert all(t.loo > 0.8 for t in found.trials)
    assert not any(t.fresh < 0.5 for t in found.trials)  # on a dozen rows or so; NaN of those not judged


@pytest.mark.parametrize("t", [1, 3])
@ways
def test_labels(t, effort):
    """Two classes are one column of ±1, three are one column each."""
    place = np.digitize(Y[:, 0], np.quantile(Y, [0.5] if t == 1 else [1 / 3, 2 / 3]))
    codes = 2.0 * (place[:, None] == np.arange(1, 2) if t == 1 else place[:, None] == np.arange(3)) - 1
    found = run(Y=codes, labels=True, effort=effort)
    machine = KernelRidge(found.best.kernel, lam=found.best.mu / len(X), offset=False).fit(
        X, codes - codes.mean(axis=0)
    )
    assert machine.predict(X).shape == codes.shape and found.best.mu > 0


def test_several_outputs_share_a_kernel():
    found = run(Y=np.column_stack([Y[:, 0], X[:, 1], np.zeros(len(X))]))
    assert np.isfinite(found.best.error)


@pytest.mark.parametrize(
    "points, target",
    [
        (X, np.zeros((200, 1))),
        (np.zeros((200, 2)), Y),
        (np.repeat(X[:20], 10, axis=0), np.repeat(Y[:20], 10, axis=0)),
        (X[:, :1], X[:, :1]),
        (X[:8], Y[:8]),
        (np.random.default_rng(0).standard_normal((30, 100)), Y[:30]),
    ],
    ids=[
        "constant target",
        "one point",
        "ten copies",
        "the target itself",
        "eight rows",
        "more columns than rows",
    ],
)
def test_hard_tables(points, target):
    n = len(target)
    found = run({"keep": points}, target, small(n))
    assert np.isfinite([found.best.mu, found.best.error]).all() and found.best.mu > 0
    machine = KernelRidge(found.best.kernel, lam=found.best.mu / n, offset=True).fit(points, target)
    assert np.isfinite(machine.predict(points)).all()


def test_likelihood_counts_among_few():
    assert likelihood_share(50) == 0.5 and likelihood_share(5000) == 0.0
