"""Links out of docs/, which are right in the repository, lead to the pages of the site that hold the same."""

from __future__ import annotations

import posixpath
import re

from sphinx.application import Sphinx

PAGES = {
    "CHANGELOG.md": "changes.md",
    "CONTRIBUTING.md": "contributing.md",
    "README.md": "index.md",
    "examples": "gallery/index.rst",
}
_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?P<path>(?:\.\./)+[^)#\s]*)(?P<anchor>#[^)\s]*)?\)")


def page_of(path: str) -> str | None:
    """The page, from docs/, that holds what the repository has at `path`; None where there is none.

    >>> page_of("CHANGELOG.md"), page_of("examples/plot_margin.py"), page_of("LICENSE")
    ('changes.md', 'gallery/plot_margin.rst', None)
    """
    folder, name = posixpath.split(path)
    if folder == "examples" and name.startswith("plot_") and name.endswith(".py"):
        return f"gallery/{name.removesuffix('.py')}.rst"
    return PAGES.get(path)


def on_the_site(text: str, page: str) -> str:
    """The text of a Markdown page with its links out of docs/ turned; those without a page keep their words.

    >>> on_the_site("see [changes](../CHANGELOG.md) and [the law](../LICENSE)", "start")
    'see [changes](changes.md) and the law'
    """

    def turned(link: re.Match[str]) -> str:
        here = posixpath.dirname(f"docs/{page}")
        path = posixpath.normpath(posixpath.join(here, link["path"]))
        if path.startswith("docs/"):
            return link.group()
        found = page_of(path)
        if found is None:
            return link["text"]
        return f"[{link['text']}]({posixpath.relpath(f'docs/{found}', here)}{link['anchor'] or ''})"

    return _LINK.sub(turned, text)


def _on_source(app: Sphinx, page: str, source: list[str]) -> None:
    if str(app.env.doc2path(page)).endswith(".md"):
        source[0] = on_the_site(source[0], page)


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx calls this."""
    app.connect("source-read", _on_source)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
