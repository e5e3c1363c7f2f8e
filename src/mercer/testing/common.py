"""What the laws share: how a violation is put, closeness, slopes, value objects."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from mercer._params import Params


class LawViolation(AssertionError):
    """A law is broken; the message says which and where.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Kernel
    >>> from mercer.testing import LawViolation, check_kernel
    >>> class Lopsided(Kernel):
    ...     def pairwise(self, X, Z):
    ...         return np.outer(X[:, 0], Z[:, -1] + 1)
    >>> try:
    ...     check_kernel(Lopsided())
    ... except LawViolation as broken:
    ...     print(str(broken)[:38])
    Lopsided() breaks a law: not symmetric
    """

    __module__ = "mercer.testing"


def fail(thing: Any, law: str, detail: str) -> NoReturn:
    raise LawViolation(f"{thing!r} breaks a law: {law}: {detail}")


def require_close(thing: Any, law: str, a: np.ndarray, b: np.ndarray, limit: Any, words: str) -> None:
    """Fail where |a − b| > limit (or is NaN); `words` has places for the index and the two values."""
    if np.shape(a) != np.shape(b):
        fail(thing, law, f"shapes {np.shape(a)} and {np.shape(b)} differ")
    gap = np.abs(np.asarray(a, float) - b)
    over = ~(gap <= limit)
    if over.any():
        at = np.unravel_index(np.argmax(np.where(over, np.nan_to_num(gap, nan=np.inf), -1)), gap.shape)
        place = ", ".join(map(str, at))
        fail(thing, law, words.format(place, f"{np.asarray(a)[at]:.8g}", f"{np.asarray(b)[at]:.8g}"))


class LawTrial:
    """Something that is tried; a subclass has the objects it is tried on, and a method for each law."""

    def __init__(self, thing: Any):
        self.thing = thing

    def fail(self, law: str, detail: str) -> NoReturn:
        fail(self.thing, law, detail)

    def close(self, law: str, a: np.ndarray, b: np.ndarray, limit: Any, words: str) -> None:
        require_close(self.thing, law, a, b, limit, words)

    def slope(self, law: str, slope: np.ndarray, quotients: Sequence[Any], limit: float, words: str) -> None:
        """A derivative lies between the one-sided difference quotients (behind, ahead), at a kink too."""
        behind, ahead = quotients
        low, high = np.fmin(behind, ahead), np.fmax(behind, ahead)
        nearest = np.clip(slope, low, high)
        self.close(law, slope, nearest, limit, words + "; difference quotients give {}")


def require_kind(thing: Any, kind: type, taker: str, hint: str = "") -> None:
    """Is it of this kind, a value, and valid?"""
    if not isinstance(thing, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise TypeError(f"{taker} takes {article} {kind.__name__}, got {type(thing).__name__}{hint}")
    if isinstance(thing, Params):
        value_object(thing)
        thing.validate()


def with_param(thing: Params, name: str, value: Any) -> Any:
    """A copy with one, possibly nested, parameter exchanged."""
    head, _, rest = name.partition("__")
    return thing.replace(**{head: with_param(getattr(thing, head), rest, value) if rest else value})


def _names_in(thing: Any) -> dict[str, Any]:
    """Classes and functions by the names that the repr of a value object uses."""
    names = {type(thing).__name__: type(thing)}
    for value in thing.get_params(deep=False).values():
        if isinstance(value, Params):
            names.update(_names_in(value))
        elif callable(value):
            names[getattr(value, "__qualname__", "")] = value
    return names


def value_object(thing: Params) -> None:
    own = thing.get_params(deep=False)
    again = type(thing)(**own)
    for name, value in own.items():
        if getattr(again, name) is not value:
            way = f"{name} went in as {value!r}, came out as {getattr(again, name)!r}"
            fail(thing, "the constructor must only store", way)
    if not (again == thing and hash(again) == hash(thing)):
        fail(thing, "== and hash must go by content", "an object built from the same parameters differs")
    text = repr(thing)
    if "<" not in text:  # <lambda>, <40×40 array>: not meant to be read back
        try:
            read = eval(text, _names_in(thing))
        except (NameError, SyntaxError):
            read = thing  # a parameter from elsewhere, whose repr is not ours to judge
        except Exception as error:
            fail(thing, "repr must read back", f"evaluating it gives {type(error).__name__}: {error}")
        if read != thing:
            fail(thing, "repr must read back", f"evaluating it gives {read!r}")
    for name, value in thing.get_params().items():
        if isinstance(value, numbers.Real) and not isinstance(value, bool):
            changed = type(thing)(**own).set_params(**{name: value + 1})
            if changed.get_params()[name] != value + 1:
                fail(thing, "set_params must set", f"{name} stays {changed.get_params()[name]!r}")
            if thing.get_params()[name] != value:
                fail(thing, "set_params on a copy must leave the original alone", f"{name} changed")
            if changed == thing:
                fail(thing, "== must go by content", f"it doesn't see a change of {name}")


def scale(K: np.ndarray) -> float:
    """The largest entry in absolute value; 1 if all are 0."""
    return float(np.abs(K).max()) or 1.0
