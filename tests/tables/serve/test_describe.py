"""The schema says what /predict takes."""

import json
from dataclasses import replace
from datetime import datetime

import pytest

from mercer._http.refusal import Refusal
from mercer.tables.serve.rows import parse, schema


def test_it_describes_every_column_that_is_needed(regression):
    found = json.loads(json.dumps(schema(regression), allow_nan=False))
    assert (found["target"], found["task"], found["classes"]) == ("price", "regression", None)
    row = found["row"]
    assert row["type"] == "object" and row["required"] == ["size", "rooms", "city", "sold", "garden"]
    types = {name: about["type"] for name, about in row["properties"].items()}
    assert types == {
        "size": ["number", "null"],
        "rooms": ["number", "null"],
        "city": ["string", "null"],
        "sold": ["string", "null"],
        "garden": ["string", "boolean", "null"],
    }
    assert "enum" not in json.dumps(row)  # new words are allowed
    assert sorted(row["properties"]["city"]["examples"]) == ["Bonn", "Kiel", "Ulm"]


def test_its_examples_are_a_row(regression):
    properties = schema(regression)["row"]["properties"]
    row = {name: about["examples"][-1] for name, about in properties.items()}
    assert len(parse(json.dumps({"rows": [row]}).encode(), regression, 1)) == 1


def test_classes(classification):
    assert schema(classification)["classes"] == ["cheap", "dear", "fair"]


def test_dates_may_be_sent_as_the_model_learned_them(regression):
    columns = [replace(c, order="D/M/Y") if c.name == "sold" else c for c in regression.schema.columns]
    model = replace(regression, schema=replace(regression.schema, columns=tuple(columns)))
    about = schema(model)["row"]["properties"]["sold"]["description"]
    assert about.startswith("ISO 8601 or D/M/Y, seen from 2024-")
    row = {"size": 50, "rooms": 2, "city": "Bonn", "garden": True}
    for word in ("03/04/2024", "2024-04-03"):
        asked = parse(json.dumps({"rows": [row | {"sold": word}]}).encode(), model, 1)
        assert asked.table["sold"].tolist() == [datetime(2024, 4, 3)]
    with pytest.raises(Refusal, match="'04/31/2024' is not a date like 31/01/2024"):
        parse(json.dumps({"rows": [row | {"sold": "04/31/2024"}]}).encode(), model, 1)
