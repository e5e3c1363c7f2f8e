"""Which bounds apply to which machine, and the reasons why others do not."""

import warnings

import numpy as np
import pytest

from mercer import KernelClassifier, KernelLogistic, KernelRegressor, KernelRidge, KernelSVC, KernelSVR
from mercer.estimators.facts import facts_of
from mercer.kernels import EditDistance, Gaussian, Linear, MeanEmbedding, Sigmoid, Spectrum
from mercer.losses import Huber, Poisson, SquaredHinge
from mercer.representations import Lasso
from mercer.theory.applicable import largest_slope, promises

RNG = np.random.default_rng(0)
X = RNG.standard_normal((80, 2))
Y = np.sin(2 * X[:, 0]) + 0.2 * RNG.standard_normal(80)
SIGN = np.where(Y > 0, 1, -1)
THREE = np.digitize(Y, [-0.5, 0.5])
G = Gaussian(1.0)


def found(machine, y, tuned=False):
    machine.fit(X, y)
    made, absent = promises(facts_of(machine, X, y), tuned)
    bounds = [make(delta=0.01) for p in made for make in p.bounds]
    assert all(b.value >= b.measured and b.delta == (0 if b.on_average else 0.01) for b in bounds)
    return {b.name for b in bounds}, dict(absent), bounds


ALL = {"Margin bound", "PAC–Bayes bound", "PAC–Bayes of draws", "Stability bound", "Leave-one-out bound"}


@pytest.mark.parametrize(
    "machine, y, names",
    [
        (KernelLogistic(G, offset=False), SIGN, ALL),
        (KernelLogistic(Linear(), offset=False), SIGN, ALL | {"VC bound"}),
        (KernelClassifier(G, loss=SquaredHinge(), offset=False), SIGN, ALL),
        (KernelClassifier(G, loss="squared", offset=False), SIGN, ALL),
        (KernelSVC(G, offset=False), SIGN, ALL | {"Support vectors"}),
        (
            KernelSVC(G),
            SIGN,
            {"Margin bound", "PAC–Bayes bound", "PAC–Bayes of draws", "ξα estimate", "Support vectors"},
        ),
        (KernelLogistic(G, offset=True), SIGN, {"Margin bound", "PAC–Bayes bound", "PAC–Bayes of draws"}),
        (
            KernelLogistic(G, representation="nystrom", offset=False),
            SIGN,
            {"Margin bound", "PAC–Bayes bound", "PAC–Bayes of draws"},
        ),
        (KernelLogistic(G, representation="features", offset=False), SIGN, ALL | {"VC bound"}),
        (KernelLogistic(G, offset=False), THREE, {"Margin bound"}),
        (KernelSVC(G), THREE, set()),
        (KernelRidge(G, offset=False), Y, {"Rademacher bound", "Stability bound", "Leave-one-out bound"}),
        (KernelRidge(G, offset=True), Y, {"Rademacher bound"}),
        (KernelRidge(G, representation="nystrom", offset=False), Y, {"Rademacher bound"}),
        (
            KernelRegressor(G, loss=Huber(), offset=False),
            Y,
            {"Rademacher bound", "Stability bound", "Leave-one-out bound"},
        ),
        (KernelSVR(G, offset=False), Y, {"Rademacher bound", "Stability bound", "Leave-one-out bound"}),
        (KernelSVR(G), Y, {"Rademacher bound"}),
        (KernelRidge(G, offset=False), np.column_stack([Y, Y]), set()),
        (KernelRegressor(G, loss=Poisson(), offset=False), np.round(np.exp(Y)), set()),
        (KernelRegressor(Linear(), representation=Lasso(), offset=False), Y, {"Rademacher bound"}),
    ],
)
def test_names(machine, y, names):
    assert found(machine, y)[0] == names


