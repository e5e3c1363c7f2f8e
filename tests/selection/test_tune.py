"""Tuning: what it finds, that it finds the same again, and what becomes of trouble."""

import math
import pickle
import warnings

import numpy as np
import pytest
from scipy import stats
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold, KFold, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from mercer import KernelKMeans, KernelNeighborsClassifier, KernelPerceptron, KernelRidge, KernelSVC
from mercer.kernels import Gaussian, Laplacian, Linear, Matern, Polynomial
from mercer.selection import Choice, Integer, Real, Tuning, TuningTrial, path, tune
from mercer.selection.dimensions import Space

RNG = np.random.default_rng(0)
X = RNG.uniform(-3, 3, (60, 2))
Y = np.sin(2 * X[:, 0]) * X[:, 1] + 0.1 * RNG.standard_normal(60)


class Surface(BaseEstimator):
    """An estimator whose score is a known function of its parameters: 0 at a = 10, b = 0.1."""

    def __init__(self, a=1.0, b=1.0, fails=None, random_state=None):
        self.a = a
        self.b = b
        self.fails = fails
        self.random_state = random_state

    def fit(self, X, y=None):
        if self.fails is not None:
            self.fails(self)
        self.rows_ = len(X)
        return self

    def score(self, X, y=None):
        a, b = np.log10(self.a), np.log10(self.b)
        return -((a - 1) ** 2) - 3 * (a + b) ** 2


RANGES = {"a": (1e-3, 1e3), "b": (1e-3, 1e3)}


def settings(tuning):
    return [(dict(t.params), t.score, t.scores, t.rows, t.error) for t in tuning.trials]


# -- what it finds ------------------------------------------------------------------------------------


def test_finds_a_good_kernel():
    tuning = tune(KernelRidge(offset=False), X, Y, trials=25)
    assert isinstance(tuning, Tuning) and len(tuning.trials) == 25 and tuning.status == "finished"
    assert tuning.objective == "exact leave-one-out mean squared error" and tuning.minimised
    # As good as a fine grid over the same ranges, up to what the grid leaves to chance.
    grid = min(
        path(KernelRidge(Gaussian(s), offset=False), X, Y).loo_mse.min() for s in np.logspace(-1.5, 2.5, 60)
    )
    assert tuning.best_value < 1.01 * grid
    assert (
        tuning.best_value < 0.99 * path(KernelRidge(offset=False), X, Y).loo_mse.min()
    )  # the median heuristic's
    best = tuning.best_estimator
    assert np.mean(best.loo_residuals() ** 2) == pytest.approx(tuning.best_value, rel=1e-6)
    assert best.lam == tuning.best_params["lam"] and best.kernel.sigma == tuning.best_params["kernel__sigma"]


def test_starts_from_the_estimator_as_it_stands():
    first = tune(KernelRidge(Gaussian(0.7), offset=False), X, Y, trials=1).trials[0]
    assert first.params["kernel__sigma"] == pytest.approx(0.7)
    first = tune(Surface(a=5.0), X, Y, space={"a": (1.0, 100.0), "b": (2.0, 8.0)}, trials=1).trials[0]
    assert first.params == pytest.approx({"a": 5.0, "b": 5.0})  # b = 1 is not in the space


def test_better_than_random_search_with_as_many_trials():
    ours = [
        -tune(Surface(), X, Y, space=RANGES, trials=25, random_state=seed).best_score for seed in range(5)
    ]
    draws = 10 ** np.random.default_rng(0).uniform(-3, 3, (300, 25, 2))
    random = [min(-Surface(*draw).score(X) for draw in some) for some in draws]
    assert np.median(ours) < 0.2 * np.median(random)


