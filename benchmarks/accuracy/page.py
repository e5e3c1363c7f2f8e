"""The tables of a page in markdown, read back: the numbers shown are the numbers used."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shown:
    """A table under its heading; cells as they are written, bold ones with their asterisks."""

    heading: str
    names: list[str]
    rows: list[list[str]]


def tables(text: str) -> list[Shown]:
    found: list[Shown] = []
    heading, reading = "", False
    for line in text.splitlines():
        if line.startswith("#"):
            heading = line.strip("# ")
        if not line.startswith("|"):
            reading = False
            continue
        cells = [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]
        if not reading:
            found.append(Shown(heading, cells, []))
            reading = True
        elif not set(line) <= set("|-: "):
            found[-1].rows.append(cells)
    return found


def rows(text: str, *names: str) -> list[list[str]]:
    """Cells, without asterisks, of all tables whose header begins with these names."""
    return [
        [cell.strip("*") for cell in row]
        for table in tables(text)
        if table.names[: len(names)] == list(names)
        for row in table.rows
    ]