@pytest.mark.parametrize(
    "machine, y, name, why",
    [
        (KernelSVC(G), SIGN, "Stability bound", "offset=False"),
        (KernelSVC(G), SIGN, "VC bound", "infinite VC dimension"),
        (KernelSVC(G), THREE, "Margin bound", "votes of pairs"),
        (KernelLogistic(G, offset=False), THREE, "PAC–Bayes bound", "more than two classes"),
        (KernelLogistic(G, offset=True), SIGN, "Leave-one-out bound", "support vector machines only"),
        (KernelLogistic(G, representation="nystrom", offset=False), SIGN, "Stability bound", "centres"),
        (KernelLogistic(G, class_weight="balanced", offset=False), SIGN, "Stability bound", "weights"),
        (KernelLogistic(G, class_weight="balanced", offset=False), SIGN, "Leave-one-out bound", "weights"),
        (KernelRidge(G, offset=False), np.column_stack([Y, Y]), "Rademacher bound", "more than one output"),
        (KernelRidge(G, offset=False), np.zeros(80), "Stability bound", "all targets are 0"),
        *(
            (KernelRegressor(G, loss=Poisson(), offset=False), np.round(np.exp(Y)), name, "function of them")
            for name in ("Rademacher bound", "Stability bound", "Leave-one-out bound")
        ),
        (
            KernelRegressor(Linear(), representation=Lasso(), offset=False),
            Y,
            "Stability bound",
            "does not minimise",
        ),
    ],
)
def test_reasons(machine, y, name, why):
    assert why in found(machine, y)[1][name]


def test_what_is_said_of_the_kernel():
    for machine, tuned, words in (
        (KernelLogistic(G, offset=False), False, "a kernel fixed before they were seen"),
        (KernelLogistic(Gaussian(), offset=False), False, "taken from the points"),
        (KernelLogistic(G, offset=False), True, "tuned on them"),
    ):
        margin = found(machine, SIGN, tuned)[2][0]
        assert (
            margin.name == "Margin bound" and margin.assumptions.endswith(words)
        ) or words in margin.assumptions
    for machine in (KernelLogistic(G, offset=False), KernelSVC(G), KernelSVC(G, offset=False)):
        for bound in found(machine, SIGN, tuned=True)[2]:
            assert "tuned on them" in bound.assumptions, bound.name
    stable = next(
        b for b in found(KernelLogistic(Linear(), offset=False), SIGN)[2] if b.name == "Stability bound"
    )
    assert "the largest seen" in stable.assumptions


def test_slopes():
    def slope(machine, y):
        return largest_slope(facts_of(machine.fit(X, y), X, y))

    assert slope(KernelSVC(G, offset=False), SIGN) == 1.0
    assert slope(KernelLogistic(G, lam=1e-3, offset=False), SIGN) == pytest.approx(1.0, abs=1e-9)
    top = np.abs(Y).max()
    assert slope(KernelRidge(G, lam=0.04, offset=False), Y) == pytest.approx(2 * top * (1 + 2.5))
    assert slope(KernelRegressor(G, loss=Huber(0.5), offset=False), Y) == 1.0
    assert slope(KernelClassifier(G, loss=SquaredHinge(), lam=0.25, offset=False), SIGN) == pytest.approx(
        2 * (1 + 2)
    )


@pytest.mark.parametrize("kernel", [EditDistance(8.0), MeanEmbedding(EditDistance(8.0)), Sigmoid()], ids=str)
def test_what_need_not_be_a_kernel_gets_no_bounds(kernel):
    """Even where nothing was found against it: the norm it would give f is none."""
    X = {"EditDistance": ["a", "bb", "ccc", "dddd"], "MeanEmbedding": [["a"], ["bb"], ["c"], ["dd"]]}
    X = X.get(type(kernel).__name__, [[0.0], [0.5], [1.0], [3.0]])
    machine = KernelRidge(kernel, lam=1.0, offset=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        facts = facts_of(machine.fit(X, [0.0, 1.0, 2.0, 3.0]), X, [0.0, 1.0, 2.0, 3.0])
    made, absent = promises(facts, False)
    assert not made and {why for _, why in absent} == {
        "the function need not be a kernel, and without a feature space f has no norm"
    }
    plain = KernelRidge(Spectrum(1), lam=1.0, offset=False, representation="full")
    words = ["a", "bb", "ccc", "dddd"]
    assert promises(facts_of(plain.fit(words, range(4)), words, range(4)), False)[0]
