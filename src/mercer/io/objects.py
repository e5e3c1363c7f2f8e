"""Objects of mercer's classes, as what their constructors take and what `fit` found.

A kernel, loss, solver, … is its parameters; a dataclass its fields; an estimator its parameters and the
attributes `fit` has set, as `__getstate__` gives them. Loading calls the constructor, sets the attributes
and checks and tries the result. What an online machine has learned is the attributes its class names
(`_kept`), and is put together without a constructor. No method is chosen by the file.
"""

from __future__ import annotations

import dataclasses
import inspect
from functools import cache
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from mercer._params import Params
from mercer._xp import given_up
from mercer.functions import Function, KernelFunction, zero
from mercer.io import checks, model_checks, online_checks, registry  # noqa: F401  two add to checks
from mercer.io.errors import ModelFileError
from mercer.io.kind import Kind

_UNKNOWN = "which this mercer has not: was it written by a newer one?"


class Object(Kind):
    """An instance of a class of mercer's."""

    name = "object"
    fields = ("class", "parameters", "state")

    def takes(self, x):
        return registry.name_of(type(x)) is not None

    def encode(self, x, put, encoder, path):
        cls: Any = type(x)
        names, state = constructor(cls), _state(x)
        row = {
            "class": registry.name_of(cls),
            "parameters": {name: put(getattr(x, name), f".{name}") for name in names},
            "state": {name: put(v, f".{name}") for name, v in state.items() if name not in names},
        }
        try:
            checks.check(x)
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
        kept = _kept(cls)
        unknown = [p for p in given if p not in constructor(cls)]
        if unknown or (state and not kept and not issubclass(cls, (BaseEstimator, Function))):
            raise ModelFileError(f"a {name} has {(unknown or list(state))[0][:80]!r}, {_UNKNOWN}")
        if kept and set(state) != set(kept):
            raise ModelFileError(f"a {name} is made of other parts than this mercer's")
        x = object.__new__(cls) if kept else _made(cls, {p: get(v) for p, v in given.items()})
        for attribute, said in state.items():
            _check_attribute(cls, attribute)
            x.__dict__[attribute] = get(said)
        checks.check(x)
        checks.trial(x)
        return x


class Steps(Kind):
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
        pairs = isinstance(steps, list) and all(type(s) is tuple and len(s) == 2 for s in steps)
        if not pairs or not all(type(n) is str and isinstance(s, (BaseEstimator, str)) for n, s in steps):
            raise ModelFileError("a pipeline is not made of named steps")
        return Pipeline(steps, verbose=bool(get(row["verbose"])))


@cache
def constructor(cls: Any) -> tuple[str, ...]:
    """Names of what the constructor takes."""
    if _kept(cls):
        return ()
    if dataclasses.is_dataclass(cls):
        return tuple(f.name for f in dataclasses.fields(cls) if f.init)
    if issubclass(cls, Params):
        return cls.parameter_names()
    return () if cls.__init__ is object.__init__ else tuple(inspect.signature(cls).parameters)


def _kept(cls: Any) -> tuple[str, ...]:
    """Attributes of a class that names what it is made of."""
    return getattr(cls, "_kept", ())


def _state(x: Any) -> dict[str, Any]:
    """What an object knows besides what it was made from."""
    if kept := _kept(type(x)):
        return {name: getattr(x, name) for name in kept}
    if isinstance(x, BaseEstimator):
        return dict(x.__getstate__())
    state: Any = x.__getstate__() if isinstance(x, Function) else {}
    return dict(state)


def _made(cls: type, parameters: dict[str, Any]) -> Any:
    if issubclass(cls, Function):
        # A function copies what others could write to; nobody else holds the arrays of a file.
        parameters = {name: given_up(value) for name, value in parameters.items()}
    if issubclass(cls, KernelFunction):
        engine = parameters["engine"] = checks.usable(parameters.get("engine"))
        shape: tuple[int, ...] = getattr(parameters.get("coef"), "shape", ())
        if len(shape) in (1, 2) and shape[0] == 0:
            # Of the points of a sum without terms not even the form is known.
            return zero(parameters["kernel"], shape[1] if len(shape) == 2 else None, engine)
    return cls(**parameters)


def _check_attribute(cls: type, name: str) -> None:
    """An attribute may be set that is no method or property of the class, and has no meaning to Python."""
    there = inspect.getattr_static(cls, name, None)
    if not name.isidentifier() or name.startswith("__") or callable(there) or hasattr(there, "__get__"):
        raise ModelFileError(f"it sets the attribute {name[:80]!r} of a {cls.__name__}, which is not data")
