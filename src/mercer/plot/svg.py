"""A figure as an SVG element that can stand inside an HTML page."""

from __future__ import annotations

import io
import itertools
import re
from xml.etree import ElementTree

import matplotlib
from matplotlib.axes import Axes

from mercer.plot.style import COLOURS, INK

_SVG, _XLINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_FAMILY = re.compile(r"font-family:[^;]*;?\s*")
_SHORTHAND = re.compile(r"font:[^;]*?([\d.]+px)[^;]*")
_DECIMALS = re.compile(r"(\d\.\d\d)\d+")
# What neither XML nor UTF-8 may hold.
FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_figures = itertools.count(1)


def to_svg(ax: Axes, label: str = "") -> str:
    """The figure of these Axes as an ``<svg>`` element, for pasting into HTML.

    Text stays text and takes the font of the page. Neutral grey becomes ``currentColor`` and the palette
    ``var(--colour-1, …)`` and so on, so that the figure follows a light or dark page. Every id is unique
    to this call, so that figures on one page don't borrow each other's clip paths. Nothing refers to
    anything outside.

    The label says what the figure shows, to those who can't see it.

    Examples
    --------
    >>> from mercer import plot
    >>> text = to_svg(plot.axes(), "an empty frame")
    >>> text.startswith("<svg"), "http" in text, "an empty frame" in text
    (True, False, True)
    """
    prefix = f"f{next(_figures)}-"
    out, figure = io.StringIO(), ax.figure.canvas.figure  # the whole of it, where the Axes are in a part
    silent = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "mercer", "savefig.bbox": None}):
        figure.savefig(out, format="svg", metadata=silent, facecolor="none", edgecolor="none")
    root = ElementTree.fromstring(out.getvalue())
    for parent in root.iter():
        for child in list(parent):
            # Its one style rule is for `*`: inside a page it would apply to the whole page.
            if child.tag == f"{_SVG}style" or child.tag.endswith("metadata"):
                parent.remove(child)
    used = {target for e in root.iter() for target in _targets(e)}
    for element in root.iter():
        element.tag = element.tag.removeprefix(_SVG)
        element.attrib = dict(
            (name.removeprefix(_XLINK), _own(name, value, prefix))
            for name, value in element.attrib.items()
            if name != "id" or value in used
        )
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    root.set("role", "img")
    root.set("style", "stroke-linejoin: round; stroke-linecap: butt")
    if label:
        root.set("aria-label", label)
    return ElementTree.tostring(root, encoding="unicode")


def _targets(element: ElementTree.Element) -> list[str]:
    """The ids an element refers to."""
    found = [target for value in element.attrib.values() for target in _REFERENCE.findall(value)]
    link = element.get(f"{_XLINK}href", "")
    return found + ([link[1:]] if link.startswith("#") else [])


def _own(name: str, value: str, prefix: str) -> str:
    if name == "id":
        return prefix + value
    if name == f"{_XLINK}href":
        return f"#{prefix}{value[1:]}" if value.startswith("#") else value
    value = _REFERENCE.sub(rf"url(#{prefix}\1)", value)
    if name == "style":
        # The size of the font only; its family is that of the page.
        value = _FAMILY.sub("", _SHORTHAND.sub(r"font-size: \1", value))
    if name in ("d", "x", "y"):
        value = _DECIMALS.sub(r"\1", value)  # a hundredth of a point is finer than any screen
    value = value.replace(INK, "currentColor")
    for i, colour in enumerate(COLOURS, start=1):
        value = value.replace(colour, f"var(--colour-{i}, {colour})")
    return value
