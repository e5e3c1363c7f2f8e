"""JSON lines."""

import json

import numpy as np
import pytest

from mercer.tables.reading import Table, TableError, read


def save(tmp_path, text, name="a.jsonl"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_a_table_of_all_kinds(tmp_path):
    records = [
        {"n": 1, "w": "1", "d": "2024-01-01", "f": True},
        {"n": None, "w": "ü", "d": "2024-01-01T10:00:00Z"},
        {"late": 2.5, "n": 3.5},
    ]
    table = read(save(tmp_path, "\r\n\n".join(map(json.dumps, records))))
    days = np.array(["2024-01-01", "2024-01-01T10:00", "NaT"], dtype="datetime64[us]")
    expected = {
        "n": [1, None, 3.5],
        "w": ["1", "ü", None],
        "d": days,
        "f": ["true", None, None],
        "late": [None, None, 2.5],
    }
    assert table == Table.of(expected)


def test_limit_kinds_and_other_names(tmp_path):
    text = '{"a": 1}\n\n{"a": "x"}\n[broken'
    assert read(save(tmp_path, text, "a.ndjson"), limit=2)["a"].tolist() == ["1", "x"]
    assert read(save(tmp_path, '{"a": "7"}\n', "a.txt"), kinds={"a": "number"})["a"].tolist() == [7.0]


@pytest.mark.parametrize(
    "line, message",
    [
        ('{"a": 1', "no JSON"),
        ("nonsense", "no JSON"),
        ("[1, 2]", "no object with names"),
        ('{"a": [1]}', "column 'a': .* is of type list"),
        ('{"a": {"b": 1}}', "of type dict"),
        ('{"a": 1, "a": 2}', "an object has 'a' twice"),
        ('{"a": Infinity}', "not a finite number"),
        ('{"a": 1e999}', "not a finite number"),
        ('{"a": 1' + "0" * 400 + "}", "not a finite number"),
        ('{"a": ' + "9" * 5000 + "}", "no JSON"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a": "oops"}', "'oops' is not a number, but 30 of the 31"),
    ],
)
def test_what_is_wrong_is_named_by_line(tmp_path, line, message):
    with pytest.raises(TableError, match=message) as caught:
        read(save(tmp_path, '{"a": 1}\n\n' * 30 + line + "\n"))
    assert caught.value.line == 61


@pytest.mark.parametrize(
    "text, message", [(" \n", "no rows"), ("{}\n{}\n", "rows are empty"), ('{"": 1}', "no name")]
)
def test_nothing_there(tmp_path, text, message):
    with pytest.raises(TableError, match=message):
        read(save(tmp_path, text))


def test_one_array_is_refused_with_a_way_out(tmp_path):
    with pytest.raises(TableError, match="one JSON array.*Table.of"):
        read(save(tmp_path, '[{"a": 1}]', "a.json"))
