"""The schema says what /predict takes."""

import json

from mercer.serve.describe import schema
from mercer.serve.rows import parse


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
