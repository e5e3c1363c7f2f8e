"""Figures as SVG inside a page: well-formed, on their own, and in the colours of the page."""

import re
from xml.etree import ElementTree

import matplotlib
import numpy as np

from mercer import plot

matplotlib.use("Agg")


def _figure():
    ax = plot.predicted_vs_true([1.0, 2.0], [1.0, 2.0], plot.axes(), label="a < b & c")
    ax.set_xlabel('"quoted" <script>alert(1)</script>')
    return ax


def test_svg_is_well_formed_and_escaped():
    svg = plot.to_svg(_figure(), 'label "x" <b>&')
    root = ElementTree.fromstring(svg)
    assert root.tag == "svg" and root.get("role") == "img" and root.get("viewBox")
    assert root.get("aria-label") == 'label "x" <b>&'
    assert "<script" not in svg
    texts = "".join(root.itertext())
    assert "alert(1)" in texts and "a < b & c" in texts


def test_svg_refers_to_nothing_outside():
    svg = plot.to_svg(plot.image_sheet(np.eye(4)[None], ["x"], plot.axes()))
    assert "http" not in svg and "<style" not in svg and "<metadata" not in svg
    for target in re.findall(r'href="([^"]*)"', svg):
        assert target.startswith(("#", "data:image/png;base64,"))


def test_ids_are_unique_across_figures_and_references_resolve():
    figures = [plot.to_svg(_figure()) for _ in range(3)]
    ids = [i for svg in figures for i in re.findall(r'\bid="([^"]*)"', svg)]
    assert len(ids) == len(set(ids)) > 0
    for svg in figures:
        own = set(re.findall(r'\bid="([^"]*)"', svg))
        assert set(re.findall(r'href="#([^"]*)"', svg)) | set(re.findall(r"url\(#([^)]*)\)", svg)) == own


def test_colours_and_fonts_are_the_page_s():
    svg = plot.to_svg(_figure())
    assert "currentColor" in svg and plot.INK not in svg
    assert f"var(--colour-1, {plot.COLOURS[0]})" in svg
    assert "font-family" not in svg and "DejaVu" not in svg and "font-size: 9px" in svg


def test_the_figure_itself_is_unchanged():
    ax = _figure()
    first = re.sub(r"f\d+-", "", plot.to_svg(ax))
    assert re.sub(r"f\d+-", "", plot.to_svg(ax)) == first


def test_axes_in_a_part_of_a_figure_and_of_pyplot():
    from matplotlib import pyplot

    figure = pyplot.figure()
    ax = figure.subfigures(1, 2)[0].subplots()
    canvas = figure.canvas
    assert plot.to_svg(ax).startswith("<svg") and figure.canvas is canvas
    pyplot.close(figure)
