"""Pieces of HTML for notebooks: tables and lists of text, all of which is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

# So many characters of a cell are shown.
_LONGEST = 2000


def shown(text: object) -> str:
    """Text as HTML, its lines apart; not endlessly much of it.

    Examples
    --------
    >>> shown("a < b")
    'a &lt; b'
    """
    words = str(text)
    cut = words if len(words) <= _LONGEST else f"{words[:_LONGEST]}…"
    return escape(cut).replace("\n", "<br>")


def table(rows: Iterable[Sequence[object]], head: Sequence[object] = ()) -> str:
    """Rows of cells, the first of each a heading; `head` stands above.

    Examples
    --------
    >>> table([("kernel", "Gaussian(1.0)")])
    '<table><tr><th>kernel</th><td>Gaussian(1.0)</td></tr></table>'
    """
    above = f"<tr>{''.join(f'<th>{shown(cell)}</th>' for cell in head)}</tr>" if head else ""
    lines = (
        f"<tr><th>{shown(first)}</th>{''.join(f'<td>{shown(cell)}</td>' for cell in others)}</tr>"
        for first, *others in rows
    )
    return f"<table>{above}{''.join(lines)}</table>"


def folded(title: object, lines: Iterable[object]) -> str:
    """Lines below a title that opens them; nothing if there are none.

    Examples
    --------
    >>> folded("Remarks", ["one", "two"])
    '<details><summary>Remarks</summary><ul><li>one</li><li>two</li></ul></details>'
    """
    items = "".join(f"<li>{shown(line)}</li>" for line in lines)
    return f"<details><summary>{shown(title)}</summary><ul>{items}</ul></details>" if items else ""
