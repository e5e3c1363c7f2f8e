"""`mercer info`."""

import json

import mercer


def test_it_says_what_the_file_holds(call, fitted):
    result = call("info", fitted.file)
    assert result.exit_code == 0
    for words in (
        "Regression of price: 60 rows, 5 columns",
        str(fitted.model),
        "2-fold cross-validation",  # in haste
        "Bonn",
        "2024-01-",
        f"format 2, written by mercer {mercer.__version__}",
        "seed 3",
    ):
        assert words in result.stdout, words
    note = next(line for line in result.stdout.splitlines() if line.startswith("note "))
    assert note.rstrip().endswith("no")  # not needed


def test_classes(call, sorted_out):
    assert "Classes: cheap, dear, fair" in call("info", sorted_out.file).stdout


def test_json(call, fitted, sorted_out):
    found = json.loads(call("info", fitted.file, "--json").stdout)
    assert found["file"] == {
        "path": str(fitted.file),
        "bytes": fitted.file.stat().st_size,
        "format": 2,
        "mercer": mercer.__version__,
    }
    assert found["seed"] == 3 and found["tested"]["rows"] == 60
    columns = {c["name"]: c for c in found["columns"]}
    assert columns["zip"]["kind"] == "category" and "00501" in columns["zip"]["categories"]
    assert columns["note"] == columns["note"] | {"needed": False, "categories": None}
    same = json.loads(call("info", sorted_out.file, "--json").stdout)
    assert same["tested"] == sorted_out.facts["tested"]


def test_what_is_no_model(call, fitted):
    result = call("info", fitted.csv)
    assert result.exit_code == 1 and "can't load" in result.stderr and result.stderr.count("\n") == 1
    assert json.loads(call("info", fitted.csv, "--json").stderr)["error"].startswith("can't load")
