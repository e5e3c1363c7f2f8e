"""Cells of text, as files without types have them: which columns are numbers, which dates, which words.

A column is numbers (or dates) when all its values are. Almost all is a mistake in the file, and taken for
one: read as words, such a column would quietly become as many categories as it has numbers.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, partial

import numpy as np

from mercer.tables.reading.errors import Stray, shown

MISSING = frozenset({"", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "None", "?"})
# Missing among numbers and dates. Among words it is one: a sign, a class.
DASH = "-"
# The kind of a column that is copied as it stands in the file.
WRITTEN = "written"
ALMOST = 0.95

_NUMBER = re.compile(
    r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|[+-]?inf(?:inity)?", re.ASCII | re.IGNORECASE
)
_COMMA_NUMBER = re.compile(r"[+-]?(?:[0-9]+,[0-9]*|,[0-9]+)(?:e[+-]?[0-9]+)?", re.ASCII | re.IGNORECASE)


class Guessed(str):
    """The kind that a column has by the look of its first rows: whoever knows better may say another."""


@dataclass(frozen=True)
class Coded:
    """A column of text: its distinct words, and which of them each row has (−1: none)."""

    words: list[str]
    codes: np.ndarray

    @classmethod
    def of(cls, values: Iterable[str | None]) -> Coded:
        known: dict[str | None, int] = {None: -1}
        codes = [known.setdefault(value, len(known) - 1) for value in values]
        del known[None]
        return cls([word for word in known if word is not None], np.asarray(codes, dtype=np.int32))

    @cached_property
    def counts(self) -> np.ndarray:
        """How many rows have each of the words."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.words))

    def first(self, chosen: list[int]) -> int:
        """The first row that has one of the chosen words."""
        wanted = np.zeros(len(self.words) + 1, dtype=bool)  # the last place is for −1
        wanted[chosen] = True
        return int(np.flatnonzero(wanted[self.codes])[0])


@dataclass(frozen=True)
class Understood:
    """A column of a table, and what it was taken for."""

    values: np.ndarray  # float64, datetime64[us] or str as objects, missing values being NaN, NaT and None
    kind: str  # "number", "text" or "date"; for dates that are not ISO 8601 one of `ORDERS`
    code: str | None = None  # of words that were taken for codes and not for numbers, one that begins with 0

    def remarks(self, name: str) -> list[str]:
        """What people should know of how the column was understood."""
        if self.kind in ORDERS:
            return [DatesRead(name, self.kind)]
        if self.code is None:
            return []
        return [
            f"Column {shown(name)} has digits that begin with 0, such as {shown(self.code)}, and was read as "
            f"words. If numbers are meant: kinds={{{name!r}: 'number'}} (--number {shlex.quote(name)})."
        ]


def understood(column: Coded, kind: str | None = None, comma: bool = False) -> Understood:
    """A column of a table from its text; `Stray` for the first value that does not fit.

    It shall be of a kind: "number", "text", "date", one of `ORDERS`, or "written": text as it is, for copies.
    None: what it looks like. Numbers may have a decimal `comma`.
    """
    if kind == WRITTEN:
        return Understood(
            np.array([*(word or None for word in column.words), None], object)[column.codes], "text"
        )
    words = [word.strip(" \t\r\n") for word in column.words]
    real = [i for i, word in enumerate(words) if word not in MISSING]
    values = [i for i in real if words[i] != DASH]
    said = [words[i] for i in values]
    guessed, code = kind is None or isinstance(kind, Guessed), None
    if kind is None:
        kind = _guess(said, column.counts[values], comma) if real else "number"
        code = _code(said) if kind == "number" else None
    kind = str(kind)
    if kind == "text" or code is not None:
        return Understood(_text(words, real)[column.codes], "text", code)
    number, date = ("f8", partial(_number, comma=comma)), ("M8[us]", partial(moment, kind=kind))
    dtype, parse = number if kind == "number" else date
    parsed = [parse(word) for word in said]
    kind = kind if kind == "number" else order_in(said, kind)
    if strays := [i for i, value in zip(values, parsed, strict=True) if value is None]:
        row = column.first(strays)
        total = int(column.counts[values].sum())
        right = total - int(column.counts[strays].sum())
        but = f", but {right:,} of the {total:,} values of this column are" if right >= ALMOST * total else ""
        problem = f"{shown(column.words[column.codes[row]])} is not {SHAPES[kind]}{but}."
        raise Stray(row, problem, mixed=True, guessed=guessed)
    result = np.full(len(words) + 1, "nan" if dtype == "f8" else "NaT", dtype)  # the last place is for −1
    result[values] = np.array(parsed, dtype)
    found = result[column.codes]
    if dtype == "f8" and np.isinf(found).any():
        row = int(np.flatnonzero(np.isinf(found))[0])
        raise Stray(row, f"{shown(column.words[column.codes[row]])} is not a finite number.")
    return Understood(found, kind)


