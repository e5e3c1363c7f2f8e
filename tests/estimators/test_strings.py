"""Strings as points: every machine takes them, saves them, and says what it can't take."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import mercer
from mercer import (
    KernelClassifier,
    KernelKMeans,
    KernelLogistic,
    KernelNeighborsClassifier,
    KernelOneClass,
    KernelPCA,
    KernelPerceptron,
    KernelRidge,
    KernelSVC,
    OnlineKernelClassifier,
)
from mercer.kernels import Precomputed, Spectrum
from mercer.representations import Nystrom

RNG = np.random.default_rng(0)
TEXTS = ["".join(RNG.choice(list("ACGT"), 24)) for _ in range(160)]
Y = np.array([text.count("AC") > text.count("GT") for text in TEXTS])  # half of them, about
TRAIN, TEST = TEXTS[:120], TEXTS[120:]
KERNEL = Spectrum(2).normalize()
CLASSIFIERS = [
    KernelSVC(KERNEL, lam=1e-3),
    KernelSVC(KERNEL, lam=1e-3, representation=Nystrom(40), random_state=0),
    KernelSVC(KERNEL, lam=1e-3, representation="features"),
    KernelLogistic(KERNEL, lam=1e-3),
    KernelLogistic(KERNEL + 0.1 * Spectrum(1), lam=1e-4, representation="features"),
    KernelClassifier(KERNEL, loss="squared_hinge", lam=1e-3),
    KernelPerceptron(KERNEL),
    KernelNeighborsClassifier(kernel=KERNEL),
    OnlineKernelClassifier(KERNEL, random_state=0),
]


@pytest.mark.parametrize(
    "machine", CLASSIFIERS, ids=lambda m: f"{type(m).__name__}-{m.get_params().get('representation')}"
)
def test_classifiers(machine, tmp_path):
    fitted = clone(machine).fit(TRAIN, Y[:120])
    assert fitted.score(TEST, Y[120:]) >= 0.75 > max(np.mean(Y), 1 - np.mean(Y))
    mercer.save(fitted, tmp_path / "m")
    again = mercer.load(tmp_path / "m")
    assert np.array_equal(again.predict(TEST), fitted.predict(TEST))
    # Unknown letters, none at all, and more than any string had.
    odd = ["", "A", "☃☃☃☃", "ACGT" * 500]
    assert np.array_equal(again.predict(odd), fitted.predict(odd))


def test_the_same_as_with_the_matrix():
    K = KERNEL(TRAIN)
    new = KERNEL(TEST, TRAIN)
    for machine in (
        KernelRidge(KERNEL, lam=1e-2),
        KernelLogistic(KERNEL, lam=1e-2),
        KernelSVC(KERNEL, lam=1e-2),
    ):
        y = Y[:120].astype(float) if isinstance(machine, KernelRidge) else Y[:120]
        ours = machine.fit(TRAIN, y)
        theirs = clone(machine).set_params(kernel=Precomputed()).fit(K, y)
        score = "predict" if isinstance(machine, KernelRidge) else "decision_function"
        a, b = getattr(ours, score)(TEST), getattr(theirs, score)(new)
        assert np.abs(a - b).max() < 1e-3 * np.abs(b).max()
        assert ours.solution_.converged and ours.solution_.certificate.gap is not None


def test_without_labels():
    assert KernelPCA(KERNEL, n_components=2).fit_transform(TRAIN).shape == (120, 2)
    assert set(KernelKMeans(kernel=KERNEL, n_clusters=3, random_state=0).fit(TRAIN).labels_) == {0, 1, 2}
    assert set(KernelOneClass(KERNEL).fit(TRAIN).predict(TEST)) <= {-1, 1}


def test_searches_and_containers():
    search = GridSearchCV(KernelSVC(Spectrum(1), lam=1e-3), {"kernel__length": [1, 3]}, cv=3).fit(
        TRAIN, Y[:120]
    )
    assert search.best_params_ == {"kernel__length": 3}
    fitted = KernelSVC(KERNEL, lam=1e-3).fit(TRAIN, Y[:120])
    for given in (
        pd.Series(TEST),
        pd.DataFrame({"text": TEST}),
        np.array(TEST),
        np.array(TEST, object),
        tuple(TEST),
    ):
        assert np.array_equal(fitted.predict(given), fitted.predict(TEST))
    tokens = KernelSVC(KERNEL, lam=1e-3).fit([list(text) for text in TRAIN], Y[:120])
    assert np.array_equal(tokens.predict([tuple(text) for text in TEST]), fitted.predict(TEST))


def test_many_strings_are_solved_in_features():
    """The plan says so, and why; few features, few unknowns."""
    many = TRAIN * 3
    y = np.tile(Y[:120], 3).astype(float)
    machine = KernelRidge(Spectrum(2), lam=1e-3).fit(many, y)
    assert machine.plan_.unknowns == 16 and "explicit coordinates" in " ".join(machine.plan_.reasons)
    full = KernelRidge(Spectrum(2), lam=1e-3, representation="full").fit(
        many, np.tile(Y[:120], 3).astype(float)
    )
    assert np.abs(machine.predict(TEST) - full.predict(TEST)).max() < 1e-6


def test_one_at_a_time():
    machine = OnlineKernelClassifier(KERNEL, random_state=0)
    for text, label in zip(TRAIN, Y[:120].tolist()):
        machine.learn_one(text, label)
    assert np.mean([machine.predict_one(text) for text in TEST] == Y[120:]) >= 0.7


@pytest.mark.parametrize(
    "given, message",
    [
        ([None, "A"], "item 0 is None.*missing"),
        (["A", float("nan")], "item 1 is nan.*missing"),
        ([1.0, 2.0], "item 0 is 1.0"),
        (np.ones((2, 3)), "or one column of them"),
        (["A", b"A"], "must be of one kind"),
        ("ACGT", r"must be a list of points.*give \[x\]"),
        ([], "0 sample"),
    ],
)
def test_what_is_refused(given, message):
    fitted = KernelSVC(KERNEL, lam=1e-3).fit(TRAIN, Y[:120])
    with pytest.raises(ValueError, match=message):
        fitted.predict(given)
    with pytest.raises(ValueError, match=message):
        KernelSVC(KERNEL, lam=1e-3).fit(given, [0, 1][: len(given)])


@pytest.mark.parametrize("given", [["AC", "GT"], [["AC"], ["GT"]], [[(0, 1)], [(0, 1), (1, 2)]], [{1}, {2}]])
def test_machines_on_vectors_say_what_takes_other_things(given):
    with pytest.raises(
        (TypeError, ValueError), match=r"Gaussian\(\) compares vectors of numbers: .*Spectrum"
    ):
        KernelSVC().fit(given, [0, 1])


def test_strings_of_another_kind_than_the_examples_are_refused():
    fitted = KernelSVC(KERNEL, lam=1e-3, representation="full").fit(TRAIN, Y[:120])
    with pytest.raises(ValueError, match="bytes on one side and text on the other"):
        fitted.predict([TEST[0].encode()])


@pytest.mark.parametrize("form", [str.encode, list], ids=["bytes", "tokens"])
def test_other_strings_on_disk(form, tmp_path):
    machine = KernelSVC(KERNEL, lam=1e-3).fit([form(text) for text in TRAIN], Y[:120])
    mercer.save(machine, tmp_path / "m")
    new = [form(text) for text in TEST]
    assert np.array_equal(mercer.load(tmp_path / "m").predict(new), machine.predict(new))
