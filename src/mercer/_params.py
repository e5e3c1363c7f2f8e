"""Value objects: parameters in, parameters out, nothing else.

Kernels, losses, representations, solvers and engines are small immutable-by-convention values.
`Params` gives them what scikit-learn's `clone` and `GridSearchCV` need (nested `get_params` /
`set_params`), a `repr` that round-trips, and equality by content.
"""

from __future__ import annotations

import copy
import inspect
import math
import numbers
from functools import cache
from typing import Any

import numpy as np

from mercer._words import Worded, translated

_LONGEST_ARRAY_IN_REPR = 400


@cache
def _signature(cls: Any) -> tuple[inspect.Parameter, ...]:
    parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
    for p in parameters:
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            raise TypeError(f"{cls.__name__}.__init__ must name its parameters: no *args, no **kwargs")
    return tuple(parameters)


@cache
def _names(cls: Any) -> tuple[str, ...]:
    return tuple(p.name for p in _signature(cls))


def _is_array_like(value: Any) -> bool:
    return isinstance(value, (list, tuple, np.ndarray))


def same_value(a: Any, b: Any) -> bool:
    """Equality by content, for scalars, arrays, lists, functions and nested value objects."""
    if a is b:
        return True
    if _is_array_like(a) and _is_array_like(b):
        if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
            return bool(np.array_equal(a, b))
        # Item by item, because a list need not be a table.
        return len(a) == len(b) and all(same_value(v, w) for v, w in zip(a, b, strict=True))
    if _is_array_like(a) or _is_array_like(b) or isinstance(a, Params) != isinstance(b, Params):
        return False
    return bool(a == b)


def show(value: Any) -> str:
    if isinstance(value, np.ndarray):
        if value.size > _LONGEST_ARRAY_IN_REPR:
            return f"<{'×'.join(map(str, value.shape))} array>"
        return repr(value.tolist())
    if isinstance(value, np.generic):
        return repr(value.item())
    if type(value) in (list, tuple):  # NumPy scalars inside would show as np.float64(…)
        inside = ", ".join(map(show, value))
        return f"[{inside}]" if isinstance(value, list) else f"({inside}{',' * (len(value) == 1)})"
    if callable(value) and hasattr(value, "__qualname__"):
        return value.__qualname__
    return repr(value)


class Params(Worded):
    """Base of every value object.

    A subclass's ``__init__`` names its parameters and only stores them. Checking happens at first
    use (`validate`), because scikit-learn sets parameters after construction.
    """

    # Besides parameters there is nothing to remember: see `mercer._state`.
    holds: dict[str, Any] = {}

    def __init__(self) -> None:
        """Without parameters, unless a subclass names some."""

    def check_state(self) -> None:
        """Refuse parameters that are out of range."""
        self.validate()

    @classmethod
    def parameter_names(cls) -> tuple[str, ...]:
        """What the constructor takes, in its order."""
        return _names(cls)  # type: ignore[arg-type]  # a class is hashable

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; with ``deep``, those of nested objects as ``name__inner``."""
        out: dict[str, Any] = {}
        for name in self.parameter_names():
            value = getattr(self, name)
            out[name] = value
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                out.update((f"{name}__{k}", v) for k, v in value.get_params().items())
        return out

    def set_params(self, **params: Any):
        """Set parameters in place (for scikit-learn's clone-then-set); returns self."""
        names = self.parameter_names()
        nested: dict[str, dict[str, Any]] = {}
        for key, value in params.items():
            name, _, inner = key.partition("__")
            if name not in names:
                ours = f"{type(self).__name__} has no parameter {name!r}; {self._parameters_like(name)}"
                raise ValueError(translated(type(self), {name: value}) or ours)
            if inner:
                nested.setdefault(name, {})[inner] = value
            else:
                setattr(self, name, value)
        for name, inner_params in nested.items():
            # A copy: the same inner object may be part of another expression.
            setattr(self, name, copy.copy(getattr(self, name)).set_params(**inner_params))
        return self

    def _parameters_like(self, name: str) -> str:
        """The parameters there are, and those of this name deeper inside: a kernel may be part of another."""
        deeper = [key for key in self.get_params() if key.endswith(f"__{name}")]
        inside = f"; inside: {', '.join(deeper)}" if deeper else ""
        return f"its parameters: {', '.join(self.parameter_names()) or 'none'}{inside}"

    def replace(self, **params: Any):
        """A copy with some parameters exchanged; the original is untouched."""
        return type(self)(**{**self.get_params(deep=False), **params})

    def validate(self) -> None:
        """Raise ValueError, with the reason, if a parameter is out of range."""

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        mine, theirs = self.get_params(deep=False), other.get_params(deep=False)  # type: ignore[attr-defined]
        return all(same_value(mine[k], theirs[k]) for k in mine)

    def __hash__(self) -> int:
        # Lists and arrays that are equal may differ in type, so they take no part.
        kinds = (numbers.Number, str, Params)
        parts = [v for v in self.get_params(deep=False).values() if isinstance(v, kinds)]
        return hash((type(self).__name__, *parts))

    def __repr__(self) -> str:
        shown = []
        for p in _signature(type(self)):  # type: ignore[arg-type]
            value = getattr(self, p.name)
            # A number of which something was said is shown, whatever the number.
            plain = not isinstance(value, float) or type(value).__module__.partition(".")[0] != "mercer"
            if plain and p.default is not p.empty and same_value(value, p.default):
                continue
            shown.append(f"{p.name}={show(value)}")
        return f"{type(self).__name__}({', '.join(shown)})"


# -- parameters that are numbers ---------------------------------------------------------------------------


def is_number(x: Any) -> bool:
    """A real number, and no truth value."""
    return isinstance(x, numbers.Real) and not isinstance(x, bool)


def is_integer(x: Any) -> bool:
    """A whole number, in whatever numeric type."""
    return is_number(x) and float(x).is_integer()


def require_count(value: Any, name: str, least: int = 1, besides: str = "") -> int:
    """The whole number, or a ValueError unless it is at least `least`; `besides` says what else would do."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral) or int(value) < least:
        raise ValueError(f"{name} must be a whole number of at least {least}{besides}, got {value!r}")
    return int(value)


def require_positive(value: Any, name: str) -> float:
    """The number, or a ValueError unless it is positive and finite."""
    if not is_number(value) or not 0 < float(value) < math.inf:
        raise ValueError(f"{name} must be a positive number, got {value!r}")
    return float(value)


def require_nonnegative(value: Any, name: str) -> float:
    """The number, or a ValueError unless it is finite and not below 0."""
    if not is_number(value) or not 0 <= float(value) < math.inf:
        raise ValueError(f"{name} must be a number of at least 0, got {value!r}")
    return float(value)


def require_flag(value: Any, name: str) -> None:
    """ValueError unless it is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, got {value!r}")
