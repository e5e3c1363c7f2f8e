"""The search for a kernel: what it finds where the answer is known."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import planted
from mercer import KernelRidge
from mercer.kernels import Gaussian, Laplacian
from mercer.selection import path
from mercer.selection.crew import ClusterCrew
from mercer.selection.crew import Crew as InThisThread
from mercer.selection.search import Clock
from mercer.tables.model.effort import Effort
from mercer.tables.model.families import FAMILIES, Candidate
from mercer.tables.model.fitting import fit_alone
from mercer.tables.model.forests import has_forest
from mercer.tables.model.search import KernelSearch, _best, likelihood_share, silent

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
        # And, if that is better, an average of three of them.
        ways = [t.kernel for t in found.trials if t.stage == "folds" and not t.kernel.startswith("average")]
        assert len(ways) == len(set(ways)) == 2 * effort.finalists + 2 and stages.count("last look") == 1
    else:
        # The finalists with length scales; two of them on more rows, and two with one width; an average.
        # There are not so many more rows that these would be tried again as they are.
        assert stages.count("length scales") == effort.finalists and stages.count("last look") == 4
        assert stages.count("average") == 1 and stages[-1] == "average"
    for trial in found.trials:
        assert trial.outliers in ("keep", "squash") and trial.seconds >= 0
        # What averages leave out nobody asks: they are judged on other rows.
        assert np.isnan(trial.loo) if trial.kernel.startswith("average") else 0 < trial.loo < 2
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


@pytest.mark.parametrize("name", ["rotated", "straight", "steps"])
def test_what_is_known_to_do_best_is_found(name):
    """A learned metric, length scales, a forest; where rows judge that took no part."""
    X, Y = getattr(planted, name)(600, 0)
    effort = Effort(150, 200, 300, 12, 6, 2, by_folds=False, trees=60, metrics=True)
    best = run({"keep": X}, Y, effort).best
    wanted = {"rotated": "learned metric", "straight": "", "steps": "forest"}[name]
    assert wanted in best.family and has_forest(best.kernel) == (name == "steps")
    # On fresh rows, against one width and λ that were chosen on all of these.
    there, truth = getattr(planted, name)(1000, 1)
    kernels = [Laplacian(s, norm=norm) for s in (1, 2, 4, 8) for norm in ("l1", "l2")]
    paths = [(k, path(KernelRidge(k, offset=True), X, Y)) for k in [*kernels, *map(Gaussian, (0.5, 1, 2, 4))]]
    kernel, tuned = min(paths, key=lambda p: p[1].loo_mse.min())

    def error(kernel, lam):
        machine = KernelRidge(kernel, lam=lam, offset=True, representation="full").fit(X, Y)
        return float(np.mean((machine.predict(there).reshape(-1, 1) - truth) ** 2))

    assert error(best.kernel, best.mu / len(X)) < 0.6 * error(kernel, tuned.best_lam)


def test_labels_along_a_direction():
    X, Y = planted.rotated(500, 0)
    codes = np.sign(Y)
    effort = Effort(150, 200, 300, 12, 6, 2, by_folds=False, metrics=True)
    best = run({"keep": X}, codes, effort, labels=True).best
    assert "learned metric" in best.family
    there, truth = planted.rotated(1000, 1)
    middle = codes.mean()

    def rate(kernel, mu):
        machine = KernelRidge(kernel, lam=mu / len(X), offset=False, representation="full")
        return float(
            np.mean(
                np.sign(machine.fit(X, codes - middle).predict(there).reshape(-1, 1) + middle)
                != np.sign(truth)
            )
        )

    one_width = min(rate(Laplacian(s), mu) for s in (1, 2, 4, 8) for mu in (0.01, 0.1, 1.0))
    assert rate(best.kernel, best.mu) < 0.5 * one_width


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


class UpAfter(InThisThread):
    """The clock is up once so many jobs were begun."""

    def __init__(self, clock, jobs):
        self.clock, self.jobs = clock, jobs

    def map(self, function, items, clock=None):
        return [self._one(function, item) for item in items]

    def _one(self, function, item):
        self.jobs -= 1
        made = function(item)
        if self.jobs <= 0:
            self.clock.seconds = 0.0
        return made


# One preparation, five other families, two with length scales, four on more rows, two on most, an average
# and three λ.
@pytest.mark.parametrize("jobs", [1, 2, 6, 7, 8, 9, 10, 12, 13, 14, 15, 16, 17, 19])
def test_the_clock_may_be_up_after_any_job(jobs, monkeypatch):
    monkeypatch.setattr("mercer.tables.model.search._FRESH_ROWS", 60)
    clock, effort = Clock(1e6), Effort(60, 70, 80, 4, 2, 2, by_folds=False, most_rows=130, racers=2)
    found = KernelSearch({"keep": X}, Y, effort, clock, 0, silent, crew=UpAfter(clock, jobs)).run()
    assert len(found.trials) == min(jobs, 18) and clock.ended == (jobs < 18)
    best = found.best
    assert best.mu > 0 and np.isfinite(best.error)
    assert np.isfinite(KernelRidge(best.kernel, lam=best.mu / len(X), offset=True).fit(X, Y).predict(X)).all()
    fresh = [t.fresh for t in found.trials if np.isfinite(t.fresh)]
    # Rows that took no part judge all stages; the best by them is not lost where the last one was cut short.
    if fresh:
        assert best.error <= min(fresh) / 0.995


def test_folds_that_are_cut_short_leave_what_was_screened():
    clock = Clock(1e6)

    class LateForFolds(KernelSearch):
        def refine(self, *asked, **more):
            clock.seconds = 0.0
            return super().refine(*asked, **more)

    found = LateForFolds({"keep": X}, Y, FEW, clock, 0, silent).run()
    assert clock.ended and {t.stage for t in found.trials} == {"screen"}
    assert found.best.stage == "screen" and found.best.loo == min(t.loo for t in found.trials)


def test_what_is_averaged_is_of_different_kinds():
    """Rounds of one metric are one kind, of which the best is asked."""
    X, Y = planted.rotated(400, 0)
    effort = Effort(80, 90, 100, 4, 2, 2, by_folds=False, metrics=True)
    search = KernelSearch({"keep": X}, Y, effort, Clock(1e6), 0, silent)
    metric = "laplacian, learned metric"
    errors = {"gaussian": 0.104, "laplacian l1": 0.103, metric: 0.1}
    tried = [replace(again("last look", 1.0, e), family=name) for name, e in errors.items()]
    tried += [replace(again("last look", 1.0, e), family=metric) for e in (0.101, 0.102)]
    [job] = search._average(tried)
    assert [(c.family, c.error) for c in job.args[0]] == [
        (metric, 0.1),
        ("laplacian l1", 0.103),
        ("gaussian", 0.104),
    ]


def again(stage, mu, error, fresh=None):
    return Candidate("keep", "a", Gaussian(1.0), mu, error, stage, fresh=error if fresh is None else fresh)


@pytest.mark.parametrize(
    "errors, expected",
    [
        ({1.0: 0.5, 0.25: 0.6, 4.0: 0.7}, 1.0),
        ({1.0: 0.5, 0.25: 0.4, 4.0: 0.3}, 4.0),
        ({1.0: 0.5, 0.25: 0.4999, 4.0: 0.51}, 1.0),  # not worth it
        ({1.0: 0.5}, 1.0),
        ({4.0: 0.2}, 1.0),  # the others were given up: nobody knows whether that is better
    ],
)
def test_another_shift_is_compared_with_the_one_there_was(errors, expected):
    tried = [again("last look", 1.0, 0.3), again("average", 1.0, 0.6)]
    tried += [again("λ on more rows", mu, error) for mu, error in errors.items()]
    assert _best(tried).mu == expected


def test_more_rows_say_more_of_the_shift(monkeypatch):
    """All rows but those that judge; each error recomputed."""
    monkeypatch.setattr("mercer.tables.model.search._FRESH_ROWS", 200)
    X, Y = surface(600, 3)
    effort = Effort(80, 80, 100, 4, 2, 2, by_folds=False, most_rows=350, average_rows=100, racers=2)
    found = run({"keep": X}, Y, effort)
    assert [t.rows for t in found.trials if t.stage == "more rows"] == [350] * 2
    tried = [t for t in found.trials if t.stage == "λ on more rows"]
    order = np.random.default_rng(0).permutation(600)
    rows, fresh, Z = order[:350], order[400:], (Y - Y.mean()) / Y.std()
    kernel, errors = found.best.kernel, {}
    K, k = kernel(X[rows]), kernel(X[fresh], X[rows])
    for factor in (1.0, 0.25, 4.0):
        mu = factor * found.best.mu
        predicted = k @ np.linalg.solve(K + mu * np.eye(350), Z[rows])
        errors[factor] = float(np.mean((predicted - Z[fresh]) ** 2))
    assert len(tried) == 3 and {t.rows for t in tried} == {350} and found.best.stage == "λ on more rows"
    assert found.best.error == pytest.approx(errors[1.0], rel=1e-6)
    assert found.best.error == min(t.fresh for t in tried) or tried[0].fresh == found.best.error


@ways
def test_copies_do_not_help(effort):
    """Noise, every row four times: nothing is found, as nothing is in the rows themselves."""
    rng = np.random.default_rng(2)
    points, noise = rng.standard_normal((50, 3)), rng.standard_normal((50, 1))
    four = np.repeat(np.arange(50), 4)
    found = run({"keep": points[four]}, noise[four], effort, units=four)
    assert all(t.loo > 0.8 for t in found.trials)
    assert not any(t.fresh < 0.5 for t in found.trials)  # on a dozen rows or so; NaN of those not judged


@pytest.mark.parametrize("size", [3, 40])
def test_units_judge_together(size):
    """None of those that judge is among the rows that are learned from."""
    n = 320
    X, Y = surface(n, 4)
    units = np.random.default_rng(1).permutation(np.arange(n) // size)
    effort = Effort(60, 80, 100, 3, 2, 2, by_folds=False, trees=5, most_rows=n, average_rows=90)
    search = KernelSearch({"keep": X}, Y, effort, Clock(1e6), 0, silent, units=units)
    assert not np.isin(units[search.order], units[search.fresh]).any() and len(search.fresh) >= 40
    np.testing.assert_array_equal(np.sort(np.concatenate([search.order, search.fresh])), np.arange(n))
    found = search.run()
    assert np.isfinite(found.best.error) and {"average", "last look"} <= {t.stage for t in found.trials}


@pytest.mark.parametrize("most_rows", [70, 130, 0], ids=["fewer at last", "more at last", "folds"])
def test_workers_elsewhere_find_the_same(cluster, monkeypatch, most_rows):
    """With those rows only that they need, which have other numbers there."""
    monkeypatch.setattr("mercer.tables.model.search._FRESH_ROWS", 80)
    X, Y = surface(400, 5)
    more = {"trees": 5, "metrics": True, "most_rows": most_rows, "average_rows": most_rows, "racers": 2}
    effort = Effort(60, 70, 80, 4, 2, 2, by_folds=not most_rows, **more)
    here, there = (
        run({"keep": X}, Y, effort, units=units, crew=crew, seconds=600.0)
        for units in (np.arange(400) // 2,)
        for crew in (InThisThread(), ClusterCrew(cluster))
    )
    stages = {t.stage for t in here.trials}
    assert ("λ on more rows" in stages) == (most_rows == 130) and ("folds" in stages) == (not most_rows)
    assert [(t.stage, t.kernel, t.rows) for t in here.trials] == [
        (t.stage, t.kernel, t.rows) for t in there.trials
    ]
    for a, b in zip(here.trials, there.trials, strict=True):
        assert b.fresh == pytest.approx(a.fresh, rel=1e-6, nan_ok=True)
    assert there.best.family == here.best.family and there.best.mu == pytest.approx(here.best.mu, rel=1e-6)
    np.testing.assert_allclose(there.best.kernel(X[:20]), here.best.kernel(X[:20]), rtol=1e-6, atol=1e-9)


def test_what_is_asked_for_judges():
    """Sizes of errors, where those are asked for: recomputed for the one that was chosen."""
    found = run(effort=MANY, metric="mae")
    order = np.random.default_rng(0).permutation(200)
    at, fresh = order[:150], order[150:]
    Z = (Y - Y.mean()) / Y.std()
    K = found.best.kernel(X[at]) + found.best.mu * np.eye(150)
    predicted = found.best.kernel(X[fresh], X[at]) @ np.linalg.solve(K, Z[at])
    assert found.best.error == pytest.approx(float(np.mean(np.abs(predicted - Z[fresh]))), rel=1e-6)


def test_screening_by_what_is_asked_for():
    """Of labels: squares of leave-one-out scores, and of wrong signs."""
    codes = np.where(np.quantile(Y, 0.7) < Y, 1.0, -1.0)
    search = KernelSearch({"keep": X}, codes, FEW, Clock(1e6), 0, silent, labels=True, metric="accuracy")
    [best] = search.widths("keep", "gaussian")
    rows = np.sort(search.order[: FEW.screen_rows])
    Z, middle = (codes - codes.mean()) / codes.std(), codes.mean()
    K = best.kernel(X[rows])

    def cost(mu):
        P = np.linalg.inv(K + mu * np.eye(len(rows)))
        scores = Z[rows] - P @ Z[rows] / np.diag(P)[:, None]
        wrong = (middle + codes.std() * scores > 0) != (codes[rows] > 0)
        return float(np.mean((scores - Z[rows]) ** 2 + 2 * wrong))

    assert best.error == pytest.approx(cost(best.mu), rel=1e-6) and best.mu >= 1e-4
    assert best.error <= min(cost(mu) for mu in 10.0 ** np.arange(-4, 2.1, 0.5)) * (1 + 1e-6)


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
    # As the last fit has it: of a kernel that is 0 everywhere solvers can't say how near they came.
    machine = KernelRidge(found.best.kernel, lam=found.best.mu / n, offset=True)
    fitted, _ = fit_alone(machine, points, target, 1.0)
    assert np.isfinite(fitted.predict(points)).all()


def test_likelihood_counts_among_few():
    assert likelihood_share(50) == 0.5 and likelihood_share(5000) == 0.0