def _code(words: list[str]) -> str | None:
    """A word that begins with 0 though it need not, where all numbers are mere digits, as of postcodes."""
    numbers = [word for word in words if is_number(word)]
    first = next((word for word in numbers if len(word) > 1 and word[0] == "0"), None)
    return first if all(map(str.isdigit, numbers)) else None


def _guess(words: list[str], counts: np.ndarray, comma: bool) -> str:
    """What a column is: numbers or dates if almost all of its rows are, else "text"."""
    allowed = counts.sum() * (1 - ALMOST) * (1 + 1e-12)
    if not words:
        return "text"
    if _wrong(words, counts, partial(is_number, comma=comma), allowed) <= allowed:
        return "number"
    return _dates(words, counts, allowed) or "text"


def _dates(words: list[str], counts: np.ndarray, allowed: float = 0.0) -> str | None:
    """The kind of dates all rows hold, but for so many that may be something else; None if there is none.

    With slashes it is the order that fits more rows. If both fit as many, nobody can tell.
    """
    if _wrong(words, counts, moment, allowed) <= allowed:
        return "date"
    first, second = (_wrong(words, counts, partial(moment, kind=order), allowed) for order in SLASHES)
    if first == second or min(first, second) > allowed:
        return None
    return SLASHES[0] if first < second else SLASHES[1]


def _wrong(words: list[str], counts: np.ndarray, fits: Callable[[str], object], allowed: float) -> int:
    """How many rows do not fit; at most a few more than are allowed."""
    wrong = 0
    for word, count in zip(words, counts.tolist(), strict=True):
        wrong += 0 if fits(word) else count
        if wrong > allowed:  # most columns of words are known for what they are soon
            break
    return wrong


def _number(word: str, comma: bool) -> float | None:
    """The number, or None if the word is none."""
    return float(word.replace(",", ".")) if is_number(word, comma) else None


def _text(words: list[str], real: list[int]) -> np.ndarray:
    """Words by code, None for what is missing (and in the last place, for −1)."""
    result = np.full(len(words) + 1, None, dtype=object)
    # True, TRUE, true: one spelling, whatever the file
    logical = all(words[i].lower() in ("true", "false") for i in real)
    for i in real:
        result[i] = words[i].lower() if logical else words[i]
    return result


def is_number(word: str, comma: bool = False) -> bool:
    """Whether a word is a number (or an infinity), and nothing else; perhaps one with a decimal comma."""
    return bool(_NUMBER.fullmatch(word) or (comma and _COMMA_NUMBER.fullmatch(word)))


def dates_in(column: np.ndarray) -> Understood:
    """A column of words as dates if all of it are dates, else as it is."""
    coded = Coded.of(column)
    kind = _dates(coded.words, coded.counts) if coded.words else None
    return Understood(column, "text") if kind is None else understood(coded, kind)


# Kinds of columns that say more than "date": the order of the parts. Dots leave no doubt, slashes do.
DOTS = "D.M.Y"
SLASHES = ("D/M/Y", "M/D/Y")
ORDERS = (DOTS, *SLASHES)

# What a value of a kind is, for people.
SHAPES = {
    "number": "a number",
    "date": "a date like 2024-01-31 or 2024-01-31T10:00Z",
    DOTS: "a date like 31.01.2024 or 2024-01-31",
    "D/M/Y": "a date like 31/01/2024 or 2024-01-31",
    "M/D/Y": "a date like 01/31/2024 or 2024-01-31",
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
