"""Few rows: what wins where it is known what should, and that the folds are honest."""

from functools import cache, partial

import numpy as np
import pytest

import planted
from mercer import KernelRidge
from mercer.selection.search import Clock
from mercer.tables.model import by_folds
from mercer.tables.model.by_folds import Folded, round_one
from mercer.tables.model.effort import Effort
from mercer.tables.model.families import FAMILIES, Candidate
from mercer.tables.model.forests import has_forest, without_forests
from mercer.tables.model.search import KernelSearch, silent

EFFORT = Effort(120, 160, 240, 8, 4, 2, by_folds=True, trees=60, metrics=True)


def search_of(problem, n=240, effort=EFFORT, **more):
    X, Y = problem(n, 0)
    return KernelSearch({"keep": X}, Y, effort, Clock(1e6), 0, silent, **more)


@cache
def found(name):
    return search_of(getattr(planted, name)).run()


def judged(run):
    return {t.kernel: t.fresh for t in run.trials if t.stage == "folds"}


def error(kernel, mu, problem, n=240):
    """On fresh rows, as a share of the variance, of a machine of these rows."""
    (X, Y), (fresh, truth) = problem(n, 0), problem(1000, 1)
    machine = KernelRidge(kernel, lam=mu / n, offset=True, representation="full").fit(X, Y)
    return float(np.mean((machine.predict(fresh).reshape(-1, 1) - truth) ** 2) / truth.var())


def test_turned_features_are_found_by_a_learned_metric():
    ways = judged(found("rotated"))
    widths = min(v for way, v in ways.items() if way.endswith(", one width") and way.count(",") == 1)
    assert "learned metric" in min(ways, key=ways.get) and min(ways.values()) < 0.2 * widths
    best = found("rotated").best
    assert "learned metric" in best.family and best.stage == "last look"
    assert error(best.kernel, best.mu, planted.rotated) < 0.05


def test_features_of_their_own_are_found_by_length_scales():
    ways = judged(found("straight"))
    assert ways["laplacian l1"] < 0.8 * ways["laplacian l1, one width"]
    assert min(ways.values()) < 0.1 * min(v for way, v in ways.items() if "learned metric" in way)
    best = found("straight").best
    assert not has_forest(best.kernel) and error(best.kernel, best.mu, planted.straight) < 0.05


def test_steps_are_found_by_a_forest():
    ways = judged(found("steps"))
    assert "forest" in min(ways, key=ways.get)
    assert ways[by_folds._FOREST] < 0.7 * min(v for way, v in ways.items() if "forest" not in way)
    best = found("steps").best
    assert has_forest(best.kernel)
    without = error(without_forests(best.kernel), best.mu, planted.steps)
    assert error(best.kernel, best.mu, planted.steps) < 0.7 * without


@pytest.mark.parametrize("name", ["rotated", "straight", "steps"])
def test_what_the_folds_say_is_true_of_fresh_rows(name):
    """Within their noise: nobody has seen the rows that judge, not even the forest or the metric."""
    run = found(name)
    fresh = error(run.best.kernel, run.best.mu, getattr(planted, name))
    said = min(judged(run).values())
    assert 0.4 * said < fresh < 1.5 * said  # all rows know more than two thirds of them


def test_noise_is_not_explained():
    X = np.random.default_rng(3).standard_normal((90, 4))
    Y = np.random.default_rng(4).standard_normal((90, 1))
    effort = Effort(90, 90, 90, 6, 4, 2, by_folds=True, trees=40, metrics=True, repeats=2)
    run = KernelSearch({"keep": X}, Y, effort, Clock(1e6), 0, silent).run()
    assert min(judged(run).values()) > 0.85
    assert run.best.mu > 0 and np.isfinite(run.best.mu)


def folded(problem=planted.straight, n=60, effort=None, **more):
    effort = effort or Effort(60, 60, 60, 3, 2, 2, by_folds=True)
    search = search_of(problem, n, effort, **more)
    tried = [c for name in ("laplacian l1", "gaussian") for c in search.widths("keep", name)]
    return Folded(search, tried, None)


