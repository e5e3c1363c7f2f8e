"""One example at a time: dicts of features, labels and keys that turn up later, and river itself."""

import pickle
import random
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import mercer.online
from mercer import OnlineKernelClassifier, OnlineKernelRegressor
from mercer.kernels import Gaussian, Linear, Spectrum, columns
from mercer.losses import Poisson
from mercer.online import (
    AdaptiveStep,
    AtRandom,
    Budget,
    Forgetron,
    Merge,
    Oldest,
    PegasosStep,
    PerceptronLoss,
    PowerStep,
    Projection,
    RecursiveStep,
    Smallest,
    Stopping,
    Unlimited,
    Window,
    forgetron,
    krls,
    norma,
    passive_aggressive,
    pegasos,
    perceptron,
    projectron,
)
from mercer.representations import Nystrom

K = Gaussian(1.0)
RNG = np.random.default_rng(0)
ROWS = RNG.uniform(-2, 2, (80, 2))
DICTS = [{"a": a, "b": b} for a, b in ROWS.tolist()]
Y = np.sin(ROWS[:, 0]) + 0.2 * ROWS[:, 1]
BUDGETS = [None, Oldest(20), Merge(20), Projection(20)]
every_budget = pytest.mark.parametrize("budget", BUDGETS, ids=repr)


def test_before_anything_is_learned():
    assert OnlineKernelRegressor().predict_one({"a": 1.0}) == 0.0
    assert OnlineKernelClassifier().predict_one({"a": 1.0}) is None
    assert OnlineKernelClassifier().predict_proba_one({"a": 1.0}) == {}


@every_budget
def test_dicts_are_rows(budget):
    one, many = (OnlineKernelRegressor(K, budget=budget) for _ in range(2))
    for x, y in zip(DICTS, Y):
        one.learn_one(x, y)
    many.fit(ROWS, Y)
    assert [one.predict_one(x) for x in DICTS] == pytest.approx(many.predict(ROWS).tolist(), abs=1e-9)
    assert isinstance(one.predict_one(DICTS[0]), float)
    # A data frame has names as well, and goes on where the dicts were.
    frame = pd.DataFrame(ROWS, columns=["a", "b"])
    one.learn_many(frame, Y)
    many.partial_fit(ROWS, Y)
    np.testing.assert_allclose(one.predict(frame), many.predict(ROWS), atol=1e-9)
    for x in DICTS[:3]:
        assert one.predict_one({"b": x["b"], "a": x["a"]}) == one.predict_one(x)


@every_budget
def test_keys_that_come_later_were_zero_before(budget):
    machine = OnlineKernelRegressor(K, budget=budget)
    for x, y in zip(DICTS[:40], Y):
        machine.learn_one({"a": x["a"]}, y)
    before = machine.predict_one({"a": 0.3})
    assert machine.predict_one({"a": 0.3, "b": 5.0}) == before  # not known yet, so not looked at
    for x, y in zip(DICTS[40:], Y[40:]):
        machine.learn_one(x, y)
    rows = np.concatenate([ROWS[:40] * [1.0, 0.0], ROWS[40:]])
    expected = OnlineKernelRegressor(K, budget=budget).fit(rows, Y)
    assert [machine.predict_one(x) for x in DICTS[:9]] == pytest.approx(expected.predict(ROWS[:9]).tolist())
    assert machine.predict_one({"a": 0.3}) == machine.predict_one({"a": 0.3, "b": 0.0})
    assert machine.n_features_in_ == 2


def test_features_can_not_grow():
    machine = OnlineKernelRegressor(K, budget=None, representation="features", random_state=0)
    machine.learn_one({"a": 1.0}, 1.0)
    before = machine.predict_one({"a": 0.5})
    with pytest.raises(ValueError, match="explicit features can't grow"):
        machine.learn_one({"a": 1.0, "b": 2.0}, 1.0)
    assert machine.predict_one({"a": 0.5}) == before


