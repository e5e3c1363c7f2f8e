"""What a model expects of a table."""

from datetime import datetime

import numpy as np
import pandas as pd
import pytest

from mercer.tables.model import Column, Schema
from mercer.tables.reading import Table, TableError

TABLE = Table.of(
    {
        "size": [1.0, None, 4.0, 2.5],
        "city": ["Ulm", "Bonn", None, "Ulm"],
        "sold": np.array(["2024-02-29", "NaT", "2020-01-01", "2023-06-01"], dtype="datetime64[us]"),
        "old": [True, False, False, True],
    }
)
SCHEMA = Schema.of(TABLE)


def test_columns():
    assert SCHEMA.names == ("size", "city", "sold", "old")
    assert SCHEMA.columns == (
        Column("size", "number", None, 1.0, 4.0, 0.25),
        Column("city", "category", ("Ulm", "Bonn"), None, None, 0.25),
        Column("sold", "date", None, "2020-01-01T00:00:00.000000", "2024-02-29T00:00:00.000000", 0.25),
        Column("old", "category", ("false", "true"), None, None, 0.0),
    )


def test_empty_columns():
    empty = Schema.of(
        Table(
            {
                "n": np.full(2, np.nan),
                "w": np.array([None, None], dtype=object),
                "d": np.full(2, np.datetime64("NaT", "us")),
            }
        )
    )
    assert [(c.low, c.high, c.categories, c.missing) for c in empty.columns] == [
        (None, None, None, 1.0),
        (None, None, (), 1.0),
        (None, None, None, 1.0),
    ]


def test_words_by_frequency_then_alphabet():
    schema = Schema.of(Table.of({"w": ["b", "a", "c", "c", "b", "d"]}))
    assert schema.columns[0].categories == ("b", "c", "a", "d")


def test_the_table_itself_conforms():
    assert SCHEMA.conform(TABLE) == TABLE


def test_order_kinds_and_extra_columns():
    given = {
        "extra": ["x"],
        "old": [True],
        "sold": ["2024-02-29"],
        "city": [7],
        "size": ["3.5"],
    }
    made = SCHEMA.conform(given)
    assert made.names == SCHEMA.names
    assert [made.kind(n) for n in made.names] == ["number", "text", "date", "text"]
    assert [made[n][0] for n in ("size", "city", "old")] == [3.5, "7", "true"]
    assert made["sold"][0] == np.datetime64("2024-02-29", "us")
    assert SCHEMA.conform(pd.DataFrame(given)) == made
    assert SCHEMA.conform([{k: v[0] for k, v in given.items()}]) == made


def test_rows_without_names_go_by_place():
    made = SCHEMA.conform([[3.5, "7", "2024-02-29", True], [None, None, None, None]])
    assert made["size"].tolist()[0] == 3.5 and made["old"].tolist() == ["true", None]
    assert SCHEMA.conform(np.array([[3.5, "7", "2024-02-29", True]], dtype=object)) == made.take([0])


def test_unused_columns_may_be_absent_or_odd():
    made = SCHEMA.conform({"size": ["no number"], "city": ["Ulm"], "old": [True]}, unused={"size", "sold"})
    assert made.names == ("city", "old")


@pytest.mark.parametrize(
    "table, match",
    [
        ({"size": [1.0]}, "the model needs the columns 'city', 'sold', 'old', not in this table"),
        (TABLE.drop("city"), "the model needs the column 'city', not in this table"),
        ({**TABLE.columns, "size": ["big"] * 4}, "row 1, column 'size': 'big' is not a number"),
        ({**TABLE.columns, "sold": ["2024-13-01"] * 4}, "column 'sold': '2024-13-01' is not a date"),
        ({**TABLE.columns, "size": [np.inf] * 4}, "'size': inf is not a finite number"),
        (np.ones((2, 3)), r"an array without names must have the 4 columns .*got rows of shape \(3,\)"),
        ([[1, 2, 3]], r"an array without names must have the 4 columns"),
        ([1, 2, 3, 4], r"got rows of shape \(\)"),
        (np.ones(4), r"got rows of shape \(\)"),
        ((), "a table has rows and columns"),
        ({"size": [1.0, 2.0], "city": ["a"], "sold": ["2024-01-01"], "old": [True]}, "rows"),
        ("table.csv", "a path is no table"),
        ({**TABLE.columns, "size": 1.0}, "column 'size': a column must be a list or an array"),
    ],
)
def test_what_does_not_conform(table, match):
    with pytest.raises(TableError, match=match):
        SCHEMA.conform(table)


def test_a_list_of_no_rows():
    made = SCHEMA.conform([], unused={"city"})
    assert made == TABLE.take([]).drop("city") and len(made) == 0


DAYS = Table.of(
    {"dots": ["31.01.2024", None], "first": ["31/01/2024", "1/2/2024"], "iso": ["2024-01-31", "2024-02-01"]},
    kinds={"dots": "D.M.Y", "first": "D/M/Y", "iso": "date"},
)


def test_the_order_of_dates_is_kept():
    schema = Schema.of(DAYS)
    assert [c.kind for c in schema.columns] == ["date"] * 3
    assert [c.order for c in schema.columns] == ["D.M.Y", "D/M/Y", None]
    assert schema.kinds == {"dots": "D.M.Y", "first": "D/M/Y", "iso": "date"}
    # One row does not show which part is the month; the schema knows.
    row = {"dots": "03.04.2024", "first": "03/04/2024", "iso": "2024-04-03"}
    for given in ([row], pd.DataFrame([row]), [list(row.values())]):
        made = schema.conform(given)
        for name in made.names:
            assert made[name].tolist() == [datetime(2024, 4, 3)], (name, given)
    # Dates that are dates already, and ISO 8601, are what they are.
    assert schema.conform(DAYS) == DAYS
    assert schema.conform([dict.fromkeys(row, "2024-04-03")]) == schema.conform([row])
    with pytest.raises(
        TableError, match=r"'first': '01/31/2024' is not a date like 31/01/2024 or 2024-01-31"
    ):
        schema.conform([row | {"first": "01/31/2024"}])
    with pytest.raises(TableError, match=r"'iso': '03/04/2024' is not a date like 2024-01-31"):
        schema.conform([row | {"iso": "03/04/2024"}])


def test_errors_of_a_model_do_not_advise_what_it_does_not_take():
    for table in ({"size": ["big"]}, {"sold": ["soon"]}):
        with pytest.raises(TableError, match="Correct it, or leave it empty") as caught:
            SCHEMA.conform({**TABLE.take([0]).columns, **table})
        assert "kinds" not in str(caught.value) and "--text" not in str(caught.value)


def test_many_absent_columns_are_counted():
    wide = Schema.of(Table.of(np.ones((2, 30))))
    with pytest.raises(TableError, match="'x9' and 21 more, not in this table"):
        wide.conform({"x1": [1.0]})