def test_kernels_with_ranges_of_their_own():
    space = {"kernel": {Gaussian(): None, Matern(2.5): {"sigma": (0.1, 10.0)}, Linear(): {}}, "lam": None}
    tuning = tune(KernelRidge(offset=False), X, Y, space=space, trials=30)
    kinds = {type(t.params["kernel"]) for t in tuning.trials}
    assert kinds == {Gaussian, Matern, Linear}
    for t in tuning.trials:
        fitted = KernelRidge(offset=False).set_params(**t.params)
        assert (fitted.kernel == Linear()) or set(t.params) == {"kernel", "lam", "kernel__sigma"}
    assert space["kernel"].keys() == {Gaussian(): 0, Matern(2.5): 0, Linear(): 0}.keys()  # untouched
    assert not isinstance(tuning.best_estimator.kernel, Linear)


def test_any_estimator_splitter_and_scorer():
    iris, labels = load_iris(return_X_y=True)
    tree = DecisionTreeClassifier(random_state=0)
    space = {"max_depth": (1, 6), "min_samples_leaf": stats.randint(1, 20), "criterion": ["gini", "entropy"]}
    cv = KFold(4, shuffle=True, random_state=3)
    tuning = tune(tree, iris, labels, space=space, trials=12, cv=cv, scoring="balanced_accuracy")
    assert tuning.objective == "mean balanced_accuracy over 4 folds" and not tuning.minimised
    peer = cross_val_score(
        tree.set_params(**tuning.best_params), iris, labels, cv=cv, scoring="balanced_accuracy"
    )
    assert tuning.best_score == tuning.best_value == pytest.approx(peer.mean())
    assert tuning.best_trial.scores == pytest.approx(tuple(peer))
    assert all(type(t.params["max_depth"]) is int for t in tuning.trials)
    assert tuning.best_estimator.predict(iris).shape == (150,)


def test_groups():
    groups = np.arange(60) % 3
    tuning = tune(Ridge(), X, Y, space={"alpha": (1e-3, 1e3)}, trials=5, cv=GroupKFold(3), groups=groups)
    best = Ridge(**tuning.best_params)
    assert tuning.best_score == pytest.approx(
        cross_val_score(best, X, Y, cv=GroupKFold(3), groups=groups).mean()
    )


def test_pipelines():
    frame = X * [1.0, 1000.0]
    piped = Pipeline([("scale", StandardScaler()), ("machine", KernelRidge("gaussian", offset=False))])
    tuning = tune(piped, frame, Y, trials=20)
    assert set(tuning.best_params) == {"machine__kernel__sigma", "machine__lam"}
    assert tuning.objective == "mean r2 over 5 folds" and tuning.best_score > 0.8
    assert tuning.best_estimator.score(frame, Y) > 0.9
    assert piped.get_params()["machine"].kernel == "gaussian"  # left as it was


def test_other_machines():
    iris, labels = load_iris(return_X_y=True)
    for machine in (KernelSVC(), KernelPerceptron()):
        tuning = tune(machine, iris, labels, trials=8)
        assert tuning.best_score > 0.93 and tuning.objective == "mean accuracy over 5 folds"


def test_weights_are_repetitions():
    counts = np.where(np.arange(60) < 20, 3, 1)
    space = {"kernel__sigma": [0.3, 1.0, 3.0], "lam": [1e-3, 1e-2]}
    weighted = tune(KernelRidge(offset=False), X, Y, space=space, trials=3, sample_weight=counts)
    assert weighted.best_estimator.score(X, Y) > 0
    for t in weighted.trials:
        machine = KernelRidge(offset=False).set_params(**t.params).fit(X, Y, counts)
        assert -t.score == pytest.approx(np.average(machine.loo_residuals() ** 2, weights=counts))


# -- once more, the same ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "machine, space", [(KernelRidge(offset=False), None), (Surface(), RANGES)], ids=["ridge", "any"]
)
def test_with_trials_the_result_is_a_function_of_the_seed(machine, space):
    one, two, other = (
        tune(machine, X, Y, space=space, trials=15, random_state=s, refit=False) for s in (1, 1, 2)
    )
    assert settings(one) == settings(two) and one.best_params == two.best_params
    assert settings(one) != settings(other)


