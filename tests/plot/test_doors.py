"""What every figure refuses before it draws: examples, machines, grids and Axes that don't suit it."""

import sys
import threading
import warnings

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure
from scipy.sparse import csr_array
from sklearn.ensemble import RandomForestClassifier

from mercer import KernelLogistic, KernelNeighborsClassifier, KernelRidge, KernelSVC, plot
from mercer.plot.plane import examples, features, labels_of

RNG = np.random.default_rng(0)
X = np.vstack([RNG.normal(centre, 0.6, (20, 2)) for centre in ((0, 0), (2, 1))])
Y = np.repeat([False, True], 20)
LINE, WAVE = X[:, :1], np.sin(X[:, 0])
LOGISTIC = KernelLogistic(lam=0.01).fit(X, Y)
CURVE = KernelRidge(lam=0.1).fit(LINE, WAVE)
NEAR = KernelNeighborsClassifier(n_neighbors=3).fit(X, Y)

# Figures of a classifier in the plane: (machine, points, labels, Axes) → drawn.
IN_THE_PLANE = {
    "regions": lambda m, x, y, ax: plot.decision_regions(m, x, y, ax, resolution=5),
    "fields": lambda m, x, y, ax: plot.probability_fields(m, x, y, ax, resolution=5),
    "classes": lambda m, x, y, ax: plot.class_probabilities(
        m, x, y, None if ax is None else [ax, *Figure().subplots(1, 2)], resolution=5
    ),
    "neighbours": lambda m, x, y, ax: plot.neighbours(
        NEAR if m is LOGISTIC else m, x, y, (1,), ax, resolution=5
    ),
}
# Those of points alone, and those on a line.
OTHERS = {
    "nearest": lambda m, x, y, ax: plot.nearest(x, y, [0.0, 0.0], (1,), ax),
    "cloud": lambda m, x, y, ax: plot.cloud(x, y, ax),
}
ALL = {**IN_THE_PLANE, **OTHERS}


def drawn_points(row):
    return sum(len(line.get_xdata()) for ax in np.atleast_1d(row) for line in ax.lines)


@pytest.mark.parametrize("figure", ALL)
def test_a_column_of_labels_is_taken(figure):
    assert drawn_points(ALL[figure](LOGISTIC, X, Y[:, None], plot.axes())) in (40, 41)  # and x of `nearest`


@pytest.mark.parametrize("figure", ALL)
@pytest.mark.parametrize(
    "y, message",
    [
        (0, "one label a point"),
        (Y[:10], "one label a point"),
        (np.full(40, np.nan), "labels are missing"),
        ([None] * 40, "labels are missing"),
    ],
)
def test_labels_that_are_none(figure, y, message):
    with pytest.raises(ValueError, match=message):
        ALL[figure](LOGISTIC, X, y, None)
    assert not pyplot.get_fignums()


@pytest.mark.parametrize("figure", IN_THE_PLANE)
@pytest.mark.parametrize("y", [Y.astype(str), np.full(40, "z"), Y + 1])
def test_labels_that_a_machine_does_not_know(figure, y):
    with pytest.raises(ValueError, match=r"one of the classes \[False, True\]"):
        IN_THE_PLANE[figure](LOGISTIC, X, y, None)
    assert not pyplot.get_fignums()


@pytest.mark.parametrize("figure", ALL)
@pytest.mark.parametrize(
    "points, message",
    [
        (np.where(X[0] == X, np.nan, X), "missing or infinite"),
        (np.where(X[0] == X, np.inf, X), "missing or infinite"),
        (csr_array(X), "sparse"),
        (np.empty((0, 2)), "empty"),
        (X * 1e-200, "other units"),
        (X * 1e200, "other units"),
        ([["a", "b"]] * 40, "array of numbers"),
    ],
)
def test_points_that_cannot_be_drawn(figure, points, message):
    with pytest.raises(ValueError, match=message):
        ALL[figure](LOGISTIC, points, Y, None)
    assert not pyplot.get_fignums()


def test_other_numbers_are_points():
    for points in (X.tolist(), X.astype(object), X.astype("float32")):
        assert features(points, 2, "points").shape == (40, 2)
    assert examples(X, [1] * 40, 2, "points")[1].tolist() == [1] * 40
    with pytest.raises(ValueError, match="one kind"):
        labels_of(np.array([1, "a"], dtype=object), 2)


def test_what_pandas_calls_missing():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="labels are missing"):
        labels_of(pandas.Series(["a", pandas.NA], dtype="string"), 2)
    assert labels_of(pandas.Categorical(["a", "b"]), 2).tolist() == ["a", "b"]


@pytest.mark.parametrize("draw", [plot.decision_regions, plot.class_probabilities, plot.probability_fields])
@pytest.mark.parametrize(
    "machine",
    [
        None,
        KernelLogistic(),
        KernelRidge(lam=0.1).fit(X, WAVE),
        RandomForestClassifier(3).fit(X, np.zeros(40)),
        KernelLogistic(lam=0.1).fit(LINE, Y),
        KernelLogistic("precomputed", lam=0.1).fit(X @ X.T, Y),
    ],
)
def test_machines_that_know_nothing_of_the_plane(draw, machine):
    with pytest.raises(
        (ValueError, TypeError), match="classifier|classes|features|precomputed|predict_proba"
    ):
        draw(machine, X, np.zeros(40) if isinstance(machine, RandomForestClassifier) else Y)
    assert not pyplot.get_fignums()


