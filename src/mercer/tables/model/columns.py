"""From a table to points: numbers scaled, categories spread out, dates taken apart, texts beside."""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mercer._state import positions, require
from mercer.tables.model.encoders import DAY, Category, Date, Number, turns
from mercer.tables.model.level_codes import CodedCategory, codes_of, fold_of, in_spreads
from mercer.tables.model.schema import Schema
from mercer.tables.model.texts import Text, dates, too_many
from mercer.tables.reading import Table

# Where squashing bends: at three spreads a number counts as 2.1, at infinity as 3.
_BEND = 3.0
_IDENTIFIER = re.compile(r"(^|[^a-z])(id|index|idx|nr|no|number|row|key|unnamed: ?\d+)$|^unnamed")
# Where levels without a column of their own have such a share of the rows, a category is coded by the target;
# then only levels with such a share, and so many rows, have a column besides.
_WITHOUT, _FREQUENT, _FEWEST = 0.05, 0.01, 10
# Words of which so many differ say nothing about rows with other words.
_NAMES, _ALONE = 50, 0.9
# Integers with more different values than these are numbers, not labels.
_LABELS = 20


def _is_identifier(name: str, values: np.ndarray) -> bool:
    """Whole numbers that count rows, with few gaps, under a name that says so; else it could be a time."""
    step = np.diff(np.sort(values))  # in any order, so that parts of a table are judged as the whole is
    counts = len(values) >= 20 and bool((step >= 1).all())
    return counts and step.sum() < 1.5 * len(values) and bool(_IDENTIFIER.search(name.lower()))


def _variety(values: np.ndarray) -> str:
    different = len({v for v in values if v is not None})
    return f"{different:,} different values in {len(values):,} rows: names or free text"


def _numbers(y: Any, rows: int) -> np.ndarray:
    """(n, t) targets: numbers as they are; of labels a column each, one for two of them."""
    values = np.asarray(y)
    if values.shape[:1] != (rows,) or values.ndim > 2:
        raise ValueError(f"the table has {rows:,} rows, and the target is an array of shape {values.shape}")
    if values.ndim == 2 and values.shape[1] > 1:
        return values.astype(np.float64)
    values = values.ravel()
    if values.dtype.kind not in "f":
        words = values.astype(str) if values.dtype.kind == "O" else values
        labels, place = np.unique(words, return_inverse=True)
        if values.dtype.kind not in "iu" or len(labels) <= _LABELS:
            return np.eye(len(labels))[place][:, -1:] if len(labels) < 3 else np.eye(len(labels))[place]
    return values[:, None].astype(np.float64)