def test_estimators_without_a_seed_get_one():
    tuning = tune(Surface(), X, Y, space=RANGES, trials=2, random_state=7)
    assert tuning.best_estimator.random_state == 7
    assert tune(Surface(random_state=3), X, Y, space=RANGES, trials=2).best_estimator.random_state == 3


def stop_after(count):
    def progress(text, done):
        if int(text.split()[0]) == count:
            raise KeyboardInterrupt

    return progress


def test_an_interrupted_search_returns_what_it_has_and_goes_on():
    whole = tune(Surface(), X, Y, space=RANGES, trials=20)
    with pytest.warns(RuntimeWarning, match="interrupted after 9 trials: here is the best so far"):
        part = tune(Surface(), X, Y, space=RANGES, trials=20, progress=stop_after(9))
    assert part.status == "interrupted" and settings(part) == settings(whole)[:9]
    assert part.best_estimator.a == part.best_params["a"]
    part = pickle.loads(pickle.dumps(part))
    rest = tune(Surface(), X, Y, space=RANGES, trials=20, resume=part)
    assert rest.status == "finished" and settings(rest) == settings(whole)


def test_nothing_found_is_nothing_to_return():
    def interrupt(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tune(Surface(fails=interrupt), X, Y, space=RANGES, trials=3)


@pytest.mark.parametrize(
    "changed, complaint",
    [
        ({"scoring": lambda m, X, y: 1.0}, "the objective was 'mean score over 5 folds'"),
        ({"space": {"a": (0.1, 1.0)}}, "the space was"),
        ({"X": X[:50], "y": Y[:50]}, "the number of rows was 60 and is 50"),
    ],
)
def test_resuming_another_question_is_refused(changed, complaint):
    before = {"X": X, "y": Y, "space": RANGES, "trials": 2}
    first = tune(Surface(), **before)
    with pytest.raises(ValueError, match=f"resume needs the same arguments again, but {complaint}"):
        tune(Surface(), **{**before, **changed}, resume=first)


# -- limits -------------------------------------------------------------------------------------------


def test_the_clock_stops_it():
    tuning = tune(Surface(), X, Y, space=RANGES, minutes=1e-11)
    assert tuning.status == "out of time" and len(tuning.trials) == 1  # one there always is


def test_a_space_that_is_used_up_ends_it():
    tuning = tune(Surface(), X, Y, space={"a": [1.0, 10.0, 100.0]}, trials=50)
    assert sorted(t.params["a"] for t in tuning.trials) == [1.0, 10.0, 100.0]
    assert tuning.best_params == {"a": 1.0} and tuning.status == "finished"
    only = tune(KernelRidge(Linear(), offset=False), X, Y, trials=50)  # λ alone, which takes one trial
    assert len(only.trials) == 1 and only.best_params["lam"] == pytest.approx(
        path(KernelRidge(Linear(), offset=False), X, Y, 100).best_lam
    )


def test_many_rows_are_sampled():
    rows = []
    Z, z = np.zeros((10_000, 1)), np.zeros(10_000)
    seen = Surface(fails=lambda machine: None)
    tuning = tune(seen, Z, z, space=RANGES, trials=30, cv=2, progress=lambda text, done: rows.append(text))
    assert tuning.rungs == (3333, 10_000)
    counts = [sum(t.rows == r for t in tuning.trials) for r in tuning.rungs]
    assert counts == [20, 10]
    assert tuning.best_trial.rows == 10_000 and tuning.best_estimator.rows_ == 10_000
    assert tuning.table()[0]["rows"] == 10_000


@pytest.mark.parametrize(
    "wrong, complaint",
    [
        ({"trials": 0}, "trials is a positive number"),
        ({"trials": 2.5}, "trials is a positive number"),
        ({"minutes": -1}, "minutes is a positive number"),
        ({"random_state": None}, "random_state is a nonnegative integer"),
        ({"space": {"alpha": (0.1, 1.0)}}, "Invalid parameter 'alpha'"),
        ({"space": {"a": 3.0}}, "space.'a'.: expected"),
        ({"space": None}, "Surface has no ranges by default"),
        ({"cv": 1000}, "n_splits=1000"),
    ],
)
def test_mistakes_are_told_at_once(wrong, complaint):
    def never(_):
        raise AssertionError("nothing should be fitted")

    with pytest.raises(ValueError, match=complaint):
        tune(Surface(fails=never), X, Y, **{"space": RANGES, "trials": 3, **wrong})


def test_progress():
    told = []
    tune(KernelRidge(offset=False), X, Y, trials=5, progress=lambda text, done: told.append((text, done)))
    assert [done for _, done in told] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
    assert told[0][0].startswith("1 trial, best exact leave-one-out mean squared error ")


# -- trouble ------------------------------------------------------------------------------------------


def large_a_fails(machine):
    if machine.a > 20:
        raise np.linalg.LinAlgError("no factor")


def test_failing_trials_are_recorded():
    tuning = tune(Surface(fails=large_a_fails), X, Y, space=RANGES, trials=25)
    failed = [t for t in tuning.trials if not t.ok]
    assert failed and all(t.params["a"] > 20 and t.error == "LinAlgError: no factor" for t in failed)
    assert all(math.isnan(t.score) for t in failed) and tuning.best_score > -0.3
    assert tuning.table()[-1]["error"] == "LinAlgError: no factor"


def test_only_failing_trials_are_an_error():
    def fails(_):
        raise RuntimeError("out of ideas")

    with pytest.raises(
        ValueError, match="all 4 trials failed; the first: RuntimeError: out of ideas"
    ) as caught:
        tune(Surface(fails=fails), X, Y, space=RANGES, trials=4)
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_a_last_fit_that_fails_does_not_lose_the_search():
    def many(machine):
        many.calls += 1
        if many.calls > 10:  # 2 trials of 5 folds
            raise MemoryError("too large")

    many.calls = 0
    with pytest.warns(RuntimeWarning, match="could not be fitted to all rows .MemoryError: too large"):
        tuning = tune(Surface(fails=many), X, Y, space=RANGES, trials=2)
    assert tuning.best_estimator is None and len(tuning.trials) == 2
    assert tune(Surface(), X, Y, space=RANGES, trials=2, refit=False).best_estimator is None


# -- what it says -------------------------------------------------------------------------------------


def result(trials, space, **changed):
    best = max((t for t in trials if t.ok), key=lambda t: t.score)
    given = {"objective": "mean r2 over 5 folds", "minimised": False, "status": "finished", "rungs": (60,)}
    return Tuning(
        dict(best.params),
        best.score,
        None,
        tuple(trials),
        space=Space.of(space),
        random_state=0,
        **{**given, **changed},
    )


def test_edges():
    space = {"a": (1e-3, 1e3), "n": (1, 9), "k": ["x", "y"], "m": [1, 2, 4]}

    def edges(**params):
        point = tuple(Space.of(space).unit(params))
        return result([TuningTrial(params, 1.0, (), 0.1, 60, point)], space).edges

    assert edges(a=1.0, n=5, k="x", m=2) == {}
    assert edges(a=990.0, n=1, k="x", m=4) == {"a": "upper", "n": "lower", "m": "upper"}
    assert edges(a=1e-3, n=9, k="y", m=1) == {"a": "lower", "n": "upper", "m": "lower"}
    noiseless = tune(
        KernelRidge(Gaussian(1.0), offset=False),
        X,
        X[:, 0],
        space={"lam": Real(1e-3, 1e-1, log=True)},
        trials=1,
    )
    assert noiseless.edges == {"lam": "lower"}
    assert repr(noiseless).endswith("lam=0.001; lam is at the lower edge of its range>")


def test_a_tuning_prints_in_one_line():
    point = (0.25, 0.5, 0.5)
    trials = [
        TuningTrial(
            {"kernel": Laplacian(), "kernel__sigma": 1.23456, "lam": 3e-5}, 0.98765, (), 0.1, 60, point
        ),
        TuningTrial({"kernel": Linear(), "lam": 1.0}, math.nan, (), 0.1, 60, error="ValueError: no"),
    ]
    space = {"kernel": {Laplacian(): {"sigma": (0.1, 10.0)}, Linear(): {}}, "lam": (1e-9, 1.0)}
    tuning = result(trials, space, rungs=(60, 180), status="out of time")
    assert repr(tuning) == (
        "<2 trials, out of time; mean r2 over 5 folds 0.9877 on 60 of 180 rows "
        "at kernel=Laplacian(), kernel__sigma=1.235, lam=3e-05>"
    )
    assert tuning.table() == [
        {"score": 0.98765, "rows": 60, "seconds": 0.1, "kernel": Laplacian(), "kernel__sigma": 1.23456,
         "lam": 3e-5, "error": None},
        {"score": pytest.approx(math.nan, nan_ok=True), "rows": 60, "seconds": 0.1, "kernel": Linear(),
         "kernel__sigma": None, "lam": 1.0, "error": "ValueError: no"},
    ]  # fmt: skip


def test_scores_of_errors_are_negative_and_values_are_not():
    tuning = tune(KernelRidge(offset=False), X, Y, trials=3)
    assert tuning.best_score < 0 < tuning.best_value == -tuning.best_score
    assert [row["score"] for row in tuning.table()] == sorted(-t.score for t in tuning.trials)


def test_quiet_where_all_is_well():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tune(
            KernelRidge(offset=False),
            X.tolist(),
            Y.tolist(),
            space={"kernel__sigma": Integer(1, 5), "lam": Choice([0.1])},
            trials=9,
        )


# -- what has no meaning is not varied, and no score is made up ------------------------------------------


@pytest.mark.parametrize(
    "kernel, weights, varied",
    [
        (Gaussian(), "uniform", set()),
        (Matern(1.5, 1.0).scaled([1.0, 2.0]), "uniform", set()),
        (2.0 * Gaussian(1.0) + 3.0, "uniform", set()),
        (Gaussian(), "distance", {"kernel__sigma"}),
        (Polynomial(2, 1.0), "uniform", {"kernel__c"}),
        (Gaussian(1.0) + Polynomial(2, 1.0), "uniform", {"kernel__left__sigma", "kernel__right__c"}),
    ],
    ids=["gaussian", "matern", "scaled", "distance", "polynomial", "sum"],
)
def test_neighbours_vary_what_changes_who_is_nearest(kernel, weights, varied):
    X = np.random.default_rng(0).standard_normal((40, 2))
    y = np.sign(X[:, 0] * X[:, 1])
    machine = KernelNeighborsClassifier(kernel, n_neighbors=3, weights=weights)
    found = tune(machine, X, y, trials=6)
    assert set(found.space.names) == varied | {"n_neighbors"}
    automatic = KernelNeighborsClassifier(kernel, weights=weights)
    if varied:
        assert set(tune(automatic, X, y, trials=2).space.names) == varied
    else:
        with pytest.raises(ValueError, match="nothing to tune by default.*nearest does not depend"):
            tune(automatic, X, y, trials=2)


@pytest.mark.parametrize("machine", [KernelKMeans(n_clusters=2), KMeans(2)], ids=["ours", "theirs"])
def test_an_energy_is_no_score(machine):
    X = np.r_[np.random.default_rng(0).standard_normal((20, 2)), np.full((20, 2), 9.0)]
    space = {"n_clusters": (2, 5)}
    with pytest.raises(ValueError, match="energy falls with every further cluster.*scoring"):
        tune(Pipeline([("scale", StandardScaler()), ("k", machine)]), X, space={"k__n_clusters": (2, 5)})
    with pytest.raises(ValueError, match="energy falls with every further cluster.*scoring"):
        tune(machine, X, space=space, trials=2)
    found = tune(machine, X, np.repeat([0, 1], 20), space=space, scoring="adjusted_rand_score", trials=4)
    assert found.best_params == {"n_clusters": 2}
