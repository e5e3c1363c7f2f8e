"""From a table to points: numbers scaled, categories spread out, dates taken apart, texts beside."""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mercer._state import NUMBER, POSITIVE, positions, require
from mercer.tables.model.schema import Schema
from mercer.tables.model.texts import Text, dates, too_many
from mercer.tables.reading import Table

# Half the L1 distance between two categories: as far apart as two numbers of spread 1 are on average.
_LEVEL = 0.6
_DAY = np.timedelta64(86_400_000_000, "us")
# Where squashing bends: at three spreads a number counts as 2.1, at infinity as 3.
_BEND = 3.0
_IDENTIFIER = re.compile(r"(^|[^a-z])(id|index|idx|nr|no|number|row|key|unnamed: ?\d+)$|^unnamed")
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

    def encode(self, values: np.ndarray) -> np.ndarray:
        place = {level: i for i, level in enumerate(self.levels)}
        index = np.array([place.get(v, -1) for v in values], dtype=np.intp)
        if len(self.levels) == 2 and not self.others:
            # An unknown word lies between the two that are known.
            return (np.where(index < 0, 0.5, index) * 2 * _LEVEL)[:, None]
        out = np.zeros((len(values), len(self.levels) + self.others))
        known = index >= 0
        out[np.flatnonzero(known), index[known]] = _LEVEL
        if self.others:
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
        parts = [(there - np.datetime64(self.centre, "us")) / _DAY / self.spread]
        for circle in self.circles:
            angle = 2 * np.pi * _turns(there, circle)
            parts += [np.where(absent, 0, np.cos(angle)), np.where(absent, 0, np.sin(angle))]
        if self.marks_missing:
            parts.append(absent * 2 * _LEVEL)
        return np.column_stack(parts)


def _turns(dates: np.ndarray, circle: str) -> np.ndarray:
    """How far round the circle, from 0 to 1."""
    days = (dates - np.datetime64(0, "D")) / _DAY
    if circle == "day":
        return days % 1
    if circle == "week":
        return (days + 3) % 7 / 7  # the first of January 1970 was a Thursday
    years = dates.astype("datetime64[Y]")
    length = ((years + 1).astype("datetime64[us]") - years.astype("datetime64[us]")) / _DAY
    return (dates - years.astype("datetime64[us]")) / _DAY / length


def _is_identifier(name: str, values: np.ndarray) -> bool:
    """Whole numbers that count rows, with few gaps, under a name that says so; else it could be a time."""
    step = np.diff(np.sort(values))  # in any order, so that parts of a table are judged as the whole is
    counts = len(values) >= 20 and bool((step >= 1).all())
    return counts and step.sum() < 1.5 * len(values) and bool(_IDENTIFIER.search(name.lower()))


def _variety(values: np.ndarray) -> str:
    different = len({v for v in values if v is not None})
    return f"{different:,} different values in {len(values):,} rows: names or free text"


