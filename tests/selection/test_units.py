"""Equal rows and groups in selection: left out together, and never on both sides of a fold."""

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold
from sklearn.tree import DecisionTreeRegressor

from mercer import KernelLogistic, KernelRidge
from mercer.kernels import Gaussian
from mercer.selection import fold_path, loo, path, refine, tune

RNG = np.random.default_rng(0)
POINTS, NOISE, COIN = RNG.standard_normal((40, 2)), RNG.standard_normal(40), RNG.integers(0, 2, 40)
FOUR = RNG.permutation(np.repeat(np.arange(40), 4))
X, Y, LABELS = POINTS[FOUR], NOISE[FOUR], COIN[FOUR]
# Every group is a cloud of its own, and has a target of its own.
GROUP = RNG.permutation(np.repeat(np.arange(20), 5))
CLOUDS = POINTS[GROUP] + 0.01 * RNG.standard_normal((100, 2))
VARIANCE = np.var(NOISE)


def test_the_path_of_copies_is_that_of_the_rows():
    """n copies with λ are the rows themselves with λ, and so is what is left of them."""
    alone, copied = (
        path(KernelRidge(Gaussian(1.0), offset=False), x, y, [1e-3, 0.1])
        for x, y in ((POINTS, NOISE), (X, Y))
    )
    np.testing.assert_allclose(copied.loo_residuals, alone.loo_residuals[:, FOUR], rtol=1e-6)
    machine = KernelRidge(Gaussian(1.0), lam=0.1, offset=False)
    np.testing.assert_allclose(loo(machine, X, Y), alone.loo_residuals[1][FOUR], rtol=1e-6)


def test_noise_is_not_explained_by_its_copies():
    machine = KernelRidge(Gaussian(1.0), lam=1e-3, offset=False)
    assert path(machine, X, Y).loo_mse.min() > 0.8 * VARIANCE
    assert refine(machine, X, Y).loo_mse > 0.8 * VARIANCE
    tuned = tune(machine, X, Y, trials=8)
    assert tuned.best_value > 0.8 * VARIANCE and tuned.objective.endswith("left out together")
    scored = tune(KernelLogistic(Gaussian(1.0), lam=1e-3, offset=False), X, LABELS, trials=4)
    assert scored.best_value < 0.75


def test_nor_by_its_group():
    y, machine = NOISE[GROUP], KernelRidge(Gaussian(0.3), lam=1e-3, offset=False)
    for found in (
        lambda groups: path(machine, CLOUDS, y, groups=groups).loo_mse.min(),
        lambda groups: np.mean(loo(machine, CLOUDS, y, groups=groups) ** 2),
        lambda groups: refine(machine, CLOUDS, y, max_iter=3, groups=groups).loo_mse,
        lambda groups: tune(machine, CLOUDS, y, trials=3, groups=groups).best_value,
        lambda groups: 1 - tune(machine, CLOUDS, y, trials=2, scoring="r2", groups=groups).best_value,
        lambda groups: 1 - tune(machine, CLOUDS, y, trials=2, cv=4, groups=groups).best_value,
        lambda groups: 1 - fold_path(machine, CLOUDS, y, [1e-3], cv=4, groups=groups).scores.mean(),
    ):
        assert found(None) < 0.3 < 0.6 < found(GROUP)


def test_folds_of_the_path_hold_copies_together():
    seen = []

    def watched(machine, there, truth):
        seen.append(set(np.round(there[:, 0], 12)))
        return 0.0

    fold_path(KernelRidge(Gaussian(1.0), offset=False), X, Y, [0.1], cv=5, scoring=watched)
    assert len(seen) == 5 and len(set.union(*seen)) == sum(map(len, seen)) == 40


def test_splitters_do_as_they_like():
    machine, y = KernelRidge(Gaussian(0.3), lam=1e-3, offset=False), NOISE[GROUP]
    kept = fold_path(machine, CLOUDS, y, [1e-3], cv=GroupKFold(4), groups=GROUP).scores.mean()
    mixed = fold_path(machine, CLOUDS, y, [1e-3], cv=KFold(4, shuffle=True, random_state=0)).scores.mean()
    assert kept < 0.4 < 0.8 < mixed
    tree = DecisionTreeRegressor()
    asked = tune(tree, X, Y, space={"max_depth": [3]}, trials=1, cv=KFold(4, shuffle=True, random_state=0))
    assert asked.best_value > tune(tree, X, Y, space={"max_depth": [3]}, trials=1, cv=4).best_value


def test_fewer_units_than_folds():
    few = np.repeat(np.arange(3), 20)
    found = tune(KernelRidge(offset=False), POINTS[few], NOISE[few], trials=2, scoring="r2")
    assert found.objective == "mean r2 over 3 folds"
    with pytest.raises(ValueError, match="all rows are equal"):
        fold_path(KernelRidge(offset=False), np.full((6, 1), 0.5), np.arange(6.0), [0.1])
    with pytest.raises(ValueError, match="leaving a group out needs two"):
        loo(KernelRidge(offset=False), CLOUDS[:6], NOISE[:6], groups=np.zeros(6))
