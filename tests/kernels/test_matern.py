"""The Matérn kernel of any smoothness, against SciPy's Bessel function and an integral."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gammaln, kve

from mercer.codegen.symbols import NotTraceable
from mercer.engines import Tiled
from mercer.kernels import Gaussian, Matern, check
from mercer.kernels.formula import trace
from mercer.kernels.matern import _pieces
from mercer.kernels.slopes import LogSlope
from mercer.testing import check_kernel

# Half-integers, integers, both sides of every border between two ways of computing it.
SMOOTHNESS = [0.02, 0.3, 0.499, 0.5, 0.501, 0.7, 0.92, 1, 1.05, 1.3, 2, 2.97, 3.5, 4, 5.2, 7.5, 8, 11.3, 15.5]
SMOOTHNESS += [15.9, 16.0, 16.1, 16.5, 40.0]
every = pytest.mark.parametrize("nu", SMOOTHNESS)
COMPILED = [nu for nu in SMOOTHNESS if 0.5 <= nu <= 16 and nu not in (0.92, 1.05, 2.97)]


def bessel(nu, a):
    """2^(1−ν)/Γ(ν) a^ν K_ν(a), where that is a number for SciPy."""
    with np.errstate(all="ignore"):
        return np.exp((1 - nu) * math.log(2) - gammaln(nu) + nu * np.log(a) - a + np.log(kve(nu, a)))


def at(nu, a, dtype=np.float64):
    """M(a) by the kernel, of width 1."""
    X = (np.asarray(a) / math.sqrt(2 * nu))[:, None].astype(dtype)
    return Matern(nu, 1.0)(X, np.zeros((1, 1), dtype))[:, 0]


@every
def test_by_bessel_functions(nu):
    a = np.geomspace(1e-9 if nu < 4 else 0.05, 60, 1000)
    truth = bessel(nu, a)
    assert np.isfinite(truth).all()
    np.testing.assert_allclose(at(nu, a), truth, rtol=0, atol=2e-13)
    # Where it has nearly gone, too, but for sums of Gaussians, whose error is one of their largest term.
    if nu <= 16:
        np.testing.assert_allclose(at(nu, a), truth, rtol=1e-10)
    np.testing.assert_allclose(at(nu, a, np.float32), truth, atol=6e-6)


@pytest.mark.parametrize(
    "nu, a", [(0.3, 0.01), (1.0, 1.0), (2.97, 2.0), (6.4, 3.0), (30.0, 5.0), (1000.0, 40.0)]
)
def test_by_an_integral(nu, a):
    """The mean of exp(−a²/4τ) over τ of the Gamma law of shape ν."""

    def density(u):  # of log τ
        return math.exp(nu * u - math.exp(u) - a * a / 4 * math.exp(-u) - math.lgamma(nu))

    top = math.log(nu)
    wide = 60 / min(nu, 1.0) if nu < 5 else 12 / math.sqrt(nu) + 1
    value = quad(density, top - wide, top + 6, points=[top], epsabs=1e-13, epsrel=1e-11, limit=500)[0]
    assert at(nu, [a])[0] == pytest.approx(value, abs=1e-10)


@every
def test_next_to_zero(nu):
    assert at(nu, [0.0])[0] == 1 and at(nu, [0.0], np.float32)[0] == 1
    near = at(nu, [1e-300, 1e-150, 1e-30])
    assert ((near > 0) & (near <= 1 + 1e-14)).all()
    far = at(nu, [800.0, 1e6, 1e100])
    assert (np.abs(far) < 1e-200).all() and np.isfinite(far).all()


def test_tends_to_the_gaussian():
    X = np.linspace(-3, 3, 20)[:, None]
    errors = [np.abs(Matern(nu, 1.3)(X) - Gaussian(1.3)(X)).max() for nu in (10.0, 100.0, 1e6)]
    assert errors[0] > errors[1] > errors[2] and errors[2] < 1e-6


@every
def test_laws(nu):
    X = np.random.default_rng(0).standard_normal((12, 2))
    X[1] = X[0]
    check_kernel(Matern(nu, 0.9), X)
    assert check(Matern(nu, 0.9)).by == "rule"


def test_the_fits_cost_little():
    for nu in COMPILED:
        if nu % 1 != 0.5:
            pieces = _pieces(float(nu))
            assert not pieces.cancels
            assert sum(map(len, (pieces.A, pieces.B, pieces.C, pieces.R))) < 80


@pytest.mark.parametrize("nu", [0.7, 1, 3.5, 4.2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_compiled(nu, dtype):
    rng = np.random.default_rng(0)
    X, Z = rng.standard_normal((70, 3)).astype(dtype), rng.standard_normal((90, 3)).astype(dtype)
    Z[:5] = X[:5]
    Z[5:9] *= 40
    kernel = Matern(nu, 1.1)
    truth = kernel(X.astype(float), Z.astype(float))
    found = Tiled(fused=True).operator(kernel, X, Z).dense()
    np.testing.assert_allclose(found, truth, rtol=0, atol=6e-6 if dtype == np.float32 else 1e-12)
    slope = Tiled(fused=True).operator(LogSlope(kernel, "sigma"), X, Z).dense()
    h = 1e-5
    up, down = (Matern(nu, 1.1 * math.exp(s))(X.astype(float), Z.astype(float)) for s in (h, -h))
    np.testing.assert_allclose(
        slope, (up - down) / (2 * h), rtol=0, atol=5e-5 if dtype == np.float32 else 1e-8
    )


def test_which_have_a_formula():
    for nu in SMOOTHNESS:
        if nu in COMPILED:
            assert len(trace(Matern(nu, 1.0)).leaves) == 1
        else:
            with pytest.raises(NotTraceable, match="no short formula"):
                trace(Matern(nu, 1.0))


@pytest.mark.parametrize("nu", [1, 1.7, 3.5])
def test_near_points_keep_their_distance(nu):
    """2 − 2k would leave three digits of it."""
    kernel = Matern(nu, 2.0)
    apart = 2.0**-20
    found = kernel.squared_distance([[1e4]], [[1e4 + apart]])[0, 0]
    # 1 − k = x/(ν−1) − … with x = νr²/(2σ²), for ν > 1; for ν = 1 there is a logarithm.
    x = nu * (apart / 2.0) ** 2 / 2
    expected = 2 * x / (nu - 1) if nu > 1 else 2 * x * (1 - 2 * 0.5772156649015329 - math.log(x))
    assert found == pytest.approx(expected, rel=1e-3 if nu == 1.7 else 1e-9)


def test_fractional_powers_are_kernels():
    """Student's laws are infinitely divisible: every power is positive semidefinite."""
    X = np.random.default_rng(1).uniform(-2, 2, (60, 2))
    for nu in (0.3, 1.5, 4.0):
        for p in (0.05, 0.5, 1.7):
            assert np.linalg.eigvalsh((Matern(nu, 1.0) ** p)(X)).min() > -1e-12
