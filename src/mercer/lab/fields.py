"""The door: every field of a request is looked at here, and one that is wrong is named."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer._http.refusal import Refusal, plain
from mercer.tables.reading.errors import shown

# What a request may ask for; /api/options tells the page.
LIMITS = {
    "points": 2000,
    "classes": 6,
    "depth": 6,
    "nodes": 20,
    "resolution": 128,
    "epochs": 10,
    "clusters": 20,
    "centres": 300,
    "iterations": 100,
    "game_points": 10,
}
# Coordinates beyond this are no points of a plane that anybody draws; their squares would lose all digits.
LARGEST = 1e6
LONGEST_LABEL = 60


def wrong(field: str, problem: str) -> Refusal:
    """A refusal that names the field to blame."""
    return Refusal(422, f"{field}: {problem}", field=field.partition("[")[0].partition(".")[0])


class Fields:
    """An object of JSON, from which values are taken by name and checked; `place` is where it is found.

    >>> Fields({"n": 3}).count("n", 1, 10)
    3
    >>> try:
    ...     Fields({"n": "three"}).count("n", 1, 10)
    ... except Refusal as refusal:
    ...     print(refusal)
    n: give a whole number from 1 to 10, not 'three'
    """

    def __init__(self, values: Any, place: str = ""):
        if not isinstance(values, dict):
            raise wrong(place or "the body", f"give an object, like {{…}}, not {shown(values)}")
        self.values, self.place = values, place

    def name(self, field: str) -> str:
        """How a field is called in the whole request."""
        return f"{self.place}.{field}" if self.place else field

    def wrong(self, field: str, problem: str) -> Refusal:
        """A refusal for one of its fields."""
        return wrong(self.name(field), problem)

    def get(self, field: str, default: Any = None) -> Any:
        """The value as it stands; null counts as absent."""
        value = self.values.get(field)
        return default if value is None else value

    def only(self, *known: str) -> Fields:
        """Itself, if it has no other fields: a name that is misspelt must not be ignored."""
        for field in self.values:
            if field not in known:
                raise self.wrong(shown(field)[1:-1], f"is not known here; there are {', '.join(known)}")
        return self

    def number(self, field: str, low: float, high: float, default: float | None = None) -> float:
        """A finite number within bounds."""
        value = self.get(field, default)
        if type(value) not in (int, float) or not low <= value <= high:
            raise self.wrong(field, f"give a number from {low:g} to {high:g}, not {shown(value)}")
        return float(value)

    def count(self, field: str, low: int, high: int, default: int | None = None) -> int:
        """A whole number within bounds."""
        value = self.get(field, default)
        if type(value) is float and value.is_integer():
            value = int(value)
        if type(value) is not int or not low <= value <= high:
            raise self.wrong(field, f"give a whole number from {low} to {high}, not {shown(value)}")
        return value

    def flag(self, field: str, default: bool = False) -> bool:
        """True or false."""
        value = self.get(field, default)
        if type(value) is not bool:
            raise self.wrong(field, f"give true or false, not {shown(value)}")
        return value

    def word(self, field: str, known: Sequence[str], default: str | None = None) -> str:
        """One of a few words."""
        value = self.get(field, default)
        if not isinstance(value, str) or value not in known:
            raise self.wrong(field, f"give one of {', '.join(known)}, not {shown(value)}")
        return value

    def text(self, field: str, longest: int, default: str | None = None) -> str:
        """Text of bounded length."""
        value = self.get(field, default)
        if not isinstance(value, str):
            raise self.wrong(field, f"give text, not {shown(value)}")
        if len(value) > longest:
            raise self.wrong(field, f"{len(value):,} characters are too many; {longest:,} is the limit")
        return value

    def inner(self, field: str, default: dict[str, Any] | None = None) -> Fields:
        """An object within."""
        return Fields(self.get(field, default), self.name(field))

    def window(self) -> tuple[float, float, float, float]:
        """[x_low, x_high, y_low, y_high] of what the page shows."""
        name = self.name("window")
        given = rows_of(name, [self.get("window", [0.0, 1.0, 0.0, 1.0])], (4,))[0]
        x_low, x_high, y_low, y_high = given.tolist()
        if not (x_low < x_high and y_low < y_high):
            raise wrong(name, "give [x_low, x_high, y_low, y_high] with each low below its high")
        return x_low, x_high, y_low, y_high

    def points(self, d: int | None = None, least: int = 1) -> np.ndarray:
        """X, an array with a row a point; of one or two coordinates where d leaves it open."""
        given = self.get("X")
        limit = LIMITS["points"]
        if not isinstance(given, list):
            raise self.wrong("X", f"give a list of points, not {shown(given)}")
        if not least <= len(given) <= limit:
            few = f"{'one point' if least == 1 else f'{least} points'} at least, and {limit:,} at most"
            raise self.wrong("X", f"there are {len(given):,} points; {few}")
        return rows_of(self.name("X"), given, (1, 2) if d is None else (d,))

    def numbers(self, field: str, n: int) -> np.ndarray:
        """A list of n finite numbers."""
        given = self.list_of(field, n)
        return rows_of(self.name(field), [[value] for value in given], (1,))[:, 0]

    def list_of(self, field: str, n: int) -> list[Any]:
        """A list with a value for every point."""
        given = self.get(field)
        if not isinstance(given, list) or len(given) != n:
            got = f"{len(given):,} values" if isinstance(given, list) else shown(given)
            raise self.wrong(field, f"give a list with one value for each of the {n:,} points, not {got}")
        return given

    def labels(self, n: int) -> np.ndarray:
        """y of labels: words or whole numbers, of two classes at least."""
        given, most = self.list_of("y", n), LIMITS["classes"]
        for i, label in enumerate(given):
            if not is_label(label) and not (type(label) is int and abs(label) < 2**53):
                raise self.wrong(f"y[{i}]", f"a label is a short word or a whole number, not {shown(label)}")
        if len({type(label) for label in given}) > 1:
            raise self.wrong("y", "labels must be all words or all numbers")
        classes = len(set(given))
        if not 2 <= classes <= most:
            few = "put down points of another class, too" if classes < 2 else f"{most} is the limit"
            raise self.wrong(
                "y", f"there {'is one class' if classes == 1 else f'are {classes:,} classes'}; {few}"
            )
        return np.array(given)


def is_label(word: Any) -> bool:
    """Can this word be shown as a label? It is short, and has no control characters."""
    return isinstance(word, str) and 0 < len(word) <= LONGEST_LABEL and word.isprintable()


def rows_of(field: str, given: list[Any], widths: tuple[int, ...]) -> np.ndarray:
    """Rows of finite numbers, each as long as the first; the first that is wrong is named."""
    width = len(given[0]) if isinstance(given[0], list) else -1
    for i, row in enumerate(given):
        if not isinstance(row, list) or len(row) != width or width not in widths:
            said = " or ".join(map(str, widths))
            raise wrong(f"{field}[{i}]", f"give a list of {said} numbers, as in the others, not {shown(row)}")
        for value in row:
            if type(value) not in (int, float) or not -LARGEST <= value <= LARGEST:
                problem = f"coordinates are numbers from {-LARGEST:g} to {LARGEST:g}, not {shown(value)}"
                raise wrong(f"{field}[{i}]", problem)
    return np.array(given, dtype=np.float64)


def drawn(values: np.ndarray) -> list[Any]:
    """Numbers that are only drawn: seven figures, as float32 has them, halve the time that JSON takes."""
    values = np.asarray(values, np.float64)
    top = float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
    if top == 0.0:
        return plain(values)
    digits = 6 - math.floor(math.log10(top))
    return plain(np.round(values, min(max(digits, 0), 12)))
