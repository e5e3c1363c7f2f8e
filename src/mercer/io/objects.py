"""Objects of mercer's classes, as their parameters and their state: see `mercer._state`.

What a class remembers, and what must hold of it, the class itself declares. No method is chosen by the file.
Files may name the classes of mercer's own rooms, which are found and not listed, each by its room and its own
name, as in "kernels.Gaussian". A name from a file is looked up, and never imported.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

import mercer
from mercer import _state
from mercer._state import is_storable
from mercer.io.errors import ModelFileError
from mercer.io.kinds import Kind
from mercer.io.transformers import require_widths

_UNKNOWN = "which this mercer has not: was it written by a newer one?"


class ObjectKind(Kind):
    """An instance of a class of mercer's."""

    name = "object"
    fields = ("class", "parameters", "state")

    def takes(self, x):
        return name_of(type(x)) is not None

    def encode(self, x, put, encoder, path):
        cls: Any = type(x)
        names = [name for name in _state.parameters_of(cls) if name not in getattr(cls, "stays_here", ())]
        parameters = {name: getattr(x, name) for name in names}
        row = {
            "class": name_of(cls),
            "parameters": {name: put(value, f".{name}") for name, value in parameters.items()},
            "state": {name: put(value, f".{name}") for name, value in _state.state_of(x).items()},
        }
        try:
            _state.check(x)
        except Exception as error:
            raise ModelFileError(f"{path} is not in order: {error}") from error
        return row

    def decode(self, row, get, decoder):
        name, given, state = row["class"], row["parameters"], row["state"]
        cls = classes().get(name) if isinstance(name, str) else None
        if cls is None:
            raise ModelFileError(f"it holds an object of class {str(name)[:80]!r}, {_UNKNOWN}")
        if not isinstance(given, dict) or not isinstance(state, dict):
            raise ModelFileError(f"a {name} is not given by parameters and a state")
        unknown = [p for p in given if p not in _state.parameters_of(cls)]
        if not issubclass(cls, BaseEstimator):
            unknown += [p for p in state if p not in _state.holds_of(cls)]
        if unknown:
            raise ModelFileError(f"a {name} has {unknown[0][:80]!r}, {_UNKNOWN}")
        for attribute in state:
            _check_attribute(cls, attribute)
        return _state.made(cls, *({k: get(v) for k, v in part.items()} for part in (given, state)))


class PipelineKind(Kind):
    """scikit-learn's Pipeline, with steps of mercer's, and those of scikit-learn's that files hold."""

    name = "pipeline"
    fields = ("steps", "verbose")

    def takes(self, x):
        return type(x) is Pipeline

    def encode(self, x, put, encoder, path):
        for name in ("memory", "transform_input"):
            if getattr(x, name, None) is not None:
                raise ModelFileError(
                    f"{path}.{name} is set, and files do not keep it: set it to None to save"
                )
        return {"steps": put(list(x.steps), ".steps"), "verbose": put(bool(x.verbose), ".verbose")}

    def decode(self, row, get, decoder):
        steps = get(row["steps"])
        named = isinstance(steps, list) and _state.fits(steps, list[tuple[str, BaseEstimator | str]])
        if not named:
            raise ModelFileError("a pipeline is not made of named steps")
        made = Pipeline(steps, verbose=bool(get(row["verbose"])))
        require_widths(made)
        return made


def _check_attribute(cls: type, name: str) -> None:
    """An attribute may be set that the class itself has not, or holds, and that has no meaning to Python."""
    own = hasattr(cls, name) and name not in _state.holds_of(cls)
    if not name.isidentifier() or name.startswith("__") or own:
        raise ModelFileError(f"it sets the attribute {name[:80]!r} of a {cls.__name__}, which is not data")


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