def test_one_way_judged_by_hand():
    """Trained on the others, judged on the part, in every fold."""
    job = folded()
    search, rows = job.search, job.search.order[:60]
    made = {c.family: c for c in job()}
    way = "laplacian l1, one width"
    errors = []
    for test in np.array_split(rows, 3):
        train = np.setdiff1d(rows, test)
        c = job._ways(train, frozenset({way}))[way]
        X = search.points["keep"]
        K = c.kernel(X[train], X[train]) + c.mu * np.eye(len(train))
        S = c.kernel(X[test], X[train]) @ np.linalg.solve(K, search.Y[train])
        errors.append(np.mean((S - search.Y[test]) ** 2))
    assert made[way].error == made[way].fresh == pytest.approx(np.mean(errors), rel=1e-6)


@pytest.mark.parametrize("repeats", [1, 3])
def test_every_row_judges_as_often_as_every_other(repeats):
    effort = Effort(60, 60, 50, 3, 2, 2, by_folds=True, repeats=repeats)
    job = folded(effort=effort)
    rows = job.search.order[:50]
    tests = job._tests(rows)
    assert len(tests) == 3 * repeats
    np.testing.assert_array_equal(np.sort(np.concatenate(tests)), np.sort(np.repeat(rows, repeats)))
    assert len({tuple(test) for test in tests}) == len(tests)  # not the same folds again


@pytest.mark.parametrize("repeats", [1, 3])
def test_units_judge_together(repeats):
    units = np.arange(60) // 4
    effort = Effort(60, 60, 60, 3, 2, 2, by_folds=True, repeats=repeats)
    job = folded(effort=effort, units=units)
    rows = job.search.order[:60]
    tests = job._tests(rows)
    assert len(tests) == 3 * repeats
    for test in tests:
        assert not np.isin(units[test], units[np.setdiff1d(rows, test)]).any()
    np.testing.assert_array_equal(np.sort(np.concatenate(tests)), np.sort(np.repeat(rows, repeats)))


def test_only_what_is_asked_for_is_made_with_what_it_is_made_of():
    job = folded(effort=Effort(60, 60, 60, 3, 2, 2, by_folds=True, trees=10))
    rows = job.search.order[:60]
    every = job._ways(rows)
    for way in every:
        made = job._ways(rows, frozenset({way}))
        assert way in made and made[way].mu == every[way].mu and made[way].family == way
        points = job.search.points["keep"]
        np.testing.assert_array_equal(made[way].kernel(points), every[way].kernel(points))
    assert set(job._ways(rows, frozenset({"gaussian, one width"}))) == {"gaussian, one width"}


def test_the_clock_ends_a_way_in_all_rows(monkeypatch):
    """Nothing is left of the job then, and what was screened remains."""
    job = folded()

    def none(self, rows, only=None):
        return {} if only is not None else whole(self, rows)

    whole = Folded._ways
    monkeypatch.setattr(Folded, "_ways", none)
    assert job() == []


def test_whose_metric_is_learned():
    tried = [Candidate("keep", name, family.base, 1.0) for name, family in FAMILIES.items()]
    assert round_one(tried, "laplacian").family == "laplacian" and round_one(tried[:1], "laplacian") is None


def test_two_units_are_not_cut_in_folds():
    """A fold would learn from one unit, and leave-one-out would have nothing left."""
    X, Y = planted.straight(40, 0)
    effort = Effort(40, 40, 40, 3, 2, 2, by_folds=True, metrics=True)
    make = partial(KernelSearch, {"keep": X}, Y, effort, Clock(1e6), 0, silent)
    two, three = (make(units=np.arange(40) % k).run() for k in (2, 3))
    assert {t.stage for t in two.trials} == {"screen"} and two.best.stage == "screen"
    assert three.best.stage == "last look" and np.isfinite([two.best.mu, three.best.mu]).all()
