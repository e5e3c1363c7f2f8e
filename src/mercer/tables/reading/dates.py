"""Dates as people write them: 2024-01-31, 31.01.2024, and with slashes, where the order must be known."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from mercer.tables.reading.errors import shown

# Kinds of columns that say more than "date": the order of the parts. Dots leave no doubt, slashes do.
DOTS = "D.M.Y"
SLASHES = ("D/M/Y", "M/D/Y")
ORDERS = (DOTS, *SLASHES)

EXAMPLES = {
    "date": "2024-01-31 or 2024-01-31T10:00Z",
    DOTS: "31.01.2024 or 2024-01-31",
    "D/M/Y": "31/01/2024 or 2024-01-31",
    "M/D/Y": "01/31/2024 or 2024-01-31",
}
_SPOKEN = {DOTS: "day.month.year", "D/M/Y": "day/month/year", "M/D/Y": "month/day/year"}
_ISO = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(?:[T ](?:[01][0-9]|2[0-3]):[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)?)?"
)
_PARTS = re.compile(r"([0-9]{1,2})([./])([0-9]{1,2})\2([0-9]{4})(.*)")


class DatesRead(str):
    """A remark on how the dates of a column were read.

    It tells people. And a model that learned from them must read the same words in the same way, even where
    a table of one row does not show which part is the month.

    Parameters
    ----------
    column : str
    order : "D.M.Y", "D/M/Y" or "M/D/Y"

    Examples
    --------
    >>> DatesRead("sold", "D/M/Y")
    "Dates in 'sold' were read as day/month/year."
    """

    column: str
    order: str

    def __new__(cls, column: str, order: str) -> DatesRead:
        made = super().__new__(cls, f"Dates in {shown(column)} were read as {_SPOKEN[order]}.")
        made.column, made.order = column, order
        return made

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]
        return self.column, self.order


def moment(word: str, kind: str = "date") -> datetime | None:
    """The date, in UTC, or None if the word is none. ISO 8601 and dots are understood whatever the kind.

    >>> moment("31.01.2024"), moment("01/02/2024"), moment("01/02/2024", "D/M/Y")
    (datetime.datetime(2024, 1, 31, 0, 0), None, datetime.datetime(2024, 2, 1, 0, 0))
    """
    if parts := _PARTS.fullmatch(word):
        first, sign, second, year, time = parts.groups()
        if sign == "/" and kind not in SLASHES:
            return None
        day, month = (second, first) if sign == "/" and kind == "M/D/Y" else (first, second)
        word = f"{year}-{month:0>2}-{day:0>2}{time}"
    if not _ISO.fullmatch(word):
        return None
    try:
        found = datetime.fromisoformat(word)
        return found.astimezone(UTC).replace(tzinfo=None) if found.tzinfo else found
    except (ValueError, OverflowError):  # 30 February; or year 1 in a zone west of Greenwich
        return None


def order_in(words: Iterable[str], kind: str) -> str:
    """The kind of a column of dates, with the order if they are not ISO 8601."""
    dotted = (parts for parts in map(_PARTS.fullmatch, words) if parts and parts[2] == ".")
    return DOTS if kind == "date" and any(dotted) else kind
