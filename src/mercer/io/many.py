"""Many small things of one form, such as strings, sets and graphs: few arrays in place of many objects."""

from __future__ import annotations

import dataclasses
from itertools import chain
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from mercer import _state
from mercer.io.arrays import is_portable
from mercer.io.errors import ModelFileError
from mercer.io.kinds import Kind
from mercer.io.objects import classes, name_of

_TOKENS = (str, bytes, int)


class RaggedKind(Kind):
    """Bytes, tuples of tokens, or arrays that differ in their number of rows, all of them one after another.

    of : what they are
    values : all bytes, all rows, or the places of all tokens in `letters`
    starts : where each of them begins, and where the last one ends
    """

    name = "ragged"
    fields = ("of", "values", "starts", "letters")

    def takes(self, x):
        return _is_list(x) and _form(x) is not None

    def encode(self, x, put, encoder, path):
        form, letters, values = _form(x), None, x
        if form == "bytes":
            values = np.frombuffer(b"".join(x), np.uint8)
        elif form == "tuple":
            known: dict[Any, int] = {}
            every = chain.from_iterable(x)
            # 1 and "1" are not equal, and tokens of other types are not there.
            values = np.fromiter((known.setdefault(token, len(known)) for token in every), np.int64)
            letters = list(known)
        else:
            values = np.concatenate(list(x))
        starts = np.cumsum([0, *map(len, x)], dtype=np.int64)
        parts = {"values": values, "starts": starts, "letters": letters}
        return {"of": form, **{name: put(part, f".{name}") for name, part in parts.items()}}

    def decode(self, row, get, decoder):
        form, values, starts = row["of"], get(row["values"]), get(row["starts"])
        plain = isinstance(values, np.ndarray) and values.ndim > 0 and _state.fits(starts, _STARTS)
        if not plain or len(starts) < 2 or starts[0] != 0 or starts[-1] != len(values):
            raise ModelFileError("many things in one array do not begin or end there")
        if (np.diff(starts) < 0).any():
            raise ModelFileError("many things in one array end before they begin")
        whole: Any = values
        if form == "bytes" and values.dtype == np.uint8 and values.ndim == 1:
            whole = values.tobytes()
        elif form == "tuple":
            letters = get(row["letters"])
            fine = isinstance(letters, list) and all(type(letter) in _TOKENS for letter in letters)
            if not fine or not _state.positions(values, len(letters)):
                raise ModelFileError("tokens are not in the list of those there are")
            whole = tuple(letters[i] for i in values.tolist())
        elif form == "array":
            whole.flags.writeable = False
        else:
            raise ModelFileError(f"it holds many things of the unknown form {str(form)[:80]!r}")
        return _listed([whole[a:b] for a, b in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)])


class RecordsKind(Kind):
    """Objects of one dataclass of mercer's, field by field."""

    name = "records"
    fields = ("class", "columns")

    def takes(self, x):
        return _is_list(x) and _is_record(type(x[0])) and all(type(v) is type(x[0]) for v in x)

    def encode(self, x, put, encoder, path):
        cls: Any = type(x[0])
        columns = {name: _column([getattr(v, name) for v in x]) for name in _state.parameters_of(cls)}
        return {
            "class": name_of(cls),
            "columns": {name: put(column, f"[…].{name}") for name, column in columns.items()},
        }

    def decode(self, row, get, decoder):
        cls = classes().get(row["class"]) if isinstance(row["class"], str) else None
        if cls is None or not _is_record(cls) or not isinstance(row["columns"], dict):
            raise ModelFileError(f"it holds many objects of class {str(row['class'])[:80]!r}")
        columns = {name: get(said) for name, said in row["columns"].items()}
        if set(columns) != set(_state.parameters_of(cls)) or not all(map(_is_column, columns.values())):
            raise ModelFileError(f"many objects of class {cls.__name__} are made of other parts")
        rows = zip(*(column.tolist() for column in columns.values()), strict=True)
        return _listed([_state.made(cls, dict(zip(columns, values, strict=True)), {}) for values in rows])


_STARTS = _state.ArraySpec("i8", None)


def _is_list(x: Any) -> bool:
    return type(x) is np.ndarray and x.dtype == object and x.ndim == 1 and len(x) > 0


def _is_column(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.ndim == 1


def _is_record(cls: type) -> bool:
    """Is it a dataclass of mercer's that is all in its fields?"""
    made = dataclasses.is_dataclass(cls) and not issubclass(cls, BaseEstimator) and name_of(cls) is not None
    return made and not set(_state.holds_of(cls)) - set(_state.parameters_of(cls))


def _form(x: np.ndarray) -> str | None:
    """What all of them are; None if they have to be written one by one."""
    if all(type(v) is bytes for v in x):
        return "bytes"
    if all(type(v) is tuple and all(type(token) in _TOKENS for token in v) for v in x):
        return "tuple"
    first = x[0]
    # Others may still change, and are kept apart for that.
    if not all(type(v) is np.ndarray and v.ndim > 0 and not v.flags.writeable for v in x):
        return None
    alike = all(v.dtype == first.dtype and v.shape[1:] == first.shape[1:] for v in x)
    return "array" if alike and (first.dtype == object or is_portable(first)) else None


def _column(values: list[Any]) -> np.ndarray:
    if all(type(v) is int and abs(v) < 1 << 62 for v in values):
        return np.array(values, np.int64)
    return _listed(values)


def _listed(values: list[Any]) -> np.ndarray:
    out = np.empty(len(values), object)
    for i, value in enumerate(values):
        out[i] = value
    return out
