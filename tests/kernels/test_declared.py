"""Parameters that are fixed, bounded or known beforehand: what whoever moves parameters makes of it."""

import copy
import math
import pickle

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.base import clone

from mercer import KernelRidge
from mercer.io import load, save
from mercer.kernels import (
    Declared,
    Gaussian,
    LengthScales,
    Periodic,
    RationalQuadratic,
    believed,
    bounded,
    fixed,
)
from mercer.selection import Gamma, LogNormal, maximum_likelihood, refine, tune
from mercer.selection.defaults import Ranges

RNG = np.random.default_rng(0)
X = RNG.uniform(-3, 3, (60, 1))
Y = np.sin(2 * np.pi * X[:, 0]) + 0.1 * RNG.standard_normal(60)
ALL = [
    Periodic(period=fixed(1.0)),
    Gaussian(bounded(1.0, 0.1, 10.0)),
    2.0 * Gaussian(bounded(1.0, 0.1, 10, prior=LogNormal(1.0, 2.0))) + fixed(3.0) * Periodic(fixed(2.0)),
    RationalQuadratic(believed(1.0, Gamma(2.0, 2.0)), fixed(0.5)),
    Gaussian(1.0).scaled([fixed(1.0), bounded(2.0, 1.0, 5.0), 3.0]),
    Gaussian(1.0).scaled(fixed([1.0, 2.0, 3.0])),
]


def said(kernel):
    """All that was said of parameters, in order."""
    values = []
    for value in kernel.get_params().values():
        values += value if isinstance(value, (list, tuple)) else [value]
    return [(float(v), v.low, v.high, v.prior, v.moves) for v in values if isinstance(v, Declared)]


@pytest.mark.parametrize("kernel", ALL, ids=repr)
def test_survives_copies_files_and_its_repr(kernel, tmp_path):
    assert said(kernel)
    machine = KernelRidge(kernel, lam=0.1)
    save(machine.fit(RNG.standard_normal((8, 3)), np.arange(8.0)), tmp_path / "machine.mercer")
    again = load(tmp_path / "machine.mercer")
    others = [clone(machine).kernel, copy.deepcopy(kernel), pickle.loads(pickle.dumps(kernel))]
    others += [eval(repr(kernel)), again.kernel, again.kernel_, machine.kernel_, kernel.replace()]
    for other in others:
        assert other == kernel and hash(other) == hash(kernel) and said(other) == said(kernel)
        assert repr(other) == repr(kernel)
    # The same function as without a word.
    plain = {name: float(v) for name, v in kernel.get_params().items() if isinstance(v, Declared)}
    if isinstance(kernel, LengthScales):
        plain["lengths"] = [float(v) for v in kernel.lengths]
    silent, Z = clone(kernel).set_params(**plain), RNG.standard_normal((5, 3))
    assert not said(silent) and np.array_equal(silent(Z), kernel(Z)) and silent == kernel


def test_numbers_that_make_no_sense_are_refused():
    for make, words in (
        (lambda: bounded(1.0, 2.0, 3.0), "with the value between"),
        (lambda: bounded(1.0, 0.5, 0.7), "with the value between"),
        (lambda: bounded(1.0, math.nan, 2.0), "with the value between"),
        (lambda: fixed(0.0), "positive number"),
        (lambda: fixed(-1.0), "positive number"),
        (lambda: fixed(None), "kernel.resolve"),
        (lambda: fixed("a"), "positive number, or a list"),
        (lambda: believed(1.0, LogNormal), r"LogNormal\(median, spread\)"),
        (lambda: believed(1.0, None), "needs a prior"),
    ):
        with pytest.raises(ValueError, match=words):
            make()


def test_refine_leaves_alone_what_is_fixed():
    # Without a word the period of 1 is lost: this is what the declaration is for.
    start = dict(lam=0.01, offset=False)
    found = refine(KernelRidge(Periodic(fixed(1.0), 1.0), **start), X, Y)
    assert found.machine.kernel.period == 1.0 and said(found.machine.kernel)[0][-1] is False
    assert found.machine.kernel.sigma != 1.0 and found.loo_mse < found.loo_mse_before
    kernel = Gaussian(1.0).scaled([fixed(1.0), bounded(1.0, 0.9, 1.1), 1.0])
    Z = RNG.standard_normal((60, 3))
    lengths = refine(KernelRidge(kernel, lam=0.01), Z, np.sin(3 * Z[:, 1])).machine.kernel.lengths
    assert lengths[0] == 1.0 and lengths[1] == 0.9 and lengths[2] > 1.5
    assert isinstance(lengths[1], Declared) and not isinstance(lengths[2], Declared)


def test_refine_has_a_prior_in_the_place_of_its_pull():
    # The pull to c is the log density of LogNormal(c, s), but for a constant.
    machine = KernelRidge(Gaussian(1.0), lam=0.01)
    plain = refine(machine, X, Y, spread=0.2)
    same = refine(clone(machine).set_params(kernel=Gaussian(believed(1.0, LogNormal(1.0, 0.2)))), X, Y)
    assert same.machine.kernel.sigma == pytest.approx(plain.machine.kernel.sigma, rel=1e-4)
    elsewhere = clone(machine).set_params(kernel=Gaussian(believed(1.0, LogNormal(5.0, 1e-3))))
    assert refine(elsewhere, X, Y).machine.kernel.sigma == pytest.approx(5.0, rel=1e-2)


