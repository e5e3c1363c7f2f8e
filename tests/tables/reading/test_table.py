"""The table itself: columns of one length, by name."""

import pickle

import numpy as np
import pytest

from mercer.tables.reading import Table, TableError


@pytest.fixture
def table():
    return Table(
        {
            "a": np.array([1.0, np.nan, 3.0]),
            "b": np.array(["x", None, "y"], dtype=object),
            "c": np.array(["2024-01-01", "NaT", "2024-01-03"], dtype="datetime64[us]"),
        },
        remarks=["a remark"],
    )


def test_names_kinds_and_length(table):
    assert table.names == ("a", "b", "c") == tuple(table) and len(table) == table.n_rows == 3
    assert [table.kind(name) for name in table.names] == ["number", "text", "date"]
    assert "a" in table and "z" not in table
    assert repr(table) == "Table(3 rows: a number, b text, c date)"


def test_rows_and_columns_are_chosen(table):
    assert table.take([2, 0])["a"].tolist() == [3.0, 1.0]
    assert table.take(np.array([True, False, True]))["b"].tolist() == ["x", "y"]
    assert table.take(slice(1, 3)).n_rows == 2
    assert table.select(["c", "a"]).names == ("c", "a")
    assert table.drop("a", "c").names == ("b",)
    assert table.drop("a").remarks == ("a remark",)
    empty = table.drop("a", "b", "c")
    assert empty.names == () and empty.n_rows == 3 and empty.take([0]).n_rows == 1


def test_columns_are_not_changed_by_accident(table):
    with pytest.raises(ValueError, match="read-only"):
        table["a"][0] = 2.0
    with pytest.raises(TypeError):
        table.columns["z"] = table["a"]
    given = np.zeros(2)
    Table({"a": given})
    given[0] = 1.0  # the array of the caller stays writeable


def test_equality_is_by_content_missing_values_included(table):
    assert table == table.take(slice(None)) and table == pickle.loads(pickle.dumps(table))
    assert table != table.drop("a") and table != table.take([0, 1]) and table != "table"
    assert table != table.select(["b", "a", "c"])
    assert Table({"a": np.zeros(1)}) != Table({"a": np.array([None], dtype=object)})


def test_a_wrong_name_gets_a_hint(table):
    with pytest.raises(TableError, match="there is no column 'z'. There are: a, b, c."):
        table["z"]
    with pytest.raises(TableError, match="Do you mean 'price'?"):
        Table({"price": np.zeros(1)}).drop("prize")


@pytest.mark.parametrize(
    "columns, message",
    [
        ({"a": np.zeros(2), "b": np.zeros(3)}, "column 'b': has 3 rows, others have 2"),
        ({"a": np.zeros(2, dtype=np.float32)}, "Table.of makes such columns"),
        ({"a": [1.0]}, "one-dimensional array"),
        ({"": np.zeros(1)}, "column 1 of 1 has no name"),
    ],
)
def test_wrong_columns_are_refused(columns, message):
    with pytest.raises(TableError, match=message):
        Table(columns)


def test_long_tables_have_a_short_repr():
    many = Table({f"c{i}": np.zeros(1) for i in range(2000)})
    assert len(repr(many)) < 200 and "2,000 columns" in repr(many)