class Columns(TransformerMixin, BaseEstimator):
    """Encode the columns of a table as numbers a kernel can measure distances between.

    Numbers are centred and divided by their standard deviation. Categories become one column a level (a
    single one for two levels); rare levels and words never seen share a column. Dates become time, and cosine
    and sine of the year, the week and the day where they go round. Missing values are filled with the middle
    and marked in a column of their own. Columns that say nothing (constant, empty, nearly a different word in
    every row) are left out, with the reason in ``dropped_``.

    Parameters
    ----------
    outliers : "keep" or "squash"
        "squash" scales by quartiles and draws numbers far from the middle in: z/√(1 + (z/3)²).
    max_categories : int
        Levels with a column of their own, of one column.
    texts : tuple of str
        Columns of text that are carried as they stand, after all others, for a kernel on strings: points are
        then rows of Python objects. A missing text is empty.

    Attributes
    ----------
    schema_ : Schema
    encoders_ : tuple of Number, Category, Date and, at the end, Text
    origin_ : (outputs,) index into ``schema_.columns`` of the column each output comes from
    dropped_ : dict from names to reasons

    Examples
    --------
    >>> table = {"size": [1.0, 2.0, None, 4.0], "city": ["Bonn", "Ulm", "Ulm", "Kiel"]}
    >>> columns = Columns().fit(table)
    >>> columns.get_feature_names_out().tolist()
    ['size', 'size missing', 'city = Ulm', 'city = Bonn', 'city = Kiel']
    >>> columns.transform([{"size": 1.0, "city": "Paris"}]).shape
    (1, 5)
    """

    def __init__(self, outliers="keep", max_categories=30, texts=()):
        self.outliers = outliers
        self.max_categories = max_categories
        self.texts = texts

    def fit(self, X: Any, y: Any = None) -> Columns:
        """Learn centres, spreads and levels from a table."""
        if self.outliers not in ("keep", "squash"):
            raise ValueError(f"outliers must be 'keep' or 'squash', got {self.outliers!r}")
        table = Table.of(X)
        if unknown := [name for name in self.texts if name not in table or table.kind(name) != "text"]:
            raise ValueError(f"texts must name columns of text, got {unknown[0]!r}")
        self.schema_ = Schema.of(table)
        self.dropped_: dict[str, str] = {}
        encoders: list[Any] = []
        for name in table.names:
            if name in self.texts:
                continue
            made = {"number": self._number, "text": self._category, "date": self._date}[table.kind(name)](
                name, table[name]
            )
            if isinstance(made, str):
                self.dropped_[name] = made
            else:
                encoders.append(made)
        self.encoders_ = (*encoders, *(Text(name) for name in self.texts))
        self.schema_ = self.schema_.without_words(self.dropped_).with_texts(self.texts)
        if not self.encoders_:
            reasons = "; ".join(f"{k}: {v}" for k, v in list(self.dropped_.items())[:5])
            raise ValueError(f"no column is left to learn from ({reasons})")
        self.origin_ = self._origin()
        return self

    def _origin(self) -> np.ndarray:
        where = {name: i for i, name in enumerate(self.schema_.names)}
        made = self.encoders_
        return np.repeat([where[e.name] for e in made], [len(e.names_out()) for e in made]).astype(np.intp)

    def with_texts(self, names: Sequence[str], table: Table) -> Columns:
        """The same with these texts only, as others did not help; `table` is what it was fitted to."""
        out = Columns(self.outliers, self.max_categories, tuple(names))
        out.encoders_ = tuple(e for e in self.encoders_ if not isinstance(e, Text) or e.name in names)
        others = [name for name in self.texts if name not in names]
        said = {name: f"{_variety(table[name])}, whose words did not help" for name in others}
        dropped = self.dropped_ | said
        out.dropped_ = {name: dropped[name] for name in self.schema_.names if name in dropped}
        out.schema_ = self.schema_.without_words(out.dropped_)
        out.origin_ = out._origin()
        return out

    @property
    def width(self) -> int:
        """How many coordinates are numbers; those of texts come after them."""
        return sum(len(e.names_out()) for e in self.encoders_ if not isinstance(e, Text))

    def transform(self, X: Any) -> np.ndarray:
        """(n, outputs) numbers for a table with the same columns; those in ``dropped_`` may be absent.

        Of Python objects where there are texts: numbers first, then texts.
        """
        check_is_fitted(self, "encoders_")
        table = self.schema_.conform(X, self.dropped_)
        return np.hstack([e.encode(table[e.name]) for e in self.encoders_])

    holds = {
        "schema_": Schema,
        "encoders_": tuple[Number | Category | Date | Text, ...],
        "origin_": np.ndarray,
        "dropped_": dict,
    }
    fitted_by = "encoders_"

    def check_state(self) -> None:
        """Refuse encoders of columns that the table has not."""
        kinds = {c.name: c.kind for c in self.schema_.columns}
        known = self.encoders_ and all(kinds.get(e.name) == e.kind for e in self.encoders_)
        require(known, "encoders_ are of other columns than the table's")
        outputs = sum(len(e.names_out()) for e in self.encoders_)
        fine = positions(self.origin_, len(kinds)) and len(self.origin_) == outputs
        require(fine, "origin_ is not that of the encoders")
        last = tuple(e.name for e in self.encoders_ if isinstance(e, Text))
        named = last == tuple(self.texts) and self.encoders_[len(self.encoders_) - len(last) :] == tuple(
            map(Text, last)
        )
        require(named, "texts are not the last of the encoders")

    @property
    def n_features_in_(self) -> int:
        """Columns of the table it was fitted to."""
        return len(self.schema_.columns)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the outputs."""
        check_is_fitted(self, "encoders_")
        return np.array([name for e in self.encoders_ for name in e.names_out()], dtype=object)

    def _number(self, name: str, values: np.ndarray) -> Number | str:
        there = values[~np.isnan(values)]
        if len(there) == 0:
            return "empty"
        absent = len(values) - len(there)
        if there.min() == there.max():
            if absent < 5:
                return "constant"
            return Number(name, float(there[0]), 1.0, None, True)
        if absent == 0 and _is_identifier(name, there):
            return "numbers the rows"
        # In units of a power of two, which rounds nothing, sums of squares neither overflow nor vanish.
        unit = math.ldexp(0.5, math.frexp(np.abs(there).max())[1])
        scaled = there / unit
        middle, spread, bend = float(scaled.mean()), float(scaled.std()), None
        if self.outliers == "squash":
            low, middle, high = (float(q) for q in np.quantile(scaled, [0.25, 0.5, 0.75]))
            # Where half of the values agree quartiles say nothing about the spread of the others.
            if high > low:
                spread = (high - low) / 1.349
            bend = _BEND
        middle, spread = middle * unit, min(spread * unit, sys.float_info.max)
        if not spread > 0:
            return "constant, but for rounding"
        marks = absent >= max(5, 0.01 * len(values)) or (absent > 0 and len(values) < 50)
        return Number(name, middle, spread, bend, marks)

    def _category(self, name: str, values: np.ndarray) -> Category | str:
        counts = Counter(v for v in values if v is not None)
        absent = len(values) - sum(counts.values())
        if not counts:
            return "empty"
        if len(counts) == 1 and absent < 5:
            return "constant"
        if too_many(len(counts), len(values)):
            hint = "; dates must be written 2024-01-31" if dates(list(counts)) else ""
            return f"{_variety(values)}{hint}"
        order = sorted(counts, key=lambda w: (-counts[w], w))
        fewest = 1 if len(values) < 200 else max(2, round(0.002 * len(values)))
        kept = [w for w in order if counts[w] >= fewest][: self.max_categories]
        if not kept:
            return "every word is rare"
        return Category(name, tuple(kept), len(kept) < len(order) or absent > 0)

    def _date(self, name: str, values: np.ndarray) -> Date | str:
        there = values[~np.isnat(values)]
        if len(there) == 0:
            return "empty"
        if there.min() == there.max():
            return "constant"
        centre = there.min() + (there.max() - there.min()) // 2
        days = (there - centre) / _DAY
        span = float(days.max() - days.min())
        circles = []
        if span > 300:
            circles.append("year")
        if span >= 6 and len(np.unique(_turns(there, "week").round(2))) > 1:
            circles.append("week")
        if len(np.unique(_turns(there, "day").round(3))) > 1:
            circles.append("day")
        absent = len(values) - len(there)
        return Date(
            name, str(centre), float(days.std()) or 1.0, tuple(circles), absent >= max(5, 0.01 * len(values))
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        tags.input_tags.string = tags.input_tags.categorical = True
        return tags
