"""Joint densities: marginals and conditional means against closed forms of a Gaussian."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from mercer import KernelRidge, plot
from mercer.kernels import Gaussian

MEAN, COVARIANCE = np.array([1.0, -0.5]), np.array([[1.0, 0.9], [0.9, 1.5]])
LIMITS = ((-5.0, 7.0), (-8.0, 7.0))


def density(points):
    return 3.0 * multivariate_normal(MEAN, COVARIANCE).pdf(points)  # need not integrate to 1


def test_marginals():
    ax = plot.joint_density(density, LIMITS, plot.axes(), resolution=121)
    across, up = ax.child_axes
    x, px = across.lines[0].get_data()
    np.testing.assert_allclose(px, norm(1.0, 1.0).pdf(x), atol=1e-4)
    py, y = up.lines[0].get_data()
    np.testing.assert_allclose(py, norm(-0.5, np.sqrt(1.5)).pdf(y), atol=1e-4)
    image = ax.images[0].get_array()[:, :, 3]
    i, j = np.unravel_index(image.argmax(), image.shape)
    assert abs(x[j] - 1.0) < 0.11 and abs(y[i] + 0.5) < 0.13  # the mode is where the mean is


def test_samples_and_their_histograms():
    samples = np.random.default_rng(0).multivariate_normal(MEAN, COVARIANCE, 500)
    ax = plot.joint_density(density, LIMITS, plot.axes(), samples=samples, resolution=41)
    np.testing.assert_array_equal(ax.lines[0].get_xydata(), samples)
    for j, side in enumerate(ax.child_axes):
        heights = [bar.get_height() if j == 0 else bar.get_width() for bar in side.patches]
        expected = np.histogram(samples[:, j], np.linspace(*LIMITS[j], 25), density=True)[0]
        np.testing.assert_allclose(heights, expected)
    assert ax.get_xlim() == LIMITS[0]


def test_the_conditional_mean_of_a_gaussian_is_a_line():
    ax = plot.conditional_mean(density, LIMITS, plot.axes(), at=(0.0, 2.0), resolution=151)
    x, mean = ax.lines[0].get_data()
    there = np.abs(x - 1.0) < 3
    np.testing.assert_allclose(mean[there], -0.5 + 0.9 * (x[there] - 1.0), atol=1e-3)
    dots = [line.get_xydata()[0] for line in ax.lines if line.get_marker() == "o"]
    np.testing.assert_allclose(dots, [[0.0, -1.4], [2.0, 0.4]], atol=1e-3)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["E(y | x)", "π(y | x)"]


def test_a_machine_beside_it():
    X = np.linspace(-2, 4, 30)[:, None]
    machine = KernelRidge(Gaussian(1.0), lam=1e-3).fit(X, X[:, 0])
    ax = plot.conditional_mean(density, LIMITS, plot.axes(), machine=machine, resolution=41)
    x, fitted = ax.lines[1].get_data()
    np.testing.assert_allclose(fitted, machine.function_(x[:, None]) + machine.intercept_)


def test_where_nothing_is_nothing_is_expected():
    def box(points):
        return (np.abs(points[:, 0]) < 1).astype(float)

    x, mean = plot.conditional_mean(box, ((-3, 3), (-1, 1)), plot.axes(), resolution=61).lines[0].get_data()
    np.testing.assert_array_equal(np.isnan(mean), np.abs(x) >= 1 - 1e-9)


def test_what_is_no_density():
    for wrong in (lambda p: -np.ones(len(p)), lambda p: np.zeros(len(p)), lambda p: p):
        with pytest.raises(ValueError, match="a density gives one finite number"):
            plot.joint_density(wrong, LIMITS, plot.axes(), resolution=5)
    for limits in ((0, 1), ((1, 0), (0, 1)), ((0, np.inf), (0, 1))):
        with pytest.raises(ValueError, match="limits must be"):
            plot.joint_density(density, limits, plot.axes(), resolution=5)
    with pytest.raises(ValueError, match="at must lie between"):
        plot.conditional_mean(density, LIMITS, plot.axes(), at=[9.0], resolution=5)
    with pytest.raises(ValueError, match="samples in the plane"):
        plot.joint_density(density, LIMITS, plot.axes(), samples=[1.0, 2.0], resolution=5)


def test_integrals_of_what_is_cut_off():
    ax = plot.joint_density(lambda p: np.ones(len(p)), ((0, 1), (0, 2)), plot.axes(), resolution=50)
    across, up = ax.child_axes
    np.testing.assert_allclose(across.lines[0].get_ydata(), 1.0, rtol=1e-12)
    np.testing.assert_allclose(up.lines[0].get_xdata(), 0.5, rtol=1e-12)
    # At a clipped end the sum of all values would count the half that lies outside.
    for scale in (1.0, 1e-200, 1e200):
        ax = plot.conditional_mean(
            lambda p, scale=scale: np.exp(-p[:, 1] / scale), ((0, 1), (0, 30 * scale)), plot.axes(), at=[0.5]
        )
        np.testing.assert_allclose(ax.lines[0].get_ydata() / scale, 1.0, atol=1e-4)
        np.testing.assert_allclose(ax.lines[-1].get_ydata() / scale, 1.0, atol=1e-4)


def test_few_places():
    ax = plot.joint_density(lambda p: np.ones(len(p)), ((0, 1), (0, 2)), plot.axes(), resolution=3)
    np.testing.assert_allclose(ax.child_axes[0].lines[0].get_ydata(), 1.0)


def test_samples_that_are_not_seen():
    for samples in (np.empty((0, 2)), [[50.0, 50.0], [60.0, 60.0]]):
        ax = plot.joint_density(density, LIMITS, plot.axes(), samples=samples, resolution=11)
        assert not any(side.patches for side in ax.child_axes) and ax.get_xlim() == LIMITS[0]
