"""Which classes a file may name: those of mercer's own rooms, found and not listed.

A class is called by its room and its own name, as in "kernels.Gaussian": moving it to another file of
the room changes nothing. A name from a file is looked up here; it is never imported.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
from functools import cache
from typing import Any

from sklearn.base import BaseEstimator

import mercer
from mercer._params import Params
from mercer.functions import Function

# Rooms above this one, and those that hold nothing but tests of others.
_ABOVE = {"io", "plot", "cli", "lab", "testing", "tables.report", "tables.serve", "tables.stream"}


def room_of(cls: type) -> str | None:
    """The room of mercer a class is defined in."""
    package, _, rest = cls.__module__.removeprefix("mercer.tables.").rpartition("mercer.")
    return rest.partition(".")[0] if rest and not package else None


def is_storable(cls: Any) -> bool:
    """Values, functions, estimators and dataclasses, which are made by a constructor from data; and classes
    that say what they are made of (`_kept`, names of attributes)."""
    if not inspect.isclass(cls) or inspect.isabstract(cls):
        return False
    if issubclass(cls, BaseEstimator) and cls.__init__ is object.__init__:
        return False  # what machines have in common
    if issubclass(cls, (Params, Function, BaseEstimator)) or dataclasses.is_dataclass(cls):
        return True
    return hasattr(cls, "_kept")


# Classes that had another name when files began to be written, and keep it there.
_CALLED = {"kernels.OnColumns": "kernels.Columns"}


def _called(cls: type) -> str:
    name = f"{room_of(cls)}.{cls.__name__}"
    return _CALLED.get(name, name)


def name_of(cls: type) -> str | None:
    """The name of a class in files; None if it has none."""
    name = _called(cls)
    return name if classes().get(name) is cls else None


@cache
def classes() -> dict[str, type]:
    """Every class that files may name."""
    found: dict[str, type] = {}
    for room in pkgutil.iter_modules(mercer.__path__):
        if room.name.startswith("_") or room.name in _ABOVE:
            continue
        for module in _modules(f"mercer.{room.name}"):
            for cls in vars(module).values():
                if getattr(cls, "__module__", None) == module.__name__ and is_storable(cls):
                    found[_called(cls)] = cls
    return found


def _modules(name: str) -> list[Any]:
    """A module and all below it."""
    try:
        module = importlib.import_module(name)
    except ImportError:  # it needs an optional package that is not installed
        return []
    below = getattr(module, "__path__", ())
    names = [f"{name}.{info.name}" for info in pkgutil.iter_modules(below)]
    return [module, *(m for n in names if n.removeprefix("mercer.") not in _ABOVE for m in _modules(n))]
