"""The two machines as scikit-learn knows them: inputs of every kind, what comes later, what goes wrong."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import OnlineKernelClassifier, OnlineKernelRegressor
from mercer.features import RandomFourierFeatures
from mercer.kernels import FunctionKernel, Gaussian, Linear, Precomputed
from mercer.losses import FunctionLoss, Hinge, Logistic, Multinomial, Poisson, Quantile
from mercer.online import (
    InverseRootStep,
    Merge,
    Oldest,
    PassiveAggressiveStep,
    PerceptronLoss,
    Projection,
    Smallest,
    krls,
)
from mercer.online.learner import Diverged
from mercer.representations import Features, Nystrom

K = Gaussian(1.0)
X = np.random.default_rng(0).uniform(-2, 2, (150, 2))
Y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1]
LABELS = np.array(["low", "middle", "top"])[np.digitize(Y, [-0.5, 0.5])]
BUDGETS = [None, Oldest(40), Smallest(40), Merge(40), Projection(40)]


def state(machine):
    """All that a machine has learned, to be compared before and after."""
    kept = machine.predict(X), machine.n_seen_, machine.n_updates_, machine.cumulative_loss_
    return [np.asarray(part).tolist() for part in kept]


# -- it learns ----------------------------------------------------------------------------------------


def test_it_learns_numbers_and_labels():
    grid = np.random.default_rng(1).uniform(-1.8, 1.8, (300, 2))
    truth = np.sin(2 * grid[:, 0]) + 0.3 * grid[:, 1]
    machine = OnlineKernelRegressor(K, step=0.3, budget=200, passes=10).fit(X, Y)
    assert machine.score(grid, truth) > 0.97
    exact = krls(K, penalty=1e-3).fit(X, Y)
    assert exact.score(grid, truth) > 0.999
    classifier = OnlineKernelClassifier(K, budget=200, passes=10).fit(X, LABELS)
    assert classifier.score(grid, np.array(["low", "middle", "top"])[np.digitize(truth, [-0.5, 0.5])]) > 0.75


def test_passes_go_through_the_rows_again():
    twice = OnlineKernelRegressor(K, budget=Oldest(30), passes=2).fit(X, Y)
    by_hand = OnlineKernelRegressor(K, budget=Oldest(30)).partial_fit(X, Y).partial_fit(X, Y)
    assert state(twice) == state(by_hand)
    assert twice.n_seen_ == 300


@pytest.mark.parametrize("averaging", [False, True])
def test_each_example_is_predicted_just_before_it_is_learned(averaging):
    machine = OnlineKernelRegressor(K, averaging=averaging, budget=Oldest(30))
    assert not machine.begun and machine.n_terms_ == 0
    machine.predict_then_learn(X[:20], Y[:20])
    twin = OnlineKernelRegressor(K, averaging=averaging, budget=Oldest(30)).fit(X[:20], Y[:20])
    found, likely = machine.predict_then_learn(X[20:60], Y[20:60])
    expected = []
    for i in range(20, 60):
        expected.append(twin.predict(X[i : i + 1])[0])
        twin.partial_fit(X[i : i + 1], Y[i : i + 1])
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    assert likely is None and machine.begun and machine.n_terms_ == twin.n_terms_ == 30
    assert machine.cumulative_loss_ == pytest.approx(twin.cumulative_loss_)
    machine.forget()
    assert not machine.begun and machine.n_seen_ == 0
    labels = OnlineKernelClassifier(K, averaging=averaging).fit(X[:50], LABELS[:50])
    said, likely = labels.predict_then_learn(X[50:60], LABELS[50:60])
    np.testing.assert_array_equal(said, labels.classes_[likely.argmax(axis=1)])
    np.testing.assert_allclose(likely.sum(axis=1), 1)


def test_parameters_may_be_refused_before_there_is_an_example():
    rng = np.random.default_rng(3)
    before = rng.bit_generator.state
    OnlineKernelRegressor(random_state=rng).validate()
    assert rng.bit_generator.state == before
    for wrong in ({"lam": -1}, {"budget": 0}, {"step": -1.0}, {"passes": 0}):
        with pytest.raises(ValueError):
            OnlineKernelRegressor(**wrong).validate()


def test_fit_forgets():
    machine = OnlineKernelClassifier(K).fit(X, LABELS)
    again = machine.fit(X[:, :1], np.repeat([1, 2], 75))
    fresh = OnlineKernelClassifier(K).fit(X[:, :1], np.repeat([1, 2], 75))
    np.testing.assert_array_equal(again.predict(X[:, :1]), fresh.predict(X[:, :1]))
    np.testing.assert_array_equal(again.classes_, [1, 2])
    assert (again.n_seen_, again.n_mistakes_) == (150, fresh.n_mistakes_)


def test_tools_of_scikit_learn():
    pipe = make_pipeline(StandardScaler(), OnlineKernelClassifier(budget=Merge(60)))
    search = GridSearchCV(pipe, {"onlinekernelclassifier__kernel__sigma": [0.3, 10.0]}, cv=3)
    search.fit(X, LABELS)
    assert search.best_params_ == {"onlinekernelclassifier__kernel__sigma": 0.3}
    assert search.score(X, LABELS) > 0.7
    machine = OnlineKernelRegressor(K, budget=Oldest(7), step=PassiveAggressiveStep(0.5), lam=0.0)
    assert clone(machine).get_params() == machine.get_params()


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_a_pickle_goes_on_where_it_was(budget):
    machine = OnlineKernelClassifier(K, budget=budget, random_state=0).partial_fit(X[:70], LABELS[:70])
    copy = pickle.loads(pickle.dumps(machine))
    for other in (machine, copy):
        other.partial_fit(X[70:], LABELS[70:])
    np.testing.assert_array_equal(copy.decision_function(X), machine.decision_function(X))
    assert copy.n_mistakes_ == machine.n_mistakes_


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_sparse_rows(budget):
    dense = np.where(np.abs(X) < 0.7, 0.0, X)
    expected = OnlineKernelRegressor(K, budget=budget).partial_fit(dense[:80], Y[:80])
    expected.partial_fit(dense[80:], Y[80:])
    for make in (sp.csr_matrix, sp.csr_array):
        machine = OnlineKernelRegressor(K, budget=budget).partial_fit(make(dense[:80]), Y[:80])
        machine.partial_fit(make(dense[80:]), Y[80:])
        np.testing.assert_allclose(machine.predict(make(dense)), expected.predict(dense), atol=1e-10)


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_single_precision(budget):
    machine = OnlineKernelRegressor(K, step=0.1, budget=budget).fit(
        X.astype(np.float32), Y.astype(np.float32)
    )
    exact = OnlineKernelRegressor(K, step=0.1, budget=budget).fit(X, Y)
    found = machine.predict(X.astype(np.float32))
    assert found.dtype == np.float32
    assert machine.function_.points.dtype == np.float32
    np.testing.assert_allclose(found, exact.predict(X), atol=2e-4)


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_precision_may_change_on_the_way(budget):
    machine = OnlineKernelRegressor(K, step=0.1, budget=budget).partial_fit(X[:60].astype(np.float32), Y[:60])
    machine.partial_fit(X[60:], Y[60:])
    exact = OnlineKernelRegressor(K, step=0.1, budget=budget).fit(X, Y)
    np.testing.assert_allclose(machine.predict(X), exact.predict(X), atol=1e-4)
    assert machine.function_.points.dtype == np.float64


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_strings(budget):
    words = ["kernel", "kennel", "channel", "mercer", "merger", "merit", "tunnel", "mercy"] * 5
    y = np.array([0, 0, 0, 1, 1, 1, 0, 1] * 5)
    kernel = FunctionKernel(lambda a, b: len(set(a) & set(b)) / np.sqrt(len(set(a)) * len(set(b))))
    machine = OnlineKernelClassifier(kernel, budget=budget).partial_fit(words[:10], y[:10])
    machine.partial_fit(words[10:], y[10:])
    np.testing.assert_array_equal(machine.predict(words), y)
    one = OnlineKernelClassifier(kernel, budget=budget)
    for word, label in zip(words, y.tolist()):
        one.learn_one(word, label)
    assert [one.predict_one(word) for word in words[:8]] == y[:8].tolist()


def test_representations():
    for form in (
        Features(n_features=300),
        Features(RandomFourierFeatures(K, 300, random_state=0)),
        Nystrom(n_centres=40),
        Nystrom(centres=X[:40]),
        "features",
    ):
        machine = OnlineKernelRegressor(
            K, step=0.2, budget=None, representation=form, random_state=0, passes=5
        )
        assert machine.fit(X, Y).score(X, Y) > 0.9
    with pytest.raises(ValueError, match="no use for budget"):
        OnlineKernelRegressor(K, budget=Oldest(5), representation="features").fit(X, Y)
    with pytest.raises(ValueError, match="first batch, which has 20"):
        OnlineKernelRegressor(K, representation=Nystrom(n_centres=40)).partial_fit(X[:20], Y[:20])


def test_nystrom_is_the_same_machine_in_the_span_of_its_centres():
    points = X[:60]
    machine = OnlineKernelRegressor(K, "squared", 0.01, 0.2, None, Nystrom(centres=points[:25])).fit(
        points, Y[:60]
    )
    # Its features are an orthonormal basis of the span: any other one gives the same function.
    values, vectors = np.linalg.eigh(K(points[:25]))
    kept = values > 1e-10
    Phi = K(points, points[:25]) @ vectors[:, kept] / np.sqrt(values[kept])
    c = np.zeros(kept.sum())
    for phi, y in zip(Phi, Y):
        c = (1 - 2 * 0.2 * 0.01) * c - 0.2 * 2 * (phi @ c - y) * phi
    np.testing.assert_allclose(machine.predict(points), Phi @ c, atol=1e-6)


# -- weights ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_weights_lengthen_steps_and_zero_leaves_out(budget):
    w = np.random.default_rng(3).integers(0, 3, 150).astype(float)
    machine = OnlineKernelRegressor(K, step=0.1, budget=budget).fit(X, Y, w)
    kept = w > 0
    without = OnlineKernelRegressor(K, step=0.1, budget=budget).fit(X[kept], Y[kept], w[kept])
    assert state(machine) == state(without)
    one = OnlineKernelRegressor(K, step=0.1, lam=0.0, budget=budget).fit(X[:1], Y[:1], [3.0])
    longer = OnlineKernelRegressor(K, step=0.3, lam=0.0, budget=budget).fit(X[:1], Y[:1])
    np.testing.assert_allclose(one.predict(X), longer.predict(X), rtol=1e-12)


def test_all_weights_zero():
    with pytest.raises(ValueError, match="at least one non-zero"):
        OnlineKernelRegressor(K).fit(X, Y, np.zeros(150))
    for averaging in (False, True):
        machine = OnlineKernelRegressor(K, averaging=averaging)
        machine.learn_one(X[0], 1.0, w=0.0)
        assert machine.n_seen_ == machine.n_updates_ == 0
        assert machine.predict_one(X[0]) == 0.0


def test_examples_of_weight_zero_count_nowhere():
    """Neither in the width of a kernel, nor in centres, nor as a class."""
    w = np.r_[np.zeros(10), np.ones(60)]
    far = X[:70] + np.where(w == 0, 1000.0, 0.0)[:, None]
    labels = np.where(w == 0, "zero", LABELS[:70])
    for more in ({}, {"representation": Nystrom(20), "random_state": 0}):
        machine = OnlineKernelClassifier(**more).partial_fit(far, labels, sample_weight=w)
        without = OnlineKernelClassifier(**more).partial_fit(far[10:], labels[10:])
        assert machine.kernel_ == without.kernel_
        np.testing.assert_array_equal(machine.classes_, without.classes_)
        np.testing.assert_array_equal(machine.predict_proba(X), without.predict_proba(X))
    one = OnlineKernelClassifier()
    one.learn_one(dict(enumerate(far[0])), "zero", w=0.0)
    one.learn_one(dict(enumerate(far[20])), "more")
    assert one.classes_.tolist() == ["more"]


# -- classes that come later --------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [Logistic(), Hinge(), Multinomial(), PerceptronLoss()], ids=repr)
@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_a_new_class_begins_at_zero(budget, loss):
    first = LABELS != "middle"
    machine = OnlineKernelClassifier(K, loss, lam=0.0, budget=budget, offset=True)
    machine.partial_fit(X[first], LABELS[first])
    before, decision = machine.predict(X), machine.decision_function(X)
    machine.partial_fit(X[~first][:1], LABELS[~first][:1], sample_weight=[1e-300])  # met, and nothing learned
    np.testing.assert_array_equal(machine.classes_, ["low", "middle", "top"])
    scores = machine.decision_function(X)
    np.testing.assert_allclose(scores[:, 1], 0.0, atol=1e-290)
    np.testing.assert_allclose(scores[:, 2] - scores[:, 0], decision * (1 if loss.joint else 2), atol=1e-12)
    np.testing.assert_array_equal(np.where(scores[:, 2] > scores[:, 0], "top", "low"), before)


@pytest.mark.parametrize("averaging", [False, True], ids=["last", "mean"])
@pytest.mark.parametrize("loss", [Logistic(), Hinge(), PerceptronLoss()], ids=repr)
def test_other_classes_take_no_notice_of_a_new_one(loss, averaging):
    # One against the rest: the functions of two classes are f and −f until a third one comes.
    first = LABELS != "middle"
    options = dict(kernel=K, loss=loss, budget=None, averaging=averaging, offset=True)
    later = OnlineKernelClassifier(**options).partial_fit(X[first], LABELS[first]).partial_fit(X, LABELS)
    named = OnlineKernelClassifier(**options).partial_fit(X[first], LABELS[first], classes=np.unique(LABELS))
    named.partial_fit(X, LABELS)
    found, expected = later.decision_function(X), named.decision_function(X)
    np.testing.assert_allclose(found[:, [0, 2]], expected[:, [0, 2]], atol=1e-11)
    assert not np.allclose(found[:, 1], expected[:, 1])


def test_classes_may_be_named_beforehand():
    y = np.array(["a", "b"])[(Y > 0).astype(int)]
    named = OnlineKernelClassifier(K).partial_fit(X, y, classes=["a", "b", "c"])
    assert named.decision_function(X).shape == (150, 3)
    assert "c" not in named.predict(X)
    one = OnlineKernelClassifier(K).partial_fit(X[:3], ["a"] * 3, classes=["a", "b"])
    np.testing.assert_array_equal(one.predict(X[:3]), ["a"] * 3)
    with pytest.raises(ValueError, match="one class only, 'a'.*classes="):
        OnlineKernelClassifier(K).partial_fit(X[:3], ["a"] * 3)
    with pytest.raises(ValueError, match=r"y holds \['z'\], not among classes"):
        OnlineKernelClassifier(K).partial_fit(X[:3], ["a", "b", "z"], classes=["a", "b"])
    with pytest.raises(ValueError, match="not the same as on the last call"):
        named.partial_fit(X, y, classes=["a", "b"])
    both = np.stack([Y > 0, X[:, 0] > 0], axis=1)
    with pytest.raises(ValueError, match=r"2 columns.*MultiOutputClassifier\(OnlineKernelClassifier"):
        OnlineKernelClassifier(K).fit(X, both)
    several = MultiOutputClassifier(OnlineKernelClassifier(K)).fit(X, both)
    alone = OnlineKernelClassifier(K).fit(X, both[:, 1])
    np.testing.assert_array_equal(several.predict(X)[:, 1], alone.predict(X))


@pytest.mark.filterwarnings("ignore:steps of .* overshoot")
def test_after_a_first_batch_that_failed_all_is_open_again():
    machine = OnlineKernelRegressor(K, step=1e5, lam=0.0)
    with pytest.raises(ValueError, match="beyond all bounds"):
        machine.partial_fit(np.zeros((200, 2)), np.ones(200))
    with pytest.raises(NotFittedError):
        machine.predict(X)
    machine.set_params(step=0.1).partial_fit(X, Y)
    expected = OnlineKernelRegressor(K, step=0.1, lam=0.0).fit(X, Y)
    np.testing.assert_array_equal(machine.predict(X), expected.predict(X))


def test_labels_stay_of_one_kind():
    numbers = OnlineKernelClassifier(K).partial_fit(X[:4], [1, 2, 1, 1])
    for other in (["1", "3"], np.array(["1", "3"], dtype=object), [True, False]):
        with pytest.raises(ValueError, match=r"one kind, got .* after \[1, 2\]"):
            numbers.partial_fit(X[4:6], other)
    assert numbers.n_seen_ == 4 and numbers.classes_.tolist() == [1, 2]
    numbers.partial_fit(X[4:6], np.array([3, 1], np.uint8)).learn_one(X[6], np.uint8(4))
    assert numbers.classes_.tolist() == [1, 2, 3, 4]
    words = OnlineKernelClassifier(K).partial_fit(X[:2], ["a", "b"])
    assert words.partial_fit(X[2:4], np.array(["c", "a"], dtype=object)).classes_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("loss", [Logistic(), Multinomial()], ids=repr)
def test_probabilities(loss):
    machine = OnlineKernelClassifier(K, loss, passes=3).fit(X, LABELS)
    P = machine.predict_proba(X)
    np.testing.assert_array_equal(machine.predict_log_proba(X), np.log(P))
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    np.testing.assert_array_equal(machine.classes_[P.argmax(axis=1)], machine.predict(X))
    with pytest.raises(AttributeError, match="predict_proba"):
        OnlineKernelClassifier(K, "hinge").predict_proba(X)


def test_several_quantiles():
    machine = OnlineKernelRegressor(K, Quantile([0.1, 0.9]), step=0.1)
    machine.partial_fit(X[:70], Y[:70]).partial_fit(X[70:], Y[70:])
    each = [OnlineKernelRegressor(K, Quantile(q), step=0.1).fit(X, Y) for q in (0.1, 0.9)]
    scores = np.sort([m.predict(X) for m in each], axis=0).T
    np.testing.assert_allclose(machine.predict(X), scores, atol=1e-12)
    one = OnlineKernelRegressor(K, Quantile([0.1, 0.9]), step=0.1)
    for x, y in zip(X, Y):
        one.learn_one(x, y)
    np.testing.assert_allclose(one.predict_one(X[5]), scores[5], atol=1e-9)


# -- losses that are Python functions -----------------------------------------------------------------


@pytest.mark.parametrize("budget", [Oldest(20), Projection(20)], ids=repr)
def test_a_loss_that_is_a_python_function(budget):
    quartic = FunctionLoss(lambda y, s: (y - s) ** 4, gradient=lambda y, s: 4 * (s - y) ** 3)
    machine = OnlineKernelRegressor(K, quartic, 0.0, 0.05, budget).fit(X[:30], Y[:30])
    first = OnlineKernelRegressor(K, quartic, 0.0, 0.05, budget).fit(X[:1], Y[:1])
    assert first.function_.at(X[0]) == pytest.approx(0.05 * 4 * Y[0] ** 3)
    aggressive = OnlineKernelRegressor(K, quartic, 0.0, PassiveAggressiveStep(9.0), budget).fit(X[:1], Y[:1])
    assert aggressive.function_.at(X[0]) == pytest.approx(Y[0] / 4)  # V/V'² · V'
    assert machine.cumulative_loss_ > 0


@pytest.mark.parametrize("budget", [Oldest(20), Projection(20)], ids=repr)
def test_errors_in_a_loss_come_through(budget):
    fails = []

    def gradient(y, s):
        if fails:
            raise RuntimeError("out of order")
        return 2 * (s - y)

    loss = FunctionLoss(lambda y, s: (y - s) ** 2, gradient=gradient)
    machine = OnlineKernelRegressor(K, loss, 0.0, 0.05, budget).partial_fit(X[:30], Y[:30])
    before = state(machine)
    fails.append(1)
    with pytest.raises(RuntimeError, match="out of order"):
        machine.partial_fit(X[30:], Y[30:])
    assert state(machine) == before
    fails.clear()
    machine.partial_fit(X[30:], Y[30:])
    expected = OnlineKernelRegressor(K, "squared", 0.0, 0.05, budget).fit(X, Y)
    np.testing.assert_allclose(machine.predict(X), expected.predict(X), atol=1e-12)


# -- what goes wrong ----------------------------------------------------------------------------------

WRONG = {
    "lam": (dict(lam=-1.0), "lam must be a number of at least 0"),
    "infinite lam": (dict(lam=np.inf), "lam must be"),
    "offset": (dict(offset="yes"), "offset must be True or False"),
    "averaging": (dict(averaging="yes"), "averaging must be True or False"),
    "passes": (dict(passes=0), "passes must be a whole number"),
    "precomputed": (dict(kernel=Precomputed()), "no precomputed matrix"),
    "too long": (dict(lam=1.0, step=0.6), "take η ≤"),
}


@pytest.mark.parametrize("options, words", WRONG.values(), ids=WRONG)
def test_parameters_that_make_no_sense(options, words):
    with pytest.raises(ValueError, match=words):
        OnlineKernelRegressor(**{"kernel": K, **options}).fit(X, Y)


def bad(value):
    out = X[:5].copy()
    out[2, 1] = value
    return out


EXAMPLES = {
    "NaN": (bad(np.nan), Y[:5], None, "NaN"),
    "infinity": (bad(np.inf), Y[:5], None, "infinity"),
    "NaN in y": (X[:5], np.array([1.0, np.nan, 1.0, 1.0, 1.0]), None, "NaN"),
    "no rows": (X[:0], Y[:0], None, "0 sample"),
    "one axis": (X[:5, 0], Y[:5], None, "2D array"),
    "lengths": (X[:5], Y[:4], None, "inconsistent numbers"),
    "features": (X[:5, :1], Y[:5], None, "features"),
    "columns of y": (X[:5], np.ones((5, 2)), None, "y has 2 columns, and had 1 before"),
    "no y": (X[:5], None, None, "requires y"),
    "words": (X[:5], np.array(list("abcde")), None, "real numbers|string"),
    "weights": (X[:5], Y[:5], -np.ones(5), "nonnegative"),
    "NaN in weights": (X[:5], Y[:5], np.full(5, np.nan), "NaN"),
    "length of weights": (X[:5], Y[:5], np.ones(4), "sample_weight"),
    "overflow": (1e200 * X[:5], Y[:5], None, "beyond all bounds|overflow|too large"),
    "divergence": (X[:5], np.array([1e308, -1e308, 1e308, -1e308, 1e308]), None, "beyond all bounds"),
}


@pytest.mark.parametrize("X_, y_, w_, words", EXAMPLES.values(), ids=EXAMPLES)
@pytest.mark.parametrize("budget", [Merge(30), Projection(30)], ids=repr)
def test_after_an_error_it_is_what_it_was(budget, X_, y_, w_, words):
    kernel = Linear() + K
    machine = OnlineKernelRegressor(kernel, step=0.05, budget=budget).partial_fit(X, Y)
    before = state(machine)
    with pytest.raises(ValueError, match=words):
        machine.partial_fit(X_, y_, w_)
    assert state(machine) == before
    unhurt = OnlineKernelRegressor(kernel, step=0.05, budget=budget).partial_fit(X, Y)
    for other in (machine, unhurt):
        other.partial_fit(X[:20], Y[:20])
    assert state(machine) == state(unhurt)


@pytest.mark.parametrize("budget", [None, Oldest(30), Merge(30), Projection(30)], ids=repr)
def test_an_error_late_in_a_long_batch_undoes_all_of_it(budget):
    many = np.random.default_rng(4).uniform(-2, 2, (1300, 2))
    y = np.sin(many[:, 0])
    y[1250:] = 1e308
    machine = OnlineKernelRegressor(K, step=0.9, budget=budget).partial_fit(X, Y)
    before = state(machine)
    with pytest.raises(Diverged, match="what was learned before these examples is kept"):
        machine.partial_fit(many, y)
    assert state(machine) == before


def test_targets_that_a_loss_does_not_take():
    machine = OnlineKernelRegressor(K, Poisson(), step=0.05).partial_fit(X, np.abs(Y))
    before = state(machine)
    with pytest.raises(ValueError, match="y ≥ 0"):
        machine.partial_fit(X, Y)
    assert state(machine) == before
    with pytest.raises(ValueError, match="loss for labels"):
        OnlineKernelRegressor(K, "hinge").fit(X, Y)
    with pytest.raises(ValueError, match="loss for numbers"):
        OnlineKernelClassifier(K, "huber").fit(X, LABELS)


@pytest.mark.parametrize("cls", [OnlineKernelRegressor, OnlineKernelClassifier])
def test_before_anything_is_learned(cls):
    machine = cls(K)
    for name in ("predict", "score"):
        with pytest.raises(NotFittedError):
            getattr(machine, name)(*([X] if name == "predict" else [X, Y]))
    for name in ("coef_", "intercept_", "loss_"):
        with pytest.raises(NotFittedError):
            getattr(machine, name)
    assert machine.n_seen_ == machine.n_updates_ == 0


def test_names_of_features_are_checked():
    frame = pd.DataFrame(X, columns=["a", "b"])
    machine = OnlineKernelRegressor(K).partial_fit(frame, Y)
    np.testing.assert_array_equal(machine.feature_names_in_, ["a", "b"])
    with pytest.raises(ValueError, match="feature names"):
        machine.partial_fit(frame[["b", "a"]], Y)


def test_the_width_comes_from_the_first_batch():
    machine = OnlineKernelRegressor().partial_fit(X, Y)
    assert machine.kernel_ == Gaussian().resolve(X)
    width = machine.kernel_.sigma
    assert machine.partial_fit(100 * X, Y).kernel_.sigma == width
    # One example tells none: as if features were standardised.
    lonely = OnlineKernelRegressor()
    lonely.learn_one({"a": 3.0, "b": -7.0}, 1.0)
    normal = np.random.default_rng(0).standard_normal((400, 2))
    assert lonely.kernel_.sigma == pytest.approx(Gaussian().resolve(normal).sigma, rel=0.2)


@pytest.mark.parametrize(
    "options, overshoots",
    [
        (dict(step=0.99), False),
        (dict(step=1.0), True),
        (dict(kernel=Gaussian(1.0) * 4.0, step=0.25), True),
        (dict(step=InverseRootStep(5.0)), False),
        (dict(loss="huber", step=1.0), True),
        (dict(loss="absolute", step=100.0), False),
        (dict(loss="squared", step=PassiveAggressiveStep(5.0), lam=0.0), False),
    ],
    ids=lambda o: str(o),
)
def test_steps_that_overshoot_are_warned_of(options, overshoots):
    """Just where the errors at one point stop shrinking: f ← f − 2η(f − y) k(x,x)."""
    machine = OnlineKernelRegressor(**{"kernel": Gaussian(1.0)} | options)
    X, y = np.zeros((5, 1)), np.ones(5)
    if overshoots:
        with pytest.warns(UserWarning, match="overshoot.*Take step="):
            machine.fit(X, y)
    else:
        machine.fit(X, y)


def test_the_default_budget_is_known_by_its_value():
    """Coordinates have no use for a budget; a copy of the default, as unpickling makes one, is none."""
    X = np.linspace(-1, 1, 30)[:, None]
    machine = OnlineKernelRegressor(Gaussian(1.0), representation="features", random_state=0)
    other = pickle.loads(pickle.dumps(machine)).fit(X, X[:, 0])
    np.testing.assert_array_equal(other.predict(X), machine.fit(X, X[:, 0]).predict(X))
    with pytest.raises(ValueError, match="no use for budget=20"):
        machine.set_params(budget=20).fit(X, X[:, 0])