def test_two_points_and_a_precomputed_kernel():
    few = KernelLogistic("precomputed", lam=0.1).fit(X[[0, 30]] @ X[[0, 30]].T, [0, 1])
    with pytest.raises(ValueError, match="precomputed kernel knows nothing"):
        plot.decision_regions(few, X[[0, 30]], [0, 1], plot.axes())


def test_a_margin_needs_support_vectors():
    with pytest.raises(TypeError, match="support vectors"):
        plot.margin(LOGISTIC, X, Y)
    with pytest.raises(ValueError, match="fitted to, and they are fewer"):
        plot.margin(KernelSVC(lam=0.01).fit(X, Y), X[:3], Y[:3])
    assert not pyplot.get_fignums()


@pytest.mark.parametrize("resolution", [1, 0, -3, 2.5, True])
def test_resolutions(resolution):
    for draw in (
        lambda: plot.decision_regions(LOGISTIC, X, Y, resolution=resolution),
        lambda: plot.probability_fields(LOGISTIC, X, Y, resolution=resolution),
        lambda: plot.joint_density(lambda p: np.ones(len(p)), ((0, 1), (0, 1)), resolution=resolution),
        lambda: plot.lift(X, Y, resolution=resolution),
    ):
        with pytest.raises(ValueError, match="resolution must be a whole number of at least 2"):
            draw()
    assert not pyplot.get_fignums()


def test_curves_of_one_output_have_residuals():
    both = np.column_stack([WAVE, -WAVE])
    several = KernelRidge(lam=0.1).fit(LINE, both)
    assert drawn_points(plot.regression_1d(several, LINE, both, plot.axes())) == 2 * (40 + 400)
    with pytest.raises(ValueError, match="residuals are drawn for one output"):
        plot.regression_1d(several, LINE, both, residuals=True)
    with pytest.raises(ValueError, match="one number for each of 40 points"):
        plot.regression_1d(CURVE, LINE, WAVE[:5])
    with pytest.raises(ValueError, match="regressor of one feature"):
        plot.regressions([CURVE, LOGISTIC], LINE, WAVE)
    ax = plot.regression_1d(CURVE, LINE, WAVE[:, None], plot.axes(), residuals=True)
    ends = np.array(ax.collections[0].get_segments())[:, :, 1]
    np.testing.assert_allclose(ends, np.column_stack([WAVE, CURVE.predict(LINE)]))
    assert not pyplot.get_fignums()


@pytest.mark.parametrize("figure", ALL)
def test_axes_of_another_kind(figure):
    for ax in (Figure().add_subplot(projection="3d"), Figure().add_subplot(projection="polar")):
        with pytest.raises(ValueError, match="drawn in the plane, and ax is one with projection"):
            ALL[figure](LOGISTIC, X, Y, ax)
    with pytest.raises(ValueError, match="ax is a str"):
        plot.losses(ax="these")


@pytest.mark.parametrize("figure", ["regions", "fields", "classes", "nearest"])
def test_logarithmic_axes(figure):
    ax = plot.axes()
    ax.set(xscale="log", yscale="log")
    with pytest.raises(ValueError, match="linear"):
        ALL[figure](LOGISTIC, X, Y, ax)


def test_styles_of_others_do_not_spoil_images():
    with pyplot.style.context("ggplot"):
        for ax in (plot.gram("linear", X, Y, plot.axes()), ALL["regions"](LOGISTIC, X, Y, plot.axes())):
            assert not any(line.get_visible() for line in [*ax.get_xgridlines(), *ax.get_ygridlines()])
    with matplotlib.rc_context({"image.origin": "lower"}):
        for ax in (plot.gram("linear", X, Y, plot.axes()), plot.covariance(np.eye(3), plot.axes())):
            bottom, top = ax.get_ylim()
            assert bottom > top  # the first row is on top
        sheet = plot.image_sheet(np.arange(16.0).reshape(1, 4, 4), ["a"], plot.axes())
        assert sheet.images[0].origin == "upper"


def test_a_single_place_far_away():
    far = np.full((1, 2), 1e17)
    ax = plot.decision_regions(LOGISTIC, far, [True], plot.axes(), resolution=5)
    assert ax.get_xlim()[0] < 1e17 < ax.get_xlim()[1]
    left, right = plot.predicted_vs_true([1e17], [1e17], plot.axes()).get_xlim()
    assert left < 1e17 < right


def test_threads_that_draw_leave_warnings_alone():
    """Two threads that each restored the filters they found would leave everything unheard."""
    on_a_line = KernelLogistic(lam=0.01).fit(LINE, Y)
    before, interval = list(warnings.filters), sys.getswitchinterval()

    def draw():
        for _ in range(4):
            plot.probability_1d(on_a_line, LINE, Y, plot.axes(), resolution=10)
            plot.decision_regions(LOGISTIC, X, Y, plot.axes(), resolution=5)

    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=draw) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert list(warnings.filters) == before


def test_no_figure_changes_filters_by_itself():
    from pathlib import Path

    for file in Path(plot.__file__).parent.glob("*.py"):
        assert "catch_warnings" not in file.read_text(encoding="utf-8"), file
