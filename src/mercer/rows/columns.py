"""Which columns of a table are points, targets and weights, and how they become arrays."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np

# Whole numbers of so few bits, and truth values, are the same numbers in float32.
_EXACT = ("bool", "int8", "int16", "uint8", "uint16", "halffloat", "float")
# What pandas calls row numbers that it writes into a table.
_PANDAS = re.compile(r"__index_level_\d+__$")
# Names that an error lists.
_NAMED = 10
WORDS, NUMBERS = "words", "numbers"


@dataclass(frozen=True, eq=False)
class CodedWords:
    """Words: which of some known ones each is, −1 where one is missing.

    >>> CodedWords(np.array([0, 1, 0]), ("no", "yes")).array()
    array(['no', 'yes', 'no'], dtype='<U3')
    """

    codes: np.ndarray
    words: tuple[str, ...]

    def array(self) -> np.ndarray:
        """The words themselves; objects where some are missing, which are None."""
        if (self.codes < 0).any():
            return np.array([*self.words, None], dtype=object)[self.codes]
        return np.array(self.words or ("",), dtype=str)[self.codes]


@dataclass(frozen=True, eq=False)
class WholeNumbers:
    """Whole numbers or truth values: as they are, and which of them are missing.

    >>> WholeNumbers(np.array([7, 0]), np.array([False, True])).array()
    masked_array(data=[7, --],
                 mask=[False,  True],
           fill_value=999999)
    """

    values: np.ndarray
    absent: np.ndarray

    def array(self) -> np.ndarray:
        """The numbers themselves; where some are missing, these are masked."""
        return np.ma.array(self.values, mask=self.absent) if self.absent.any() else self.values


@dataclass(frozen=True)
class ChosenColumns:
    """A choice of columns.

    Attributes
    ----------
    features : names of the columns that are points
    target : name or names (then y has a column for each), or None
    weight : name, or None
    dtype : of the points
    y_dtype : of the targets; words are text of any length
    """

    features: tuple[str, ...]
    target: str | tuple[str, ...] | None
    weight: str | None
    dtype: np.dtype
    y_dtype: np.dtype | None

    @property
    def targets(self) -> tuple[str, ...]:
        """The names of all target columns."""
        if self.target is None:
            return ()
        return (self.target,) if isinstance(self.target, str) else self.target

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that are read, each once."""
        weight = () if self.weight is None else (self.weight,)
        return tuple(dict.fromkeys((*self.features, *self.targets, *weight)))

    @property
    def words(self) -> bool:
        """Are the targets words?"""
        return self.y_dtype is not None and self.y_dtype.kind == "U"

    @property
    def whole(self) -> bool:
        """Are the targets whole numbers, or truth values, among which there is none that says: missing?"""
        return self.y_dtype is not None and self.y_dtype.kind in "iub"

    def points(self, batches: Sequence[Any]) -> np.ndarray:
        """The points of some batches, NaN where a number is missing."""
        X = np.empty((sum(map(len, batches)), len(self.features)), dtype=self.dtype)
        first = 0
        for batch in batches:
            for j, name in enumerate(self.features):
                X[first : first + len(batch), j] = numbers(batch.column(name))
            first += len(batch)
        return X

    def y(self, batches: Sequence[Any]) -> np.ndarray | CodedWords | WholeNumbers | None:
        """The targets of some batches. What is missing is NaN among numbers with a fraction."""
        if self.target is None:
            return None
        if self.words or self.whole:
            columns = [batch.column(self.target) for batch in batches]
            return words(columns) if self.words else whole_numbers(columns, self.y_dtype)
        parts = []
        for batch in batches:
            found = [numbers(batch.column(name)) for name in self.targets]
            found = [column.astype(self.y_dtype, copy=False) for column in found]
            parts.append(found[0] if isinstance(self.target, str) else np.stack(found, axis=1))
        return np.concatenate(parts)

    def w(self, batches: Sequence[Any]) -> np.ndarray | None:
        """The weights of some batches."""
        if self.weight is None:
            return None
        found = [numbers(batch.column(self.weight)) for batch in batches]
        return np.concatenate(found).astype(np.float64, copy=False)


def choose(
    schema: Any,
    name: str,
    columns: Sequence[str] | None = None,
    target: str | Sequence[str] | None = None,
    weight: str | None = None,
    dtype: Any = None,
) -> ChosenColumns:
    """A choice of a table's columns, checked: they are there, and points and weights are numbers.

    Parameters
    ----------
    schema : pyarrow.Schema
    name : str
        What the table is called in messages.
    columns : names of the points' columns; all others if None
    target, weight : names, or None
    dtype : float32 or float64; float32 if None and all columns are exact in it, else float64
    """
    target = target if target is None or isinstance(target, str) else tuple(target)
    if target == ():
        raise ValueError("y names no column: y=None means that there are no targets")
    asked = ChosenColumns((), target, weight, np.dtype(np.float64), None)
    for column in asked.names:
        known(column, schema.names, name)
    if columns is None:
        features = tuple(c for c in schema.names if c not in asked.names and not _PANDAS.match(c))
        if "" in features:
            raise ValueError(
                f"{name} has a column without a name (pandas writes its row numbers so, unless index=False): "
                "name the columns that are features in columns="
            )
    else:
        features = listed(columns, schema.names, name)
        if both := set(features) & set(asked.targets):
            raise ValueError(f"column {min(both)!r} can't be a feature and the target at once")
    if not features:
        raise ValueError(f"{name} has no column besides the target's and the weights': there are no points")
    for column in (*features, *(() if weight is None else (weight,))):
        _require_numbers(column, schema, name)
    return ChosenColumns(
        features, target, weight, _dtype(dtype, schema, features), _y_dtype(schema, target, name)
    )


