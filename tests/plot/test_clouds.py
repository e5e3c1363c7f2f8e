"""Clouds, covariances and spectra: what is drawn is what was given."""

import io

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

matplotlib.use("Agg")

from mercer import plot


@pytest.fixture
def points():
    return np.random.default_rng(0).standard_normal((60, 3)) * [3, 2, 1]


def legend_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_a_cloud_in_the_plane(points):
    y = np.repeat(["a", "b", "c"], 20)
    ax = plot.cloud(points[:, :2], y, plot.axes(), labels="component")
    assert legend_of(ax) == ["a", "b", "c"]
    for j, line in enumerate(ax.lines):
        np.testing.assert_array_equal(line.get_xydata(), points[20 * j : 20 * j + 20, :2])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("component 1", "component 2")
    assert plot.cloud(points[:, :2], ax=plot.axes()).get_legend() is None


def test_a_cloud_in_space(points):
    ax = Figure().add_subplot(projection="3d")
    assert plot.cloud(points, np.arange(60) % 2, ax, labels="component") is ax
    x, y, z = ax.lines[1].get_data_3d()
    np.testing.assert_array_equal(np.column_stack([x, y, z]), points[1::2])
    assert ax.get_zlabel() == "component 3"
    with pytest.raises(ValueError, match="projection"):
        plot.cloud(points, ax=plot.axes())


@pytest.mark.parametrize("names", ["0123456789", ["a rather long name", "and another one", "short"]])
def test_the_legend_of_a_cloud_in_space_lies_within_the_figure(points, names):
    figure = Figure((6, 5), layout="constrained")
    ax = figure.add_subplot(projection="3d")
    plot.cloud(points, np.array(list(names))[np.arange(60) % len(names)], ax, labels="component")
    figure.draw_without_rendering()
    legend, whole = ax.get_legend().get_window_extent(), figure.bbox
    assert whole.x0 <= legend.x0 and legend.x1 <= whole.x1
    assert whole.y0 <= legend.y0 and legend.y1 <= whole.y1
    assert not any(legend.overlaps(a.label.get_window_extent()) for a in (ax.xaxis, ax.yaxis, ax.zaxis))


def test_a_cloud_without_axes(points):
    from matplotlib import pyplot

    for columns in (2, 3):
        pyplot.close(plot.cloud(points[:, :columns]).figure)


def test_many_classes_differ_in_colour_or_marker(points):
    ax = plot.cloud(points[:, :2], np.arange(60) % 20, plot.axes())
    assert len({(line.get_color(), line.get_marker()) for line in ax.lines}) == 20
    with pytest.raises(ValueError, match="at most 36 classes"):
        plot.cloud(points[:, :2], np.arange(60), plot.axes())


def test_what_is_no_cloud(points):
    with pytest.raises(ValueError, match="two or three"):
        plot.cloud(points[:, :1], ax=plot.axes())
    with pytest.raises(ValueError, match="one label a point"):
        plot.cloud(points, [1, 2], plot.axes())


def test_covariance_shows_size_and_sign():
    C = np.array([[4.0, -1.0], [-1.0, 2.0]])
    ax = plot.covariance(C, plot.axes())
    image = ax.images[0].get_array()
    np.testing.assert_allclose(image[:, :, 3], np.abs(C) / 4)
    assert not np.array_equal(image[0, 1, :3], image[0, 0, :3])
    assert legend_of(ax) == ["positive", "negative"]
    assert plot.covariance(np.zeros((2, 2)), plot.axes()).get_legend() is None


@pytest.mark.parametrize("C", [np.ones((2, 3)), [[1.0, 2.0], [0.0, 1.0]], [[np.nan]], np.ones(3)])
def test_what_is_no_covariance(C):
    with pytest.raises(ValueError, match="covariance matrix is"):
        plot.covariance(C, plot.axes())


def test_spectrum_of_a_matrix_is_what_pca_explains(points):
    from sklearn.decomposition import PCA

    pca = PCA().fit(points)
    for values in (np.cov(points.T), pca.explained_variance_[::-1]):
        ax = plot.spectrum(values, plot.axes(), share=0.8)
        np.testing.assert_allclose([bar.get_height() for bar in ax.patches], pca.explained_variance_ratio_)
        np.testing.assert_allclose(ax.lines[0].get_ydata(), np.cumsum(pca.explained_variance_ratio_))
        count = int(np.searchsorted(np.cumsum(pca.explained_variance_ratio_), 0.8)) + 1
        assert legend_of(ax) == ["all so far", f"80 % with {count}"]


def test_spectrum_of_the_first_eigenvalues():
    ax = plot.spectrum([3.0, 2.0], plot.axes(), total=10.0)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [0.3, 0.5])
    assert legend_of(ax) == ["all so far"]  # 90 % is not reached


@pytest.mark.parametrize(
    "values, options, message",
    [
        ([1.0, -0.5], {}, "never negative"),
        ([0.0, 0.0], {}, "must be positive"),
        ([3.0], {"total": 2.0}, "at least the sum"),
        ([], {}, "eigenvalues"),
        ([np.nan], {}, "eigenvalues"),
    ],
)
def test_what_is_no_spectrum(values, options, message):
    with pytest.raises(ValueError, match=message):
        plot.spectrum(values, plot.axes(), **options)


def test_in_space_all_labels_lie_within_the_figure():
    X = np.random.default_rng(0).standard_normal((30, 3))
    figure = Figure(figsize=(5, 4), layout="constrained")
    ax = plot.cloud(X, np.arange(30) % 2, figure.add_subplot(projection="3d"), labels="component")
    figure.savefig(io.BytesIO(), format="png")
    box = ax.zaxis.label.get_window_extent()
    assert box.x0 >= 0 and box.x1 <= figure.bbox.x1
