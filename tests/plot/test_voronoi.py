"""Cells and iterations: what is drawn is what was computed."""

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

matplotlib.use("Agg")

from mercer import plot
from mercer.voronoi import cells, hexagon_bound, lloyd


@pytest.fixture(scope="module")
def uniform():
    return lloyd(None, 40, random_state=0, max_iter=40)


@pytest.fixture(scope="module")
def uneven():
    return lloyd([[1.0, 2.0], [3.0, 4.0]], 12, rectangle=((0, 4), (0, 2)), random_state=0, max_iter=10)


def legend_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_polygons_and_centres_are_drawn(uniform):
    ax = plot.cells(uniform, plot.axes(4, 4))
    drawn = [path.vertices[:-1] for path in ax.collections[0].get_paths()]
    for polygon, found in zip(uniform.cells(), drawn, strict=True):
        np.testing.assert_allclose(found, polygon)
    np.testing.assert_array_equal(ax.lines[0].get_xydata(), uniform.centres)
    assert ax.get_xlim() == ax.get_ylim() == (0, 1)


def test_sides_have_colours_inside_and_none_at_the_border(uniform):
    ax = plot.cells(uniform, plot.axes(4, 4))
    fills, found = ax.collections[0].get_facecolors(), uniform.cells()
    assert (fills[~found.inner, 3] == 0).all() and (fills[found.inner, 3] > 0).all()
    for count in np.unique(found.sides[found.inner]):
        assert len(np.unique(fills[found.inner & (found.sides == count)], axis=0)) == 1
    assert f"6: {found.hexagons:.0%}" in legend_of(ax)


def test_masses_are_shades(uneven):
    ax = plot.cells(uneven, plot.axes(4, 4), by="mass")
    shades = ax.collections[0].get_facecolors()[:, 3]
    np.testing.assert_array_equal(np.argsort(shades), np.argsort(uneven.masses))
    assert [text.split(":")[0] for text in legend_of(ax)] == ["least mass", "most mass"]
    assert plot.cells(uneven, plot.axes(4, 4), by="mass", iteration=0).collections


def test_the_density_lies_underneath_the_right_way_up(uneven):
    ax = plot.cells(uneven, plot.axes(4, 4), by="density", colour="black")
    (image,) = ax.images
    assert image.get_extent() == [0, 4, 0, 2]
    ink = image.get_array()[:, :, 3]
    np.testing.assert_allclose(ink / ink.max(), np.array([[1, 2], [3, 4]]) / 4)
    assert image.origin == "upper"  # so is the first row of a density
    assert not ax.collections[0].get_facecolors()[:, 3].any()
    assert to_rgba("black")[:3] == tuple(image.get_array()[0, 0, :3])


def test_cells_alone():
    ax = plot.cells(cells([[0.2, 0.5], [0.7, 0.5], [0.7, 0.5]]), plot.axes(4, 4), by="mass")
    assert len(ax.collections[0].get_paths()) == 2 and not ax.lines
    assert legend_of(ax)[1].startswith("most area")
    with pytest.raises(ValueError, match="no density"):
        plot.cells(cells([[0.5, 0.5]]), plot.axes(), by="density")
    with pytest.raises(ValueError, match="'sides', 'mass' or 'density'"):
        plot.cells(cells([[0.5, 0.5]]), plot.axes(), by="colour")


def test_frames_go_from_the_start_to_the_end(uniform):
    axes = Figure().subplots(1, 5)
    drawn = plot.lloyd_frames(uniform, axes)
    assert list(drawn) == list(axes)
    assert [ax.get_title() for ax in axes[[0, 3]]] == ["start", f"iteration {uniform.n_iter}"]
    np.testing.assert_array_equal(axes[0].lines[0].get_xydata(), uniform.frames[0])
    np.testing.assert_array_equal(axes[3].lines[0].get_xydata(), uniform.centres)
    energies, bound = axes[4].lines
    np.testing.assert_array_equal(energies.get_ydata(), uniform.energies)
    assert bound.get_ydata()[0] == hexagon_bound(40)


def test_frames_are_evenly_spaced(uniform):
    """Legends are no wider than what they stand under, or they would push the frames apart."""
    figure = Figure((16, 3.5), layout="constrained")
    row = plot.lloyd_frames(uniform, figure.subplots(1, 5))
    figure.draw_without_rendering()
    for ax in row[:4]:
        assert ax.get_legend().get_window_extent().width <= ax.bbox.width
    gaps = np.diff([ax.bbox.x0 for ax in row[:4]])
    np.testing.assert_allclose(gaps, gaps[0], rtol=0.02)


def test_fewer_iterations_than_frames():
    found = lloyd(lambda x: x[:, 0], 3, random_state=0, max_iter=1)
    axes = Figure().subplots(1, 5)
    plot.lloyd_frames(found, axes, by="density")
    assert [ax.get_visible() for ax in axes] == [True, True, False, False, True]
    assert len(axes[4].lines) == 1  # hexagons are no bound for an uneven density
    (one, _) = plot.lloyd_frames(found, Figure().subplots(1, 2), frames=1)
    assert one.get_title() == "iteration 1"


def test_frames_make_their_own_figure_or_refuse(uniform):
    from matplotlib import pyplot

    row = plot.lloyd_frames(uniform, frames=2)
    assert len(row) == 3
    pyplot.close(row[0].figure)
    with pytest.raises(ValueError, match="need 5 Axes, got 2"):
        plot.lloyd_frames(uniform, Figure().subplots(1, 2))
    with pytest.raises(ValueError, match="at least 1"):
        plot.lloyd_frames(uniform, frames=0)
