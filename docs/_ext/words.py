"""Words that a page of definitions explains are found by search before all other places that use them."""

from __future__ import annotations

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

PAGE = "glossary"


def anchor(word: str) -> str:
    """Where on the page a word is explained.

    >>> anchor("kernel width")
    'word-kernel-width'
    """
    return f"word-{nodes.make_id(word)}"


class IndexWords(SphinxTransform):
    """Every bold word that is defined becomes an entry of the index, which search looks through, too."""

    # Before Sphinx collects the entries of a page, which it does at 850.
    default_priority = 800

    def apply(self) -> None:
        """Sphinx calls this for each page."""
        if self.env.docname != PAGE:
            return
        for defined in list(self.document.findall(nodes.definition_list)):
            entries = []
            for term in defined.findall(nodes.term):
                for word in term.findall(nodes.strong):
                    word["ids"].append(anchor(word.astext()))
                    # Entries that are not the main one come after all pages that hold the word.
                    entries.append(("single", word.astext(), anchor(word.astext()), "main", None))
            defined.parent.insert(defined.parent.index(defined), addnodes.index(entries=entries))


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx calls this."""
    app.add_transform(IndexWords)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
