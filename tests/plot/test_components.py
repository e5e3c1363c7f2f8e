"""Main axes are those of scikit-learn's PCA; the bound holds for every S and is reached by eigenvectors."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.decomposition import PCA

from mercer import plot


@pytest.fixture
def cloud():
    return np.random.default_rng(0).standard_normal((80, 2)) @ [[2.0, 1.0], [0.0, 0.7]] + [3.0, -1.0]


def test_main_axes(cloud):
    ax = plot.principal_axes(cloud, plot.axes())
    pca = PCA().fit(cloud)
    deviations = np.sqrt(pca.explained_variance_ * 79 / 80)
    for line, direction, length, share in zip(
        ax.lines[1:], pca.components_, deviations, pca.explained_variance_ratio_, strict=True
    ):
        (start, tip) = line.get_xydata()
        np.testing.assert_allclose(start, cloud.mean(axis=0))
        np.testing.assert_allclose(abs((tip - start) @ direction), length)
        np.testing.assert_allclose(np.linalg.norm(tip - start), length)
        assert line.get_label().endswith(f"{100 * share:.0f} %")
    for times, ellipse in enumerate(ax.patches[:2], start=1):
        np.testing.assert_allclose((ellipse.width, ellipse.height), 2 * times * deviations)
        along = np.array([np.cos(np.radians(ellipse.angle)), np.sin(np.radians(ellipse.angle))])
        assert abs(along @ pca.components_[0]) == pytest.approx(1)


@pytest.mark.parametrize("X", [[[1.0, 2.0]], [[1.0, 2.0], [1.0, 2.0]]])
def test_what_has_no_axes(X):
    with pytest.raises(ValueError, match="two points or more that differ"):
        plot.principal_axes(X, plot.axes())


def three(p):
    figure = Figure(figsize=(10, 4))
    return [figure.add_subplot(1, 3, 1, projection="3d" if p == 3 else None), *figure.subplots(1, 3)[1:]]


@pytest.mark.parametrize("p, k", [(2, 1), (3, 1), (3, 2)])
def test_the_bound(p, k):
    A = np.random.default_rng(p + k).standard_normal((p, p))
    C = A @ A.T
    S = np.linalg.qr(np.random.default_rng(9).standard_normal((p, k)))[0]
    first, small, large = plot.pca_bound(C, k, S, three(p))
    held, most = (float(word) for word in first.get_title().removeprefix("Σ λ β = ").split(" ≤ "))
    assert held == pytest.approx(np.trace(S.T @ C @ S), rel=0.01) and held <= most
    assert most == pytest.approx(np.sort(np.linalg.eigvalsh(C))[-k:].sum(), rel=0.01)

    def entries(ax):
        values = [float(text.get_text().replace("−", "-")) for text in ax.texts]
        return np.array(values).reshape(p, -1)

    assert entries(small).shape == (p, k) and entries(large).shape == (p, p)
    np.testing.assert_allclose(entries(large) @ entries(large).T, np.eye(p), atol=0.03)
    np.testing.assert_array_equal(entries(large)[:, :k], entries(small))
    beta = [float(label.get_text().split("= ")[1]) for label in small.get_yticklabels()]
    assert sum(beta) == pytest.approx(k, abs=0.02) and max(beta) <= 1
    # A point of the polytope is drawn at β.
    drawn = first.lines[-1].get_data_3d() if p == 3 else first.lines[-1].get_data()
    np.testing.assert_allclose(np.ravel(drawn), beta, atol=0.006)


def test_eigenvectors_reach_the_bound():
    first, _, _ = plot.pca_bound(np.diag([1.0, 4.0, 2.0]), 2, np.eye(3)[:, 1:], three(3))
    assert first.get_title() == "Σ λ β = 6 ≤ 6"


def test_what_is_no_bound():
    with pytest.raises(ValueError, match="2 × 2 or 3 × 3"):
        plot.pca_bound(np.eye(4), 1, axes=three(2))
    with pytest.raises(ValueError, match="less than the 2 dimensions"):
        plot.pca_bound(np.eye(2), 2, axes=three(2))
    with pytest.raises(ValueError, match="orthonormal"):
        plot.pca_bound(np.eye(2), 1, [[1.0], [1.0]], three(2))
    with pytest.raises(ValueError, match="symmetric"):
        plot.pca_bound([[1.0, 2.0], [0.0, 1.0]], 1, axes=three(2))


@pytest.mark.parametrize("p", [2, 3])
def test_without_axes(p):
    from matplotlib import pyplot

    pyplot.close(plot.pca_bound(np.eye(p), 1)[0].figure)
    pyplot.close(plot.principal_axes(np.eye(2)).figure)


@pytest.mark.parametrize("C", [np.zeros((2, 2)), np.diag([1.0, -1.0])])
def test_what_is_no_covariance(C):
    with pytest.raises(ValueError, match="eigenvalues of at least 0"):
        plot.pca_bound(C, 1, axes=Figure().subplots(1, 3))
