"""One self-contained HTML page: text, tables, figures. Nothing on it is fetched, nothing on it runs."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from html import escape
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mercer._files import replacing
from mercer.plot import to_svg
from mercer.plot.svg import FORBIDDEN

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The browser itself refuses anything that would leave the page.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_NUMBER = re.compile(
    r"[-+−±≤≥<>\s]*\d[\d,.\s]*(?:e[-+]?\d+)?(?:[·×]10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?\s*(?:%|s|±\s*[\d.]+)?|[—–]"
)

_PER_CENT = re.compile(r"(?<=\d) (?=%)")
_LETTER = re.compile(r"(?<![A-Za-zͰ-Ͽ])([A-Za-zℓλ])(?![A-Za-zͰ-Ͽ])")
# Cells longer than this are broken into lines; a table of shorter ones scrolls where it has no room.
_LINE = 34
# How wide a figure is shown for an inch of its own, and the narrowest column that holds one.
_REM, _COLUMN = 7.1, 24.0


class Report:
    """A page built from top to bottom; every method returns the report, so calls can be chained.

    Strings are shown as they are: all of them are escaped, and there is no way to pass markup. Figures
    come as Matplotlib Axes and are drawn into the page as SVG.

    Parameters
    ----------
    title : str
    lead : str
        A sentence or two below the title.
    mark : str
        Something by which a programme knows what the page is about; it is not shown.

    Examples
    --------
    >>> page = Report("Soil & <water>").section("Result").text("It works.")
    >>> "Soil &amp; &lt;water&gt;" in page.html()
    True
    """

    def __init__(self, title: str, lead: str = "", mark: str = ""):
        self.title, self.lead, self.mark = title, lead, mark
        self._sections: list[tuple[str, list[str]]] = []
        self._places: list[str] | None = None  # those of a block that stands side by side

    def section(self, title: str) -> Report:
        """Begin a section; what follows goes into it."""
        self._sections.append((title, []))
        return self

    def text(self, *paragraphs: str) -> Report:
        """Plain paragraphs."""
        return self._add(*(f"<p>{_shown(p)}</p>" for p in paragraphs))

    def note(self, *paragraphs: str, warn: bool = False) -> Report:
        """Something a reader must not miss, set apart; `warn` for what speaks against relying on it."""
        kind = ' class="warn"' if warn else ""
        return self._add(f"<aside{kind}>{''.join(f'<p>{_shown(p)}</p>' for p in paragraphs)}</aside>")

    def formula(self, *lines: str) -> Report:
        """Lines of mathematics; a letter that stands alone is a variable and set in italics."""
        inside = "<br>".join(
            "".join(f"<i>{part}</i>" if i % 2 else _shown(part) for i, part in enumerate(_LETTER.split(line)))
            for line in lines
        )
        return self._add(f'<p class="formula">{inside}</p>')

    def tiles(self, items: Iterable[tuple[str, str, str]]) -> Report:
        """Numbers that catch the eye: (the number, what it is, a line of small print) each."""
        inside = "".join(
            f"<div><dt>{_shown(name)}</dt><dd>{_shown(value)}</dd><dd>{_shown(detail)}</dd></div>"
            for value, name, detail in items
        )
        return self._add(f'<dl class="tiles">{inside}</dl>')

    def code(self, text: str) -> Report:
        """Text in fixed width, line breaks kept: code, plans, verdicts."""
        return self._add(f"<pre>{escape(text)}</pre>")

    def table(
        self,
        header: Sequence[str],
        rows: Iterable[Sequence[Any]],
        caption: str = "",
        *,
        strong: Iterable[int] = (),
        more: str = "",
    ) -> Report:
        """A table; columns of numbers are aligned to the right.

        Parameters
        ----------
        header : names of the columns
        rows : one sequence of cells a row
        caption : str
        strong : numbers of rows to set in bold
        more : a line below, such as "and 5 more"
        """
        cells = [["" if v is None else str(v) for v in row] for row in rows]
        for row in cells:
            if len(row) != len(header):
                raise ValueError(f"a row has {len(row)} cells, the header {len(header)}: {row!r}")
        numeric = [bool(cells) and all(_NUMBER.fullmatch(r[j]) for r in cells) for j in range(len(header))]
        bold = set(strong)

        def line(row: Sequence[str], tag: str, index: int = -1) -> str:
            inside = "".join(
                f"<{tag}{' class=n' if n else ' class=w' if len(v) > _LINE else ''}>{_shown(v)}</{tag}>"
                for v, n in zip(row, numeric, strict=True)
            )
            return f"<tr{' class=best' if index in bold else ''}>{inside}</tr>"

        body = "\n".join(line(row, "td", i) for i, row in enumerate(cells))
        title = f"<figcaption>{_shown(caption)}</figcaption>" if caption else ""
        below = f'<p class="more">{_shown(more)}</p>' if more else ""
        # In a box of its own, so that a wide table scrolls on a phone and the page does not.
        return self._add(
            f'<figure class="table">{title}<div class="scroll" tabindex="0"><table>'
            f"<thead>{line(list(header), 'th')}</thead>\n<tbody>{body}</tbody></table></div>{below}</figure>"
        )

    def facts(self, pairs: Iterable[tuple[str, Any]]) -> Report:
        """A short list of names and values."""
        inside = "".join(f"<div><dt>{_shown(k)}</dt><dd>{_shown(str(v))}</dd></div>" for k, v in pairs)
        return self._add(f"<dl>{inside}</dl>")

    def figure(self, ax: Axes, caption: str) -> Report:
        """A figure, with its caption below."""
        return self.figures([(ax, caption)])

    def figures(self, pairs: Iterable[tuple[Axes, str]]) -> Report:
        """Figures side by side where there is room.

        A figure is shown as large as makes its text that of the page: seven rem an inch, less on a phone.
        """
        inside, widest = "", 0.0
        for ax, caption in pairs:
            width = _REM * ax.figure.canvas.figure.get_figwidth()
            widest = max(widest, width)
            with warnings.catch_warnings():
                # Letters that Matplotlib's font lacks: the page has the reader's fonts.
                warnings.filterwarnings("ignore", "Glyph .* missing from font")
                drawn = to_svg(ax, caption)
            inside += (
                f'<figure style="max-width:{width:.1f}rem">{drawn}'
                f"<figcaption>{_shown(caption)}</figcaption></figure>"
            )
        column = min(0.82 * widest, _COLUMN)
        return self._add(f'<div class="figures" style="--column:{column:.1f}rem">{inside}</div>')

    @contextmanager
    def beside(self) -> Iterator[None]:
        """What is added inside stands side by side where there is room, each call in a place of its own.

        >>> page = Report("One")
        >>> with page.beside():
        ...     page = page.text("left").text("right")
        >>> "<div><p>left</p></div><div><p>right</p></div>" in page.html()
        True
        """
        outside, self._places = self._places, []
        try:
            yield
            places = self._places
        finally:
            self._places = outside
        self._add(f'<div class="beside">{"".join(f"<div>{place}</div>" for place in places)}</div>')

    def _add(self, *parts: str) -> Report:
        if self._places is not None:
            self._places.append("\n".join(parts))
            return self
        if not self._sections:
            self.section("")
        self._sections[-1][1].extend(parts)
        return self

    def html(self) -> str:
        """The page."""
        style = resources.files("mercer.tables.report").joinpath("style.css").read_text(encoding="utf-8")
        contents, body = [], []
        for i, (title, parts) in enumerate(self._sections):
            inside = "\n".join(parts)
            if title:
                contents.append(f'<li><a href="#s{i}">{_shown(title)}</a></li>')
                inside = f"<h2>{_shown(title)}</h2>\n{inside}"
            body.append(f'<section id="s{i}">\n{inside}\n</section>')
        lead = f'<p class="lead">{_shown(self.lead)}</p>' if self.lead else ""
        menu = f"<nav><ul>{''.join(contents)}</ul></nav>" if len(contents) > 1 else ""
        page = "\n".join(
            [
                "<!DOCTYPE html>",
                '<html lang="en">',
                "<head>",
                '<meta charset="utf-8">',
                f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
                '<meta name="viewport" content="width=device-width, initial-scale=1">',
                '<meta name="color-scheme" content="light dark">',
                *([f'<meta name="generator" content="mercer {escape(self.mark)}">'] if self.mark else []),
                '<link rel="icon" href="data:,">',
                f"<title>{escape(self.title)}</title>",
                f"<style>\n{style}</style>",
                "</head>",
                "<body>",
                "<main>",
                f"<header><h1>{_shown(self.title)}</h1>\n{lead}\n{menu}</header>",
                *body,
                "</main>",
                "</body>",
                "</html>",
                "",
            ]
        )
        return FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", page)

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the page: all of it, or nothing if that fails.

        Returns
        -------
        Path
            Where it is.
        """
        with replacing(path, text=True) as out:
            out.write(self.html())
        return Path(path)


def _shown(text: str) -> str:
    """Text as it stands on the page: markup escaped, a number and its per cent sign kept in one line."""
    return escape(_PER_CENT.sub("\xa0", text))
