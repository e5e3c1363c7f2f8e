"""Figures of networks: what is drawn is what was computed."""

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")

from mercer import plot
from mercer.network import Disagreement, Followed, ring

PLACES = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])


def test_the_field_its_nodes_and_edges():
    ax = plot.sensor_field(lambda x: x[:, 0], PLACES, ring(4), plot.axes(4, 4), silent=[2], limits=(0.0, 2.0))
    there, gone = ax.lines
    assert np.array_equal(there.get_xydata(), PLACES[[0, 1, 3]])
    assert np.array_equal(gone.get_xydata(), PLACES[[2]])
    segments = next(c for c in ax.collections if hasattr(c, "get_segments")).get_segments()
    assert [s.tolist() for s in segments] == [PLACES[[0, 1]].tolist(), PLACES[[0, 3]].tolist()]
    assert plot.sensor_field(lambda x: np.ones(len(x)), PLACES, ring(4), plot.axes(4, 4)).collections
    with pytest.raises(ValueError, match="4 nodes, and there are 3 positions"):
        plot.sensor_field(lambda x: x[:, 0], PLACES[:3], ring(4), plot.axes(4, 4))


def test_curves():
    errors = np.array([[1.0, 2.0, 9.0], [0.1, 0.05, 9.0]])
    found = Disagreement(errors, np.array([3, 8]), np.array([30, 80]), np.array([True, True, False]))
    for by, x in (("rounds", [0, 1]), ("messages", [3, 8]), ("bytes", [30, 80])):
        ax = plot.consensus_curve(found, plot.axes(), by=by, label="a")
        assert ax.lines[0].get_xdata().tolist() == x and ax.lines[0].get_ydata().tolist() == [2.0, 0.1]
        assert ax.get_xlabel() == by and ax.get_yscale() == "log"
    assert plot.consensus_curve(found, plot.axes()).get_legend() is None
    with pytest.raises(ValueError, match="by must be"):
        plot.consensus_curve(found, by="hours")


def test_errors_by_time():
    names = [f"machine {i}" for i in range(7)]
    found = Followed(np.arange(3.0), {name: np.full(3, i + 1.0) for i, name in enumerate(names)}, {}, {})
    ax = plot.followed(found, plot.axes(7, 4))
    assert [line.get_label() for line in ax.lines] == names and ax.get_ylim()[0] == 0
    assert ax.lines[6].get_linestyle() == "--"
