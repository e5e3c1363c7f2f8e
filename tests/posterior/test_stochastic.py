import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest

from mercer.kernels import Gaussian, Laplacian, Matern, Periodic, RationalQuadratic
from mercer.posterior.exact import ExactPosterior
from mercer.posterior.pathwise import PathwisePosterior
from mercer.posterior.stochastic import Estimate
from mercer.posterior.system import System
from observed import observed, wavy

KERNELS = [Gaussian(0.8), Matern(0.5, 1.0), Matern(2.5, 2.0), Laplacian(0.5), RationalQuadratic(1.0, 1.0)]


def test_determinants_are_within_their_errors():
    """Over kernels, λ and seeds: of Student's distribution about one in a hundred is beyond three errors."""
    beyond, tried = 0, 0
    for kernel in KERNELS:
        for lam in (1e-6, 1e-4, 1e-2):
            for seed in range(4):
                X, y, w = wavy(250, seed=seed)
                seen = observed(kernel, X, y, lam=lam, weights=w, offset=seed % 2 == 0)
                estimate = PathwisePosterior(seen, 1.0, random_state=seed).log_marginal_likelihood()
                exact = ExactPosterior(seen, 1.0).log_marginal_likelihood()
                tried += 1
                beyond += abs(estimate - exact) > 3 * estimate.standard_error + 1e-7 * abs(exact)
    assert tried == 60 and beyond <= 2


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    "kernel",
    [
        2.0 * Matern(1.5, 1.0),
        Gaussian(1.0).scaled([1.0, 2.0]),
        RationalQuadratic(1.0, 1.0) + 0.5 * Periodic(3.0, 1.0),
    ],
    ids=repr,
)
def test_gradients_are_within_their_errors(kernel, seed):
    X, y, w = wavy(300, seed=seed)
    seen = observed(kernel, X, y, lam=1e-3, weights=w, offset=bool(seed))
    some = PathwisePosterior(seen, random_state=seed)
    value, gradient = some.log_marginal_likelihood(eval_gradient=True)
    exact, expected = ExactPosterior(seen).log_marginal_likelihood(eval_gradient=True)
    assert abs(value - exact) < 4 * value.standard_error
    assert gradient.shape == some.gradient_error.shape == expected.shape
    assert (np.abs(gradient - expected) < 4 * some.gradient_error + 1e-5 * np.abs(expected).max()).all()
    # The errors are of use: the direction of a step is known.
    assert np.linalg.norm(some.gradient_error) < 0.2 * np.linalg.norm(expected)


def test_errors_fall_with_the_root_of_the_number_of_probes():
    X, y, _ = wavy(300)
    seen = observed(Laplacian(0.7), X, y, lam=1e-4)
    few, many = (
        PathwisePosterior(seen, 1.0, random_state=0, probes=p).log_marginal_likelihood().standard_error
        for p in (16, 256)
    )
    assert 0.15 < many / few < 0.4


def test_several_outputs_repeated_rows_and_one_row():
    X, y, _ = wavy(160, t=2)
    X = np.repeat(X[:40], 4, axis=0)
    seen = observed(Matern(1.5, 1.0), X, y, lam=1e-3)
    value, gradient = PathwisePosterior(seen, random_state=0).log_marginal_likelihood(eval_gradient=True)
    exact, expected = ExactPosterior(seen).log_marginal_likelihood(eval_gradient=True)
    assert abs(value - exact) < 4 * value.standard_error + 1e-5 * abs(exact)
    assert np.allclose(gradient, expected, rtol=0.05, atol=0.05 * np.abs(expected).max())
    one = observed(Matern(1.5, 1.0), X[:1], y[:1, 0], lam=0.5, offset=False)
    value = PathwisePosterior(one, 1.0).log_marginal_likelihood()
    assert value == pytest.approx(ExactPosterior(one, 1.0).log_marginal_likelihood(), abs=1e-8)


def test_quadrature_is_bounded_however_early_it_ends():
    """Few steps: Gauss's and Radau's rule differ, and the error says so."""
    X, y, _ = wavy(300)
    seen = observed(Laplacian(0.5), X, y, lam=1e-6)
    exact = ExactPosterior(seen, 1.0).log_marginal_likelihood()
    with pytest.warns(UserWarning, match="linear systems"):
        value = PathwisePosterior(seen, 1.0, random_state=0, max_iter=6).log_marginal_likelihood()
    assert abs(value - exact) < 4 * value.standard_error


def test_an_estimate_is_a_number():
    value = Estimate(-3.0, 0.5)
    assert value < 0 and value + 1 == -2.0 and repr(value) == "-3.0"
    assert pickle.loads(pickle.dumps(value)).standard_error == 0.5


def test_interruptions_are_heard():
    X, y, _ = wavy(6000, d=4)
    some = PathwisePosterior(observed(Laplacian(1.0), X, y, lam=1e-9), n_samples=256)
    timer = threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        some.std(X[:2])
    assert time.monotonic() - start < 4


def test_centres_are_refused_in_words():
    seen = observed(Gaussian(1.0), *wavy(30)[:2])
    other = type(seen)(
        seen.A, seen.A.among(np.arange(5), np.arange(5)), seen.y, seen.w, 1.0, False, seen.door
    )
    with pytest.raises(ValueError, match="representation='full'"):
        System(other, 1e-5, 10, np.random.default_rng(0))


@pytest.mark.parametrize("lam", [1e-6, 1e-9])
def test_rounding_is_in_the_standard_error(lam):
    """At a scale that is given, what rounding makes of yᵀPy may exceed what probes leave open."""
    X = np.random.default_rng(0).uniform(0, 8, (80, 1))
    y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(1).standard_normal(80)
    seen = observed(Gaussian(1.0), X, y, lam=lam, offset=False)
    value = PathwisePosterior(seen, 1.0, random_state=0).log_marginal_likelihood()
    assert abs(value - ExactPosterior(seen, 1.0).log_marginal_likelihood()) < 4 * value.standard_error


def test_more_functions_than_memory_holds_are_refused():
    X, y, _ = wavy(60)
    posterior = PathwisePosterior(observed(Gaussian(1.0), X, y))
    for ask in (lambda: posterior.sample(X[:2], 10**9), lambda: posterior.paths(10**9)):
        with pytest.raises(MemoryError, match="fewer of them at a time"):
            ask()


def test_constant_targets_have_no_likelihood():
    X, _, _ = wavy(60)
    posterior = PathwisePosterior(observed(Gaussian(1.0), X, np.full(60, 0.1)))
    with pytest.warns(UserWarning, match="constant"):
        assert posterior.scale == 0
    for gradient in (False, True):
        with pytest.raises(ValueError, match="no density"):
            posterior.log_marginal_likelihood(eval_gradient=gradient)
