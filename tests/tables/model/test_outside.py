"""Rows unlike any that were learned from."""

import numpy as np
import pytest

from mercer.tables.model import Schema
from mercer.tables.model.model import outside, reach
from mercer.tables.reading import Table

SEEN = Table.of(
    {
        "size": [1.0, 5.0, None],
        "day": np.array(["2024-01-01", "2024-01-11", "NaT"], dtype="datetime64[us]"),
        "city": ["Bonn", "Ulm", None],
        "same": [7.0, 7.0, None],
        "empty": [None, None, None],
    }
)
SCHEMA = Schema.of(SEEN)


def rows(**columns):
    n = len(next(iter(columns.values())))
    blank = {name: [None] * n for name in SCHEMA.names}
    return SCHEMA.conform({**blank, **columns})


def test_nothing_seen_is_outside():
    assert outside(SCHEMA, SEEN) == () and (reach(SCHEMA, SEEN) == 0).all()
    gaps = rows(size=[None, np.nan])
    assert outside(SCHEMA, gaps) == () and (reach(SCHEMA, gaps) == 0).all()


def test_values_beyond_are_told_row_by_row():
    table = rows(size=[9.0, 3.0], day=["2024-01-05", "2025-01-01"], city=["Bonn", "Rome"])
    found = outside(SCHEMA, table)
    assert [(o.row, o.column, o.value) for o in found] == [
        (0, "size", 9.0),
        (1, "day", "2025-01-01T00:00:00.000000"),
        (1, "city", "Rome"),
    ]
    assert str(found[0]) == "row 1: size = 9, seen 1 to 5"
    assert str(found[2]).startswith("row 2: city = 'Rome', seen 2")


@pytest.mark.parametrize(
    "columns, expected",
    [
        ({"size": [7.0, -3.0, 5.0]}, [0.5, 1.0, 0.0]),
        ({"day": ["2024-01-16", "2023-12-22", "2024-01-11"]}, [0.5, 1.0, 0.0]),
        ({"size": [7.0], "day": ["2024-01-31"]}, [2.0]),
        ({"city": ["Rome"]}, [0.0]),
        ({"size": [1e300]}, [1e6]),
        ({"same": [1e9]}, [0.0]),
    ],
)
def test_how_far_in_widths_of_the_range(columns, expected):
    assert reach(SCHEMA, rows(**columns)) == pytest.approx(expected)


def test_the_largest_numbers_there_are():
    largest = np.finfo(float).max
    schema = Schema.of(Table.of({"a": [-largest, 0.0]}))
    assert np.isfinite(reach(schema, Table.of({"a": [largest, -largest]}))).all()
