"""The learned metric on the page: directions, and a picture."""

import re
from copy import copy
from dataclasses import replace

import numpy as np
import pytest

from mercer import plot
from mercer.kernels import Gaussian, Laplacian
from mercer.tables.report import model_report
from mercer.tables.report.model.directions import directions, directions_of, metrics_of
from mercer.tables.report.page import Report


def _with(model, kernel):
    """The same model, as if its machine had this kernel."""
    machine = copy(model.machine)
    machine.kernel_ = kernel
    return replace(model, machine=machine)


def _metric(d, scale=3.0):
    """Almost all of it in one direction, (0.8, −0.6, 0, …); the rest spread evenly."""
    u = np.r_[0.8, -0.6, np.zeros(d - 2)]
    return scale * (0.95 * np.outer(u, u) + 0.05 / d * np.eye(d))


@pytest.fixture
def coordinates(regression_model):
    return [str(name) for name in regression_model.columns.get_feature_names_out()]


def test_leading_directions(coordinates):
    d = len(coordinates)
    [first] = directions_of(_metric(d), coordinates)
    assert first.share == pytest.approx(0.95 + 0.05 / d)
    named = dict(first.weights)
    assert named[coordinates[0]] == pytest.approx(0.8) and named[coordinates[1]] == pytest.approx(-0.6)
    assert first.weights[0][0] == coordinates[0]
    # Of a metric without any direction five are enough, and a share of the trace is not lost.
    even = directions_of(np.eye(8), list("abcdefgh"))
    assert [direction.share for direction in even] == pytest.approx([0.125] * 5)
    assert [direction.share for direction in directions_of(np.diag([3.0, 1.0, 0.0]), list("abc"))] == [
        0.75,
        0.25,
    ]


def test_shown_directions_are_those_of_the_metric(regression_model, coordinates, parse):
    kernel = 0.3 * Laplacian(1.0).metric(_metric(len(coordinates))) + Gaussian(1.0)
    model = _with(regression_model, kernel)
    [M] = metrics_of(model)
    assert np.trace(M) == pytest.approx(len(M))
    page = Report("t")
    directions(page, model)
    shown = parse(page.html())
    text = "".join(shown.text).replace("\xa0", " ")
    share = 0.95 + 0.05 / len(M)
    assert f"{100 * share:.0f} %" in text
    assert re.search(r"0\.80 size.* − 0\.60 ", text)
    assert "svg" in shown.tags
    # The name of a column that was made to break out of the page does not.
    assert "script" not in shown.tags and "<script>alert" not in page.html()


def test_nothing_without_a_metric(regression_model):
    page = Report("t")
    directions(page, _with(regression_model, Gaussian(1.0)))
    assert "Which directions" not in page.html()


def test_of_many_coordinates_there_is_no_picture(wide_model, parse):
    d = len(wide_model.columns.get_feature_names_out())
    assert d > 30
    page = Report("t")
    directions(page, _with(wide_model, Laplacian(1.0).metric(_metric(d))))
    shown = parse(page.html())
    assert "svg" not in shown.tags and "measurement no. 0" in "".join(shown.text)


def test_a_page_with_everything(regression_model, coordinates, parse):
    """Metric, average, error by rows, what was cut: and what follows of it elsewhere on the page."""
    e = regression_model.evidence
    evidence = replace(
        e,
        parts=(("laplacian, learned metric", 2 / 3), ("gaussian", 1 / 3)),
        curve=((100, 0.5), (200, 0.4)),
        cut=("the time was up before the search was done",),
        importance=tuple(replace(i, length=None) for i in e.importance),
    )
    kernel = 0.3 * Laplacian(1.0).metric(_metric(len(coordinates))) + Gaussian(1.0)
    model = _with(replace(regression_model, evidence=evidence), kernel)
    shown = parse(model_report(model).html())
    text = "".join(shown.text)
    for title in ("Which directions matter", "What more rows did", "What was averaged"):
        assert title in text
    assert "Distances are measured by a learned metric, below" in text
    assert "one length scale for all columns" not in text
    assert f"r² = (x − z)ᵀM(x − z),   M learned, {len(coordinates)} × {len(coordinates)}" in text


def test_the_picture_of_a_metric():
    M = np.array([[2.0, -1.0], [-1.0, 0.0]])
    ax = plot.metric(M, ["$x", "y" * 40], plot.axes())
    image = np.asarray(ax.images[0].get_array())
    assert image[0, 0, 3] == image[:, :, 3].max() and image[1, 1, 3] == 0
    assert (image[0, 1, :3] != image[0, 0, :3]).any()  # another colour
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["together", "against"]
    assert all(len(t.get_text()) <= 17 for t in ax.get_yticklabels())
    assert plot.metric(np.eye(2), ["a", "b"], plot.axes()).get_legend() is None
