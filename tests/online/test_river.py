"""One example at a time: dicts of features, labels and keys that turn up later, and river itself."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from mercer import OnlineKernelClassifier, OnlineKernelRegressor
from mercer.kernels import Gaussian, Linear, Spectrum, columns
from mercer.losses import Poisson
from mercer.online import Merge, Oldest, PerceptronLoss, Projection

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
assert isinstance(OnlineKernelClassifier(), river.base.Classifier)
assert isinstance(OnlineKernelRegressor(), river.base.Regressor)
assert not isinstance(OnlineKernelRegressor(), river.base.Classifier)
"""
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, timeout=120)


def test_mercer_does_not_need_river():
    script = "import sys, mercer; mercer.OnlineKernelClassifier(); assert 'river' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, timeout=120)
