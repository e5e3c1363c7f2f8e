"""Cells of text, as files without types have them: which columns are numbers, which dates, which words.

A column is numbers (or dates) when all its values are. Almost all is a mistake in the file, and taken for
one: read as words, such a column would quietly become as many categories as it has numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import numpy as np

from mercer.data.errors import Stray, shown

MISSING = frozenset({"", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "None", "?"})
# Missing among numbers and dates. Among words it is one: a sign, a class.
DASH = "-"
ALMOST = 0.95

_NUMBER = re.compile(
    r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|[+-]?inf(?:inity)?", re.ASCII | re.IGNORECASE
)
_COMMA_NUMBER = re.compile(r"[+-]?(?:[0-9]+,[0-9]*|,[0-9]+)(?:e[+-]?[0-9]+)?", re.ASCII | re.IGNORECASE)
_DATE = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(?:[T ](?:[01][0-9]|2[0-3]):[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)?)?"
)


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


def understand(column: Coded, kind: str | None = None, comma: bool = False) -> np.ndarray:
    """A column of a table from its text.

    Parameters
    ----------
    column : Coded
    kind : "number", "text", "date" or None
        What it shall be; None: what it looks like.
    comma : bool
        Whether numbers may have a decimal comma.

    Returns
    -------
    array of float64, datetime64[us] or str, missing values being NaN, NaT and None

    Raises
    ------
    Stray
        For the first value that does not fit.
    """
    words = [word.strip(" \t\r\n") for word in column.words]
    real = [i for i, word in enumerate(words) if word not in MISSING]
    values = [i for i in real if words[i] != DASH]
    if kind is None:
        kind = _guess([words[i] for i in values], column.counts[values], comma) if real else "number"
    if kind == "text":
        return _text(words, real)[column.codes]
    parsed = _parsed([words[i] for i in values], kind, comma)
    strays = [i for i, value in zip(values, parsed, strict=True) if value is None]
    if strays:
        row = column.first(strays)
        right = int(column.counts[values].sum() - column.counts[strays].sum())
        total = right + int(column.counts[strays].sum())
        but = f", but {right:,} of the {total:,} values of this column are" if right >= ALMOST * total else ""
        what = "a number" if kind == "number" else "a date like 2024-01-31 or 2024-01-31T10:00Z"
        raise Stray(row, f"{shown(column.words[column.codes[row]])} is not {what}{but}.", mixed=True)
    dtype = "float64" if kind == "number" else "datetime64[us]"
    result = np.full(len(words) + 1, np.nan if kind == "number" else "NaT", dtype)  # the last place is for −1
    result[values] = np.array(parsed, dtype)
    found = result[column.codes]
    if kind == "number" and np.isinf(found).any():
        row = int(np.flatnonzero(np.isinf(found))[0])
        raise Stray(row, f"{shown(column.words[column.codes[row]])} is not a finite number.")
    return found


def _guess(words: list[str], counts: np.ndarray, comma: bool) -> str:
    """What a column is: "number" or "date" if almost all of its rows are, else "text"."""
    allowed = counts.sum() * (1 - ALMOST) * (1 + 1e-12)
    for kind, fits in (("number", _is_number(comma)), ("date", _moment)):
        wrong = 0
        for word, count in zip(words, counts.tolist(), strict=True):
            wrong += 0 if fits(word) else count
            if wrong > allowed:  # most columns of words are known for what they are soon
                break
        else:
            return kind if words else "text"
    return "text"


def _is_number(comma: bool) -> Callable[[str], object]:
    return lambda word: _NUMBER.fullmatch(word) or (comma and _COMMA_NUMBER.fullmatch(word))


def _parsed(words: list[str], kind: str, comma: bool) -> list[Any]:
    """Values, None where a word is not of the kind."""
    if kind == "date":
        return [_moment(word) for word in words]
    fits = _is_number(comma)
    return [float(word.replace(",", ".")) if fits(word) else None for word in words]


def _text(words: list[str], real: list[int]) -> np.ndarray:
    """Words by code, None for what is missing (and in the last place, for −1)."""
    result = np.full(len(words) + 1, None, dtype=object)
    # True, TRUE, true: one spelling, whatever the file
    logical = all(words[i].lower() in ("true", "false") for i in real)
    for i in real:
        result[i] = words[i].lower() if logical else words[i]
    return result


def _moment(word: str) -> datetime | None:
    if not _DATE.fullmatch(word):
        return None
    try:
        moment = datetime.fromisoformat(word)
        return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
    except (ValueError, OverflowError):  # 30 February; or year 1 in a zone west of Greenwich
        return None


def is_number(word: str) -> bool:
    """Whether a word is a number (or an infinity), and nothing else."""
    return bool(_NUMBER.fullmatch(word))


def dates_in(column: np.ndarray) -> np.ndarray:
    """A column of words as dates if all of it are dates; else as it is."""
    if column.dtype != object:
        return column
    coded = Coded.of(column)
    moments = _parsed(coded.words, "date", False)
    if not moments or None in moments:
        return column
    return np.append(np.array(moments, "datetime64[us]"), np.datetime64("NaT"))[coded.codes]
