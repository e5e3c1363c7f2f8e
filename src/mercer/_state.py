"""What an object remembers: declared by its class, checked there, written and read by `mercer.io`.

An object is made again from its **parameters**, which its constructor takes, and its **state**, the
attributes it has besides. Of values and dataclasses the parameters are all; of an estimator the state is what
`fit` has set. So most classes say nothing. One that has more to say, or to require, has some of these:

    holds                          attribute → what it must be: a type, an `ArraySpec`, a `NumberSpec`, or a
                                   tuple of these, one of which it must be; a subclass adds to its bases'
    fitted_by                      the attribute that is there once the others in `holds` are
    check_parameters()             ValueError if an estimator could not be fitted with what it was given
    check_state()                  ValueError if what is fitted does not belong together
    try_state()                    calls once what predicts: parts of the wrong kind show there
    from_state(parameters, state)  makes the object, where the constructor alone would not do
    stays_here                     parameters that mean nothing elsewhere, and are not written: a connection

Loading a file checks and tries every object in it, so that one that was made by hand fails there, and not
later in a loop that looks up by number what is not there.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import inspect
import math
import numbers
import types
import typing
from functools import cache, cached_property
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

_LISTS = (list, tuple, collections.abc.Sequence, collections.abc.Iterable)
_TABLES = (dict, collections.abc.Mapping)


# -- what attributes may be -----------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, repr=False)
class NumberSpec:
    """A finite number of this type, from `least` to `most`."""

    type: type
    least: float = -math.inf
    most: float = math.inf

    def takes(self, value: Any, x: Any, sizes: dict[str, int]) -> bool:
        typed = isinstance(value, self.type) and not isinstance(value, bool)
        return typed and self.least <= value <= self.most and math.isfinite(value)

    def __repr__(self) -> str:
        return f"a finite {self.type.__name__} from {self.least} to {self.most}"


# Examples are counted in 64-bit integers, and in doubles, too.
MOST = 1 << 53
COUNT, ONE_OR_MORE = NumberSpec(int, 0, MOST), NumberSpec(int, 1, MOST)
NUMBER, NOT_NEGATIVE, POSITIVE = NumberSpec(float), NumberSpec(float, 0), NumberSpec(float, math.ulp(0.0))


class ArraySpec:
    """An array: ``ArraySpec("f8", "n", 2)`` has n rows and two columns of doubles.

    dtype : "f", "i": of any width; "f8", "i8": of this one; "": any
    axes : numbers, None for any, or names: of an attribute that says how many, or one number throughout
    finite : no NaN and no infinity
    """

    def __init__(self, dtype: str, *axes: int | str | None, finite: bool = False):
        self.dtype, self.axes, self.finite = dtype, axes, finite

    def takes(self, a: Any, x: Any, sizes: dict[str, int]) -> bool:
        if not isinstance(a, np.ndarray) or a.ndim != len(self.axes):
            return False
        for axis, n in zip(self.axes, a.shape):
            wanted = sizes.setdefault(axis, getattr(x, axis, n)) if isinstance(axis, str) else axis
            if wanted is not None and wanted != n:
                return False
        typed = (a.dtype.kind + str(a.dtype.itemsize)).startswith(self.dtype)
        return typed and (not self.finite or bool(np.isfinite(a).all()))

    def __repr__(self) -> str:
        axes = ", ".join(map(str, self.axes))
        return f"an array {self.dtype} of shape ({axes}){', all finite' * self.finite}"


def doubles(*axes: int | str | None) -> ArraySpec:
    """Finite numbers of double precision."""
    return ArraySpec("f8", *axes, finite=True)


def fits(value: Any, hint: Any, of: Any = None, sizes: dict[str, int] | None = None) -> bool:
    """Is value, an attribute `of` an object, of this type? True for types that are not understood."""
    if isinstance(hint, (NumberSpec, ArraySpec)):
        return hint.takes(value, of, {} if sizes is None else sizes)
    if isinstance(hint, tuple):
        return any(fits(value, h, of, sizes) for h in hint)
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


def positions(a: Any, size: int) -> bool:
    """Is it an index array into something of this size?"""
    fine = isinstance(a, np.ndarray) and a.ndim == 1 and a.dtype.kind in "iu"
    return fine and (len(a) == 0 or (int(a.min()) >= 0 and int(a.max()) < size))


def require(fine: Any, what: str) -> None:
    """Raise ValueError, saying what, unless it is fine."""
    if not fine:
        raise ValueError(what)


def require_held(x: Any, holds: dict[str, Any]) -> None:
    """Require that attributes are what they must be."""
    sizes: dict[str, int] = {}
    for name, wanted in holds.items():
        if not fits(getattr(x, name, None), wanted, x, sizes):
            raise ValueError(f"{name} of a {type(x).__name__} is not {_described(wanted)}")


def _described(wanted: Any) -> str:
    if isinstance(wanted, tuple):
        return " or ".join(map(_described, wanted))
    return wanted.__name__ if isinstance(wanted, type) else str(wanted)


# -- what classes declare -------------------------------------------------------------------------


@cache
def parameters_of(cls: Any) -> tuple[str, ...]:
    """Names of what the constructor takes; none of a class that holds all of it, and is made without."""
    if not issubclass(cls, BaseEstimator) and dataclasses.is_dataclass(cls):
        return tuple(f.name for f in dataclasses.fields(cls) if f.init)
    names = () if cls.__init__ is object.__init__ else tuple(inspect.signature(cls).parameters)
    return () if set(names) <= set(holds_of(cls)) else names


@cache
def holds_of(cls: Any) -> dict[str, Any]:
    """What a class and its bases declare in `holds`."""
    return {k: v for c in reversed(cls.__mro__) for k, v in vars(c).get("holds", {}).items()}


def _besides(cls: Any) -> list[str]:
    return [name for name in holds_of(cls) if name not in parameters_of(cls)]


@cache
def types_of(cls: Any) -> dict[str, Any]:
    """Types of the fields of a dataclass, where `holds` does not say it better."""
    try:
        hints = typing.get_type_hints(cls)
    except NameError:  # a name that is imported for type checkers only: the class checks itself
        return {}
    fields = {field.name for field in dataclasses.fields(cls)} - set(holds_of(cls))
    return {name: hint for name, hint in hints.items() if name in fields}


def is_storable(cls: Any) -> bool:
    """Can it be made again from data: a dataclass, an estimator, or a class that declares what it holds?"""
    if not inspect.isclass(cls) or inspect.isabstract(cls):
        return False
    if issubclass(cls, BaseEstimator):
        return cls.__init__ is not object.__init__  # or it is what machines have in common
    return dataclasses.is_dataclass(cls) or hasattr(cls, "holds")


def is_fitted(x: Any) -> bool:
    """Has it all that its class holds?"""
    mark = getattr(type(x), "fitted_by", None)
    return mark is None or mark in vars(x)


# -- objects --------------------------------------------------------------------------------------


def state_of(x: Any) -> dict[str, Any]:
    """What an object knows besides its parameters, but for cached properties, which are made again."""
    cls: Any = type(x)
    if isinstance(x, BaseEstimator):
        known = x.__getstate__()
        made_again = {n for n in known if isinstance(inspect.getattr_static(cls, n, None), cached_property)}
        return {n: v for n, v in known.items() if n not in parameters_of(cls) and n not in made_again}
    return {name: vars(x)[name] for name in _besides(cls) if name in vars(x)}


def made(cls: Any, parameters: dict[str, Any], state: dict[str, Any]) -> Any:
    """The object with these parameters and this state, checked and tried."""
    if not issubclass(cls, BaseEstimator):
        must = {name for name in _besides(cls) if not hasattr(cls, name)}
        require(must <= set(state) <= set(_besides(cls)), f"a {cls.__name__} is made of other parts")
    if hasattr(cls, "from_state"):
        x = cls.from_state(parameters, state)
    else:
        x = cls(**parameters)
        vars(x).update(state)
    check(x)
    try_out(x)
    return x


def check(x: Any) -> None:
    """Raise ValueError (or what a wrong type causes) if the object can not be what it says it is."""
    cls: Any = type(x)  # whose methods are called: an attribute of the object may come from a file
    if isinstance(x, BaseEstimator):
        _check_inputs(vars(x))
    elif dataclasses.is_dataclass(x):
        require_held(x, types_of(cls))
    if hasattr(cls, "check_parameters"):
        cls.check_parameters(x)
    if is_fitted(x):
        require_held(x, holds_of(cls))
        if hasattr(cls, "check_state"):
            cls.check_state(x)


def try_out(x: Any) -> None:
    """Call once what predicts; whatever error shows that a part is of the wrong kind comes out."""
    cls: Any = type(x)
    if is_fitted(x) and hasattr(cls, "try_state"):
        with np.errstate(all="ignore"):
            cls.try_state(x)


def _check_inputs(known: dict[str, Any]) -> None:
    """What every fitted estimator remembers of its input."""
    width, names = known.get("n_features_in_"), known.get("feature_names_in_")
    require(width is None or (type(width) is int and width >= 0), "n_features_in_ is no number of features")
    if names is not None:
        fine = isinstance(names, np.ndarray) and names.ndim == 1 and all(isinstance(n, str) for n in names)
        require(fine and len(names) == width, "feature_names_in_ does not name the features")
