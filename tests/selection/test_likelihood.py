"""Maximum likelihood: against scikit-learn's optimum, priors, bounds, what is fixed, restarts."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from mercer import KernelRidge, progress
from mercer.features import RandomFourierFeatures
from mercer.kernels import Gaussian, Linear, Matern, Periodic, Polynomial
from mercer.representations import Features, Nystrom
from mercer.selection import Gamma, LogNormal, ascent, likelihood, maximum_likelihood
from posterior_examples import dense_posterior

RNG = np.random.default_rng(0)
X = RNG.standard_normal((80, 2))
Y = np.sin(2 * X[:, 0]) + 0.1 * X[:, 1] + 0.2 * RNG.standard_normal(80)
START = KernelRidge(Gaussian(1.0).scaled([1.0, 1.0]), lam=1e-3, offset=False)


def test_it_is_scikit_learns_optimum():
    theirs = ConstantKernel(1.0, (1e-4, 1e4)) * RBF([1.0, 1.0], (1e-3, 1e4)) + WhiteKernel(0.1, (1e-6, 10))
    other = GaussianProcessRegressor(theirs, alpha=0.0).fit(X, Y)
    found = maximum_likelihood(START, X, Y)
    assert found.status == "converged" and "log likelihood" in repr(found)
    assert found.log_likelihood == pytest.approx(other.log_marginal_likelihood_value_, rel=1e-5)
    product, white = other.kernel_.k1, other.kernel_.k2
    np.testing.assert_allclose(found.machine.kernel.lengths, product.k2.length_scale, rtol=0.02)
    np.testing.assert_allclose(found.scale, product.k1.constant_value, rtol=0.05)
    np.testing.assert_allclose(found.parameters["noise"] * found.scale, white.noise_level, rtol=0.01)
    # The machine that comes back has that likelihood, and scikit-learn's predictions.
    fitted = found.machine.fit(X, Y)
    assert fitted.log_marginal_likelihood() == pytest.approx(found.log_likelihood, rel=1e-9)
    mean, std = fitted.predict(X[:9] + 0.3, return_std=True)
    there = other.predict(X[:9] + 0.3, return_std=True)
    np.testing.assert_allclose(mean, there[0], atol=0.01)
    latent = np.sqrt(there[1] ** 2 - white.noise_level)  # WhiteKernel's noise is in its deviations
    np.testing.assert_allclose(std, latent, rtol=0.05)


@pytest.mark.parametrize("offset", [False, True])
def test_nothing_near_is_more_likely(offset):
    machine = KernelRidge(Gaussian(1.0), lam=1e-2, offset=offset)
    w = RNG.uniform(0.5, 2.0, len(X))
    found = maximum_likelihood(machine, X, Y + 5 * offset, sample_weight=w)
    fitted = found.machine.set_params(representation="full").fit(X, Y + 5 * offset, w)
    theta, best = fitted.posterior().theta, fitted.log_marginal_likelihood()
    assert best == pytest.approx(found.log_likelihood, rel=1e-9)
    for step in 0.05 * np.concatenate([np.eye(2), -np.eye(2)]):
        assert fitted.log_marginal_likelihood(theta + step) < best


def test_what_is_fixed_stays_and_bounds_hold():
    found = maximum_likelihood(START, X, Y, fixed=["lengths[1]", "noise"], bounds={"lengths": (0.9, 1.1)})
    assert found.parameters["lengths[1]"] == 1.0
    assert found.parameters["noise"] == pytest.approx(0.08)
    assert 0.9 - 1e-12 < found.parameters["lengths[0]"] < 1.1 + 1e-12
    assert found.machine.lam == pytest.approx(1e-3)


def test_priors_pull():
    free = maximum_likelihood(START, X, Y)
    tight = maximum_likelihood(
        START, X, Y, priors={"lengths": LogNormal(3.0, 0.01), "noise": LogNormal(0.5, 0.01)}
    )
    np.testing.assert_allclose(tight.machine.kernel.lengths, 3.0, rtol=0.05)
    assert tight.log_likelihood < free.log_likelihood
    assert tight.parameters["noise"] == pytest.approx(0.5, rel=0.05)


def test_restarts_find_what_the_first_start_misses():
    x = np.linspace(0, 10, 60)[:, None]
    y = np.sin(6 * x[:, 0]) + 0.05 * RNG.standard_normal(60)
    poor = KernelRidge(Gaussian(30.0), lam=1.0)
    alone = maximum_likelihood(poor, x, y)
    several = maximum_likelihood(
        poor, x, y, restarts=4, priors={"sigma": LogNormal(0.5, 1.0)}, random_state=0
    )
    assert len(several.starts) == 5 and several.log_likelihood > alone.log_likelihood + 10
    again = maximum_likelihood(poor, x, y, restarts=4, priors={"sigma": LogNormal(0.5, 1.0)}, random_state=0)
    assert again.log_likelihood == several.log_likelihood


def test_time_and_iterations_are_limited():
    assert maximum_likelihood(START, X, Y, max_iter=1).status == "max_iter"
    found = maximum_likelihood(START, X, Y, minutes=0.0, restarts=3)
    assert found.status == "out of time" and len(found.starts) == 1


def test_a_start_without_noise_is_lifted():
    """λ = 0 as far as rounding goes, and equal rows, so that K is singular."""
    twice = np.repeat(X[:40], 2, axis=0)
    y = np.sin(2 * twice[:, 0]) + 0.2 * np.random.default_rng(1).standard_normal(80)
    found = maximum_likelihood(KernelRidge(Gaussian(1.0), lam=1e-18, offset=False), twice, y)
    assert found.status == "converged" and found.log_likelihood_before == -np.inf
    assert found.parameters["noise"] > 1e-6 and found.at_bounds == ()


def test_bounds_that_hold_are_named():
    found = maximum_likelihood(KernelRidge(Gaussian(1.0), lam=1e-3), X, Y, bounds={"sigma": (0.1, 0.2)})
    assert found.at_bounds == ("sigma",) and "at a bound: sigma" in repr(found)


def test_what_was_before_is_the_machine_as_given():
    start = KernelRidge(Gaussian(1.0), lam=1e-3)
    found = maximum_likelihood(start, X, Y, bounds={"sigma": (0.1, 0.2)})
    before = clone(start).fit(X, Y).log_marginal_likelihood()
    assert found.log_likelihood_before == pytest.approx(before, rel=1e-10)


def test_rows_of_weight_zero_do_not_move_the_noise():
    w = np.ones(len(X))
    w[::3] = 0
    a = maximum_likelihood(START, X, Y, sample_weight=w)
    b = maximum_likelihood(START, X[w > 0], Y[w > 0])
    assert a.parameters["noise"] == pytest.approx(b.parameters["noise"], rel=1e-3)
    assert a.machine.lam == pytest.approx(b.machine.lam, rel=1e-3)


# -- the scale ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("most", [1e4, 0.5])
def test_at_a_scale_of_1_the_factor_is_scikit_learns_constant(most):
    theirs = ConstantKernel(0.4, (1e-2, most)) * RBF([1.0, 1.0], (1e-3, 1e4)) + WhiteKernel(0.1, (1e-6, 10))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # theirs warns of the bound
        other = GaussianProcessRegressor(theirs, alpha=0.0).fit(X, Y)
    start = clone(START).set_params(kernel=0.4 * Gaussian(1.0).scaled([1.0, 1.0]))
    found = maximum_likelihood(start, X, Y, scale=1.0, bounds={"factor": (1e-2, most)})
    assert found.scale == 1.0 and found.redundant == ()
    assert found.log_likelihood == pytest.approx(other.log_marginal_likelihood_value_, rel=1e-5)
    np.testing.assert_allclose(found.parameters["factor"], other.kernel_.k1.k1.constant_value, rtol=0.05)
    np.testing.assert_allclose(found.parameters["noise"], other.kernel_.k2.noise_level, rtol=0.02)
    assert found.at_bounds == (("factor",) if most < 1 else ())
    fitted = found.machine.fit(X, Y)
    assert fitted.log_marginal_likelihood(scale=1.0) == pytest.approx(found.log_likelihood, rel=1e-9)


def test_a_factor_of_the_whole_kernel_says_the_same_as_the_scale():
    plain = maximum_likelihood(START, X, Y)
    start = clone(START).set_params(kernel=7.0 * Gaussian(1.0).scaled([1.0, 1.0]))
    found = maximum_likelihood(start, X, Y)
    assert found.redundant == ("factor",) and "s says the same: factor" in repr(found)
    assert found.parameters["factor"] == pytest.approx(7.0)
    assert found.log_likelihood == pytest.approx(plain.log_likelihood, rel=1e-6)
    np.testing.assert_allclose(7.0 * found.scale, plain.scale, rtol=0.01)
    for how in ({"priors": {"factor": Gamma(2.0, 1.0)}}, {"bounds": {"factor": (0.1, 1.0)}}):
        with pytest.raises(ValueError, match=r"'factor' multiplies the whole kernel.*scale=1.0"):
            maximum_likelihood(start, X, Y, **how)
    # A factor of a part is a parameter like others.
    parts = clone(START).set_params(kernel=2.0 * Gaussian(1.0) + Linear())
    assert maximum_likelihood(parts, X, Y, max_iter=2).redundant == ()


def test_scales_of_several_outputs_are_given_or_found():
    both = np.column_stack([Y, 3 * Y])
    found = maximum_likelihood(START, X, both)
    np.testing.assert_allclose(found.scale[1], 9 * found.scale[0])
    given = maximum_likelihood(START, X, both, scale=[1.0, 9.0])
    np.testing.assert_allclose(given.scale, [1.0, 9.0])


def test_constant_targets_have_a_likelihood_at_a_given_scale():
    found = maximum_likelihood(KernelRidge(Gaussian(1.0), lam=0.1), X, np.ones(80), scale=1.0, max_iter=2)
    assert np.isfinite(found.log_likelihood)


# -- centres and features ----------------------------------------------------------------------------


def projected(theta, Z, offset):
    """The log likelihood with centres, from n×n matrices."""
    kernel = Gaussian(np.exp(theta[0]))
    A = kernel(X, Z)
    Q = A @ np.linalg.solve(kernel(Z), A.T)
    D = np.full(len(X), np.exp(theta[1]))
    *_, form, log_det = dense_posterior(Q, D, Y[:, None], A[:1] @ A.T, np.eye(1), offset)
    nu = len(X) - offset
    return float(-0.5 * np.sum(form / (form / nu) + nu * np.log(2 * np.pi * form / nu) + log_det))


@pytest.mark.parametrize("offset", [False, True])
def test_centres_have_their_own_likelihood(offset):
    few = KernelRidge(Gaussian(0.7), lam=1e-3, representation=Nystrom(8), offset=offset, random_state=3)
    Z = few.problem(X, Y)[0].A.Z
    found = maximum_likelihood(few, X, Y)
    np.testing.assert_array_equal(found.machine.representation.centres, Z)
    theta = np.log([found.parameters["sigma"], found.parameters["noise"]])
    assert found.log_likelihood == pytest.approx(projected(theta, Z, offset), rel=1e-8)
    assert found.log_likelihood_before == pytest.approx(projected(np.log([0.7, 0.08]), Z, offset), rel=1e-8)
    best = minimize(lambda at: -projected(at, Z, offset), np.log([0.7, 0.08]), method="Nelder-Mead")
    assert found.log_likelihood == pytest.approx(-best.fun, abs=1e-3)
    # The machine that comes back has that likelihood, though it would draw other centres.
    fitted = found.machine.set_params(random_state=4).fit(X, Y)
    assert fitted.log_marginal_likelihood() == pytest.approx(found.log_likelihood, rel=1e-9)


def test_machines_that_may_choose_are_taken_exactly():
    auto, full = (clone(START).set_params(representation=name) for name in ("auto", "full"))
    a, b = (maximum_likelihood(machine, X, Y, max_iter=3) for machine in (auto, full))
    assert a.log_likelihood == b.log_likelihood
    assert a.machine.representation == "auto" and b.machine.representation == "full"


@pytest.mark.parametrize("map", [None, RandomFourierFeatures(n_features=20, random_state=0)])
def test_of_features_the_noise_moves(map):
    kernel = Polynomial(2) if map is None else Gaussian(1.0)
    machine = KernelRidge(kernel, lam=1e-4, representation=Features(map), offset=False)
    found = maximum_likelihood(machine, X, Y)
    assert list(found.parameters) == ["noise"] and found.machine.kernel == kernel
    fitted = found.machine.fit(X, Y)
    assert fitted.log_marginal_likelihood() == pytest.approx(found.log_likelihood, rel=1e-9)
    Phi = np.asarray(machine.problem(X, Y)[0].A.dense())
    noises = found.parameters["noise"] * np.exp(np.linspace(-0.5, 0.5, 11))
    values = []
    for noise in noises:
        *_, form, log_det = dense_posterior(
            Phi @ Phi.T, np.full(80, noise), Y[:, None], Phi[:1] @ Phi.T, np.eye(1), False
        )
        values.append(-0.5 * (80 + 80 * np.log(2 * np.pi * form[0] / 80) + log_det))
    assert np.argmax(values) == 5 and values[5] == pytest.approx(found.log_likelihood, rel=1e-8)
    with pytest.raises(ValueError, match="only noise"):
        maximum_likelihood(machine, X, Y, fixed=["sigma"])


def test_where_only_the_noise_moves_kernels_need_no_slopes():
    sparse = pytest.importorskip("scipy.sparse").csr_matrix(np.maximum(X, 0))
    machine = KernelRidge(Gaussian(1.0), lam=1e-2)
    found = maximum_likelihood(machine, sparse, Y, fixed=["sigma"])
    dense = maximum_likelihood(machine, sparse.toarray(), Y, fixed=["sigma"])
    assert found.parameters["noise"] == pytest.approx(dense.parameters["noise"], rel=1e-6)
    with pytest.raises(ValueError, match="no derivatives in its parameters"):
        maximum_likelihood(machine, sparse, Y)


# -- names -------------------------------------------------------------------------------------------


def test_the_end_of_a_name_is_enough():
    kernel = Gaussian(1.0).scaled([1.0, 1.0]) + 0.5 * (Matern(1.5, 2.0) * Periodic(period=3.0, sigma=1.0))
    machine = KernelRidge(kernel, lam=1e-2)
    found = maximum_likelihood(
        machine,
        X,
        Y,
        fixed=["period", "lengths[1]"],
        bounds={"factor": (0.2, 0.3)},
        priors={"left__sigma": LogNormal(2.0, 0.1)},
        max_iter=5,
    )
    ends = {name.split("__")[-1]: value for name, value in found.parameters.items()}
    assert "period" not in found.parameters and ends["period"] == pytest.approx(3.0)
    assert ends["lengths[1]"] == pytest.approx(1.0) and 0.2 <= ends["factor"] <= 0.3
    with pytest.raises(ValueError, match=r"fixed: 'sigma' may be right__\S+ or right__\S+: say more"):
        maximum_likelihood(machine, X, Y, fixed=["sigma"])


# -- memory and time ---------------------------------------------------------------------------------


@pytest.fixture
def untried(monkeypatch):
    def problem(*_):
        raise AssertionError("something was computed")

    monkeypatch.setattr(KernelRidge, "problem", problem)


def test_what_memory_does_not_hold_is_refused_before_it_is_tried(monkeypatch, untried):
    monkeypatch.setattr("mercer.posterior.base.available_memory", lambda: 200_000)
    with pytest.raises(MemoryError, match=r"80 examples.* 320 kB, and 200 kB are free: take fewer rows, or"):
        maximum_likelihood(START, X, Y)
    with pytest.raises(MemoryError, match=r"30 centres.* 360 kB.*take fewer"):
        maximum_likelihood(clone(START).set_params(representation=Nystrom(30)), X, Y)
    with pytest.raises(AssertionError, match="computed"):  # rows of weight 0 take no memory
        maximum_likelihood(START, X, Y, sample_weight=np.arange(80) < 60)


def test_an_evaluation_that_takes_too_long_is_announced_or_refused(monkeypatch):
    monkeypatch.setattr(likelihood, "_OPERATIONS_A_SECOND", 80**3 / 30.0)  # it would take half a minute
    with pytest.warns(UserWarning, match=r"80 examples takes about 30 s, and minutes=0.1: one is made"):
        assert maximum_likelihood(START, X, Y, minutes=0.1).evaluations >= 1
    assert maximum_likelihood(START, X, Y, minutes=1.0, max_iter=1).status == "max_iter"
    monkeypatch.setattr(likelihood, "_OPERATIONS_A_SECOND", 80**3 / 300.0)
    with pytest.raises(ValueError, match=r"about 300 s, and minutes=0.1 is all the time.*take fewer rows"):
        maximum_likelihood(START, X, Y, minutes=0.1)


def test_examples_that_live_elsewhere_are_refused():
    from mercer.rows import ArrayRows

    with pytest.raises(ValueError, match="in memory: take some"):
        maximum_likelihood(START, ArrayRows(X, Y), None)


# -- what is seen of it ------------------------------------------------------------------------------


def interrupted_at(monkeypatch, number):
    """Control-C in the middle of an evaluation."""
    plain, calls = ascent.LogPosterior.__call__, []

    def counted(self, part):
        calls.append(part)
        if len(calls) == number:
            raise KeyboardInterrupt
        return plain(self, part)

    monkeypatch.setattr(ascent.LogPosterior, "__call__", counted)


@pytest.mark.parametrize("number, starts", [(4, 1), (18, 2)])
def test_an_interruption_loses_nothing(monkeypatch, number, starts):
    interrupted_at(monkeypatch, number)
    with pytest.warns(RuntimeWarning, match=f"interrupted after {number - 1} evaluations"):
        found = maximum_likelihood(START, X, Y, restarts=3, random_state=0)
    assert found.evaluations == number - 1 and len(found.starts) == starts
    assert found.log_likelihood == pytest.approx(max(found.starts))
    assert found.status == "interrupted" or starts > 1
    fitted = found.machine.fit(X, Y)
    assert fitted.log_marginal_likelihood() == pytest.approx(found.log_likelihood, rel=1e-9)


def test_an_interruption_before_anything_is_known_goes_through(monkeypatch):
    interrupted_at(monkeypatch, 1)
    with pytest.raises(KeyboardInterrupt):
        maximum_likelihood(START, X, Y)


def test_progress_has_a_line_an_evaluation():
    lines = []
    with progress(lines.append, every=0):
        found = maximum_likelihood(START, X, Y, restarts=1, random_state=0)
    lines = [line for line in lines if line.startswith("maximum likelihood")]
    assert len(lines) == found.evaluations
    first = clone(START).fit(X, Y).posterior()
    value, slopes = first.log_marginal_likelihood(eval_gradient=True)
    assert lines[0] == (
        f"maximum likelihood: iteration 1, log likelihood {value:.6g}, largest slope {abs(slopes).max():.1e}"
    )


def test_starts_are_log_likelihoods_with_their_priors():
    found = maximum_likelihood(START, X, Y, restarts=2, random_state=0)
    assert max(found.starts) == found.log_likelihood and len(found.starts) == 3
    prior = LogNormal(0.1, 0.5)
    pulled = maximum_likelihood(START, X, Y, priors={"noise": prior})
    density = prior.log_density(np.log(pulled.parameters["noise"]))[0]
    assert pulled.starts == pytest.approx((pulled.log_likelihood + density,))


def test_what_is_fixed_is_at_no_bound():
    machine = KernelRidge(Gaussian(2.0), lam=1e-11)
    x = np.linspace(0, 30, 20)[:, None]  # so far apart that λ = 1e-11 is no matter
    assert maximum_likelihood(machine, x, np.sin(x[:, 0]), fixed=["noise"], max_iter=3).at_bounds == ()


def test_bad_questions():
    for how, words in (
        ({"fixed": ["sigma"]}, "fixed: there is no parameter 'sigma', only lengths"),
        ({"priors": {"x": Gamma(1.0, 1.0)}}, "priors: there is no parameter"),
        ({"priors": {"noise": 3.0}}, "must be LogNormal"),
        ({"bounds": {"noise": (1.0, 0.1)}}, "the smaller first"),
        ({"restarts": -1}, "restarts must be"),
        ({"fixed": ["lengths", "noise"]}, "nothing to move"),
        ({"fixed": (name for name in ("lengths", "noise"))}, "nothing to move"),
        ({"fixed": "sigma"}, "fixed: there is no parameter 'sigma', only lengths"),
        ({"priors": {"noise": Gamma}}, "must be LogNormal"),
        ({"bounds": {"noise": 3.0}}, "must be two positive numbers"),
        ({"bounds": {"noise": ("a", "b")}}, "must be two positive numbers"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"max_iter": 2.5}, "max_iter must be"),
        ({"minutes": -1.0}, "minutes must be"),
        ({"minutes": np.nan}, "minutes must be"),
        ({"minutes": "1"}, "minutes must be"),
    ):
        with pytest.raises(ValueError, match=words):
            maximum_likelihood(START, X, Y, **how)
    with pytest.raises(ValueError, match="constant"):
        maximum_likelihood(START.set_params(offset=True), X, np.ones(80))
    with pytest.raises(ValueError, match="scale must be"):
        maximum_likelihood(START, X, Y, scale=-1.0)
    with pytest.raises(TypeError, match="such as KernelRidge"):
        maximum_likelihood(GaussianProcessRegressor(), X, Y)
    with pytest.raises(ValueError, match="explains nothing"):
        maximum_likelihood(KernelRidge(0.0 * Gaussian(1.0), lam=0.1), X, Y)
