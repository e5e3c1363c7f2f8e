"""Budgets: what they promise holds on streams with a known competitor; what makes no sense is refused."""

import numpy as np
import pytest
from sklearn.base import clone

import mercer.online
from mercer import OnlineKernelClassifier, OnlineKernelRegressor
from mercer.functions import KernelFunction
from mercer.kernels import Gaussian, Laplacian
from mercer.online import (
    AtRandom,
    Budget,
    Forgetron,
    Merge,
    Oldest,
    Projection,
    Smallest,
    Unlimited,
    Window,
    forgetron,
    projectron,
)
from mercer.online.budgets import budget_of

BUDGETS = [getattr(mercer.online, name) for name in mercer.online.__all__]
BUDGETS = [b for b in BUDGETS if isinstance(b, type) and issubclass(b, Budget) and b is not Budget]


def competitor(kernel, norm, centres=6, seed=0):
    """Some g in H_K of that norm."""
    rng = np.random.default_rng(seed)
    g = KernelFunction(kernel, rng.uniform(-2, 2, (centres, 2)), rng.choice([-1.0, 1.0], centres))
    return (norm / g.norm()) * g


def hinge(y, g, X):
    return float(np.maximum(1 - y * g(X), 0).sum())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("noise", [0.0, 0.02], ids=["separable", "noise"])
def test_mistakes_of_the_forgetron_are_bounded(noise, seed):
    kernel, size = Gaussian(1.0), 400
    machine = forgetron(kernel, size)
    g = competitor(kernel, 0.99 * machine.budget.largest_norm, seed=seed)
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.5, 2.5, (20000, 2))
    X = X[np.abs(g(X)) > 0.6][:2500]  # a margin, within what a norm of U allows
    y = np.sign(g(X)) * rng.choice([1, -1], len(X), p=[1 - noise, noise])
    machine.fit(X, y)
    bound = machine.budget.mistake_bound(g.norm(), hinge(y, g, X))
    assert machine.n_mistakes_ <= machine.n_updates_ <= bound < len(X)
    assert len(machine.function_.points) <= size


def test_the_forgetron_forgets_and_keeps_its_promise():
    # A budget below what the stream needs: at B = 83 there are more mistakes than terms.
    kernel = Laplacian(0.4)
    machine = forgetron(kernel, 83)
    g = competitor(kernel, 0.99 * machine.budget.largest_norm, seed=1)
    X = np.random.default_rng(2).uniform(-2, 2, (3000, 2))
    y = np.where(g(X) > 0, 1.0, -1.0)
    machine.fit(X, y)
    assert machine.n_updates_ > 83
    assert len(machine.function_.points) == 83
    assert machine.n_updates_ <= machine.budget.mistake_bound(g.norm(), hinge(y, g, X))
    # What was spent on forgetting is paid for by mistakes.
    assert 0 < machine.learner_.tallies[1] <= 15 / 32 * machine.n_updates_ * (1 + 1e-12)


def test_what_the_forgetron_does_not_promise():
    assert Forgetron(82).mistake_bound(0.5, 1.0) == np.inf
    assert Forgetron(83).mistake_bound(0.5, 1.0) == 2 * 0.25 + 4
    largest = Forgetron(500).largest_norm
    assert largest == pytest.approx(0.25 * np.sqrt(501 / np.log(501)))
    assert Forgetron(500).mistake_bound(largest * 1.001, 0.0) == np.inf
    for budget in (Forgetron(100), Projection(100)):
        for wrong in ((-1.0, 0.0), (0.0, -1.0)):
            with pytest.raises(ValueError, match="not negative"):
                budget.mistake_bound(*wrong)


@pytest.mark.parametrize("threshold", [0.02, 0.1, 0.2])
@pytest.mark.parametrize("noise", [0.0, 0.02], ids=["separable", "noise"])
def test_mistakes_of_the_projectron_are_bounded(threshold, noise):
    kernel, rng = Gaussian(1.0), np.random.default_rng(0)
    g = competitor(kernel, 3.0)
    X = rng.uniform(-2.5, 2.5, (8000, 2))
    X = X[np.abs(g(X)) > 0.5][:2000]
    y = np.sign(g(X)) * rng.choice([1, -1], len(X), p=[1 - noise, noise])
    machine = projectron(kernel, 2000, threshold).fit(X, y)
    bound = machine.budget.mistake_bound(g.norm(), hinge(y, g, X))
    assert machine.n_mistakes_ <= machine.n_updates_ <= bound
    assert len(machine.function_.points) <= machine.n_updates_


