"""Objects of mercer's classes, as their parameters and their state: see `mercer._state`.

What a class remembers, and what must hold of it, the class itself declares. No method is chosen by the file.
"""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from mercer import _state
from mercer.io import registry
from mercer.io.errors import ModelFileError
from mercer.io.kinds import Kind

_UNKNOWN = "which this mercer has not: was it written by a newer one?"


class ObjectKind(Kind):
    """An instance of a class of mercer's."""

    name = "object"
    fields = ("class", "parameters", "state")

    def takes(self, x):
        return registry.name_of(type(x)) is not None

    def encode(self, x, put, encoder, path):
        cls: Any = type(x)
        parameters = {name: getattr(x, name) for name in _state.parameters_of(cls)}
        row = {
            "class": registry.name_of(cls),
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
        cls = registry.classes().get(name) if isinstance(name, str) else None
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
    """scikit-learn's Pipeline, with steps of mercer's."""

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
        return Pipeline(steps, verbose=bool(get(row["verbose"])))


def _check_attribute(cls: type, name: str) -> None:
    """An attribute may be set that the class itself has not, or holds, and that has no meaning to Python."""
    own = hasattr(cls, name) and name not in _state.holds_of(cls)
    if not name.isidentifier() or name.startswith("__") or own:
        raise ModelFileError(f"it sets the attribute {name[:80]!r} of a {cls.__name__}, which is not data")
