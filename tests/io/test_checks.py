"""What must hold of loaded objects: each condition, broken."""

import copy
from dataclasses import replace

import numpy as np
import pytest

import mercer
from mercer.engines import Cuda, Engine, Tiled
from mercer.features import ExplicitFeatures, NystromFeatures, RandomFourierFeatures
from mercer.functions import KernelFunction
from mercer.io.checks import check, trial, usable
from mercer.kernels import Gaussian, Kernel, Linear, Polynomial
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
    trial(x)


LABELS = LabelCoding(Hinge(), np.array(["a", "b"]))
SOLUTION = RIDGE.solution_

BROKEN = [
    (RIDGE, "function_", 3, "no function"),
    (RIDGE, "kernel_", "gaussian", "no kernel"),
    (RIDGE, "coding_", LABELS, "coding of answers"),
    (RIDGE, "coding_", replace(RIDGE.coding_, one_dimensional=False, n_outputs=2), "2 outputs are made of 1"),
    (RIDGE, "solution_", None, "solution_"),
    (RIDGE, "solution_", replace(SOLUTION, intercept=np.zeros(2)), "solution_"),
    (RIDGE, "loss_", "squared", "no loss"),
    (RIDGE, "n_features_in_", 3, "other features"),
    (RIDGE, "n_features_in_", -1, "no number of features"),
    (RIDGE, "n_features_in_", None, "n_features_in_ is missing"),
    (RIDGE, "feature_names_in_", np.array(["a"], dtype=object), "does not name"),
    (RIDGE, "kernel", "nonsense", "unknown kernel"),
    (RIDGE, "engine", "nonsense", "unknown engine"),
    (RIDGE, "solver", "nonsense", "unknown solver"),
    (RIDGE, "representation", "nonsense", "unknown representation"),
    (MONOMIALS, "n_features_in_", 3, "feature map has other"),
    (MARGINS, "classes_", np.array(["x", "y", "z"]), "others than coded"),
    (MARGINS, "coding_", LabelCoding(Hinge(), np.array(["a"])), "one class only"),
    (MARGINS, "calibration_", None, "not calibrated"),
    (MARGINS, "calibration_", replace(MARGINS.calibration_, slopes=(1.0, 2.0)), "has not 1 slopes"),
    (ONE_CLASS, "offset_", "high", "no number"),
    (VOTES, "_votes", (1,), "incomplete"),
    (VOTES, "_votes", (VOTES._votes[0] + 99, *VOTES._votes[1:]), "other points"),
    (VOTES, "_votes", (VOTES._votes[0], VOTES._votes[1][:1], VOTES._votes[2]), "changes"),
    (VOTES, "_votes", (*VOTES._votes[:2], VOTES._votes[2][:1]), "miscounted"),
    (EXPLICIT, "monomials_", ["x"], "no product"),
    (EXPLICIT, "monomials_", [(5,)], "no product"),
    (EXPLICIT, "monomials_", EXPLICIT.monomials_[::-1], "not in order"),
    (EXPLICIT, "monomials_", None, "no list"),
    (EXPLICIT, "weights_", np.ones(3), "weights"),
    (FOURIER, "frequencies_", np.ones((3, 5)), "frequencies"),
    (FOURIER, "_amplitude", -1.0, "wrong"),
    (NYSTROM, "whitening_", np.ones((5, 9)), "whitening"),
    (NYSTROM, "centres_", np.ones((4, 2)), "differ in number"),
    (NYSTROM, "centres_", np.ones((5, 3)), "other features"),
    (NYSTROM, "kernel", None, "no kernel"),
    (GROUPED, "_groups", ((np.array([99]), np.array([0])),), "groups"),
    (GROUPED, "_groups", ((np.array([0]), np.array([2])),), "groups"),
    (GROUPED, "engine", None, "no engine"),
    (MONOMIALS.function_, "coef", np.zeros(2), "2 coefficients for 6 features"),
    (MONOMIALS.function_, "map", "identity", "not those of a feature map"),
]


@pytest.mark.parametrize("x, name, value, match", BROKEN)
def test_conditions(x, name, value, match):
    broken = copy.copy(x)
    broken.__dict__[name] = value
    with pytest.raises(ValueError, match=match):
        check(broken)


@pytest.mark.parametrize(
    "make, match",
    [
        (lambda: LabelCoding(Hinge(), np.array(["a"])[:0]), "0 classes"),
        (lambda: LabelCoding(Hinge(), np.zeros((2, 2))), "no list of labels"),
        (lambda: PairCoding(Hinge(), np.array(["a", "b"])), "2 classes"),
        (lambda: TargetCoding(Hinge(), True, 2), "one-dimensional"),
        (lambda: TargetCoding(Quantile([0.1, 0.9]), False, 3), "differ in number"),
        (lambda: replace(SOLUTION, coef=np.zeros(3)), "not numbers"),
        (lambda: replace(SOLUTION, coef=np.zeros((3, 2))), "one offset for each"),
        (lambda: replace(SOLUTION, dual_coef=np.zeros(3, int)), "dual coefficients"),
        (lambda: replace(SOLUTION, coef="many"), "field coef"),
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
        trial(hollow)
    with pytest.raises(NotImplementedError):
        trial(KernelFunction(Linear(), X, Y, Engine()))


def test_answers_that_a_loss_has_not_show_in_a_trial():
    machine = copy.copy(mercer.KernelLogistic(lam=0.1, offset=False).fit(X, WORDS))
    machine.coding_ = replace(machine.coding_, loss=Hinge())
    check(machine)
    with pytest.raises(NotImplementedError, match="Hinge has no probabilities"):
        trial(machine)


def test_named_columns_are_tried_without_a_warning():
    import pandas as pd

    trial(mercer.KernelRidge(offset=False).fit(pd.DataFrame(X, columns=["a", "b"]), Y))


def test_a_monomial_plan_is_made_anew():
    map = copy.copy(EXPLICIT)
    map._plan = [(np.array([99]),)]
    check(map)
    assert np.array_equal(map.transform(X), EXPLICIT.transform(X))


def test_engines_that_are_not_here(monkeypatch):
    from mercer.engines._triton import call

    assert usable(Tiled(threads=2)) == Tiled(threads=2) and usable(None) is None
    monkeypatch.setattr(call, "require", lambda device: None)
    assert usable(Cuda()) == Cuda()

    def missing(device):
        raise ImportError("no torch")

    monkeypatch.setattr(call, "require", missing)
    assert usable(Cuda()) == Tiled()
