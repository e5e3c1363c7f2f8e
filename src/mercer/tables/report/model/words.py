"""Numbers, names and lists as a reader wants them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import PureWindowsPath

from mercer.plot.style import number

MOST = 20


def amount(value: float | None, figures: int = 3) -> str:
    """A quantity in a few figures, written out where that is readable; whole numbers without decimals.

    >>> amount(51234.5), amount(0.01236), amount(54.04), amount(1955), amount(-2.5), amount(3e-7)
    ('51,200', '0.0124', '54.0', '1955', '−2.50', '3.0·10⁻⁷')
    """
    if value is None or math.isnan(value):
        return "—"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    size = abs(value)
    if size != 0 and not 1e-3 <= size < 1e9:
        text = number(size)
    elif size < 10_000:
        # All figures of the whole part stay: years and counts are exact.
        whole = size == round(size) or size >= 10**figures
        text = f"{size:.0f}" if whole else f"{size:#.{figures}g}".rstrip(".")
        text = f"{size:.0f}" if "e" in text else text  # 999.9 in three figures
    else:
        text = f"{float(f'{size:.{figures}g}'):,.0f}"
    return f"−{text}" if value < 0 and text != "0" else text


def percent(share: float, places: int = 1) -> str:
    """A share in per cent.

    >>> percent(0.0299), percent(0.5, 0), percent(float("nan"))
    ('3.0\xa0%', '50\xa0%', '—')
    """
    return "—" if math.isnan(share) else f"{100 * share:.{places}f}\xa0%".replace("-", "−")


def listed(parts: Sequence[str]) -> str:
    """a, b and c.

    >>> listed(["a", "b", "c"]), listed(["a"])
    ('a, b and c', 'a')
    """
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def counted(n: int, thing: str, things: str | None = None) -> str:
    """1 row, 1,200 rows.

    >>> counted(1, "row"), counted(1200, "row"), counted(2, "class", "classes")
    ('1 row', '1,200 rows', '2 classes')
    """
    return f"{n:,} {thing if n == 1 else things or thing + 's'}"


def more(total: int, thing: str) -> str:
    """What a list cut at `MOST` says below; nothing if nothing was cut.

    >>> more(23, "column"), more(20, "column")
    ('and 3 more columns', '')
    """
    rest = total - MOST
    return f"and {rest:,} more {thing}{'s' * (rest != 1)}" if rest > 0 else ""


def file_name(path: str) -> str:
    r"""The last part of a path, of this system or another.

    >>> file_name("/home/me/prices.csv"), file_name(r"C:\data\prices.csv"), file_name("prices.csv")
    ('prices.csv', 'prices.csv', 'prices.csv')
    """
    return PureWindowsPath(path).name
