"""What must hold of loaded objects: each condition, broken."""

import copy
from dataclasses import replace

import numpy as np
import pytest

import mercer
from mercer._state import check, state_of, try_out
from mercer.engines import Cuda, Tiled
from mercer.features import ExplicitFeatures, NystromFeatures, RandomFourierFeatures
from mercer.functions import KernelFunction
from mercer.kernels import Gaussian, Kernel, Polynomial
from mercer.losses import Hinge, Quantile
from mercer.losses.coding import LabelCoding, TargetCoding
from mercer.losses.pairs import PairCoding
from mercer.representations import Features

RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 2))
Y = np.sin(3 * X[:, 0]) + X[:, 1]
WORDS = np.array(["a", "b", "c"])[np.digitize(Y, [-0.5, 0.5])]

RIDGE = mercer.KernelRidge(lam=0.1, offset=False).fit(X, Y)
MONOMIALS = mercer.KernelRidge(Polynomial(2), representation=Features(), lam=0.1, offset=False).fit(X, Y)
MARGINS = mercer.KernelSVC(lam=0.05, probability=True).fit(X, WORDS)
ONE_CLASS = mercer.KernelOneClass().fit(X)
VOTES = mercer.KernelPerceptron(Gaussian(0.3), prediction="voted").fit(X, WORDS)
EXPLICIT = ExplicitFeatures(Polynomial(2)).fit(X)
FOURIER = RandomFourierFeatures(n_features=6, random_state=0).fit(X)
NYSTROM = NystromFeatures(n_centres=5, random_state=0).fit(X)
GROUPED = KernelFunction(Gaussian(1.0), X, np.c_[Y, Y]).in_groups(np.arange(30) % 2)


@pytest.mark.parametrize(
    "x", [RIDGE, MONOMIALS, MARGINS, ONE_CLASS, VOTES, EXPLICIT, FOURIER, NYSTROM, GROUPED]
)
def test_what_fit_made_is_in_order(x):
    check(x)
    try_out(x)


LABELS = LabelCoding(Hinge(), np.array(["a", "b"]))
SOLUTION = RIDGE.solution_

BROKEN = [
    (RIDGE, "function_", 3, "function_ of a KernelRidge is not Function"),
    (RIDGE, "kernel_", "gaussian", "kernel_ of a KernelRidge is not Kernel"),
    (RIDGE, "coding_", LABELS, "coding_ of a KernelRidge is not TargetCoding"),
    (RIDGE, "coding_", replace(RIDGE.coding_, one_dimensional=False, n_outputs=2), "2 outputs are made of 1"),
    (RIDGE, "solution_", None, "solution_"),
    (RIDGE, "solution_", replace(SOLUTION, intercept=np.zeros(2)), "solution_"),
    (RIDGE, "loss_", "squared", "loss_ of a KernelRidge is not Loss"),
    (RIDGE, "n_features_in_", 3, "other features"),
    (RIDGE, "n_features_in_", -1, "no number of features"),
    (RIDGE, "n_features_in_", None, "n_features_in_ is missing"),
    (RIDGE, "feature_names_in_", np.array(["a"], dtype=object), "does not name"),
    (RIDGE, "kernel", "nonsense", "unknown kernel"),
    (RIDGE, "engine", "nonsense", "unknown engine"),
    (RIDGE, "solver", "nonsense", "unknown solver"),
    (RIDGE, "representation", "nonsense", "unknown representation"),
    (MONOMIALS, "n_features_in_", 3, "other features"),
    (MARGINS, "classes_", np.array(["x", "y", "z"]), "others than coded"),
    (MARGINS, "coding_", LabelCoding(Hinge(), np.array(["a"])), "one class only"),
    (MARGINS, "calibration_", None, "calibration_ of a KernelSVC is not Calibration"),
    (MARGINS, "calibration_", replace(MARGINS.calibration_, slopes=(1.0, 2.0)), "has not 1 slopes"),
    (ONE_CLASS, "offset_", "high", "offset_ of a KernelOneClass is not a finite float"),
    (VOTES, "votes_", (1,), "votes_ of a KernelPerceptron is not"),
    (VOTES, "votes_", (VOTES.votes_[0] + 99, *VOTES.votes_[1:]), "other points"),
    (VOTES, "votes_", (VOTES.votes_[0], VOTES.votes_[1][:1], VOTES.votes_[2]), "changes"),
    (VOTES, "votes_", (*VOTES.votes_[:2], VOTES.votes_[2][:1]), "miscounted"),
    (EXPLICIT, "monomials_", ["x"], "monomials_ of an? ExplicitFeatures is not"),
    (EXPLICIT, "monomials_", [(5,)], "not products"),
    (EXPLICIT, "monomials_", EXPLICIT.monomials_[::-1], "not in order"),
    (EXPLICIT, "monomials_", None, "monomials_ of an? ExplicitFeatures is not"),
    (EXPLICIT, "weights_", np.ones(3), "weights"),
    (FOURIER, "frequencies_", np.ones((3, 5)), "frequencies"),
    (FOURIER, "amplitude_", -1.0, "amplitude_"),
    (NYSTROM, "whitening_", np.ones(5), "whitening_"),
    (NYSTROM, "centres_", np.ones((4, 2)), "differ in number"),
    (NYSTROM, "centres_", np.ones((5, 3)), "other features"),
    (NYSTROM, "kernel", None, "kernel of a NystromFeatures is not Kernel"),
    (GROUPED, "_groups", ((np.array([99]), np.array([0])),), "groups"),
    (GROUPED, "_groups", ((np.array([0]), np.array([2])),), "groups"),
    (GROUPED, "engine", None, "no engine"),
    (MONOMIALS.function_, "coef", np.zeros(2), "gives 6 features, but coef has 2"),
    (MONOMIALS.function_, "map", "identity", "map of a FeatureFunction is not BaseEstimator"),
]


