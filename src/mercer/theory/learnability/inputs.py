"""Points and labels at the door of a class of hypotheses, and how they are written."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def as_points(X: Any, d: int | None = None) -> np.ndarray:
    """Points as rows: whole numbers, fractions and floats stay what they are, so that nothing is rounded."""
    given = X if isinstance(X, np.ndarray) else np.asarray(X, dtype=object)
    if given.ndim == 1 and d == 1:
        given = given[:, None]
    if given.ndim == 1 and any(isinstance(row, list | tuple | np.ndarray) for row in given):
        raise ValueError("every point must have the same number of coordinates")
    if given.ndim != 2 or not given.size:
        more = "; for one coordinate a plain list will do" if d == 1 else ""
        raise ValueError(f"points must be rows of a table, one or more, got shape {given.shape}{more}")
    if d is not None and given.shape[1] != d:
        raise ValueError(f"points must have {d} coordinate{'s' * (d > 1)}, got {given.shape[1]}")
    if given.dtype == object:
        for value in given.flat:
            if not isinstance(value, numbers.Rational | float | np.floating):
                raise ValueError(f"coordinates must be numbers, got {value!r}")
        given = _plain(given)
    elif given.dtype == bool:
        given = given.astype(np.int64)
    elif given.dtype.kind not in "iuf":
        raise ValueError(f"coordinates must be numbers, got {given.dtype}")
    if given.dtype.kind == "f" and not np.isfinite(given).all():
        raise ValueError("points contain NaN or infinity")
    return given


def _plain(values: np.ndarray) -> np.ndarray:
    """An array of machine numbers where that loses nothing; else of Python's."""
    largest = max((abs(int(v)) for v in values.flat if isinstance(v, numbers.Integral)), default=0)
    others = [v for v in values.flat if not isinstance(v, numbers.Integral)]
    if not others and largest < 2**62:
        return values.astype(np.int64)
    floats = [v for v in others if isinstance(v, float | np.floating)]
    if len(floats) == len(others) and largest <= 2**53:
        return values.astype(np.float64)
    if not all(map(math.isfinite, floats)):
        raise ValueError("points contain NaN or infinity")
    return values


def any_objects(X: Any) -> np.ndarray:
    items = list(X)
    try:
        table = np.array(items)
        if table.dtype.kind in "iufb" and table.ndim in (1, 2):
            return table
    except ValueError:  # rows of different lengths: objects
        pass
    out = np.empty(len(items), dtype=object)
    out[:] = items
    return out


def as_labels(y: Any, n: int) -> np.ndarray:
    """Labels as booleans; from 1/0, 1/−1, True/False or a string of signs, with a hyphen or a minus sign."""
    if isinstance(y, str):
        kept = y.replace(" ", "").replace("−", "-")
        if set(kept) - set("+-"):
            raise ValueError(f"a labelling is written with + and -, got {y!r}")
        y = [c == "+" for c in kept]
    labels = np.asarray(y)
    if labels.shape != (n,):
        given = f"{len(labels)} labels" if labels.ndim == 1 else f"labels of shape {labels.shape}"
        raise ValueError(f"there must be one label a point: {n} points, {given}")
    if labels.dtype == bool:
        return labels
    found = set(labels.tolist())
    if not (found <= {0, 1} or found <= {-1, 1}):
        raise ValueError(f"labels must be 1 and 0, or 1 and −1, or True and False; got {sorted(found)[:5]}")
    return labels == 1


def signs(labels: Any) -> str:
    """(True, False) as "+-"."""
    return "".join("+" if label else "-" for label in labels)


def show_point(point: Any) -> str:
    """A point, as one writes it."""
    values = np.asarray(point)
    values = (values.astype(int) if values.dtype == bool else values).astype(object).ravel()
    shown = [show_number(v) if isinstance(v, numbers.Number) else str(v) for v in values]
    return shown[0] if len(shown) == 1 else f"({', '.join(shown)})"


def show_number(value: Any) -> str:
    """Six figures; fractions as such, while they are short.

    >>> from fractions import Fraction
    >>> show_number(0.1 + 0.2), show_number(Fraction(1, 3)), show_number(-2)
    ('0.3', '1/3', '−2')
    """
    text = str(value) if isinstance(value, numbers.Rational) else ""
    if not text or len(text) > 12:
        text = f"{float(value):.6g}"
    return text.replace("-", "−")


def subscript(i: int) -> str:
    """₁₂ for 12."""
    return str(i).translate(_SUBSCRIPTS)


def item(value: Any) -> Any:
    """A Python number for a NumPy one."""
    return value.item() if isinstance(value, np.generic) else value


def count_of(values: list[float], count: int) -> list[float]:
    """So many numbers, or an error that says so."""
    if len(values) != count:
        raise ValueError(f"give {count} number{'s' * (count > 1)}, not {len(values)}")
    return values


def beyond(x: np.ndarray) -> Any:
    """A number above all of these, and above 0."""
    top = max([0, *map(item, x)])
    # One may be so large that adding 1 changes nothing.
    return top + 1 if top + 1 > top else 2 * top
