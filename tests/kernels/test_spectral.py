"""Spectral densities, against numerical Fourier transforms, both ways, and against drawn frequencies."""

import math

import numpy as np
import pytest
from scipy.integrate import dblquad, quad
from scipy.special import jv

from mercer.kernels import (
    Constant,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    RationalQuadratic,
    SkewedChiSquared,
    White,
    spectral_density,
)

RADIAL = [
    Gaussian(1.3),
    Laplacian(0.8),
    Matern(0.5, 0.8),
    Matern(1.5, 1.1),
    Matern(0.8, 1.1),
    Matern(3.0, 0.7),
    RationalQuadratic(0.9, 1.2),
    RationalQuadratic(3.5, 0.8),
    Gaussian(1.3) ** 0.5,
    0.5 * Gaussian(1.0) + 2.0 * Matern(2.5, 0.6),
    (3 * Gaussian(0.7)).normalize(),
    2 * (Constant(3.0) * Gaussian(1.1)),
]
every = pytest.mark.parametrize("kernel", RADIAL, ids=repr)


def value(kernel, r, d=1):
    x = np.zeros((1, d))
    x[0, 0] = r
    return float(kernel(x, np.zeros((1, d)))[0, 0])


def density(kernel, w, d=1):
    x = np.zeros((1, d))
    x[0, 0] = w
    return float(spectral_density(kernel, x)[0])


@every
@pytest.mark.parametrize("w", [0.3, 1.7])
def test_it_is_the_fourier_transform_on_the_line(kernel, w):
    """(1/2π) ∫ k(δ) cos ωδ dδ = (1/π) ∫₀^∞ …"""
    integral = quad(lambda r: value(kernel, r), 0, np.inf, weight="cos", wvar=w, epsabs=1e-9, limlst=500)[0]
    assert density(kernel, w) == pytest.approx(integral / math.pi, abs=2e-7)


@every
def test_the_kernel_is_its_transform(kernel):
    for r in (0.4, 1.9):
        back = quad(lambda w: density(kernel, w), 0, np.inf, weight="cos", wvar=r, epsabs=1e-9, limlst=500)[0]
        assert 2 * back == pytest.approx(value(kernel, r), abs=2e-6)


