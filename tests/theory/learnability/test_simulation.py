"""Simulations: the shortcuts draw what the learners would learn, and bounds hold."""

import numpy as np
import pytest
from scipy.stats import binomtest, ks_2samp

from mercer.theory.learnability import (
    BooleanCube,
    Box,
    Conjunction,
    HalfSpaces,
    Interval,
    Intervals,
    Rectangles,
    Sampled,
    UniformBox,
    UserClass,
    sample_size,
    simulate,
)


def really_learned(world, error, m, trials):
    rng = np.random.default_rng(1)
    out = []
    for _ in range(trials):
        X = world.sample(m, rng)
        out.append(error(world.H.learn(X, world.target(X))))
    return np.array(out)


@pytest.mark.parametrize("m", [1, 2, 5, 40])
def test_rectangles_are_drawn_as_they_are_learned(m):
    world = UniformBox([0.1, 0.2], [0.9, 0.7])
    target = world.target

    def exact(h):
        overlap = np.clip(np.minimum(h.high, target.high) - np.maximum(h.low, target.low), 0, None)
        return target.volume - overlap.prod()

    real = really_learned(world, exact, m, 600)
    drawn = simulate(world, m, epsilon=0.1, trials=3000, random_state=0).errors[0]
    assert ks_2samp(real, drawn).pvalue > 0.001


@pytest.mark.parametrize("negations", [True, False])
@pytest.mark.parametrize("m", [1, 4, 15])
def test_conjunctions_are_drawn_as_they_are_learned(m, negations):
    p = np.array([0.5, 0.9, 0.7, 0.2, 0.95])
    world = BooleanCube(5, (1, -4) if negations else (1, 3), p, negations)
    cube = np.array(np.meshgrid(*[[0, 1]] * 5)).reshape(5, -1).T
    weights = np.where(cube, p, 1 - p).prod(axis=1)
    real = really_learned(world, lambda h: weights[h(cube) != world.target(cube)].sum(), m, 800)
    drawn = simulate(world, m, epsilon=0.1, trials=4000, random_state=0).errors[0]
    assert drawn.mean() == pytest.approx(real.mean(), abs=4 * real.std() / 800**0.5 + 1e-3)
    for level in np.unique(real.round(6))[:-1]:
        share = np.mean(drawn > level + 1e-9)
        assert binomtest(int((real > level + 1e-9).sum()), 800, min(share + 1e-12, 1)).pvalue > 1e-4


@pytest.mark.parametrize("epsilon, delta", [(0.1, 0.05), (0.05, 0.2), (0.2, 0.01)])
def test_bounds_hold_at_the_stated_m(epsilon, delta):
    rng = np.random.default_rng(0)
    for n in (3, 10, 40):
        for negations in (True, False):
            size = int(rng.integers(0, n))
            literals = (rng.choice(n, size, replace=False) + 1) * (
                rng.choice([-1, 1], size) if negations else 1
            )
            for p in (0.5, 1 - epsilon / n, 1 - 2 * epsilon / n, rng.uniform(size=n)):
                world = BooleanCube(n, literals.tolist(), p, negations)
                m = sample_size(world.H, epsilon=epsilon, delta=delta)
                found = simulate(world, m, epsilon, trials=2000, random_state=rng)
                assert found.rates[0] <= delta and found.bounds[0] <= delta
    for d in (1, 2, 5):
        world = UniformBox([0.0] * d, [1.0] * d)
        m = sample_size(Rectangles(d), epsilon=epsilon, delta=delta)
        assert simulate(world, m, epsilon, trials=5000, random_state=0).rates[0] <= delta


def test_rates_fall_under_their_bounds_everywhere():
    found = simulate(UniformBox([0, 0], [1, 1]), range(1, 200, 7), 0.1, trials=2000, random_state=0)
    assert (found.lower <= found.bounds).all()
    assert (found.lower <= found.rates).all() and (found.rates <= found.upper).all()
    assert (np.diff(found.rates) <= 0.03).all() and found.rates[0] == 1


def test_intervals_of_rates_are_those_of_scipy():
    found = simulate(UniformBox([0, 0], [1, 1]), [1, 40, 60, 150], 0.1, trials=300, random_state=0)
    for i, rate in enumerate(found.rates):
        theirs = binomtest(round(rate * 300), 300).proportion_ci(method="exact")
        assert (found.lower[i], found.upper[i]) == pytest.approx((theirs.low, theirs.high))


def test_any_class_can_be_simulated():
    told = []
    world = Sampled(Intervals(), Interval(0.2, 0.6), lambda n, rng: rng.uniform(size=n), test=500)
    found = simulate(world, [10, 40], 0.1, trials=30, random_state=0, progress=lambda *at: told.append(at))
    assert told == [(i + 1, 60) for i in range(60)]
    assert found.errors.shape == (2, 30) and found.errors[1].mean() < found.errors[0].mean()
    plane = Sampled(
        HalfSpaces(2),
        HalfSpaces(2).from_numbers([1, 2, 0.1]),
        lambda n, rng: rng.standard_normal((n, 2)),
        300,
    )
    assert simulate(plane, 60, 0.1, trials=5, random_state=0).rates[0] <= 0.4


def test_progress_and_seeds():
    told = []
    world = UniformBox([0.2], [0.8])
    a = simulate(world, [5, 10, 20], 0.1, random_state=7, progress=lambda *at: told.append(at))
    b = simulate(world, [5, 10, 20], 0.1, random_state=7)
    np.testing.assert_array_equal(a.errors, b.errors)
    assert told == [(1, 3), (2, 3), (3, 3)]
    assert "m = 20: error above 0.1 in" in str(a)


def test_large_samples_cost_nothing():
    found = simulate(UniformBox([0, 0], [1, 1]), 10**12, 1e-6, trials=10_000, random_state=0)
    assert found.rates[0] == 0 and found.errors.max() < 1e-9


def test_without_a_bound():
    def nothing(X, y):
        return Interval(-1, -0.5)

    world = Sampled(UserClass(nothing), Interval(-1, -0.5), lambda n, rng: rng.uniform(size=n), test=10)
    found = simulate(world, 5, 0.1, trials=3, random_state=0)
    assert np.isnan(found.bounds).all() and found.rates[0] == 0


@pytest.mark.parametrize(
    "world",
    [
        UniformBox([0.5], [0.2]),
        UniformBox([0, 0], [1]),
        UniformBox([-1], [1]),
        BooleanCube(3, (4,)),
        BooleanCube(3, (1, -1)),
        BooleanCube(3, (-1,), negations=False),
        BooleanCube(3, p=1.5),
        BooleanCube(3, p=[0.5]),
        BooleanCube(0),
    ],
    ids=repr,
)
def test_impossible_worlds(world):
    with pytest.raises(ValueError):
        simulate(world, 10, 0.1)


def test_what_is_refused():
    with pytest.raises(ValueError, match="epsilon"):
        simulate(UniformBox([0], [1]), 10, 0)
    with pytest.raises(ValueError, match="m must be"):
        simulate(UniformBox([0], [1]), 0, 0.1)
    assert BooleanCube(3, (1, 2)).target == Conjunction((1, 2))
    assert UniformBox([0], [1]).target == Box((0.0,), (1.0,))


def test_no_world_and_no_sizes():
    with pytest.raises(TypeError, match="UniformBox"):
        simulate(Rectangles(2), m=5, epsilon=0.1)
    with pytest.raises(ValueError, match="one number of examples"):
        simulate(UniformBox([0], [1]), m=[], epsilon=0.1)
