import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer.kernels import Constant, Gaussian, Laplacian, Linear, Matern, Polynomial
from mercer.posterior.exact import ExactPosterior
from mercer.posterior.pathwise import PathwisePosterior
from observed import observed, wavy


def moments_agree(seen, Z, **options):
    """Means and covariances of many functions, against the exact ones, in standard errors."""
    exact = ExactPosterior(seen)
    some = PathwisePosterior(seen, random_state=0, n_samples=2000, **options)
    off = (some.covariance(Z) - exact.covariance(Z)) / some.covariance_error(Z)
    # Of 820 entries a few lie beyond three standard errors, as they should; none is beyond five.
    assert np.abs(off).max() < 5 and (np.abs(off) > 3).mean() < 0.02, np.abs(off).max()
    assert np.abs(some.std(Z) - exact.std(Z)).max() < 4.5 * some.std_error(Z).max()
    assert np.abs(some.mean(Z) - exact.mean(Z)).max() < 1e-4
    return some, exact


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("kernel", [Gaussian(0.8), 2 * Laplacian(1.5) + 0.5 * Linear()], ids=repr)
def test_moments_are_the_exact_ones(kernel, offset):
    X, y, w = wavy(300)
    Z = 1.5 * np.random.default_rng(5).standard_normal((40, 2))
    some, exact = moments_agree(observed(kernel, X, y, offset=offset, weights=w), Z)
    assert some.residual < 1e-5 and some.prior_error < 0.01
    assert np.allclose(some.std(Z, noise=True) ** 2, some.std(Z) ** 2 + some.noise, rtol=1e-12)
    drawn = some.sample(Z, 1500, random_state=3)
    size = exact.std(Z) / np.sqrt(1500)
    assert np.abs((drawn.mean(axis=1) - exact.mean(Z)) / size).max() < 4.5
    assert np.abs(drawn.std(axis=1) / exact.std(Z) - 1).max() < 4.5 / np.sqrt(2 * 1500)


def test_a_function_is_the_same_wherever_it_is_called():
    X, y, _ = wavy(200)
    paths = PathwisePosterior(observed(Matern(1.5, 1.0), X, y), random_state=1).paths(7, random_state=2)
    Z = np.random.default_rng(0).standard_normal((30, 2))
    assert np.allclose(paths(Z)[10:20], paths(Z[10:20]), atol=1e-10)
    assert paths(Z).shape == (30, 7) and (paths.residuals < 1e-5).all()


def test_far_from_the_data_the_prior_is_left():
    X, y, _ = wavy(150)
    some = PathwisePosterior(observed(Gaussian(0.5), X, y, offset=False), scale=4.0, random_state=0)
    assert some.std([[50.0, 50.0]]) == pytest.approx(2.0, abs=4.5 * float(some.std_error([[50.0, 50.0]])[0]))
    assert abs(float(some.mean([[50.0, 50.0]])[0])) < 1e-12


def test_outputs_are_drawn_by_themselves():
    X, y, w = wavy(200, t=2)
    seen = observed(Gaussian(1.0), X, y * [1.0, 10.0], weights=w)
    some, exact = PathwisePosterior(seen, random_state=0, n_samples=1000), ExactPosterior(seen)
    Z = np.random.default_rng(5).standard_normal((6, 2))
    assert np.allclose(some.scale, exact.scale, rtol=1e-6)
    assert some.covariance(Z).shape == (6, 6, 2) and some.std(Z).shape == (6, 2)
    assert (np.abs(some.std(Z) - exact.std(Z)) < 4.5 * some.std_error(Z)).all()
    drawn = some.sample(Z, 800, random_state=1)
    assert drawn.shape == (6, 2, 800)
    a, b = (drawn - exact.mean(Z)[:, :, None])[0]
    assert abs(np.corrcoef(a, b)[0, 1]) < 4.5 / np.sqrt(800)


def awkward():
    X, y, w = wavy(120)
    yield "repeated rows", np.repeat(X[:30], 4, axis=0), y, {}
    yield "uncentred", X + 1e3, y + 1e4, {}
    yield "float32", X.astype(np.float32), y, {}
    yield "tiny lambda", X, y, {"lam": 1e-9}
    weights = np.where(np.arange(120) < 40, 0.0, w)
    yield "absent rows", X, y, {"weights": weights / weights.mean()}
    yield "one row", X[:1], y[:1], {"offset": False}
    yield "one row and an offset", X[:1], y[:1], {"offset": True}


@pytest.mark.parametrize("case", list(awkward()), ids=lambda case: case[0])
def test_awkward_data(case):
    _, X, y, options = case
    seen = observed(Matern(1.5, 1.0), X, y, **{"lam": 1e-3, **options})
    Z = X[:5].astype(float) + 0.3
    scale = 1.0 if len(X) == 1 else "likelihood"
    exact = ExactPosterior(seen, scale)
    some = PathwisePosterior(seen, scale, random_state=0, n_samples=1500)
    assert (np.abs(some.std(Z) - exact.std(Z)) < 4.5 * some.std_error(Z) + 1e-12).all()
    assert np.allclose(some.mean(Z), exact.mean(Z), rtol=1e-5, atol=1e-4 * np.abs(y).max())


def test_kernels_without_features_are_refused_in_words():
    X, y, _ = wavy(50)
    some = PathwisePosterior(observed(Gaussian(1.0) * Linear() + Constant(1.0), X, y))
    with pytest.raises(ValueError, match="method='exact'"):
        some.std(X)


def test_systems_that_are_not_solved_warn():
    X, y, _ = wavy(300)
    some = PathwisePosterior(
        observed(Laplacian(1.0), X, y, lam=1e-8, offset=False), 1.0, max_iter=2, n_samples=4
    )
    with pytest.warns(ConvergenceWarning, match="of 4 linear systems"):
        some.std(X[:3])
    assert some.residual > 1e-5


def test_polynomials_are_drawn_exactly():
    X, y, _ = wavy(100)
    some, _ = moments_agree(observed(Polynomial(2, c=1.0), X, y), X[:40] + 0.1)
    assert some.prior_error < 1e-12
