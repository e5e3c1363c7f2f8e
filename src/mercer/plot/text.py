"""Names as figures show them: letter by letter, short enough, and never lost from a legend."""

from __future__ import annotations

import re
from typing import Any

from mercer.plot.svg import FORBIDDEN

# A dollar sign that would begin mathematics; what is escaped already stays as it is.
_DOLLAR = re.compile(r"(?<!\\)\$")


def shortened(text: str, most: int) -> str:
    """At most so many characters, the middle left out: names often differ at their ends.

    >>> shortened("mean concave points", 12), shortened("age", 12)
    ('mean c…oints', 'age')
    """
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    head = most // 2
    return f"{text[:head]}…{text[len(text) - (most - head - 1) :]}"


def plain(name: Any, most: int = 24) -> str:
    """A name that Matplotlib shows letter by letter: dollar signs are no mathematics to it.

    Legends leave out what is empty or begins with an underscore; so a name of blanks is shown in quotes, and
    one with an underscore has a blank before it.

    >>> plain("5$"), plain("_private"), plain("")
    ('5\\\\$', ' _private', "''")
    """
    text = str(name)
    short = shortened(text, most) or repr(text)[:most]
    shown = _DOLLAR.sub(r"\\$", FORBIDDEN.sub("�", short))
    return f" {shown}" if shown.startswith("_") else shown


def caption(label: Any, most: int = 60) -> str | None:
    """What a caller calls a curve, made plain; None, which means no name, stays.

    >>> caption(None), caption("λ = 1")
    (None, 'λ = 1')
    """
    return None if label is None else plain(label, most)
