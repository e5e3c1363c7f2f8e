"""The certificate of a machine: complete, honest about δ, quick, on real machines."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import (
    KernelLogistic,
    KernelOneClass,
    KernelPCA,
    KernelPerceptron,
    KernelRegressor,
    KernelRidge,
    KernelSVC,
    KernelSVR,
)
from mercer.kernels import Gaussian
from mercer.theory import PointsProblem, binomial_bound, certificate, coverage, mean_bound
from mercer.theory.applicable import cap_of
from mercer.theory.certificate import verdict

RNG = np.random.default_rng(0)
DIGITS, NUMBERS = load_digits(return_X_y=True)
DIGITS, ODD = DIGITS / 16, NUMBERS % 2
ORDER = RNG.permutation(len(ODD))
TRAIN, TEST = ORDER[:1200], ORDER[1200:]
X = RNG.uniform(-3, 3, (3000, 1))
Y = np.sin(2 * X[:, 0]) + 0.1 * RNG.standard_normal(3000)


def of(machine, X, y, train, test, **options):
    machine.fit(X[train], y[train])
    return certificate(machine, X[train], y[train], X_test=X[test], y_test=y[test], **options)


G = Gaussian(2.0)
BINARY = [
    KernelLogistic(G, lam=1e-3, offset=False),
    KernelSVC(G, lam=1e-3),
    KernelSVC(G, lam=1e-3, offset=False),
    KernelLogistic(G, lam=1e-3, representation="nystrom", offset=False),
    KernelLogistic(G, lam=1e-3, representation="features", offset=False),
]


@pytest.mark.parametrize("machine", BINARY, ids=lambda m: f"{type(m).__name__}-{m.representation}")
def test_odd_and_even_digits(machine):
    found = of(machine, DIGITS, ODD, TRAIN, TEST)
    wrong = int((machine.predict(DIGITS[TEST]) != ODD[TEST]).sum())
    first = found.bounds[0]
    assert found.test == first.measured == wrong / len(TEST)
    assert first.value == binomial_bound(wrong, len(TEST), first.delta).value
    assert found.training == (machine.predict(DIGITS[TRAIN]) != ODD[TRAIN]).mean()
    assert found.guess == pytest.approx(min((ODD[TRAIN] == c).mean() for c in (0, 1)))
    # Bounds that hold with a probability hold for the test error, too, give or take its own error.
    assert all(b.value > found.test - 0.02 for b in found.bounds)
    assert {"Test-set bound", "PAC–Bayes of draws"} <= {b.name for b in found.telling}


@pytest.mark.parametrize(
    "machine",
    [
        KernelRidge(Gaussian(1.0), lam=0.01, offset=False),
        KernelRidge(Gaussian(1.0), lam=0.01, offset=True),
        KernelRidge(Gaussian(1.0), lam=0.01, representation="nystrom", offset=False),
        KernelSVR(Gaussian(1.0), lam=0.01),
        KernelRegressor(Gaussian(1.0), loss="huber", lam=0.01, offset=False),
    ],
    ids=lambda m: f"{type(m).__name__}-{m.representation}-{m.offset}",
)
def test_a_regression(machine):
    found = of(machine, X, Y, np.arange(2500), np.arange(2500, 3000))
    assert found.measure == "mean error, capped at 1"
    error = np.minimum(np.abs(machine.predict(X[2500:]) - Y[2500:]), 1)
    assert found.test == pytest.approx(error.mean())
    rademacher = next(b for b in found.bounds if b.name == "Rademacher bound")
    assert found.test < rademacher.value < 1 and not rademacher.vacuous


def test_delta_is_shared():
    machine = KernelLogistic(G, lam=1e-3, offset=False)
    found = of(machine, DIGITS, ODD, TRAIN, TEST, delta=0.08)
    sure = {b.name: b.delta for b in found.bounds if not b.on_average}
    assert set(sure.values()) == {0.02} and len(sure) == 5  # one event for both bounds of PAC–Bayes
    assert (
        "with 92 %" in found.sharing() and "2 % only" in found.sharing() and "on average" in found.sharing()
    )
    alone = certificate(machine, DIGITS[TRAIN], ODD[TRAIN])
    assert {b.delta for b in alone.bounds if not b.on_average} == {0.05 / 3}
    assert alone.test is None and ("Test-set bound", "no test examples were given") in alone.absent


def test_in_words():
    found = of(KernelLogistic(G, lam=1e-3, offset=False), DIGITS, ODD, TRAIN, TEST)
    text = str(found)
    for words in (
        "KernelLogistic, 1,200 examples, λ = 0.001",
        "on the training examples",
        "on the test examples; the best constant answer has",
        "98.75 %",
        "Stability bound: vacuous",
        "mostly because of stability",
        "examples on.",
        "VC bound: does not apply",
        found.sharing(),
    ):
        assert words in text, words
    assert all(len(row) == len(found.header) == 5 for row in found.rows())
    html = found._repr_html_()
    assert html.count("<tr>") == len(found.bounds) + 1 and "<script" not in html
    again = json.loads(json.dumps(found.to_dict()))
    assert [b["name"] for b in again["bounds"]] == [b.name for b in found.bounds]


def test_verdicts():
    good, poor = binomial_bound(1, 100), binomial_bound(60, 100)
    assert verdict(good, 0.5).startswith("it says something: at most 0.0466")
    assert verdict(poor, 0.5).startswith("weak: a constant answer, with 0.5, is below it")
    assert verdict(binomial_bound(5, 5), 0.5) == "vacuous: it promises no more than is known anyway."


def test_other_estimators_have_the_test_set():
    found = of(KNeighborsClassifier(), DIGITS, ODD, TRAIN, TEST)
    assert [b.name for b in found.bounds] == ["Test-set bound"] and found.bounds[0].delta == 0.05
    assert (
        found.absent[0][0] == "Bounds from training errors"
        and "The bound with a probability" in found.sharing()
    )
    found = of(KNeighborsRegressor(), X, Y, np.arange(500), np.arange(500, 1000))
    assert found.bounds[0].risk == found.measure and found.test < 0.2
    bare = certificate(KNeighborsRegressor().fit(X, Y), X, Y)
    assert (
        bare.bounds == ()
        and bare.sharing() == ""
        and str(bare).startswith("KNeighborsRegressor, 3,000 examples")
    )


def test_a_perceptron():
    """It minimises nothing, but what it found is a function with a norm."""
    machine = KernelPerceptron(G)
    found = of(machine, DIGITS, ODD, TRAIN, TEST)
    assert [b.name for b in found.bounds][:3] == ["Test-set bound", "Margin bound", "PAC–Bayes bound"]
    assert dict(found.absent)["Stability bound"].startswith("the machine does not minimise")
    assert "λ" not in found.machine


def test_predictions_made_elsewhere():
    machine = KernelRidge(Gaussian(1.0), lam=0.01, offset=False).fit(X[:300], Y[:300])
    found = certificate(machine, X[:300], Y[:300], y_test=Y[:300], predicted=Y[:300] + 0.25, tuned=True)
    assert found.test == pytest.approx(0.25) and "machines like this one" in found.bounds[0].assumptions
    assert "tuned" in next(b for b in found.bounds if b.name == "Rademacher bound").assumptions


def test_what_can_not_be():
    machine = KernelRidge(Gaussian(1.0), offset=False).fit(X[:50], Y[:50])
    with pytest.raises(ValueError, match="y_test needs X_test"):
        certificate(machine, X[:50], Y[:50], y_test=Y[50:60])
    with pytest.raises(ValueError, match="differ in shape"):
        certificate(machine, X[:50], Y[:50], X_test=X[50:70], y_test=Y[50:60])
    with pytest.raises(ValueError, match="delta"):
        certificate(machine, X[:50], Y[:50], delta=0.0)
    with pytest.raises(ValueError, match="fitted to 50 examples"):
        certificate(machine, X, Y)


@pytest.mark.parametrize(
    "machine",
    [KernelLogistic(Gaussian(0.2), lam=0.02, offset=False), KernelSVC(Gaussian(0.2), lam=0.02)],
    ids=lambda m: type(m).__name__,
)
def test_promises_are_kept(machine):
    """A small part of benchmarks/bounds.py, which repeats this a thousand times for every bound."""
    problem = PointsProblem()

    def trial(rng):
        X, y = problem.labels(100, rng)
        T, t = problem.labels(60, rng)
        found = certificate(machine.fit(X, y), X, y, 0.3, X_test=T, y_test=t)
        risk = problem.error(machine.decision_function(problem.points))
        return [(b, risk) for b in found.bounds if "draw" not in b.risk]

    for name, seen in coverage(trial, 50).items():
        assert seen.kept, name


def test_pipelines_and_searches_say_whom_to_ask():
    X, y = DIGITS[:200], ODD[:200]
    pipe = make_pipeline(StandardScaler(), KernelSVC(G)).fit(X, y)
    assert "p[:-1].transform(X)" in dict(certificate(pipe, X, y).absent)["Bounds from training errors"]
    assert certificate(pipe[-1], pipe[:-1].transform(X), y).bounds
    search = GridSearchCV(KernelSVC(G), {"lam": [0.1, 0.01]}, cv=2).fit(X, y)
    assert "best_estimator_" in dict(certificate(search, X, y).absent)["Bounds from training errors"]


def test_what_has_no_certificate():
    X, y = DIGITS[:50], ODD[:50]
    for machine in (KernelPCA(G).fit(X), KernelOneClass(G).fit(X), "svc"):
        with pytest.raises(TypeError, match="fitted classifier or regression"):
            certificate(machine, X, y)


def test_test_examples_come_whole():
    X, y = DIGITS[:50], ODD[:50]
    machine = KernelSVC(G).fit(X, y)
    for options in ({"X_test": X}, {"predicted": y}):
        with pytest.raises(ValueError, match="give y_test too"):
            certificate(machine, X, y, **options)
    ridge = KernelRidge(G, offset=False).fit(X, y.astype(float))
    with pytest.raises(ValueError, match="contain NaN"):
        certificate(ridge, X, y.astype(float), X_test=X[:2], y_test=[np.nan, 1.0])


def test_of_one_example():
    found = certificate(KernelRidge(G, offset=False).fit(X[:1], Y[:1]), X[:1], Y[:1])
    assert dict(found.absent)["Stability bound"] == "there is one example only"


def test_groups_count_once():
    """Every test example ten times says no more than once; without groups it would seem to."""
    machine = KernelSVC(G, lam=1e-3).fit(DIGITS[TRAIN], ODD[TRAIN])
    ten = np.repeat(TEST, 10)
    test = {"X_test": DIGITS[ten], "y_test": ODD[ten]}
    plain = certificate(machine, DIGITS[TRAIN], ODD[TRAIN], **test).bounds[0]
    grouped = certificate(machine, DIGITS[TRAIN], ODD[TRAIN], groups_test=ten, **test)
    bound = grouped.bounds[0]
    assert grouped.test == bound.measured == plain.measured
    assert bound.value == mean_bound(bound.measured, len(TEST), bound.delta).value > plain.value
    assert f"the {len(TEST):,} groups" in bound.assumptions and "each group" in bound.risk
    assert len(grouped.bounds) > 1  # training examples are as independent as they were


def test_groups_of_unequal_size():
    """The bound is about the mean of the groups' means; one large group does not drown the others."""
    machine = KernelRidge(Gaussian(1.0), lam=0.01, offset=False).fit(X[:200], Y[:200])
    groups = np.minimum(np.arange(100), 30)
    found = certificate(machine, X[:200], Y[:200], X_test=X[200:300], y_test=Y[200:300], groups_test=groups)
    errors = np.minimum(np.abs(machine.predict(X[200:300]) - Y[200:300]), cap_of(Y[:200]))
    means = [errors[groups == g].mean() for g in range(31)]
    assert found.bounds[0].measured == pytest.approx(np.mean(means))
    assert found.test == pytest.approx(errors.mean())


def test_training_examples_in_groups_are_not_independent():
    machine = KernelSVC(G, lam=1e-3).fit(DIGITS[TRAIN], ODD[TRAIN])
    found = certificate(machine, DIGITS[TRAIN], ODD[TRAIN], groups=np.arange(len(TRAIN)) // 2)
    assert found.bounds == () and "not independent" in dict(found.absent)["Bounds from training errors"]
    alone = certificate(machine, DIGITS[TRAIN], ODD[TRAIN], groups=np.arange(len(TRAIN)))
    assert alone.bounds == certificate(machine, DIGITS[TRAIN], ODD[TRAIN]).bounds
