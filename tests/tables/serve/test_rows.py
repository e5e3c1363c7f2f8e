"""Requests are understood or refused with the place; nothing else comes out of any bytes."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer._http.refusal import Refusal
from mercer.tables.serve.rows import needed, parse

GOOD = {"size": 100.5, "rooms": 3, "city": "Bonn", "sold": "2024-05-01", "garden": True}


def asked(model, body, max_rows=100):
    return parse(json.dumps(body).encode(), model, max_rows)


def refused(model, body, max_rows=100):
    with pytest.raises(Refusal) as caught:
        parse(body if isinstance(body, bytes) else json.dumps(body).encode(), model, max_rows)
    return caught.value


def test_rows_and_columns_give_the_same_table(regression, rows):
    by_row = asked(regression, {"rows": rows(7, 5)})
    by_column = asked(
        regression, {"columns": {name: [row[name] for row in rows(7, 5)] for name in rows(1)[0]}}
    )
    assert by_row.table == by_column.table and len(by_row) == 7 and by_row.interval is None


def test_the_table_is_the_one_that_python_makes(regression, rows):
    found = regression.predict(asked(regression, {"rows": rows(9, 6)}).table)
    np.testing.assert_array_equal(found, regression.predict(rows(9, 6)))


def test_columns_left_out_by_the_model_need_not_be_sent(regression):
    assert "note" in regression.evidence.dropped
    assert [c.name for c in needed(regression)] == ["size", "rooms", "city", "sold", "garden"]
    assert asked(regression, {"rows": [GOOD]}).table.names == ("size", "rooms", "city", "sold", "garden")


def test_null_is_missing_and_unknown_columns_and_words_are_allowed(regression):
    table = asked(
        regression, {"rows": [{**dict.fromkeys(GOOD), "more": [1, 2]}, GOOD | {"city": "Oslo"}]}
    ).table
    assert np.isnan(table["size"][0]) and table["city"][0] is None and np.isnat(table["sold"][0])
    assert table["city"][1] == "Oslo"
    assert np.isfinite(regression.predict(table)).all()


def test_true_is_the_word_true_where_words_were_true_and_false(regression):
    table = asked(regression, {"rows": [GOOD, GOOD | {"garden": "true"}]}).table
    assert table["garden"].tolist() == ["true", "true"]


@pytest.mark.parametrize(
    ("change", "column", "words"),
    [
        ({"size": "12"}, "size", "'12' is a string, but this column holds numbers"),
        ({"size": True}, "size", "true is a boolean"),
        ({"size": [1]}, "size", "[1] is an array"),
        ({"size": {"a": 1}}, "size", "is an object"),
        ({"size": 10**400}, "size", "is not a finite number"),
        ({"city": 53111}, "city", "53111 is a number, but this column holds words: send it in quotes"),
        ({"city": False}, "city", "false is a boolean"),
        ({"sold": 20240501}, "sold", "this column holds dates"),
        ({"sold": "May 1"}, "sold", "'May 1' is not a date"),
        ({"sold": "2024-02-30"}, "sold", "is not a date"),
        ({"garden": 1}, "garden", "1 is a number"),
    ],
)
def test_a_value_that_does_not_fit_is_named_by_row_and_column(regression, change, column, words):
    found = refused(regression, {"rows": [GOOD, GOOD, GOOD | change]})
    assert (found.status, found.row, found.column) == (422, 2, column)
    assert found.problem.startswith(f"rows[2]['{column}']: ") and words in found.problem
    columns = {name: [GOOD[name], (GOOD | change)[name]] for name in GOOD}
    found = refused(regression, {"columns": columns})
    assert (found.status, found.row, found.column) == (422, 1, column)
    assert found.problem.startswith(f"columns['{column}'][1]: ")


def test_an_infinite_number_is_refused(regression):
    body = json.dumps({"rows": [GOOD]}).replace("100.5", "1e999").encode()
    found = refused(regression, body)
    assert (found.status, found.row, found.column) == (422, 0, "size")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"rows": [GOOD, {k: v for k, v in GOOD.items() if k != "city"}]}, "rows[1] lacks 'city'"),
        ({"rows": [GOOD, 3]}, "rows[1] must be an object, got a number"),
        ({"rows": {"size": 1}}, "rows must be a list"),
        ({"rows": None}, "got null"),
        ({"columns": [1]}, "columns must be an object"),
        ({"columns": {"size": [1]}}, "columns lacks 'rooms'"),
        ({"columns": {name: [1, 2] if name == "city" else [3] for name in GOOD}}, "has 2 values, others 1"),
        ({"columns": dict.fromkeys(GOOD, 1)}, "columns['size'] must be a list"),
        ({"rows": [GOOD], "columns": {}}, "either"),
        ({}, "either"),
        ({"rows": [GOOD], "rosw": 1}, "'rosw' is not known"),
        ([GOOD], "must be an object"),
        (3, "must be an object"),
        ({"rows": [GOOD], "interval": 1.5}, "between 0 and 1"),
        ({"rows": [GOOD], "interval": "0.9"}, "between 0 and 1"),
        ({"rows": [GOOD], "interval": True}, "between 0 and 1"),
    ],
)
def test_a_request_of_another_shape_is_refused(regression, body, words):
    found = refused(regression, body)
    assert found.status == 422 and words in found.problem


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "no JSON"),
        (b"{", "no JSON"),
        (b'{"rows": [}', "no JSON"),
        (b'{"rows": NaN}', "NaN is no JSON"),
        (b'{"rows": -Infinity}', "-Infinity is no JSON"),
        (b'{"rows": [], "rows": []}', "'rows' twice"),
        (b'\xff{"rows": []}', "not UTF-8"),
        ('{"rows": []}'.encode("utf-16"), "not UTF-8"),
        (b"\xef\xbb\xbf{}", "no JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"rows": ' + b"9" * 5000 + b"}", "no JSON"),
    ],
)
def test_what_is_no_json_is_refused(regression, body, words):
    found = refused(regression, body)
    assert found.status == 400 and words in found.problem


def test_too_many_rows_are_refused(regression):
    for body in ({"rows": [GOOD] * 11}, {"columns": {name: [value] * 11 for name, value in GOOD.items()}}):
        assert refused(regression, body, max_rows=10).status == 413
    assert len(asked(regression, {"rows": [GOOD] * 10}, max_rows=10)) == 10


def test_no_rows_are_no_rows(regression):
    assert len(asked(regression, {"rows": []})) == 0
    assert len(asked(regression, {"columns": {name: [] for name in GOOD}})) == 0


def test_intervals_are_for_numbers(regression, classification):
    assert asked(regression, {"rows": [GOOD], "interval": 0.5}).interval == 0.5
    assert asked(regression, {"rows": [GOOD], "interval": None}).interval is None
    assert "probabilities" in refused(classification, {"rows": [GOOD], "interval": 0.5}).problem


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.just("2024-05-01"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=150)
@given(
    values=st.dictionaries(st.sampled_from(sorted(GOOD)), JSON, max_size=3), whole=JSON, wrap=st.booleans()
)
def test_any_json_is_answered_or_refused(regression, values, whole, wrap):
    body = {"rows": [GOOD, GOOD | values]} if wrap else {"rows": whole}
    try:
        table = asked(regression, body).table
    except Refusal as refusal:
        assert refusal.status in (400, 413, 422)
        assert json.loads(refusal.response().body)["error"]
    else:
        assert table.names == tuple(c.name for c in needed(regression))


@settings(max_examples=150)
@given(data=st.data())
def test_any_bytes_are_answered_or_refused(regression, data):
    body = bytearray(json.dumps({"rows": [GOOD]}).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    try:
        parse(bytes(body), regression, 10)
    except Refusal as refusal:
        assert refusal.status in (400, 413, 422) and json.loads(refusal.response().body)["error"]
