"""One self-contained HTML page: text, tables, figures. Nothing on it is fetched, nothing on it runs."""

from __future__ import annotations

import os
import re
import shutil
import uuid
from collections.abc import Iterable, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The browser itself refuses anything that would leave the page.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_NUMBER = re.compile(
    r"[-+−±≤≥<>\s]*\d[\d,.\s]*(?:e[-+]?\d+)?(?:[·×]10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?\s*(?:%|s|±\s*[\d.]+)?|[—–]"
)


class Report:
    """A page built from top to bottom; every method returns the report, so calls can be chained.

    Strings are shown as they are: all of them are escaped, and there is no way to pass markup. Figures
    come as Matplotlib Axes and are drawn into the page as SVG.

    Parameters
    ----------
    title : str
    lead : str
        A sentence or two below the title.

    Examples
    --------
    >>> page = Report("Soil & <water>").section("Result").text("It works.")
    >>> "Soil &amp; &lt;water&gt;" in page.html()
    True
    """

    def __init__(self, title: str, lead: str = ""):
        self.title, self.lead = title, lead
        self._sections: list[tuple[str, list[str]]] = []

    def section(self, title: str) -> Report:
        """Begin a section; what follows goes into it."""
        self._sections.append((title, []))
        return self

    def text(self, *paragraphs: str) -> Report:
        """Plain paragraphs."""
        return self._add(*(f"<p>{escape(p)}</p>" for p in paragraphs))

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
    ) -> Report:
        """A table; columns of numbers are aligned to the right.

        Parameters
        ----------
        header : names of the columns
        rows : one sequence of cells a row
        caption : str
        strong : numbers of rows to set in bold
        """
        cells = [["" if v is None else str(v) for v in row] for row in rows]
        for row in cells:
            if len(row) != len(header):
                raise ValueError(f"a row has {len(row)} cells, the header {len(header)}: {row!r}")
        numeric = [bool(cells) and all(_NUMBER.fullmatch(r[j]) for r in cells) for j in range(len(header))]
        bold = set(strong)

        def line(row: Sequence[str], tag: str, index: int = -1) -> str:
            inside = "".join(
                f"<{tag}{' class=n' if n else ''}>{escape(v)}</{tag}>"
                for v, n in zip(row, numeric, strict=True)
            )
            return f"<tr{' class=best' if index in bold else ''}>{inside}</tr>"

        body = "\n".join(line(row, "td", i) for i, row in enumerate(cells))
        title = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
        # In a box of its own, so that a wide table scrolls on a phone and the page does not.
        return self._add(
            f'<figure class="table">{title}<div class="scroll" tabindex="0"><table>'
            f"<thead>{line(list(header), 'th')}</thead>\n<tbody>{body}</tbody></table></div></figure>"
        )

    def facts(self, pairs: Iterable[tuple[str, Any]]) -> Report:
        """A short list of names and values."""
        inside = "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(str(v))}</dd></div>" for k, v in pairs)
        return self._add(f"<dl>{inside}</dl>")

    def figure(self, ax: Axes, caption: str) -> Report:
        """A figure, with its caption below."""
        return self.figures([(ax, caption)])

    def figures(self, pairs: Iterable[tuple[Axes, str]]) -> Report:
        """Figures side by side where there is room."""
        from mercer.plot import to_svg

        inside = "".join(
            f"<figure>{to_svg(ax, caption)}<figcaption>{escape(caption)}</figcaption></figure>"
            for ax, caption in pairs
        )
        return self._add(f'<div class="figures">{inside}</div>')

    def _add(self, *parts: str) -> Report:
        if not self._sections:
            self.section("")
        self._sections[-1][1].extend(parts)
        return self

    def html(self) -> str:
        """The page."""
        style = resources.files("mercer.report").joinpath("style.css").read_text(encoding="utf-8")
        contents, body = [], []
        for i, (title, parts) in enumerate(self._sections):
            inside = "\n".join(parts)
            if title:
                contents.append(f'<li><a href="#s{i}">{escape(title)}</a></li>')
                inside = f"<h2>{escape(title)}</h2>\n{inside}"
            body.append(f'<section id="s{i}">\n{inside}\n</section>')
        lead = f'<p class="lead">{escape(self.lead)}</p>' if self.lead else ""
        menu = f"<nav><ul>{''.join(contents)}</ul></nav>" if len(contents) > 1 else ""
        return "\n".join(
            [
                "<!DOCTYPE html>",
                '<html lang="en">',
                "<head>",
                '<meta charset="utf-8">',
                f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
                '<meta name="viewport" content="width=device-width, initial-scale=1">',
                '<meta name="color-scheme" content="light dark">',
                '<link rel="icon" href="data:,">',
                f"<title>{escape(self.title)}</title>",
                f"<style>\n{style}</style>",
                "</head>",
                "<body>",
                "<main>",
                f"<header><h1>{escape(self.title)}</h1>\n{lead}\n{menu}</header>",
                *body,
                "</main>",
                "</body>",
                "</html>",
                "",
            ]
        )

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the page: all of it, or nothing if that fails.

        Returns
        -------
        Path
            Where it is.
        """
        return write_atomically(path, self.html())


def write_atomically(path: str | os.PathLike[str], text: str) -> Path:
    """Put text into a file in one step: a reader finds the old file or the new one, never half of it."""
    target = Path(os.path.realpath(path))  # a link stays a link
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
    try:
        with open(temporary, "x", encoding="utf-8") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return Path(path)