def listed(columns: Sequence[str], names: Sequence[str], name: str) -> tuple[str, ...]:
    """Columns that are asked for by their names: all are there, and none twice."""
    if isinstance(columns, str):
        raise ValueError(f"columns must be a list of names, such as [{columns!r}]")
    for column in columns:
        known(column, names, name)
    if len(set(columns)) < len(columns):
        raise ValueError("columns names a column twice")
    return tuple(columns)


def known(column: Any, names: Sequence[str], name: str) -> None:
    """Is there such a column? If not, the nearest name is said."""
    if column in names:
        return
    near = get_close_matches(str(column), names, 1, 0.5)
    more = f", … ({len(names):,} in all)" if len(names) > _NAMED else ""
    hint = f"did you mean {near[0]!r}?" if near else "it has " + ", ".join(map(repr, names[:_NAMED])) + more
    raise ValueError(f"{name} has no column {column!r}: {hint}")


def kind_of(kind: Any) -> str | None:
    """What an Arrow type is to us: numbers, words, or neither."""
    import pyarrow.types as is_

    if is_.is_dictionary(kind):
        kind = kind.value_type
    if is_.is_integer(kind) or is_.is_floating(kind) or is_.is_decimal(kind) or is_.is_boolean(kind):
        return NUMBERS
    if is_.is_string(kind) or is_.is_large_string(kind) or is_.is_string_view(kind):
        return WORDS
    return None


def numbers(column: Any) -> np.ndarray:
    """An Arrow array of numbers for NumPy: NaN where one is missing, so floats if any is."""
    import pyarrow as pa
    import pyarrow.types as is_

    if is_.is_dictionary(column.type):
        column = column.dictionary_decode()
    if is_.is_decimal(column.type):
        column = column.cast(pa.float64(), safe=False)
    if is_.is_boolean(column.type):
        whole = column.cast(pa.uint8()).to_numpy(zero_copy_only=False)
        return whole if column.null_count else whole.astype(bool)
    if is_.is_null(column.type):
        return np.full(len(column), np.nan)
    return column.to_numpy(zero_copy_only=False)


def whole_numbers(columns: Sequence[Any], dtype: Any) -> WholeNumbers:
    """Arrow arrays of whole numbers or truth values, one after the other."""
    import pyarrow.types as is_

    parts, gaps = [], []
    for column in columns:
        column = column.dictionary_decode() if is_.is_dictionary(column.type) else column
        gaps.append(column.is_null().to_numpy(zero_copy_only=False))
        # Anything can stand where one is missing. What is taken out stays exact, which no float would be.
        parts.append(np.zeros(len(column), dtype=dtype))
        parts[-1][~gaps[-1]] = numbers(column.drop_null() if column.null_count else column)
    return WholeNumbers(np.concatenate(parts), np.concatenate(gaps))


def words(columns: Sequence[Any]) -> CodedWords:
    """Arrow arrays of words, one after the other; an empty word is a missing one."""
    import pyarrow as pa

    def plain(column: Any) -> Any:
        column = column.cast(pa.string()) if pa.types.is_string_view(column.type) else column
        return column if pa.types.is_dictionary(column.type) else column.dictionary_encode()

    coded = [plain(column) for column in columns]
    known: dict[str | None, int] = {None: -1, "": -1}
    parts = []
    for column in coded:
        listed = [known.setdefault(word, len(known) - 2) for word in column.dictionary.to_pylist()]
        own = column.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
        parts.append(np.array([*listed, -1], dtype=np.int32)[own])
    return CodedWords(np.concatenate(parts), tuple(word for word in known if word))


def _require_numbers(column: str, schema: Any, name: str) -> None:
    kind = schema.field(column).type
    if kind_of(kind) == NUMBERS:
        return
    raise ValueError(
        f"column {column!r} of {name} holds no numbers ({kind}): leave it out, by naming the others in "
        "mercer.rows.open_rows(…, columns=[…]), or let mercer.fit encode words and dates"
    )


def _dtype(dtype: Any, schema: Any, features: Sequence[str]) -> np.dtype:
    if dtype is not None:
        asked = np.dtype(dtype)
        if asked not in (np.float32, np.float64):
            raise ValueError(f"dtype must be float32 or float64, got {asked}")
        return asked
    kinds = [str(schema.field(column).type) for column in features]
    small = all(kind in _EXACT for kind in kinds) and any(kind in ("float", "halffloat") for kind in kinds)
    return np.dtype(np.float32 if small else np.float64)


def _y_dtype(schema: Any, target: str | tuple[str, ...] | None, name: str) -> np.dtype | None:
    if target is None:
        return None
    kinds = {}
    for column in (target,) if isinstance(target, str) else target:
        kind = schema.field(column).type
        kinds[column] = kind_of(kind)
        if kinds[column] is None or (kinds[column] == WORDS and not isinstance(target, str)):
            raise ValueError(
                f"column {column!r} of {name} can't be a target: it holds {kind}, and targets are numbers"
                + (" or words" if isinstance(target, str) else " where there are several")
            )
    if WORDS in kinds.values():
        return np.dtype(str)
    if not isinstance(target, str):
        return np.dtype(np.float64)
    return _number_dtype(schema.field(target).type)


def _number_dtype(kind: Any) -> np.dtype:
    import pyarrow.types as is_

    if is_.is_dictionary(kind):
        kind = kind.value_type
    if is_.is_decimal(kind):
        return np.dtype(np.float64)
    return np.dtype(kind.to_pandas_dtype())
