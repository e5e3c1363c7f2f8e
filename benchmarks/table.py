"""Records become tables: a column is a head and a function of the record."""

from __future__ import annotations

from collections.abc import Callable, Iterable

Column = tuple[str, Callable[[dict], str]]


def text(head: str, key: str) -> Column:
    return head, lambda r: str(r.get(key, ""))


def count(head: str, key: str) -> Column:
    return head, lambda r: f"{r[key]:,}" if isinstance(r.get(key), int) else str(r.get(key, ""))


def number(head: str, key: str, form: str = ".2f", scale: float = 1.0) -> Column:
    """A number, and nothing where the record has none."""

    def cell(r: dict) -> str:
        value = r.get(key)
        return "" if value is None else format(value * scale, form)

    return head, cell


def seconds(head: str = "s", key: str = "seconds", failure: str = "failure") -> Column:
    """The time; or, in its place, why there is none."""
    return head, lambda r: r[failure] if r.get(failure) else number("", key, ".3g")[1](r)


def times(head: str, key: str = "ratio") -> Column:
    return head, lambda r: "" if r.get(key) is None else f"{r[key]:.2g}×"


def megabytes(head: str = "extra MB", key: str = "memory") -> Column:
    return number(head, key, ".0f", 1e-6)


def ratio(a: float | None, b: float | None) -> float | None:
    """a/b; None where one of them failed."""
    return None if a is None or b is None or a != a or b != b else a / b


def header(columns: Iterable[Column]) -> str:
    heads = [head for head, _ in columns]
    return f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}"


def line(columns: Iterable[Column], record: dict) -> str:
    # A bar would end the cell, and messages of other libraries may hold anything.
    return f"| {' | '.join(cell(record).replace('|', '/') for _, cell in columns)} |"
