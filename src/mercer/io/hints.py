"""Do values fit the types a dataclass declares? Enough of typing for plain data, and lenient beyond it."""

from __future__ import annotations

import collections.abc
import dataclasses
import inspect
import numbers
import sys
import types
import typing
from functools import cache
from typing import Any

import numpy as np

from mercer.io import registry

_LISTS = (list, tuple, collections.abc.Sequence, collections.abc.Iterable)
_TABLES = (dict, collections.abc.Mapping)


def misfit(x: Any) -> str | None:
    """The name of a field of a dataclass whose value is not of the declared type."""
    cls: Any = type(x)
    for name, hint in hints_of(cls).items():
        if not fits(getattr(x, name), hint):
            return name
    return None


def fits(value: Any, hint: Any) -> bool:
    """Is value of this type? True for types that are not understood."""
    origin, inside = typing.get_origin(hint) or hint, typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, h) for h in inside)
    if origin is typing.Literal:
        return any(type(value) is type(v) and value == v for v in inside)
    if origin is None or origin is type(None):
        return value is None
    if origin in (float, int, complex):
        return isinstance(value, numbers.Number) and not isinstance(value, (bool, np.bool_))
    if origin is bool:
        return isinstance(value, (bool, np.bool_))
    if origin in _LISTS:
        return isinstance(value, (list, tuple)) and _items_fit(value, origin, inside)
    if origin in _TABLES:
        if not isinstance(value, dict):
            return False
        return not inside or all(fits(k, inside[0]) and fits(v, inside[1]) for k, v in value.items())
    if origin is Any or not isinstance(origin, type):
        return True
    return isinstance(value, origin)


def _items_fit(value: Any, origin: Any, inside: tuple[Any, ...]) -> bool:
    if origin is tuple and inside and inside[-1] is not Ellipsis:
        return len(value) == len(inside) and all(map(fits, value, inside))
    return not inside or all(fits(v, inside[0]) for v in value)


@cache
def hints_of(cls: Any) -> dict[str, Any]:
    """Types of the fields, those that can be told."""
    own = (c for cls in registry.classes().values() for c in cls.__mro__)
    known = {c.__name__: c for c in own if registry.room_of(c) is not None}
    found = {}
    for field in dataclasses.fields(cls):
        home = next(c for c in cls.__mro__ if field.name in inspect.get_annotations(c))
        alone = type("_", (), {"__annotations__": {field.name: field.type}})
        try:
            names = {**known, **vars(sys.modules[home.__module__])}
            found.update(typing.get_type_hints(alone, globalns=names))
        except NameError:  # a name that is imported for type checkers only
            continue
    return found
