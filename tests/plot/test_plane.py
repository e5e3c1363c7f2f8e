"""What figures of points share."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.svm import SVC

from mercer import KernelRegressor, KernelRidge, KernelSVC, plot
from mercer.kernels import Gaussian
from mercer.losses import Quantile
from mercer.plot.plane import answers, named, on_white, shares, text_on, tinted, window


def test_features_with_names_are_no_matter_here(plane, line):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(plane[0][:40], columns=["u", "v"])
    machine = KernelSVC.from_C(1.0, kernel=Gaussian(1.0)).fit(frame, plane[1][:40])
    assert plot.margin(machine, frame, plane[1][:40], plot.axes(), resolution=10).lines
    frame = pandas.DataFrame(line[0], columns=["x"])
    fan = KernelRegressor(loss=Quantile([0.1, 0.9]), lam=0.01).fit(frame, line[1])
    assert plot.quantiles(fan, frame, line[1], plot.axes(), resolution=10).collections


def test_a_window_leaves_room():
    ax, points = plot.axes(), np.array([[0.0, 5.0], [10.0, 5.0]])
    np.testing.assert_allclose(window(ax, points, 0.1, alone=1.0), [[-1.0, 4.9], [11.0, 5.1]])
    assert ax.get_xlim() == (-1.0, 11.0) and ax.get_ylim() == (4.9, 5.1)
    np.testing.assert_allclose(window(plot.axes(), np.array([[0.0, 0.0], [2.0, 4.0]]), 0.0), [[0, 0], [2, 4]])


def test_answers_on_a_grid():
    corners = np.array([[0.0, 0.0], [1.0, 2.0]])
    U, V, sums = answers(lambda X: X.sum(axis=1), corners, 3)
    np.testing.assert_allclose(sums, U + V)
    assert U[0].tolist() == [0.0, 0.5, 1.0] and V[:, 0].tolist() == [0.0, 1.0, 2.0]
    assert answers(lambda X: np.c_[X, X], corners, 4)[2].shape == (4, 4, 4)


def test_machines_have_names():
    X, y = [[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0]
    machine = KernelRidge(Gaussian(1.0), lam=0.1, offset=False).fit(X, y)
    norm = float(np.sqrt(machine.dual_coef_ @ Gaussian(1.0)(np.array(X)) @ machine.dual_coef_))
    assert named(machine) == [(f"‖f‖ = {norm:.3g}", machine)]
    assert named({1: machine}) == [("1", machine)]
    assert named((LinearRegression(),))[0][0] == "LinearRegression"
    with pytest.raises(ValueError, match="at least one"):
        named({})


def test_tints_on_white_paper():
    image = tinted(np.array([0.0, 0.5, 1.0]), "#000000")
    np.testing.assert_allclose(on_white(image), [[1] * 3, [0.5] * 3, [0] * 3])
    assert text_on((0.1, 0.1, 0.3)) == "white" and text_on((0.9, 0.8, 0.2)) == "black"


def test_shares_without_probabilities_are_all_or_nothing(plane):
    machine = SVC().fit(*plane)
    found = shares(machine, plane[0])
    np.testing.assert_array_equal(machine.classes_[found.argmax(axis=1)], machine.predict(plane[0]))
    assert set(found.ravel()) == {0.0, 1.0}
