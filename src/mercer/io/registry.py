"""Which classes a file may name: those of mercer's own rooms, found and not listed.

A class is called by its room and its own name, as in "kernels.Gaussian": moving it to another file of
the room changes nothing. A name from a file is looked up here; it is never imported.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import Any

import mercer
from mercer._state import is_storable

# Rooms that hold nothing: they show, serve, write down or test what others do.
_WITHOUT = {"codegen", "io", "onnx", "plot", "cli", "lab", "testing", "tables.report", "tables.serve"}


def room_of(cls: type) -> str | None:
    """The room of mercer a class is defined in."""
    package, _, rest = cls.__module__.removeprefix("mercer.tables.").rpartition("mercer.")
    return rest.partition(".")[0] if rest and not package else None


def name_of(cls: type) -> str | None:
    """The name of a class in files; None if it has none."""
    name = f"{room_of(cls)}.{cls.__name__}"
    return name if classes().get(name) is cls else None


@cache
def classes() -> dict[str, type]:
    """Every class that files may name."""
    found: dict[str, type] = {}
    for room in pkgutil.iter_modules(mercer.__path__):
        if room.name.startswith("_") or room.name in _WITHOUT:
            continue
        for module in _modules(f"mercer.{room.name}"):
            for cls in vars(module).values():
                if getattr(cls, "__module__", None) == module.__name__ and is_storable(cls):
                    found[f"{room_of(cls)}.{cls.__name__}"] = cls
    return found


def _modules(name: str) -> list[Any]:
    """A module and all below it."""
    try:
        module = importlib.import_module(name)
    except ImportError:  # it needs an optional package that is not installed
        return []
    below = getattr(module, "__path__", ())
    names = [f"{name}.{info.name}" for info in pkgutil.iter_modules(below)]
    return [module, *(m for n in names if n.removeprefix("mercer.") not in _WITHOUT for m in _modules(n))]
