"""Figures of classifiers: regions, margins, confusion, images."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from mercer import KernelLogistic, KernelSVC, plot
from mercer.kernels import Gaussian


def _legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize("classes", [2, 3])
def test_decision_regions(plane, classes):
    X, y = plane[0][: 20 * classes], plane[1][: 20 * classes]
    machine = KernelLogistic(Gaussian(1.0), lam=1e-3).fit(X, y)
    ax = plot.decision_regions(machine, X, y, plot.axes(), resolution=30)
    assert _legend(ax) == ["a", "b", "c"][:classes]
    assert sum(len(line.get_xdata()) for line in ax.lines) == len(X)
    assert {line.get_marker() for line in ax.lines} == set("os^"[:classes])


def test_decision_regions_without_probabilities(plane):
    from sklearn.svm import SVC

    X, y = plane
    assert plot.decision_regions(SVC().fit(X, y), X, y, plot.axes(), resolution=20).collections


def test_decision_regions_refuses_what_it_cannot_draw(plane):
    X, y = plane
    machine = KernelLogistic().fit(X, y)
    with pytest.raises(ValueError, match="two features"):
        plot.decision_regions(machine, X[:, :1], y, plot.axes())
    machine.classes_ = np.arange(13)
    with pytest.raises(ValueError, match="at most 12 classes"):
        plot.decision_regions(machine, X, y, plot.axes())


def test_ten_classes_have_colours_markers_and_names_of_their_own():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(10), 12)
    X = 4 * np.column_stack([np.cos(0.63 * y), np.sin(0.63 * y)]) + 0.3 * rng.standard_normal((120, 2))
    machine = KernelLogistic(Gaussian(1.0), lam=1e-3).fit(X, y)
    ax = plot.decision_regions(machine, X, y, plot.axes(), resolution=40)
    assert _legend(ax) == [str(digit) for digit in range(10)]
    for looks in ("get_color", "get_marker"):
        assert len({getattr(line, looks)() for line in ax.lines}) == 10
    # A name stands where the machine gives that answer.
    for text in ax.texts:
        assert machine.predict([text.get_position()])[0] == int(text.get_text())
    assert len(ax.texts) == 10


def test_margin_rings_the_support_vectors(plane):
    X, y = plane[0][:40], plane[1][:40]
    machine = KernelSVC.from_C(1.0, kernel=Gaussian(1.0)).fit(X, y)
    ax = plot.margin(machine, X, y, plot.axes(), resolution=30)
    np.testing.assert_array_equal(ax.lines[-1].get_xydata(), X[machine.support_])
    assert _legend(ax) == ["a", "b", "support vectors"]
    with pytest.raises(ValueError, match="between two classes, and here are 3"):
        plot.margin(KernelSVC().fit(*plane), *plane, plot.axes())


def test_confusion_counts():
    ax = plot.confusion([0, 0, 1, 2], [0, 1, 1, 2], plot.axes())
    counts = {tuple(int(v) for v in text.get_position()): text.get_text() for text in ax.texts}
    assert counts == {(0, 0): "1", (1, 0): "1", (1, 1): "1", (2, 2): "1"}  # (predicted, true)
    assert len(ax.patches) == 4


def test_image_sheet():
    ax = plot.image_sheet(np.zeros((5, 8, 8)), list("abcde"), plot.axes(), columns=3)
    assert [text.get_text() for text in ax.texts] == list("abcde") and len(ax.images) == 5
    with pytest.raises(ValueError):
        plot.image_sheet(np.zeros((2, 8, 8)), ["one"], plot.axes())


def test_numbers_of_a_confusion_are_read_on_any_page():
    """Cells have a colour of their own, so that no page shows through; the contrast is that of WCAG AA."""
    truth = np.repeat(["a", "b", "c", "d"], 100)
    said = truth.copy()
    said[:40], said[100:110], said[200:201] = "b", "c", "d"
    ax = plot.confusion(truth, said, plot.axes())

    def light(colour):
        values = np.array(to_rgb(colour))
        linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
        return linear @ [0.2126, 0.7152, 0.0722]

    for patch, text in zip(ax.patches, ax.texts, strict=True):
        assert patch.get_facecolor()[3] == 1
        low, high = sorted((light(patch.get_facecolor()), light(text.get_color())))
        assert (high + 0.05) / (low + 0.05) > 4.5, text.get_text()
