"""How one column of a table becomes coordinates: numbers, categories of few levels, dates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from mercer._state import NUMBER, POSITIVE, require

# Half the L1 distance between two categories: as far apart as two numbers of spread 1 are on average.
_LEVEL = 0.6
DAY = np.timedelta64(86_400_000_000, "us")
# As far as a number may lie from the middle, in spreads: beyond any kernel's reach, and its square is finite.
_FAR = 1e8


@dataclass(frozen=True)
class Number:
    """A number as (x − centre)/spread, missing ones at the centre; `bend` draws outliers in."""

    name: str
    centre: float
    spread: float
    bend: float | None
    marks_missing: bool

    kind = "number"
    holds = {"centre": NUMBER, "spread": POSITIVE, "bend": (None, POSITIVE)}

    def names_out(self) -> list[str]:
        return [self.name] + [f"{self.name} missing"] * self.marks_missing

    def encode(self, values: np.ndarray) -> np.ndarray:
        absent = np.isnan(values)
        with np.errstate(over="ignore"):
            z = (values - self.centre) / self.spread
        z = np.where(absent, 0.0, np.clip(z, -_FAR, _FAR))
        if self.bend is not None:
            z = z / np.sqrt(1 + (z / self.bend) ** 2)
        return np.column_stack([z, absent * 2 * _LEVEL] if self.marks_missing else [z])


@dataclass(frozen=True)
class Category:
    """A word as one column a level; words not among them share the last column, missing ones too."""

    name: str
    levels: tuple[str, ...]
    others: bool

    kind = "category"

    def check_state(self) -> None:
        """Refuse levels that are none, or come twice."""
        once = 0 < len(set(self.levels)) == len(self.levels)
        require(once, f"the levels of column {self.name!r} are wrong")

    def names_out(self) -> list[str]:
        if len(self.levels) == 2 and not self.others:
            return [f"{self.name} = {self.levels[1]}"]
        return [f"{self.name} = {level}" for level in self.levels] + [f"{self.name} = other"] * self.others

    @cached_property
    def place(self) -> dict[str | None, int]:
        """The number of each level; made once, as a model is asked about single rows."""
        return {level: i for i, level in enumerate(self.levels)}

    def encode(self, values: np.ndarray) -> np.ndarray:
        index = np.array([self.place.get(v, -1) for v in values], dtype=np.intp)
        if len(self.levels) == 2 and not self.others:
            # An unknown word lies between the two that are known.
            return (np.where(index < 0, 0.5, index) * 2 * _LEVEL)[:, None]
        return self.indicators(index, len(self.levels), self.others)

    @staticmethod
    def indicators(index: np.ndarray, levels: int, others: bool) -> np.ndarray:
        """One column a level and, if asked for, one for all others, whose number is −1."""
        out = np.zeros((len(index), levels + others))
        known = index >= 0
        out[np.flatnonzero(known), index[known]] = _LEVEL
        if others:
            out[~known, -1] = _LEVEL
        return out


@dataclass(frozen=True)
class Date:
    """A date as time since the middle, and as places on the circles of the year, the week and the day."""

    name: str
    centre: str
    spread: float
    circles: tuple[str, ...]
    marks_missing: bool

    kind = "date"
    holds = {"spread": POSITIVE, "circles": tuple[Literal["year", "week", "day"], ...]}

    def check_state(self) -> None:
        """Refuse a middle that is no date."""
        known = not np.isnat(np.datetime64(self.centre, "us"))
        require(known, f"the middle of column {self.name!r} is no date")

    def names_out(self) -> list[str]:
        parts = [f"{self.name} {circle} {part}" for circle in self.circles for part in ("cos", "sin")]
        return [self.name, *parts] + [f"{self.name} missing"] * self.marks_missing

    def encode(self, values: np.ndarray) -> np.ndarray:
        absent = np.isnat(values)
        there = np.where(absent, np.datetime64(self.centre, "us"), values)
        parts = [(there - np.datetime64(self.centre, "us")) / DAY / self.spread]
        for circle in self.circles:
            angle = 2 * np.pi * turns(there, circle)
            parts += [np.where(absent, 0, np.cos(angle)), np.where(absent, 0, np.sin(angle))]
        if self.marks_missing:
            parts.append(absent * 2 * _LEVEL)
        return np.column_stack(parts)


def turns(dates: np.ndarray, circle: str) -> np.ndarray:
    """How far round the circle, from 0 to 1."""
    days = (dates - np.datetime64(0, "D")) / DAY
    if circle == "day":
        return days % 1
    if circle == "week":
        return (days + 3) % 7 / 7  # the first of January 1970 was a Thursday
    years = dates.astype("datetime64[Y]")
    first, last = (year.astype("datetime64[us]") for year in (years, years + np.timedelta64(1, "Y")))
    return (dates - first) / (last - first)
