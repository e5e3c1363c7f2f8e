"""Which columns are what, and how Arrow's types become numbers and words."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mercer.rows import open_rows
from mercer.rows.columns import (
    NUMBERS,
    WORDS,
    CodedWords,
    choose,
    kind_of,
    known,
    listed,
    numbers,
    whole_numbers,
    words,
)


@pytest.mark.parametrize(
    "kinds, expected",
    [
        ([pa.float32()], "f4"),
        ([pa.float16(), pa.int8(), pa.bool_()], "f4"),
        ([pa.float32(), pa.int32()], "f8"),
        ([pa.int8()], "f8"),
        ([pa.float64()], "f8"),
        ([pa.decimal128(9, 2)], "f8"),
    ],
)
def test_precision(kinds, expected):
    """float32 where every number is one."""
    schema = pa.schema([(f"x{j}", kind) for j, kind in enumerate(kinds)])
    assert choose(schema, "t").dtype == np.dtype(expected)
    assert choose(schema, "t", dtype="float32").dtype == np.float32


@pytest.mark.parametrize(
    "column, expected",
    [
        (pa.array([1, 2], pa.int64()), [1, 2]),
        (pa.array([1, None], pa.int64()), [1, np.nan]),
        (pa.array([1.5, None], pa.float32()), [1.5, np.nan]),
        (pa.array([1.5, 2], pa.float16()), [1.5, 2]),
        (pa.array([True, False]), [True, False]),
        (pa.array([True, None]), [1, np.nan]),
        (pa.array([Decimal("1.25"), None]), [1.25, np.nan]),
        (pa.array([7, 8, 7]).dictionary_encode(), [7, 8, 7]),
        (pa.array([None, None], pa.null()), [np.nan, np.nan]),
        (pa.array([1, 2, 3]).slice(1), [2, 3]),
        (pa.array([2**64 - 1], pa.uint64()), [2**64 - 1]),
    ],
)
def test_numbers(column, expected):
    found = numbers(column)
    assert np.array_equal(found, np.array(expected), equal_nan=found.dtype.kind == "f")


def test_words():
    parts = [
        pa.array(["a", "b", None]),
        pa.array(["c", "", "a"], pa.large_string()),
        pa.array(["b", "c"]).dictionary_encode(),
        pa.array(["d"], pa.string_view()),
    ]
    found = words(parts)
    assert found.words == ("a", "b", "c", "d")
    assert found.array().tolist() == ["a", "b", None, "c", None, "a", "b", "c", "d"]
    assert words(parts[2:]).array().dtype.kind == "U"
    assert CodedWords(np.zeros(0, int), ()).array().tolist() == []


def test_whole_numbers():
    """Exact where no float is, and whatever type a batch has."""
    parts = [
        pa.array([2**60 + 1, None]),
        pa.array([5], pa.int8()),
        pa.array([7, None, 7]).dictionary_encode(),
        pa.nulls(1),
    ]
    found = whole_numbers(parts, np.int64)
    assert found.values[~found.absent].tolist() == [2**60 + 1, 5, 7, 7] and found.values.dtype == np.int64
    assert found.array().tolist() == [2**60 + 1, None, 5, 7, None, 7, None]
    assert type(whole_numbers(parts[1:2], np.int8).array()) is np.ndarray
    assert whole_numbers([pa.array([True, None])], bool).array().tolist() == [True, None]


def test_kinds():
    assert kind_of(pa.dictionary(pa.int8(), pa.string())) == WORDS and kind_of(pa.uint8()) == NUMBERS
    assert kind_of(pa.timestamp("s")) is None and kind_of(pa.list_(pa.int8())) is None


@pytest.mark.parametrize(
    "options, said",
    [
        ({"target": "pric"}, "t has no column 'pric': did you mean 'price'?"),
        ({"target": "zzzzzzz"}, "no column 'zzzzzzz': it has 'a', 'b'"),
        ({"weight": "v"}, "has no column 'v'"),
        ({"columns": ["a", "z"]}, "has no column 'z'"),
        ({"columns": "a"}, "must be a list of names, such as \\['a'\\]"),
        ({"columns": ["a", "a"]}, "twice"),
        ({"columns": ["a"], "target": "a"}, "'a' can't be a feature and the target"),
        ({"columns": []}, "there are no points"),
        (
            {"target": "price"},
            "column 'city' of t holds no numbers \\(string\\): leave it out, .* in "
            "mercer.rows.open_rows\\(…, columns=\\[…\\]\\), or let mercer.fit",
        ),
        ({"target": ["price", "city"], "columns": ["a"]}, "'city' of t can't be a target: .* several"),
        ({"target": "when", "columns": ["a"]}, "'when' of t can't be a target: it holds timestamp"),
        ({"weight": "city", "columns": ["a"]}, "'city' of t holds no numbers"),
        ({"columns": ["a"], "dtype": "int32"}, "dtype must be float32 or float64"),
        ({"columns": ["a"], "target": ()}, "y names no column"),
    ],
)
def test_what_can_not_be(table, options, said):
    schema = table.schema.append(pa.field("when", pa.timestamp("s")))
    with pytest.raises(ValueError, match=said):
        choose(schema, "t", **options)


def test_some_of_many_names():
    """Those that are not listed are counted, so that nobody takes the list for the whole."""
    for count, end in ((10, "'x9'"), (11, "'x9', … (11 in all)")):
        with pytest.raises(ValueError) as caught:
            known("nope", [f"x{i}" for i in range(count)], "t")
        assert str(caught.value).endswith(end)


def test_columns_by_name():
    assert listed(["b", "a"], "abc", "t") == ("b", "a")
    with pytest.raises(ValueError, match="t has no column 'd'"):
        listed(["d"], "abc", "t")


def test_row_numbers_of_pandas_are_no_features(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "y": [1, 2, 3]}, index=[5, 6, 8])
    frame.to_parquet(tmp_path / "a.parquet")
    assert open_rows(tmp_path / "a.parquet", "y").names == ("x",)
    frame.to_csv(tmp_path / "a.csv")
    with pytest.raises(ValueError, match="a column without a name \\(pandas"):
        open_rows(tmp_path / "a.csv", "y")
    assert open_rows(tmp_path / "a.csv", "y", columns=["x"]).shape == (3, 1)


@pytest.mark.parametrize("ending", ["parquet", "csv", "feather"])
def test_odd_names(save, whole, ending):
    """Dots, quotes, prefixes of each other, and columns within columns."""
    names = ["a.b", "a", 'q"uote', "a,b", "ä b", "a.b.c"]
    content = pa.table({name: np.full(3, float(j)) for j, name in enumerate(names)})
    nested = content.append_column("s", pa.array([{"a": 9.0}] * 3)) if ending != "csv" else content
    for kept in (names, names[:1], names[1:2], ["a.b.c", "a"]):
        rows = open_rows(save(nested, f"t.{ending}"), columns=kept, cache=False)
        assert whole(rows).X[0].tolist() == [names.index(name) for name in kept]
    with pytest.raises(ValueError, match="'s' of .* holds no numbers|has no column 's'"):
        open_rows(save(nested, f"t.{ending}"), columns=["s"])


def test_several_targets(table, save, whole):
    rows = open_rows(save(table, "t.parquet"), ["price", "b"], columns=["a"], rows=130)
    for _ in range(2):
        found = whole(rows)
        expected = np.stack([table["price"].to_numpy(), table["b"].to_numpy()], axis=1)
        assert np.array_equal(found.y, expected) and found.y.dtype == np.float64
