"""A vote: neighbours, disks and winners as scikit-learn has them."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.neighbors import KNeighborsClassifier

from mercer import plot


def test_the_disk_holds_the_nearest(plane):
    X, y = plane
    query, counts = np.array([0.9, 0.8]), (1, 5, 21)
    drawn = plot.nearest(X, y, query, counts, Figure().subplots(1, 3))
    for ax, count in zip(drawn, counts, strict=True):
        machine = KNeighborsClassifier(count).fit(X, y)
        distance, index = machine.kneighbors([query])
        assert ax.patches[0].radius == pytest.approx(distance.max())
        np.testing.assert_allclose(ax.patches[0].center, query)
        ends = np.array([segment[1] for segment in ax.collections[0].get_segments()])
        np.testing.assert_allclose(ends, X[index[0]])
        share = machine.predict_proba([query]).max()
        assert ax.get_title() == f"R = {count}: {machine.predict([query])[0]}, h = {share:.3g}"
        assert ax.get_aspect() == 1


def test_ties_go_to_the_nearest():
    X, y = [[1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [4.0, 0.0]], ["b", "a", "a", "b"]
    (ax,) = plot.nearest(X, y, [0.0, 0.0], [4], plot.axes())
    assert ax.get_title() == "R = 4: b, h = 0.5"


def test_what_is_no_vote(plane):
    X, y = plane
    for counts in ([0], [61], [1.5]):
        with pytest.raises(ValueError, match="whole numbers from 1 to the 60 examples"):
            plot.nearest(X, y, [0.0, 0.0], counts, plot.axes())
    with pytest.raises(ValueError, match="counts is empty"):
        plot.nearest(X, y, [0.0, 0.0], [], plot.axes())
    with pytest.raises(ValueError, match="one place in the plane"):
        plot.nearest(X, y, [[0.0, 0.0]], [1], plot.axes())
    with pytest.raises(ValueError, match="one label a point"):
        plot.nearest(X, y[:3], [0.0, 0.0], [1], plot.axes())
    with pytest.raises(ValueError, match="need as many Axes"):
        plot.nearest(X, y, [0.0, 0.0], [1, 2], plot.axes())
