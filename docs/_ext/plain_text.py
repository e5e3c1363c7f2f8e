"""Docstrings are plain text, for `help()`; this makes reStructuredText of them.

Formulas there are written as on a blackboard (|y − s|, Σ* w_i, dual_coef_), which reStructuredText would take
for substitutions, emphasis and links. Signs of that kind are escaped, except in code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from sphinx.application import Sphinx

# Code in backticks, bold words, and stars that begin an item of a list stay as they are.
_KEPT = re.compile(r"(``.+?``|`[^`]+`|\*\*\w.*?\w\*\*|^\s*\* )", re.DOTALL | re.MULTILINE)
_ITEM = re.compile(r"^(?P<names>\s*\*{0,2}\w+(?:, \*{0,2}\w+)*)(?P<rest> : .*|)$")
_TYPE = re.compile(r"^(?P<field>\s*:(?:var)?type [^:]*:) (?P<text>[^*`]*[^*`\s])\s*$")
_NOTHING = r"\ "  # an escaped space: what is defined has no more to say
_MARKUP = re.compile(r"[|*]|(?<=\w)_(?!\w)")


def escaped(text: str) -> str:
    """Prose with signs escaped that mean something in reStructuredText.

    >>> escaped("|y - s| of `a*b` and coef_")
    '\\\\|y - s\\\\| of `a*b` and coef\\\\_'
    >>> escaped("* an item, **bold**: f*")
    '* an item, **bold**: f\\\\*'
    """
    parts = _KEPT.split(text)
    parts[::2] = [_MARKUP.sub(lambda sign: "\\" + sign.group(), part) for part in parts[::2]]
    return "".join(parts)


def as_markup(lines: list[str]) -> list[str]:
    """A docstring, line by line, as reStructuredText in NumPy's style.

    >>> as_markup(["f* is |f|", "", ">>> a * b", "c_ * d_"])
    ['f\\\\* is \\\\|f\\\\|', '', '>>> a * b', 'c_ * d_']
    """
    made: list[str] = []
    for paragraph in _paragraphs(lines):
        first = paragraph[0].lstrip()
        if first.startswith((">>>", ".. ")) or (made and _opens_code(made)):
            made += paragraph
        else:
            made += _prose(paragraph)
    return made


def _paragraphs(lines: list[str]) -> list[list[str]]:
    """Lines up to an empty one, or up to where an example begins; empty lines are runs of their own."""
    runs: list[list[str]] = []
    for line in lines:
        new = not runs or not line.strip() or not runs[-1][0].strip()
        if new or (line.lstrip().startswith(">>>") and not runs[-1][0].lstrip().startswith(">>>")):
            runs.append([line])
        else:
            runs[-1].append(line)
    return runs


def _opens_code(made: list[str]) -> bool:
    """Does the last text before here announce a literal block?"""
    text = [line for line in made if line.strip()]
    return bool(text) and text[-1].rstrip().endswith("::")


def _prose(paragraph: list[str]) -> list[str]:
    """Names of parameters are left to napoleon, which escapes them itself."""
    heads = [_ITEM.match(line) for line in paragraph]
    rest = [head["rest"] if head else line for head, line in zip(heads, paragraph)]
    written = escaped("\n".join(rest)).split("\n")
    return [(head["names"] if head else "") + line for head, line in zip(heads, written)]


def with_attributes(lines: list[str]) -> list[str]:
    """A docstring whose section "Attributes" is a list of definitions, each name as it is written.

    napoleon would lose the _ at the end of names, and take several names for one with a type.

    >>> with_attributes(["Attributes", "----------", "coef_, mean_ : (d,)", "    The weights.", "", "Notes"])
    ['Attributes', '----------', '``coef_``, ``mean_``', '    (d,). The weights.', '', 'Notes']
    """
    section = _attributes_section(lines)
    made: list[str] = []
    for names, words in attributes(lines[section]):
        made += [", ".join(f"``{name}``" for name in names), f"    {words or _NOTHING}"]
    return [*lines[: section.start], *made, *lines[section.stop :]]


def attribute_names(docstring: str) -> list[str]:
    """The names in a docstring's section "Attributes".

    >>> attribute_names("A machine.\\n\\nAttributes\\n----------\\na_, b_ : how many\\nc_ : int")
    ['a_', 'b_', 'c_']
    """
    lines = docstring.splitlines()
    return [name for names, _ in attributes(lines[_attributes_section(lines)]) for name in names]


def attributes(section: list[str]) -> Iterator[tuple[list[str], str]]:
    """(names, what is said of them) for each entry of a section "Attributes".

    >>> list(attributes(["a_, b_ : how", "    many", "c_ : int", "    Of them."]))
    [(['a_', 'b_'], 'how many'), (['c_'], 'int. Of them.')]
    """
    heads = [i for i, line in enumerate(section) if not line.startswith(" ")]
    for here, after in zip(heads, [*heads[1:], len(section)]):
        names, _, kind = section[here].partition(" : ")
        told = " ".join(line.strip() for line in section[here + 1 : after])
        # Either a type, short, is followed by a sentence; or it is one sentence that takes several lines.
        apart = "." if told[:1].isupper() or (told.endswith(".") and len(kind.split()) <= 3) else ""
        yield names.split(", "), f"{kind.strip()}{apart} {told}".strip()


def _attributes_section(lines: list[str]) -> slice:
    """Where the entries of "Attributes" are, up to an empty line; an empty slice where there are none."""
    pairs = enumerate(pairwise(lines), start=2)
    headed = (i for i, (line, below) in pairs if line.strip() == "Attributes" and set(below.strip()) == {"-"})
    start = next(headed, len(lines))
    return slice(start, next((i for i in range(start, len(lines)) if not lines[i].strip()), len(lines)))


def plain_types(lines: list[str]) -> list[str]:
    """What napoleon made, with types as emphasised words: as links, "names" would lead anywhere.

    >>> plain_types([":type sigma: float, optional"])
    [':type sigma: *float, optional*']
    """
    return [_TYPE.sub(r"\g<field> *\g<text>*", line) for line in lines]


def on_docstring(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Sphinx calls this, before napoleon."""
    lines[:] = with_attributes(as_markup(lines))
    if what in ("attribute", "data", "property"):
        # Of these napoleon takes all before a colon in the first line for a type: make that an empty comment.
        lines[:0] = ["..", ""]


def _on_fields(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    lines[:] = plain_types(lines)


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx calls this. One step comes before napoleon, whose priority is 500, and one after it."""
    app.connect("autodoc-process-docstring", on_docstring, priority=400)
    app.connect("autodoc-process-docstring", _on_fields, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