@pytest.mark.parametrize("loss", ["logistic", "hinge", "multinomial", PerceptronLoss()], ids=repr)
def test_one_class_first_then_more(loss):
    machine = OnlineKernelClassifier(K, loss)
    labels = np.array(["n", "y", "?"])[np.digitize(Y, [-0.4, 0.4])]
    first = int(np.flatnonzero(labels == "y")[0])
    for i in range(3):
        machine.learn_one(DICTS[first], "y")
        assert machine.predict_one(DICTS[i]) == "y"
        assert sum(machine.predict_proba_one(DICTS[i]).values()) == pytest.approx(1.0)
    for _ in range(6):
        for x, label in zip(DICTS, labels.tolist()):
            machine.learn_one(x, label)
    assert machine.classes_.tolist() == ["?", "n", "y"]
    right = [machine.predict_one(x) == label for x, label in zip(DICTS, labels)]
    assert np.mean(right) > 0.8
    chances = machine.predict_proba_one(DICTS[0])
    assert set(chances) == {"?", "n", "y"}
    assert max(chances, key=chances.get) == machine.predict_one(DICTS[0])


def test_labels_come_back_as_they_were():
    for labels in ([True, False], [3, 1], ["no", "yes, please"]):
        machine = OnlineKernelClassifier(Linear())
        for _ in range(5):
            machine.learn_one({"a": 1.0}, labels[0])
            machine.learn_one({"a": -1.0}, labels[1])
        assert machine.predict_one({"a": 2.0}) == labels[0]
        assert type(machine.predict_one({"a": 2.0})) is type(labels[0])


def test_several_numbers_at_once():
    machine, whole = OnlineKernelRegressor(K), OnlineKernelRegressor(K)
    targets = np.column_stack([Y, -Y, Y**2])
    for x, y in zip(DICTS, targets.tolist()):
        machine.learn_one(x, y)
    found = machine.predict_one(DICTS[7])
    assert found == pytest.approx(whole.fit(ROWS, targets).predict(ROWS[7:8])[0].tolist(), abs=1e-9)
    for wrong in (1.0, [1.0, 2.0]):
        with pytest.raises(ValueError, match="columns"):
            machine.learn_one(DICTS[0], wrong)
    assert machine.predict_one(DICTS[7]) == found


def test_weights():
    short, long = OnlineKernelRegressor(K, lam=0.0, step=0.2), OnlineKernelRegressor(K, lam=0.0, step=0.1)
    short.learn_one(DICTS[0], 1.0)
    long.learn_one(DICTS[0], 1.0, w=2.0)
    assert long.predict_one(DICTS[1]) == pytest.approx(short.predict_one(DICTS[1]))
    long.learn_one(DICTS[1], 5.0, w=0.0)
    assert long.n_seen_ == 1
    for wrong in (-1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match="nonnegative"):
            long.learn_one(DICTS[1], 1.0, w=wrong)
        with pytest.raises(ValueError, match="nonnegative"):
            OnlineKernelRegressor(K).learn_one(DICTS[1], 1.0, w=wrong)


WRONG = {
    "a word": ({"a": "red", "b": 1.0}, 1.0, "feature 'a' is 'red'.*encode it first"),
    "nothing": ({"a": None, "b": 1.0}, 1.0, "feature 'a' is None.*leave the key out"),
    "a new key with nothing": ({"a": 1.0, "b": 1.0, "c": None}, 1.0, "feature 'c' is None"),
    "NaN": ({"a": np.nan, "b": 1.0}, 1.0, "NaN or infinity"),
    "infinity": ({"a": np.inf, "b": 1.0}, 1.0, "NaN or infinity"),
    "y is NaN": ({"a": 1.0, "b": 1.0}, np.nan, "NaN"),
    "y is a word": ({"a": 1.0, "b": 1.0}, "much", "should be a number"),
    "y is negative": ({"a": 1.0, "b": 1.0}, -1.0, "y ≥ 0"),
}


