"""Do all links of a built site lead somewhere, does it load nothing from the network, and are names whole?

    python docs/check_links.py docs/_build/html

Prints what is wrong, a line each, and ends with 1 if there is anything.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a browser loads by itself, by the element and the attribute that names it.
_LOADED = {
    ("audio", "src"),
    ("embed", "src"),
    ("iframe", "src"),
    ("img", "src"),
    ("img", "srcset"),
    ("link", "href"),
    ("object", "data"),
    ("script", "src"),
    ("source", "src"),
    ("source", "srcset"),
    ("video", "src"),
}
# Links in the head that a browser does not follow.
_NOT_LOADED = {"canonical", "author", "license", "search", "next", "prev", "index", "help"}
_IN_STYLES = re.compile(r"""@import\s+["']([^"']+)|url\(\s*["']?([^"')]+)""")


class Page(HTMLParser):
    """Anchors of a page, the addresses it links to, and those that a browser loads with it."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag == "link" and set(values.get("rel", "").split()) <= _NOT_LOADED:
            return
        for name, value in values.items():
            if (tag, name) in _LOADED:
                self.loaded += [part.split()[0] for part in value.split(",")] if name == "srcset" else [value]
            elif name == "style":
                self.loaded += styled(value)


def styled(text: str) -> list[str]:
    """Addresses in a style sheet.

    >>> styled("@import 'a.css'; p { background: url(b.png) }")
    ['a.css', 'b.png']
    """
    return [first or second for first, second in _IN_STYLES.findall(text)]


@cache
def read_page(path: Path) -> Page:
    """A page, parsed once."""
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def is_elsewhere(address: str) -> bool:
    """Is it on another machine?

    >>> [is_elsewhere(address) for address in ("https://a.org", "//a.org/x.js", "x.js", "data:,", "#top")]
    [True, True, False, False, False]
    """
    parts = urlsplit(address)
    return bool(parts.netloc) or parts.scheme in ("http", "https", "ftp")


@cache
def place(folder: Path, path: str) -> Path | None:
    """The file that a path leads to, from a folder; None: there is none."""
    target = Path(os.path.normpath(folder / path))
    target = target / "index.html" if target.is_dir() else target
    return target if target.exists() else None


def wrong_link(page: Path, address: str) -> str | None:
    """What is wrong with a link of a page to another place of the site; None: nothing."""
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return None
    target = place(page.parent, unquote(parts.path)) if parts.path else page
    if target is None:
        return f"{address} does not exist"
    anchor = unquote(parts.fragment)
    if anchor and target.suffix == ".html" and anchor not in read_page(target).anchors:
        return f"{address} names a place that is not on that page"
    return None


def pages(site: Path) -> list[Path]:
    """All pages of a site; what themes keep in _static is a part of some."""
    return sorted(path for path in site.rglob("*.html") if "_static" not in path.parts)


def findings(site: Path) -> Iterator[str]:
    """All that is wrong, a sentence each."""
    for path in pages(site):
        page, name = read_page(path), path.relative_to(site)
        for address in sorted({*page.links, *page.loaded}):
            wrong = wrong_link(path, address)
            if wrong:
                yield f"{name}: {wrong}"
        yield from (f"{name}: loads {address}" for address in page.loaded if is_elsewhere(address))
    for path in sorted(site.rglob("*.css")):
        addresses = styled(path.read_text(encoding="utf-8"))
        yield from (
            f"{path.relative_to(site)}: loads {address}" for address in addresses if is_elsewhere(address)
        )


def lost_attributes(site: Path) -> Iterator[str]:
    """Attributes of public classes that their pages do not name: a sentence each."""
    # Where links alone are of interest, as in tests of this file, Mercer need not be imported.
    sys.path.insert(0, str(Path(__file__).parent / "_ext"))
    from plain_text import attribute_names
    from reference import class_pages

    for page, cls in class_pages():
        path = site / "api" / "names" / f"{page}.html"
        shown = path.read_text(encoding="utf-8") if path.exists() else ""
        for name in attribute_names(inspect.getdoc(cls) or ""):
            if f'<span class="pre">{name}</span>' not in shown:
                yield f"api/names/{page}.html does not name the attribute {name}"


def main(folder: str) -> int:
    """Check a site, print what is wrong, and return the exit code."""
    site = Path(folder).resolve()
    if not (site / "index.html").exists():
        print(f"{site} holds no site: build one with make docs", file=sys.stderr)
        return 1
    wrong = [*findings(site), *lost_attributes(site)]
    print(*wrong, sep="\n", end="\n" if wrong else "")
    print(
        f"{len(pages(site))} pages, "
        f"{len(wrong)} dead links, things loaded from the network or attributes not named"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