@pytest.mark.parametrize(
    "kernel", [Gaussian(1.3), Matern(1.5, 1.1), Matern(2.2, 0.8), Laplacian(0.8)], ids=repr
)
@pytest.mark.parametrize("d", [2, 3, 5])
def test_in_more_dimensions(kernel, d):
    """(2π)^(−d/2) ω^(1−d/2) ∫₀^∞ k(r) J_(d/2−1)(ωr) r^(d/2) dr, the transform of a radial function."""
    for w in (0.5, 2.0):
        integral = quad(
            lambda r, w=w: value(kernel, r, d) * jv(d / 2 - 1, w * r) * r ** (d / 2),
            0,
            60,
            limit=2000,
            epsabs=1e-10,
        )[0]
        expected = (2 * math.pi) ** (-d / 2) * w ** (1 - d / 2) * integral
        assert density(kernel, w, d) == pytest.approx(expected, rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("alpha, d", [(0.3, 2), (1.0, 2), (2.5, 3), (4.0, 1)])
def test_of_a_rational_quadratic_by_mixing(alpha, d):
    """Gaussians of deviation √τ/σ, τ of a Gamma law."""
    kernel = RationalQuadratic(alpha, 1.4)

    def mixed(w):
        def term(u):
            tau = math.exp(u)
            gauss = (1.96 / (2 * math.pi * tau)) ** (d / 2) * math.exp(-1.96 * w * w / (2 * tau))
            return gauss * math.exp(alpha * (u + math.log(alpha)) - alpha * tau - math.lgamma(alpha))

        return quad(term, -25, 8, epsabs=1e-13, limit=400)[0]

    for w in (0.2, 1.0, 3.0):
        assert density(kernel, w, d) == pytest.approx(mixed(w), rel=1e-8)


def test_at_zero():
    assert density(RationalQuadratic(0.4, 1.0), 0.0) == math.inf  # its integral diverges
    assert density(RationalQuadratic(2.0, 1.0), 0.0) == pytest.approx(
        density(RationalQuadratic(2.0, 1.0), 1e-5)
    )
    whole = quad(lambda r: value(RationalQuadratic(2.0, 1.0), r), 0, np.inf)[0] / math.pi
    assert density(RationalQuadratic(2.0, 1.0), 0.0) == pytest.approx(whole)
    assert density(RationalQuadratic(40.0, 1.0), 1e-12) == pytest.approx(
        density(RationalQuadratic(40.0, 1.0), 0.0)
    )


def test_of_the_l1_norm():
    kernel = Laplacian(0.8, norm="l1")
    W = np.array([[0.5, -1.0], [2.0, 0.0]])
    alone = spectral_density(Laplacian(0.8), W.reshape(-1, 1)).reshape(2, 2)
    np.testing.assert_allclose(spectral_density(kernel, W), alone.prod(axis=1))
    # The share of frequencies in a square.
    drawn = kernel.frequencies(np.random.default_rng(0), 100_000, 2)
    share = np.mean((np.abs(drawn) < 1.0).all(axis=1))
    inside = dblquad(lambda a, b: spectral_density(kernel, [[a, b]])[0], -1, 1, -1, 1, epsabs=1e-6)[0]
    assert share == pytest.approx(inside, abs=0.005)


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(1.0).scaled([0.5, 2.0]),
        Matern(1.5, 1.0).metric([[2.0, 0.5], [0.5, 1.0]]),
        Laplacian(1.0, norm="l1").scaled([0.5, 2.0]).on([1, 0]),
    ],
    ids=repr,
)
def test_in_other_coordinates(kernel):
    """By the frequencies that are drawn: their histogram is the density."""
    drawn = kernel.frequencies(np.random.default_rng(0), 200_000, 2)
    centre, half = np.array([0.4, -0.3]), 0.2
    share = np.mean((np.abs(drawn - centre) < half).all(axis=1))
    grid = np.linspace(-half, half, 21)
    A = np.stack(np.meshgrid(*(c + (grid[1:] + grid[:-1]) / 2 for c in centre)), axis=-1).reshape(-1, 2)
    expected = spectral_density(kernel, A).mean() * (2 * half) ** 2
    assert share == pytest.approx(expected, abs=5 * math.sqrt(expected / 200_000))


@pytest.mark.parametrize(
    "kernel, reason",
    [
        (Periodic(), "lines"),
        (Linear(), "not known in closed form"),
        (White(), "all frequencies are alike"),
        (Gaussian(1.0) + 1, "lies at ω = 0"),
        (Gaussian(1.0).on([0]), "lies in a plane"),
        (Gaussian(1.0).metric([[1.0, 0.0], [0.0, 0.0]]), "plane"),
        (Gaussian(1.0) * Laplacian(1.0), "not known"),
        (Matern(1.5, 1.0) ** 0.5, "not known"),
        (SkewedChiSquared(), "not known"),
    ],
)
def test_what_has_none(kernel, reason):
    with pytest.raises(NotImplementedError, match=reason):
        spectral_density(kernel, np.ones((1, 2)))


def test_wrong_arguments():
    with pytest.raises(TypeError, match="kernel must be"):
        spectral_density(lambda x, z: 1.0, [[0.0]])
    with pytest.raises(ValueError, match="leaves sigma to the data"):
        spectral_density(Gaussian(), [[0.0]])
    with pytest.raises(ValueError, match="2-D"):
        spectral_density(Gaussian(1.0), [0.0, 1.0])
    with pytest.raises(ValueError, match="2 length scales for frequencies with 1"):
        spectral_density(Gaussian(1.0).scaled([1.0, 2.0]), [[0.0]])
    assert spectral_density(0 * Gaussian(1.0), [[0.0]]).tolist() == [0.0]
    assert spectral_density(Gaussian(1.0), np.zeros((2, 3), np.float32)).dtype == np.float64