@pytest.mark.parametrize("x, y, words", WRONG.values(), ids=WRONG)
def test_after_an_error_it_is_what_it_was(x, y, words):
    machine = OnlineKernelRegressor(K, Poisson(), step=0.05)
    fresh = OnlineKernelRegressor(K, Poisson(), step=0.05)
    with pytest.raises(ValueError, match=words):
        fresh.learn_one(x, y)  # the first one
    for other in (machine, fresh):
        for good in DICTS[:20]:
            other.learn_one(good, 2.0)
    before = machine.predict_one(DICTS[3])
    assert fresh.predict_one(DICTS[3]) == before
    with pytest.raises(ValueError, match=words):
        machine.learn_one(x, y)
    assert machine.predict_one(DICTS[3]) == before
    assert machine.n_seen_ == 20 and machine.n_features_in_ == fresh.n_features_in_ == 2


def test_labels_of_another_kind_and_missing_ones():
    machine = OnlineKernelClassifier(K)
    machine.learn_one(DICTS[0], "yes")
    for wrong, words in ((3, "one kind, got 3 after"), (np.nan, "not known"), (None, "y is None.*not known")):
        with pytest.raises(ValueError, match=words):
            machine.learn_one(DICTS[0], wrong)
    assert machine.classes_.tolist() == ["yes"]
    assert machine.n_seen_ == 1


def test_keys_that_are_no_words():
    machine = OnlineKernelRegressor(K)
    machine.learn_one({"a": 1.0}, 1.0)
    assert machine.feature_names_in_.tolist() == ["a"]
    machine.learn_one({"a": 1.0, 7: 2.0}, 1.0)
    assert machine.n_features_in_ == 2 and not hasattr(machine, "feature_names_in_")
    assert machine.predict_one({7: 2.0, "a": 1.0}) == pytest.approx(machine.predict([[1.0, 2.0]])[0])


def test_frames_in_series_out():
    frame, index = pd.DataFrame(ROWS, columns=["a", "b"]), pd.RangeIndex(5, 85)
    frame.index = index
    machine, numbers = OnlineKernelClassifier(K), OnlineKernelRegressor(K)
    machine.learn_many(frame, pd.Series(Y > 0, index=index))
    numbers.learn_many(frame, pd.Series(Y, index=index))
    assert numbers.predict_many(frame).index.equals(index)
    said, sure = machine.predict_many(frame), machine.predict_proba_many(frame)
    assert sure.columns.tolist() == [False, True] and sure.index.equals(index)
    assert (sure.idxmax(axis=1) == said).all() and (said == (Y > 0)).mean() > 0.9


# -- data frames: columns that come and go -----------------------------------------------------------

COLUMNS = [["a"], ["b", "a"], ["b"], ["c", "a", "b"], ["a", "c"]]
TABLE = pd.DataFrame(np.column_stack([ROWS, ROWS[:, 0] ** 2]), columns=["a", "b", "c"])
WEIGHTS = np.where(np.arange(80) % 9 == 4, 0.0, np.linspace(0.5, 2.0, 80))
KINDS = np.array(["n", "y", "?"])[np.digitize(Y, [-0.4, 0.4])]


def in_frames(machine, y, weights=None):
    """Five frames of sixteen rows, with other columns each."""
    for i, some in enumerate(COLUMNS):
        rows = slice(16 * i, 16 * (i + 1))
        more = {} if weights is None else {"w": weights[rows]}
        machine.learn_many(TABLE[some][rows], pd.Series(y[rows]), **more)
    return machine