class Columns(TransformerMixin, BaseEstimator):
    """Encode the columns of a table as numbers a kernel can measure distances between.

    Numbers are centred and divided by their standard deviation. Categories become one column a level (a
    single one for two levels); rare levels and words never seen share a column. Where too many levels share
    it and a target is given, the category becomes the mean of the target in each level, drawn to that of all
    rows as far as it is noise; missing words are a level then, and words never seen are average. Dates become
    time, and cosine and sine of the year, the week and the day where they go round. Missing values are filled
    with the middle and marked in a column of their own. Columns that say nothing (constant, empty, nearly a
    different word in every row) are left out, with the reason in ``dropped_``.

    Codes by the target know the rows they were learned from: a machine is fitted to `training_points` of
    these rows (as `fit_transform` gives them), whose codes come from the targets of other rows, and never to
    what `transform`, which is for new rows, makes of them.

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
    encoders_ : tuple of Number, Category, CodedCategory, Date and, at the end, Text
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

    Forty shops, five rows each:

    >>> shops = [f"shop {i % 40}" for i in range(200)]
    >>> sales = [float(i % 40) for i in range(200)]
    >>> columns = Columns().fit({"shop": shops}, sales)
    >>> columns.get_feature_names_out().tolist()
    ['shop by target']
    >>> columns.transform({"shop": ["shop 0", "shop 39", "new"]}).ravel().round(2).tolist()
    [-1.69, 1.69, 0.0]
    """

    def __init__(self, outliers="keep", max_categories=30, texts=()):
        self.outliers = outliers
        self.max_categories = max_categories
        self.texts = texts

    def fit(self, X: Any, y: Any = None) -> Columns:
        """Learn centres, spreads and levels from a table, and what levels mean from targets.

        Parameters
        ----------
        X : table
        y : (n,) numbers or labels, or (n, t) numbers, optional
            Words, truth values and integers of at most 20 values are labels. Without a target the rarer words
            of a category can't be told apart.
        """
        if self.outliers not in ("keep", "squash"):
            raise ValueError(f"outliers must be 'keep' or 'squash', got {self.outliers!r}")
        table = Table.of(X)
        if unknown := [name for name in self.texts if name not in table or table.kind(name) != "text"]:
            raise ValueError(f"texts must name columns of text, got {unknown[0]!r}")
        self.schema_ = Schema.of(table)
        self.dropped_: dict[str, str] = {}
        encoders: list[Any] = []
        makers: dict[str, Any] = {"number": self._number, "date": self._date}
        makers["text"] = partial(self._category, y=y)
        for name in table.names:
            if name in self.texts:
                continue
            made = makers[table.kind(name)](name, table[name])
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

    def fit_transform(self, X: Any, y: Any = None, units: Any = None) -> np.ndarray:
        """Fit, and the points of these rows to fit a machine to: `training_points`."""
        return self.fit(X, y).training_points(X, y, units)

    def training_points(self, X: Any, y: Any, units: Any = None) -> np.ndarray:
        """(n, outputs) points of the rows that it was fitted to, for a machine to learn from.

        What `transform` gives, but for codes by the target, which come for each fifth of the rows from the
        others. The same rows have the same points every time.

        Parameters
        ----------
        X, y : the table and the target it was fitted to
        units : (n,) numbers, optional
            Rows with the same one (copies, rows of a patient) do not know each other's targets either.
        """
        if not self.coded:
            return self.transform(X)
        table = self.schema_.conform(X, self.dropped_)
        z, fold = in_spreads(_numbers(y, len(table))), fold_of(units, len(table))

        def points(e: Any) -> np.ndarray:
            values = table[e.name]
            return e.encode_learned(values, z, fold) if isinstance(e, CodedCategory) else e.encode(values)

        return np.hstack([points(e) for e in self.encoders_])

    def unseen(self, X: Any) -> dict[str, float]:
        """The share of rows with a level that `fit` had not seen, of each category coded by the target."""
        table = self.schema_.conform(X, self.dropped_)
        coded = [e for e in self.encoders_ if isinstance(e, CodedCategory)]
        return {e.name: float(np.mean(e.places(table[e.name]) > len(e.levels))) for e in coded}

    @property
    def coded(self) -> tuple[str, ...]:
        """Names of the categories that are coded by the target."""
        return tuple(e.name for e in self.encoders_ if isinstance(e, CodedCategory))

    def with_outputs_of(self, before: Columns, table: Table, y: Any) -> Columns:
        """The same with the outputs of columns that were fitted to other rows; this was to `table` and `y`.

        Length scales of a kernel belong to the outputs it was found for: where a level has come, gone or
        moved, what was a column stays one.
        """
        if self.get_feature_names_out().tolist() == before.get_feature_names_out().tolist():
            return self
        found = {e.name: e for e in self.encoders_}

        def kept(old: Any) -> Any:
            if old.name in found and found[old.name].names_out() == old.names_out():
                return found[old.name]
            if isinstance(old, CodedCategory):
                return old.learned_again(table[old.name], in_spreads(_numbers(y, len(table))))
            return old

        out = Columns(self.outliers, self.max_categories, before.texts)
        out.encoders_ = tuple(map(kept, before.encoders_))
        out.dropped_ = {name: self.dropped_.get(name, why) for name, why in before.dropped_.items()}
        out.schema_ = Schema.of(table).without_words(out.dropped_).with_texts(out.texts)
        out.origin_ = out._origin()
        return out

    def told_apart(self, X: Any) -> np.ndarray:
        """(n, …) what tells rows apart: as encoded, with numbers of levels instead of codes."""
        table = self.schema_.conform(X, self.dropped_)

        def parts(e: Any) -> np.ndarray:
            values = table[e.name]
            return e.places(values)[:, None] if isinstance(e, CodedCategory) else e.encode(values)

        return np.hstack([parts(e) for e in self.encoders_])

    def _origin(self) -> np.ndarray:
        where = {name: i for i, name in enumerate(self.schema_.names)}
        made = self.encoders_
        return np.repeat([where[e.name] for e in made], [len(e.names_out()) for e in made]).astype(np.intp)

    def with_texts(
        self, names: Sequence[str], table: Table, why: str = "whose words did not help"
    ) -> Columns:
        """The same with these texts only; `table` is what it was fitted to, `why` is said of the others."""
        out = Columns(self.outliers, self.max_categories, tuple(names))
        out.encoders_ = tuple(e for e in self.encoders_ if not isinstance(e, Text) or e.name in names)
        others = [name for name in self.texts if name not in names]
        said = {name: f"{_variety(table[name])}, {why}" for name in others}
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
        """(n, outputs) numbers for new rows with the same columns; those in ``dropped_`` may be absent.

        Of Python objects where there are texts: numbers first, then texts.
        """
        check_is_fitted(self, "encoders_")
        table = self.schema_.conform(X, self.dropped_)
        return np.hstack([e.encode(table[e.name]) for e in self.encoders_])

    holds = {
        "schema_": Schema,
        "encoders_": tuple[Number | Category | CodedCategory | Date | Text, ...],
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

    def _category(self, name: str, values: np.ndarray, y: Any = None) -> Category | str:
        counts = Counter(v for v in values if v is not None)
        absent = len(values) - sum(counts.values())
        if not counts:
            return "empty"
        if len(counts) == 1 and absent < 5:
            return "constant"
        some = len(values) - absent
        if too_many(len(counts), len(values)) if y is None else len(counts) > max(_NAMES, _ALONE * some):
            hint = "; dates must be written 2024-01-31" if dates(list(counts)) else ""
            return f"{_variety(values)}{hint}"
        order = sorted(counts, key=lambda w: (-counts[w], w))
        fewest = 1 if len(values) < 200 else max(2, round(0.002 * len(values)))
        kept = [w for w in order if counts[w] >= fewest][: self.max_categories]
        without = order[len(kept) :]
        if y is not None and len(without) > 1 and sum(counts[w] for w in without) > _WITHOUT * len(values):
            return self._coded(name, values, order, counts, in_spreads(_numbers(y, len(values))))
        if not kept:
            return "every word is rare"
        return Category(name, tuple(kept), len(kept) < len(order) or absent > 0)

    def _coded(
        self, name: str, values: np.ndarray, order: list[str], counts: Counter[str], z: np.ndarray
    ) -> CodedCategory:
        fewest = max(_FEWEST, _FREQUENT * len(values))
        own = sum(counts[w] >= fewest for w in order[: self.max_categories])
        bend = _BEND if self.outliers == "squash" else None
        empty = CodedCategory(name, tuple(order), own > 0, own, np.zeros((len(order) + 1, z.shape[1])), bend)
        return replace(empty, codes=codes_of(empty.places(values), z, len(order) + 1))

    def _date(self, name: str, values: np.ndarray) -> Date | str:
        there = values[~np.isnat(values)]
        if len(there) == 0:
            return "empty"
        if there.min() == there.max():
            return "constant"
        centre = there.min() + (there.max() - there.min()) // 2
        days = (there - centre) / DAY
        span = float(days.max() - days.min())
        circles = []
        if span > 300:
            circles.append("year")
        if span >= 6 and len(np.unique(turns(there, "week").round(2))) > 1:
            circles.append("week")
        if len(np.unique(turns(there, "day").round(3))) > 1:
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