def test_the_likelihood_moves_what_may_move():
    machine = KernelRidge(Periodic(fixed(1.0), bounded(0.8, 0.5, 0.9)), lam=0.01)
    machine.fit(X, Y)
    assert machine.posterior().parameters == ("sigma", "noise")
    # A number for each parameter that may move, and the gradient in these.
    _, slope = machine.log_marginal_likelihood(eval_gradient=True)
    theta = machine.posterior().seen.theta
    h = np.array([1e-5, 0.0])
    differences = machine.log_marginal_likelihood(theta + h) - machine.log_marginal_likelihood(theta - h)
    assert slope.shape == (2,) and slope[0] == pytest.approx(differences / 2e-5, rel=1e-4)
    found = maximum_likelihood(machine, X, Y)
    # Free, the width would go further: the bound is where it ends, and is said.
    free = maximum_likelihood(machine, X, Y, bounds={"sigma": (0.1, 100.0)})
    assert free.machine.kernel.sigma > 1.0 and free.log_likelihood > found.log_likelihood
    assert found.machine.kernel.sigma == 0.9 and found.at_bounds == ("sigma",)
    assert said(found.machine.kernel) == [(1.0, 0, math.inf, None, False), (0.9, 0.5, 0.9, None, True)]


def test_priors_of_the_kernel_are_those_given_by_name():
    prior = LogNormal(0.5, 0.05)
    machine = KernelRidge(Gaussian(0.3), lam=0.01, representation="full")
    by_name = maximum_likelihood(machine, X, Y, priors={"sigma": prior})
    machine.set_params(kernel=Gaussian(believed(0.3, prior)))
    by_kernel = maximum_likelihood(machine, X, Y)
    assert by_kernel.parameters == by_name.parameters
    # And what is given by name comes first: where that prior is sharp, it has its will.
    other = maximum_likelihood(machine, X, Y, priors={"sigma": LogNormal(2.0, 1e-3)})
    assert other.machine.kernel.sigma == pytest.approx(2.0, rel=0.02)
    # The prior is in the objective: at the best point the sum of slopes is 0, found here by one dimension.
    noise = by_kernel.parameters["noise"]

    def against(log_sigma):
        theta = np.array([log_sigma, math.log(noise)])
        return -machine.fit(X, Y).log_marginal_likelihood(theta) - prior.log_density(log_sigma)[0]

    best = minimize_scalar(against, bounds=(math.log(0.2), math.log(1.0)), method="bounded")
    assert by_kernel.machine.kernel.sigma == pytest.approx(math.exp(best.x), rel=1e-2)


def test_tune_looks_where_it_may():
    ranges = Ranges(KernelRidge(), X, Y)
    kernel = bounded(2.0, 1.0, 5.0) * (Periodic(fixed(1.0), bounded(1.0, 0.5, 2.0)) + Gaussian(1.0))
    found = ranges.of_kernel(kernel + RationalQuadratic(believed(2.0, Gamma(2.0, 3.0)), fixed(1.0)))
    assert set(found) == {
        "left__factor",
        "left__kernel__left__sigma",
        "left__kernel__right__sigma",
        "right__alpha",
    }
    ends = {name: (d.value(0.0), d.value(1.0)) for name, d in found.items()}
    assert ends["left__kernel__left__sigma"] == (0.5, 2.0) and ends["left__factor"] == (1.0, 5.0)
    assert ends["left__kernel__right__sigma"] == pytest.approx((0.01, 100.0))
    assert found["right__alpha"].value(0.5) == pytest.approx(0.559, abs=1e-3)  # the median of that Gamma
    best = tune(KernelRidge(Gaussian(bounded(4.0, 3.0, 5.0))), X, Y, trials=8).best_estimator
    assert isinstance(best.kernel.sigma, Declared) and 3 <= best.kernel.sigma <= 5
    assert best.kernel.sigma.low == 3.0


def test_free_parameters_inside_length_scales():
    """Under length scales the only width says nothing new, everything else does."""
    machine = KernelRidge((2.0 * RationalQuadratic(1.0, 0.7)).scaled([1.0]), lam=0.01).fit(X, Y)
    assert machine.posterior().parameters == (
        "lengths[0]",
        "kernel__factor",
        "kernel__kernel__alpha",
        "noise",
    )
    two = (Gaussian(1.0) + Gaussian(3.0)).scaled([1.0])
    assert len(KernelRidge(two, lam=0.01).fit(X, Y).posterior().parameters) == 4
    # Lengths that are fixed say nothing, so that the width does.
    held = KernelRidge(Gaussian(1.0).scaled(fixed([1.0])), lam=0.01).fit(X, Y)
    assert held.posterior().parameters == ("kernel__sigma", "noise")
