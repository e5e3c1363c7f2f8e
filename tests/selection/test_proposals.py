"""Where to look next: repeatable, new each time, and better than chance."""

import numpy as np
import pytest

from mercer.selection.dimensions import Space
from mercer.selection.proposals import Proposals, losses, spread
from mercer.selection.tuning import TuningTrial


def run(function, spec, count, seed):
    """Scores of so many trials."""
    space, trials = Space.of(spec), []
    for _ in range(count):
        u = Proposals(space, np.full(len(space.axes), 0.5), seed).point(trials, rows=10)
        if u is None:
            break
        params = space.params(u)
        trials.append(TuningTrial(params, -function(**params), (), 0.0, 10, tuple(u.tolist())))
    return trials


def branin(x, y):
    """Three equal valleys, 0 at the bottom of each."""
    bend = y - 5.1 / (4 * np.pi**2) * x * x + 5 / np.pi * x - 6
    return bend**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x) + 10 - 0.39788736


def valley(a, b):
    """Narrow, along a + b = 0 on logarithmic scales, and a wall beside it."""
    a, b = np.log10(a), np.log10(b)
    return 2 * (a + b) ** 2 + 0.05 * (a - 1) ** 2 + 1e4 * max(0, a - 1.5) ** 2


def options(k, m, **inner):
    """Three options, each with a parameter of its own."""
    own = {"a": 0.3, "b": 0.0, "c": 0.5}[k]
    return own + sum((np.log10(v) - 0.5) ** 2 for v in inner.values()) + 0.02 * (m - 4) ** 2


SURFACES = {
    "branin": (branin, {"x": (-5.0, 10.0), "y": (0.0, 15.0)}),
    "valley": (valley, {"a": (1e-3, 1e3), "b": (1e-3, 1e3)}),
    "options": (options, {"k": {v: {"s": (1e-2, 1e2)} for v in "abc"}, "m": (1, 20)}),
}


@pytest.mark.parametrize("name", SURFACES)
def test_better_than_random_search_with_as_many_trials(name):
    function, spec = SURFACES[name]
    ours = [-max(t.score for t in run(function, spec, 30, seed)) for seed in range(7)]
    space, rng = Space.of(spec), np.random.default_rng(0)
    # Random search costs nothing here, so its median is known well.
    points = rng.random((300, 30, len(space.axes)))
    random = [min(function(**space.params(u)) for u in some) for some in points]
    assert np.median(ours) < 0.5 * np.median(random)


def test_the_same_again():
    function, spec = SURFACES["options"]
    first, second, other = (run(function, spec, 25, seed) for seed in (3, 3, 4))
    assert [t.params for t in first] == [t.params for t in second] != [t.params for t in other]


def test_starts_where_it_is_told_and_never_repeats_itself():
    trials = run(lambda a, b: (a - 7) ** 2, {"a": (1, 9), "b": ["x", "y", "z"]}, 100, 0)
    assert trials[0].params == {"a": 5, "b": "y"}
    assert len(trials) == 27 == len({(t.params["a"], t.params["b"]) for t in trials})  # all there are


def test_an_optimum_at_the_edge_is_reached():
    trials = run(lambda a: -np.log10(a), {"a": (1e-3, 1e3)}, 25, 0)
    assert max(t.score for t in trials) == pytest.approx(3.0)


def test_failures_do_not_stop_it():
    def half(x, y):
        return np.nan if x > 0.5 else (x - 0.6) ** 2 + (y - 0.2) ** 2

    trials = run(half, {"x": (0.0, 1.0), "y": (0.0, 1.0)}, 30, 0)
    assert np.nanmin([-t.score for t in trials]) < 0.013  # 0.01 at the border
    assert sum(not t.ok for t in trials) < 15  # it learns where not to go
    assert not any(np.isfinite(t.score) for t in run(lambda x: np.nan, {"x": (0.0, 1.0)}, 12, 0))


def test_losses():
    scores = np.array([3.0, 1.0, np.nan, -1e9, 2.0])
    assert spread(scores) == 1.5
    z = losses(scores, 1.5)
    assert z[0] == 0 and z[2] == 1 and z[4] == 0.4 < z[1] < z[3] <= 1
    assert losses(np.array([np.nan]), 1.0).tolist() == [1.0]
    assert spread(np.array([5.0, 5.0])) == 1.0  # nothing to go by


def test_trials_with_fewer_rows_help():
    """The optimum lies at -1 with few rows, and a little to the left with many."""
    space, trials = Space.of({"a": (1e-3, 1e3)}), []
    for rows, best in ((10, 20), (30, 6)):
        shift = -1.0 if rows == 10 else -1.3
        for _ in range(best):
            u = Proposals(space, np.array([0.5]), 0).point(trials, rows, explore=rows == 10)
            score = -((np.log10(space.params(u)["a"]) - shift) ** 2)
            trials.append(TuningTrial({}, score, (), 0.0, rows, tuple(u.tolist())))
    assert max(t.score for t in trials if t.rows == 30) > -0.01