def one_by_one(machine, y, weights=None):
    for i, x in enumerate(TABLE.to_dict("records")):
        some = {key: x[key] for key in COLUMNS[i // 16]}
        machine.learn_one(some, y[i].item(), *([] if weights is None else [weights[i]]))
    return machine


@pytest.mark.parametrize("averaging", [False, 20])
@pytest.mark.parametrize("kernel", ["gaussian", Gaussian(0.7), Linear()], ids=repr)
@every_budget
def test_a_frame_is_its_rows(budget, kernel, averaging):
    options = dict(kernel=kernel, budget=budget, averaging=averaging, offset=True, step=0.1)
    one, many = (OnlineKernelRegressor(**options) for _ in range(2))
    one_by_one(one, Y, WEIGHTS)
    in_frames(many, Y, WEIGHTS)
    assert many.feature_names_in_.tolist() == one.feature_names_in_.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(many.predict(TABLE), one.predict(TABLE), atol=1e-8)
    assert (many.n_seen_, many.n_updates_) == (one.n_seen_, one.n_updates_)
    assert many.cumulative_loss_ == pytest.approx(one.cumulative_loss_)
    for x, y in zip(TABLE[:3].to_dict("records"), Y):
        one.learn_one(x, y, 0.5)
    many.learn_many(TABLE[:3], Y[:3], w=0.5)
    np.testing.assert_allclose(many.predict(TABLE), one.predict(TABLE), atol=1e-8)
    # Not a single step a batch, as river's own linear models make: a row counts once it is learned.
    assert many.n_seen_ == np.count_nonzero(WEIGHTS) + 3


@pytest.mark.parametrize("loss", ["logistic", "hinge", "multinomial", PerceptronLoss()], ids=repr)
def test_classes_begin_in_a_frame_where_they_turn_up(loss):
    one, many = (OnlineKernelClassifier(K, loss, budget=Merge(20)) for _ in range(2))
    one_by_one(one, KINDS)
    in_frames(many, KINDS)
    np.testing.assert_allclose(many.decision_function(TABLE), one.decision_function(TABLE), atol=1e-8)
    assert many.n_mistakes_ == one.n_mistakes_
    sure, chances = (
        many.predict_proba_many(TABLE),
        [one.predict_proba_one(x) for x in TABLE.to_dict("records")],
    )
    np.testing.assert_allclose(sure, pd.DataFrame(chances)[sure.columns], atol=1e-8)
    assert many.predict_many(TABLE).tolist() == [one.predict_one(x) for x in TABLE.to_dict("records")]


def test_a_frame_is_asked_by_its_names():
    machine = in_frames(OnlineKernelRegressor(K), Y)
    expected = machine.predict(TABLE)
    other = TABLE[["c", "b", "a"]].assign(unknown="word")  # what was never learned is not looked at
    np.testing.assert_array_equal(machine.predict_many(other), expected)
    without = machine.predict_many(TABLE[["a"]])
    np.testing.assert_array_equal(without, machine.predict(TABLE.assign(b=0.0, c=0.0)))


def test_frames_before_anything_is_learned():
    assert OnlineKernelRegressor().predict_many(TABLE).tolist() == [0.0] * 80
    assert OnlineKernelClassifier().predict_many(TABLE).tolist() == [None] * 80
    sure = OnlineKernelClassifier().predict_proba_many(TABLE)
    assert sure.shape == (80, 0) and sure.index.equals(TABLE.index)
    machine = OnlineKernelRegressor()
    machine.learn_many(TABLE[:0], Y[:0])
    machine.learn_many(TABLE, Y, w=np.zeros(80))
    assert not machine.begun


def test_several_numbers_in_frames():
    targets = np.column_stack([Y, -Y])
    machine = OnlineKernelRegressor(K)
    machine.learn_many(TABLE, targets)
    found = machine.predict_many(TABLE)
    assert found.shape == (80, 2) and found.index.equals(TABLE.index)
    np.testing.assert_allclose(found[0], -found[1], atol=1e-12)


FRAMES = {
    "a word": (lambda t: t.assign(b=["1"] * 79 + ["red"]), "feature 'b' is 'red'.*encode it first"),
    "a new word": (lambda t: t.assign(d="red"), "feature 'd' is 'red'"),
    "NaN": (lambda t: t.assign(d=[1.0] * 70 + [np.nan] * 10), "feature 'd' is nan.*leave the key out"),
    "infinity": (lambda t: t.assign(a=-np.inf), "feature 'a' is -inf"),
    "missing": (lambda t: t.assign(a=pd.array([1, None] * 40, dtype="Int64")), "feature 'a' is"),
    "times": (lambda t: t.assign(a=pd.Timestamp("2026-01-01")), "column 'a' holds times"),
    "twice": (lambda t: t[["a", "b", "a"]], "two columns are called 'a'"),
    "no column": (lambda t: t[[]], "no features|0 feature"),
}


@pytest.mark.parametrize("make, words", FRAMES.values(), ids=FRAMES)
def test_a_frame_that_is_refused_changes_nothing(make, words):
    machine, fresh = in_frames(OnlineKernelClassifier(K), KINDS), OnlineKernelClassifier(K)
    before, names = machine.decision_function(TABLE), machine.feature_names_in_.tolist()
    if make(TABLE).shape[1]:
        with pytest.raises(ValueError, match=words):
            machine.learn_many(make(TABLE), KINDS)
    with pytest.raises(ValueError, match=words):
        fresh.learn_many(make(TABLE), KINDS)
    np.testing.assert_array_equal(machine.decision_function(TABLE), before)
    assert machine.feature_names_in_.tolist() == names and not fresh.begun
    in_frames(fresh, KINDS)
    np.testing.assert_array_equal(fresh.decision_function(TABLE), before)


@pytest.mark.parametrize("budget", [Oldest(20), Merge(20), Projection(20), None], ids=repr)
def test_all_of_a_frame_or_nothing(budget):
    """The last rows bring a new class and numbers no function survives: what came before them goes, too."""
    machine = in_frames(OnlineKernelClassifier(Linear(), "squared", step=0.05, budget=budget), KINDS)
    known = pickle.loads(pickle.dumps(machine))
    wild = pd.concat([TABLE, TABLE.assign(d=1.0) * 1e70], ignore_index=True)
    labels = np.array([*KINDS, *["new"] * 80])
    with pytest.raises(ValueError, match="grown beyond all bounds"):
        machine.learn_many(wild.fillna(0.0), labels)
    assert machine.classes_.tolist() == ["?", "n", "y"] and machine.n_features_in_ == 3
    for other in (machine, known):
        in_frames(other, KINDS)
    np.testing.assert_array_equal(machine.decision_function(TABLE), known.decision_function(TABLE))
    assert (machine.n_seen_, machine.n_mistakes_) == (known.n_seen_, known.n_mistakes_)
    assert machine.cumulative_loss_ == known.cumulative_loss_


def test_frames_and_targets_of_different_lengths():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        OnlineKernelRegressor(K).learn_many(TABLE, Y[:-1])
    with pytest.raises(ValueError, match="nonnegative"):
        OnlineKernelRegressor(K).learn_many(TABLE, Y, w=-np.ones(80))
    with pytest.raises(ValueError, match="of one kind"):
        in_frames(OnlineKernelClassifier(K), KINDS).learn_many(TABLE, np.arange(80))


def test_centres_are_those_of_the_first_frame():
    machine = OnlineKernelRegressor(K, representation=Nystrom(10), budget=None, random_state=0)
    machine.learn_many(TABLE, Y)
    same = OnlineKernelRegressor(K, representation=Nystrom(10), budget=None, random_state=0).fit(TABLE, Y)
    np.testing.assert_allclose(machine.predict(TABLE), same.predict(TABLE), atol=1e-12)


def test_rows_without_names_are_learned_in_batches():
    machine = OnlineKernelRegressor(K)
    machine.learn_many(ROWS, Y)
    np.testing.assert_array_equal(machine.predict(ROWS), OnlineKernelRegressor(K).fit(ROWS, Y).predict(ROWS))


def test_parameters_as_river_has_them():
    machine = OnlineKernelRegressor(K, budget=AtRandom(5)).fit(ROWS, Y)
    assert machine.clone({"seed": 7, "lam": 0.5}).get_params(deep=False) == {
        **machine.get_params(deep=False),
        "lam": 0.5,
        "random_state": 7,
    }
    assert machine._is_stochastic and not machine.clone({"seed": 7})._is_stochastic
    copy = machine.clone(include_attributes=True)
    np.testing.assert_array_equal(copy.predict(ROWS), machine.predict(ROWS))
    copy.partial_fit(ROWS, Y)
    assert machine.n_seen_ == 80 and machine.clone().n_seen_ == 0
    with pytest.raises(ValueError, match="'step', 'lam' can't be changed while the machine learns"):
        machine.mutate({"step": 0.1, "lam": 1.0})


def test_a_kernel_by_a_word_has_parameters_to_set():
    machine = OnlineKernelRegressor().set_params(kernel__sigma=2.0)
    assert machine.kernel == Gaussian(2.0) and OnlineKernelRegressor().kernel == "gaussian"


def test_dicts_are_points_of_kernels_on_columns():
    kernel = columns("word", Spectrum(1)) + columns(["size"], Gaussian(1.0))
    rows = [{"word": word, "size": 1.0 * len(word)} for word in ("ab", "b", "bcb", "cab")]
    one, many = (OnlineKernelRegressor(kernel, step=0.04) for _ in range(2))
    for row, y in zip(rows, range(4)):
        one.learn_one(row, y)
    many.partial_fit(pd.DataFrame(rows), range(4))
    assert [one.predict_one(row) for row in rows] == pytest.approx(many.predict(rows).tolist(), abs=1e-12)


def test_what_the_examples_are_must_be_known():
    with pytest.raises(ValueError, match="no features"):
        OnlineKernelRegressor(K).learn_one({}, 1.0)
    with pytest.raises(ValueError, match="item 0 is {'a': 1.0}"):
        OnlineKernelRegressor(Spectrum(2)).learn_one({"a": 1.0}, 1.0)
    nameless = OnlineKernelRegressor(K).fit(ROWS, Y)
    with pytest.raises(ValueError, match="rows without names"):
        nameless.learn_one({"a": 1.0, "b": 1.0}, 1.0)
    named = OnlineKernelRegressor(K).fit(pd.DataFrame(ROWS, columns=["a", "b"]), Y)
    expected = named.predict(pd.DataFrame(ROWS[:1], columns=["a", "b"]))[0]
    assert named.predict_one({"b": ROWS[0, 1], "a": ROWS[0, 0]}) == pytest.approx(expected)


# -- river --------------------------------------------------------------------------------------------


def test_river_runs_a_classifier():
    river = pytest.importorskip("river")
    from river import compose, datasets, evaluate, metrics, preprocessing

    model = preprocessing.StandardScaler() | OnlineKernelClassifier(K, budget=Oldest(150))
    assert isinstance(model, compose.Pipeline)
    machine = model[-1] if hasattr(model, "__getitem__") else list(model.steps.values())[-1]
    assert isinstance(machine, river.base.Classifier)
    assert not isinstance(machine, river.base.Regressor)
    metric = metrics.Accuracy()
    assert metric.works_with(machine)
    metric = evaluate.progressive_val_score(datasets.Phishing().take(600), model, metric)
    assert metric.get() > 0.8
    again = model.clone()
    machine = list(again.steps.values())[-1]
    assert machine.n_seen_ == 0
    assert machine.get_params() == OnlineKernelClassifier(K, budget=Oldest(150)).get_params()


EVERY_BUDGET = {
    "unlimited": Unlimited(),
    "oldest": Oldest(20),
    "smallest": Smallest(20),
    "at random": AtRandom(20),
    "window": Window(20),
    "forgetron": Forgetron(20),
    "merge": Merge(20),
    "projection": Projection(20),
}
# Some of the streams of the checks lie so far apart, for a width of standardised features, that all kernel
# values are 0. Where weights are equal as well, labels and terms to merge tie, and rounding would decide.
WIDE = Gaussian(50.0)
CHECKED = {
    **{f"labels, {name}": OnlineKernelClassifier(budget=b) for name, b in EVERY_BUDGET.items()},
    **{f"numbers, {name}": OnlineKernelRegressor(budget=b) for name, b in EVERY_BUDGET.items()},
    "labels": OnlineKernelClassifier(),
    "numbers": OnlineKernelRegressor(),
    "hinge, mean": OnlineKernelClassifier(WIDE, "hinge", budget=20, averaging=50, offset=True),
    "multinomial, falling": OnlineKernelClassifier(WIDE, "multinomial", step=PowerStep(1.0), budget=20),
    "modified Huber": OnlineKernelClassifier(WIDE, "modified_huber", 0.01, PegasosStep("auto"), 20),
    "Huber, adaptive": OnlineKernelRegressor(
        WIDE, "huber", step=AdaptiveStep(), stopping=Stopping(), passes=5, budget=20, warm_start=True
    ),
    "recursive": OnlineKernelRegressor(WIDE, lam=0.0, step=RecursiveStep(), budget=Projection(20)),
    "perceptron": perceptron(WIDE, budget=20),
    "the forgetron": forgetron(WIDE, n_terms=20),
    "projectron": projectron(WIDE, n_terms=20),
    "norma": norma(WIDE, n_terms=20),
    "pegasos": pegasos(WIDE, budget=20),
    "passive-aggressive": passive_aggressive(WIDE, budget=20),
    "passive-aggressive numbers": passive_aggressive(WIDE, budget=20, regression=True),
    "krls": krls(WIDE, n_terms=20),
}


@pytest.mark.parametrize("machine", CHECKED.values(), ids=CHECKED)
def test_rivers_own_checks(machine):
    checks = pytest.importorskip("river.checks")
    from river import base

    labels = isinstance(machine, OnlineKernelClassifier)
    assert isinstance(machine.clone(), base.MiniBatchClassifier if labels else base.MiniBatchRegressor)
    random.seed(0)  # which features the checks leave out
    assert machine._unit_test_skips() == set()
    checks.check_estimator(machine)


def test_every_budget_is_checked():
    budgets = {
        cls for cls in vars(mercer.online).values() if isinstance(cls, type) and issubclass(cls, Budget)
    }
    assert budgets - {Budget} == {type(budget) for budget in EVERY_BUDGET.values()}


def test_river_runs_a_regressor():
    river = pytest.importorskip("river")
    from river import datasets, evaluate, metrics, preprocessing

    model = preprocessing.StandardScaler() | OnlineKernelRegressor(K, step=0.5, budget=Oldest(150))
    assert isinstance(list(model.steps.values())[-1], river.base.Regressor)
    metric = evaluate.progressive_val_score(
        (
            (dict(x, ordinal_date=x["ordinal_date"] - 736389), y)
            for x, y in datasets.TrumpApproval().take(600)
        ),
        model,
        metrics.MAE(),
    )
    assert metric.get() < 10  # of numbers around 40


@pytest.mark.parametrize("first, second", [("river.base", "mercer"), ("mercer", "river.base")])
def test_either_may_be_imported_first(first, second):
    pytest.importorskip("river")
    script = f"""
import {first}, {second}
import river.base
from mercer import OnlineKernelClassifier, OnlineKernelRegressor
assert isinstance(OnlineKernelClassifier(), river.base.MiniBatchClassifier)
assert isinstance(OnlineKernelRegressor(), river.base.MiniBatchRegressor)
assert not isinstance(OnlineKernelRegressor(), river.base.Classifier)
"""
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, timeout=120)


@pytest.mark.parametrize("use", ["list(checks.yield_checks(machine))", "StandardScaler() | machine"])
def test_a_machine_may_be_made_before_river_is_imported(use):
    pytest.importorskip("river")
    script = f"""
from mercer import OnlineKernelClassifier
machine = OnlineKernelClassifier()
from river import base, checks
from river.preprocessing import StandardScaler
used = {use}
if not isinstance(used, list):
    used.learn_one({{"a": 1.0}}, True)
assert isinstance(machine, base.MiniBatchClassifier)
"""
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, timeout=120)


def test_mercer_does_not_need_river():
    script = "import sys, mercer; mercer.OnlineKernelClassifier(); assert 'river' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, timeout=120)