@pytest.mark.parametrize("x, name, value, match", BROKEN)
def test_conditions(x, name, value, match):
    broken = copy.copy(x)
    broken.__dict__[name] = value
    with pytest.raises(ValueError, match=match):
        check(broken)
        try_out(broken)


@pytest.mark.parametrize(
    "make, match",
    [
        (lambda: LabelCoding(Hinge(), np.array(["a"])[:0]), "0 classes"),
        (lambda: LabelCoding(Hinge(), np.zeros((2, 2))), "classes of a LabelCoding is not an array"),
        (lambda: PairCoding(Hinge(), np.array(["a", "b"])), "2 classes"),
        (lambda: TargetCoding(Hinge(), True, 2), "one-dimensional"),
        (lambda: TargetCoding(Quantile([0.1, 0.9]), False, 3), "differ in number"),
        (lambda: replace(SOLUTION, coef=np.zeros(3)), "coef of a Solution is not"),
        (
            lambda: replace(SOLUTION, coef=np.zeros((3, 2))),
            r"intercept of a Solution is not an array f of shape \(t\)",
        ),
        (lambda: replace(SOLUTION, dual_coef=np.zeros(3, int)), "dual_coef of a Solution is not"),
        (lambda: replace(SOLUTION, coef="many"), "coef of a Solution is not"),
        (lambda: Gaussian(-1.0), "positive"),
    ],
)
def test_conditions_of_values(make, match):
    with pytest.raises(ValueError, match=match):
        check(make())


def test_a_formula_with_nothing_behind_it_shows_in_a_trial():
    hollow = KernelFunction(Kernel(), X, Y)
    check(hollow)
    with pytest.raises(NotImplementedError):
        try_out(hollow)


def test_answers_that_a_loss_has_not_show_in_a_trial():
    machine = copy.copy(mercer.KernelLogistic(lam=0.1, offset=False).fit(X, WORDS))
    machine.coding_ = replace(machine.coding_, loss=Hinge())
    check(machine)
    with pytest.raises(NotImplementedError, match="Hinge has no probabilities"):
        try_out(machine)


def test_named_columns_are_tried_without_a_warning():
    import pandas as pd

    try_out(mercer.KernelRidge(offset=False).fit(pd.DataFrame(X, columns=["a", "b"]), Y))


def test_what_follows_from_monomials_is_no_part_of_the_state():
    assert EXPLICIT.levels_ and "levels_" not in state_of(EXPLICIT)


def test_engines_that_are_not_here(monkeypatch):
    from mercer.engines import cuda

    assert Tiled(threads=2).usable() == Tiled(threads=2)
    monkeypatch.setattr(cuda, "lacking", lambda device: None)
    assert Cuda().usable() == Cuda()
    monkeypatch.setattr(cuda, "lacking", lambda device: ImportError("no torch"))
    assert Cuda().usable() == Tiled()