def test_the_bound_of_the_projectron_solves_its_inequality():
    for threshold, norm, D in [(0.1, 2.0, 0.0), (0.05, 3.0, 7.5), (0.0, 1.0, 100.0)]:
        M = Projection(10, threshold).mistake_bound(norm, D)
        assert M * (1 - threshold * norm) == pytest.approx(norm * np.sqrt(M) + D)
    assert Projection(10, 0.5).mistake_bound(2.0, 0.0) == np.inf


@pytest.mark.parametrize("threshold", [0.0, 0.05, 0.3])
def test_projection_gives_up_no_more_than_its_threshold(threshold):
    # Every step is projected, and off by at most |η V'| times the threshold.
    kernel, rng = Gaussian(1.5), np.random.default_rng(1)
    X = rng.uniform(-2, 2, (60, 2))
    y = np.sin(X[:, 0])
    machine = OnlineKernelRegressor(kernel, "absolute", 0.0, 0.2, Projection(60, threshold))
    lost = 0.0
    for i in range(60):
        before = machine.function_ if machine.n_seen_ else 0 * KernelFunction(kernel, X[:1], [0.0])
        machine.partial_fit(X[i : i + 1], y[i : i + 1])
        step = 0.2 * np.sign(y[i] - before(X[i : i + 1])[0])
        whole = before + step * KernelFunction(kernel, X[i : i + 1], [1.0])
        distance = machine.function_.distance(whole)
        assert distance <= 0.2 * max(threshold, 3.2e-4) + 1e-7  # nearer than that, rounding decides
        lost += distance
    assert (lost > 0.01) == (threshold > 0)


def test_smaller_budgets_than_one_are_refused():
    for cls in BUDGETS:
        if cls is Unlimited:
            continue
        for wrong in (0, -3, 2.5, True, "many", None):
            with pytest.raises(ValueError, match=rf"{cls.__name__}: n_terms must be a whole number"):
                OnlineKernelRegressor(budget=cls(wrong)).fit([[0.0], [1.0]], [0.0, 1.0])
    for wrong in (-0.1, np.inf, np.nan, "far", True):
        with pytest.raises(ValueError, match="threshold must be"):
            OnlineKernelRegressor(budget=Projection(5, wrong)).fit([[0.0], [1.0]], [0.0, 1.0])


def test_budgets_are_values():
    assert len(BUDGETS) == 8
    for cls in BUDGETS:
        budget = cls() if cls is Unlimited else cls(7)
        assert clone(budget) == budget
        assert eval(repr(budget), vars(mercer.online).copy()) == budget
        assert budget_of(budget) is budget
    assert Oldest(3) != Oldest(4)
    assert Oldest(3) != Smallest(3)


def test_numbers_and_none_stand_for_budgets():
    assert budget_of(None) == Unlimited()
    assert budget_of(12).n_terms == budget_of(np.int64(12)).n_terms == 12
    for wrong in ("oldest", 2.5, True, Oldest):
        with pytest.raises(TypeError, match="budget must be"):
            budget_of(wrong)


@pytest.mark.parametrize("cls", [Oldest, Smallest, AtRandom, Window, Merge, Forgetron, Projection])
def test_no_budget_is_exceeded_and_all_are_used(cls):
    X = np.random.default_rng(0).uniform(-3, 3, (200, 2))
    y = np.sign(np.sin(3 * X[:, 0])) > 0
    machine = OnlineKernelClassifier(Gaussian(0.3), "logistic", budget=cls(12), random_state=0)
    for i in range(0, 200, 9):
        machine.partial_fit(X[i : i + 9], y[i : i + 9], classes=[False, True])
        assert len(machine.function_.points) == min(12, machine.n_seen_)


def test_draws_follow_the_seed():
    X = np.random.default_rng(0).uniform(-3, 3, (60, 1))

    def points(seed):
        machine = OnlineKernelRegressor(Gaussian(1.0), budget=AtRandom(10), random_state=seed)
        return machine.fit(X, np.sin(X[:, 0])).function_.points.tolist()

    assert points(1) == points(1)
    assert points(1) != points(2)


def test_every_term_is_as_likely_to_go():
    rng = np.random.default_rng(0)
    X = np.arange(11.0)[:, None]
    left = np.zeros(11)
    for seed in rng.integers(2**31, size=600):
        machine = OnlineKernelRegressor(Gaussian(0.1), lam=0.0, budget=AtRandom(10), random_state=int(seed))
        left[machine.fit(X, np.ones(11)).function_.points[:, 0].astype(int)] += 1
    gone = 600 - left
    expected = 600 / 11
    assert gone.sum() == 600
    assert ((gone - expected) ** 2 / expected).sum() < 29.6  # χ² with 10 degrees of freedom, 0.1 %
