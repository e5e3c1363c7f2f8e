"""`mercer predict`: the numbers are the model's, whatever file they come from and go to."""

import json
import sqlite3
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import mercer
from mercer.cli.app import app
from mercer.tables.reading import Table, read, write


def _predictions(model, table):
    return np.column_stack([model.predict(table), model.predict_interval(table, 0.9)])


def _as_matrix(table, names=("prediction", "low", "high")):
    return np.column_stack([table[name] for name in names])


def test_csv_on_stdout(call, fitted, table, tmp_path):
    result = call("predict", fitted.file, fitted.csv)
    assert result.exit_code == 0 and result.stderr == ""
    out = tmp_path / "out.csv"
    out.write_text(result.stdout)
    found = read(out)
    assert found.names == ("prediction", "low", "high")
    np.testing.assert_array_equal(_as_matrix(found), _predictions(fitted.model, table))


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "jsonl", "parquet", "arrow"])
def test_from_every_file_into_every_file(call, fitted, table, tmp_path, ending):
    source = write(table, tmp_path / f"in.{ending}")
    target = tmp_path / f"out.{ending}"
    result = call("predict", fitted.file, source, "-o", target, "--keep", "city", "--keep", "zip")
    assert result.exit_code == 0, result.output
    assert result.output == f"Predictions: {target} (60 rows: prediction, low, high)\n"
    found = read(target, kinds={"zip": "text"})
    assert found.names == ("city", "zip", "prediction", "low", "high")
    assert found["zip"].tolist() == table["zip"].tolist()  # 00501, not 501
    np.testing.assert_array_equal(_as_matrix(found), _predictions(fitted.model, table))


def test_from_sqlite(call, fitted, table, tmp_path):
    source = tmp_path / "base.sqlite"
    rows = list(zip(table["size"], table["city"], table["zip"], map(str, table["sold"]), strict=True))
    with sqlite3.connect(source) as base:
        base.execute("create table houses (size real, city text, zip text, sold text)")
        base.executemany("insert into houses values (?, ?, ?, ?)", rows)
    base.close()
    # "note" is not there: the model left it out.
    result = call("predict", fitted.file, source, "--query", "select * from t where size > 100", "--json")
    assert result.exit_code == 0, result.output
    expected = fitted.model.predict(table.take(table["size"] > 100))
    np.testing.assert_array_equal(json.loads(result.stdout)["predictions"], expected)


def test_json_of_a_regression(call, fitted, table):
    result = call(
        "predict", fitted.file, fitted.csv, "--json", "--interval", "0.5", "--limit", "7", "--keep", "zip"
    )
    found = json.loads(result.stdout)
    assert (found["target"], found["rows"], found["coverage"]) == ("price", 7, 0.5)
    few = table.take(slice(0, 7))
    assert found["predictions"] == fitted.model.predict(few).tolist()
    assert found["intervals"] == fitted.model.predict_interval(few, 0.5).tolist()
    assert found["columns"]["zip"] == few["zip"].tolist()


def test_labels_and_their_probability(call, sorted_out, table, tmp_path):
    out = tmp_path / "out.parquet"
    assert call("predict", sorted_out.file, sorted_out.table, "-o", out).exit_code == 0
    found = read(out)
    assert found.names == ("prediction", "probability")
    P = sorted_out.model.predict_proba(table)
    assert found["prediction"].tolist() == sorted_out.model.predict(table).tolist()
    for i, label in enumerate(found["prediction"]):
        assert found["probability"][i] == P[i, ["cheap", "dear", "fair"].index(label)]
    assert call("predict", sorted_out.file, sorted_out.table, "-o", out, "--proba", "--force").exit_code == 0
    names = ("probability cheap", "probability dear", "probability fair")
    assert read(out).names == ("prediction", *names)
    np.testing.assert_array_equal(_as_matrix(read(out), names), P)


def test_json_of_a_classification(call, sorted_out, table):
    found = json.loads(call("predict", sorted_out.file, sorted_out.table, "--json", "--proba").stdout)
    assert found["classes"] == ["cheap", "dear", "fair"]
    assert found["predictions"] == sorted_out.model.predict(table).tolist()
    assert found["probabilities"] == sorted_out.model.predict_proba(table).tolist()
    found = json.loads(call("predict", sorted_out.file, sorted_out.table, "--json").stdout)
    np.testing.assert_array_equal(found["probability"], sorted_out.model.predict_proba(table).max(axis=1))


def test_columns_with_the_same_name_are_kept_and_the_new_ones_called_otherwise(call, fitted, tmp_path):
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    assert call("predict", fitted.file, fitted.csv, "-o", first, "--all-columns").exit_code == 0
    result = call("predict", fitted.file, first, "-o", second, "--all-columns", "--text", "zip")
    assert result.exit_code == 0 and "'prediction_2'" in result.stderr
    found = read(second)
    assert found.names == (*read(first).names, "prediction_2", "low_2", "high_2")
    np.testing.assert_array_equal(found["prediction"], found["prediction_2"])


def test_intervals_that_no_test_can_back_are_left_empty(call, fitted, tmp_path):
    out = tmp_path / "out.csv"
    result = call("predict", fitted.file, fitted.csv, "-o", out, "--interval", "0.9999")
    assert result.exit_code == 0 and "too few" in result.stderr
    assert np.isnan(read(out)["low"]).all() and np.isfinite(read(out)["prediction"]).all()
    again = ("-o", out, "--force", "--interval", "0.9999", "-q")
    assert call("predict", fitted.file, fitted.csv, *again).output == ""
    result = call("predict", fitted.file, fitted.csv, "--json", "--interval", "0.9999", "--limit", "1")
    assert json.loads(result.stdout)["intervals"] == [[None, None]]


def test_json_of_a_file_that_was_written(call, fitted, tmp_path):
    out = tmp_path / "out.csv"
    result = call("predict", fitted.file, fitted.csv, "-o", out, "--json")
    assert json.loads(result.stdout) == {
        "rows": 60,
        "columns": ["prediction", "low", "high"],
        "output": str(out),
    }


def test_a_libsvm_file_that_ends_early_means_zeros(call, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (40, 3)).round(3) * (rng.random((40, 3)) < 0.7)
    y = X @ [1.0, -2.0, 3.0]
    names = {f"x{j + 1}": X[:, j] for j in range(3)}
    model = mercer.fit(Table.of(names), y, target="target", minutes=0.01)
    mercer.save(model, tmp_path / "m.mercer")
    (tmp_path / "new.svm").write_text("0 1:0.5\n0 2:0.25\n")
    result = call("predict", tmp_path / "m.mercer", tmp_path / "new.svm", "--json")
    assert result.exit_code == 0, result.output
    expected = model.predict([[0.5, 0, 0], [0, 0.25, 0]])
    np.testing.assert_array_equal(json.loads(result.stdout)["predictions"], expected)
    # In a CSV file a column that is not there is a mistake.
    (tmp_path / "new.csv").write_text("x1,x2\n0.5,0\n")
    result = call("predict", tmp_path / "m.mercer", tmp_path / "new.csv")
    assert result.exit_code == 1 and "lacks the column 'x3'" in result.stderr


# -- from standard input -----------------------------------------------------------------------------


def _piped(data, *arguments):
    return CliRunner().invoke(app, ["predict", *map(str, arguments)], input=data)


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "jsonl", "parquet"])
def test_a_table_through_a_pipe(fitted, table, tmp_path, ending):
    source = write(table, tmp_path / f"in.{ending}")
    result = _piped(source.read_bytes(), fitted.file, "-", "--json")
    assert result.exit_code == 0, result.output
    np.testing.assert_array_equal(json.loads(result.stdout)["predictions"], fitted.model.predict(table))


def test_the_pipe_of_a_shell(fitted, tmp_path):
    """cat new.csv | mercer predict houses.mercer -, in a process of its own."""
    run = [sys.executable, "-c", "import sys; from mercer.cli import main; sys.exit(main())"]
    with open(fitted.csv, "rb") as file:
        found = subprocess.run(
            [*run, "predict", fitted.file, "-"], stdin=file, capture_output=True, check=True
        )
    (tmp_path / "out.csv").write_bytes(found.stdout)
    expected = _predictions(fitted.model, read(fitted.csv, kinds={"zip": "text"}))
    np.testing.assert_array_equal(_as_matrix(read(tmp_path / "out.csv")), expected)
    assert found.stderr == b""


def test_what_comes_through_the_pipe_is_what_is_said(fitted, table, tmp_path):
    csv, lines = (write(table, tmp_path / f"in.{ending}").read_bytes() for ending in ("csv", "jsonl"))
    assert _piped(csv, fitted.file, "-", "--format", "csv").exit_code == 0
    assert _piped(b"\n  " + lines, fitted.file, "-").exit_code == 0
    assert _piped(lines, fitted.file, "-", "--format", "jsonl").exit_code == 0
    wrong = _piped(csv, fitted.file, "-", "--format", "jsonl")
    assert wrong.exit_code == 1 and "mercer: standard input, line 1: this is no JSON" in wrong.stderr
    assert _piped(lines, fitted.file, "-", "--format", "csv").exit_code == 1
    assert _piped(csv, fitted.file, "-", "--format", "xlsx").exit_code == 2
    assert _piped(csv, fitted.file, fitted.csv, "--format", "csv").exit_code == 2


def test_errors_name_standard_input(fitted):
    for data, said in (
        (b"", "standard input: the file is empty"),
        (b"size,city\nbig,Ulm\n", "standard input, line 2, column 'size': 'big' is not a number"),
        (b"size\n1\n", "standard input lacks the columns 'city', 'zip', 'sold'"),
    ):
        result = _piped(data, fitted.file, "-")
        assert result.exit_code == 1 and said in result.stderr
        assert result.stderr.count("\n") == 1 and "tmp" not in result.stderr


# -- no rows -----------------------------------------------------------------------------------------


def test_a_header_alone_gives_a_header_alone(call, fitted, sorted_out, table, tmp_path):
    empty = write(table.take([]), tmp_path / "empty.csv")
    assert empty.read_text().count("\n") == 1
    result = call("predict", fitted.file, empty, "--keep", "city")
    assert result.exit_code == 0 and result.stdout == "city,prediction,low,high\n"
    assert result.stderr == f"mercer: {empty} has no rows, so nothing is predicted\n"
    result = call("predict", sorted_out.file, empty, "--proba", "-q")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == "prediction,probability cheap,probability dear,probability fair\n"
    found = json.loads(call("predict", fitted.file, empty, "--json", "-q").stdout)
    assert (found["rows"], found["predictions"], found["intervals"]) == (0, [], [])
    found = json.loads(call("predict", sorted_out.file, empty, "--json", "--proba").stdout)
    assert (found["predictions"], found["probabilities"]) == ([], [])
    # Labels stay words, though there are none.
    assert call("predict", sorted_out.file, empty, "-o", tmp_path / "out.parquet").exit_code == 0
    assert read(tmp_path / "out.parquet", empty=True).kind("prediction") == "text"
    result = call("predict", fitted.file, fitted.csv, "--query", "select * from t where size < 0")
    assert result.exit_code == 0 and result.stdout == "prediction,low,high\n"


def test_a_table_without_rows_must_have_the_columns(call, fitted, tmp_path):
    (tmp_path / "empty.csv").write_text("size\n")
    result = call("predict", fitted.file, tmp_path / "empty.csv")
    assert result.exit_code == 1 and "lacks the columns 'city', 'zip', 'sold'" in result.stderr


# -- advice ------------------------------------------------------------------------------------------


def test_the_advice_helps(call, fitted, table, tmp_path):
    """--text is advised where it makes the command work, and nowhere else."""
    n, few = 40, table.take(slice(0, 40))
    odd = [*map(str, range(n - 1)), "oops"]
    mixed = write(Table({**few.columns, "rank": np.array(odd, dtype=object)}, n), tmp_path / "mixed.csv")
    result = call("predict", fitted.file, mixed)
    assert result.exit_code == 1 and result.stderr.endswith("kinds={'rank': 'text'} (--text rank).\n")
    result = call("predict", fitted.file, mixed, "--text", "rank", "--keep", "rank", "--json")
    assert result.exit_code == 0 and json.loads(result.stdout)["columns"]["rank"] == odd
    # The model needs numbers there: only the file can be put right.
    sizes = np.array(odd, dtype=object)
    wrong = write(Table({**few.columns, "size": sizes}, n), tmp_path / "wrong.csv")
    result = call("predict", fitted.file, wrong)
    assert (
        result.exit_code == 1 and "column 'size': 'oops' is not a number, but 39 of the 40" in result.stderr
    )
    assert result.stderr.endswith("Correct it, or leave it empty if nothing is known.\n")
    result = call("predict", fitted.file, wrong, "--text", "size")
    assert result.exit_code == 1 and "--text size: the model learned from numbers there" in result.stderr
    assert (
        "--text sold: the model learned from dates"
        in call("predict", fitted.file, mixed, "--text", "sold").stderr
    )


def test_columns_that_were_left_out_may_hold_anything(call, tmp_path):
    x = np.linspace(0, 1, 40)
    table = Table.of({"id": np.arange(40), "x": x, "always": np.ones(40), "y": x**2})
    model = mercer.fit(table, "y", minutes=0.01)
    assert set(model.evidence.dropped) == {"id", "always"}
    mercer.save(model, tmp_path / "m.mercer")
    (tmp_path / "new.csv").write_text("id,x,always\nA-7,0.5,never\n")
    result = call("predict", tmp_path / "m.mercer", tmp_path / "new.csv", "--json", "--keep", "id")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["predictions"] == model.predict([{"x": 0.5}]).tolist() and found["columns"]["id"] == ["A-7"]


# -- dates -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["D.M.Y", "D/M/Y", "M/D/Y"])
def test_one_row_is_read_as_the_table_was(call, tmp_path, order):
    """Fitted from a file that shows the order, a row of it without a target; saved; asked about one day."""
    days = np.datetime64("2024-01-01") + np.arange(60)

    def written(day):
        year, month, date = str(day).split("-")
        return order.replace("D", date).replace("M", month).replace("Y", year)

    lines = [f"{written(day)},{'' if i == 7 else i % 31}" for i, day in enumerate(days)]
    (tmp_path / "days.csv").write_text("day,height\n" + "\n".join(lines))
    model, out = tmp_path / "m.mercer", ["--minutes", "0.01", "--no-report"]
    result = call("fit", tmp_path / "days.csv", "-t", "height", "-o", model, *out)
    spoken = order.replace("D", "day").replace("M", "month").replace("Y", "year")
    assert result.exit_code == 0 and f"Note: Dates in 'day' were read as {spoken}." in result.stdout
    assert f"date {order}" in call("info", model).stdout
    kept = mercer.load(model)
    asked = np.datetime64("2024-02-03")
    expected = kept.predict({"day": [asked]}).tolist()
    assert expected != kept.predict({"day": [np.datetime64("2024-03-02")]}).tolist()
    for name, text in (
        ("one.csv", f"day\n{written(asked)}\n"),
        ("one.jsonl", json.dumps({"day": written(asked)})),
        ("iso.csv", "day\n2024-02-03\n"),
    ):
        (tmp_path / name).write_text(text)
        assert json.loads(call("predict", model, tmp_path / name, "--json").stdout)["predictions"] == expected
    assert kept.predict([{"day": written(asked)}]).tolist() == expected


def test_what_cannot_be_done(call, fitted, sorted_out, table, tmp_path):
    mercer.save(mercer.kernels.Gaussian(1.0), tmp_path / "kernel.mercer")
    (tmp_path / "broken.mercer").write_bytes(fitted.file.read_bytes()[:-1])
    words = write(Table.of({"size": ["big"], "city": ["Ulm"]}), tmp_path / "words.csv")
    lacks = write(table.drop("city", "zip"), tmp_path / "lacks.csv")
    out = ["-o", tmp_path / "out.csv"]
    for arguments, said in (
        ((tmp_path / "no.mercer", fitted.csv), "No such file"),
        ((tmp_path / "broken.mercer", fitted.csv), "can't load"),
        ((tmp_path / "kernel.mercer", fitted.csv), "holds a Gaussian, not a model of mercer fit"),
        ((fitted.file, tmp_path / "no.csv"), "there is no such file"),
        ((fitted.file, words), "line 2, column 'size': 'big' is not a number"),
        ((fitted.file, lacks), "lacks the columns 'city', 'zip'"),
        ((fitted.file, fitted.csv, "--keep", "colour"), "there is no column 'colour'"),
        ((fitted.file, fitted.csv, "--proba"), "--proba is for classifications"),
        ((sorted_out.file, sorted_out.table, "--interval", "0.9"), "--interval is for regressions"),
        ((fitted.file, fitted.csv, "-o", tmp_path / "out.xlsx"), "can not be written as '.xlsx'"),
        ((fitted.file, fitted.csv, "-o", fitted.csv), "choose another name"),
        ((fitted.file, fitted.csv, "-o", fitted.file), "choose another name"),
    ):
        result = call("predict", *(arguments if "-o" in arguments else (*arguments, *out)))
        assert result.exit_code == 1 and said in result.stderr, (said, result.output)
        assert result.stderr.count("\n") == 1 and not (tmp_path / "out.csv").exists()


def test_wrong_usage(call, fitted):
    assert call("predict", fitted.file).exit_code == 2
    for coverage in ("0", "1", "2", "x"):
        assert call("predict", fitted.file, fitted.csv, "--interval", coverage).exit_code == 2


def test_copies_are_as_they_were_written(call, fitted, table, tmp_path):
    """Leading zeros, dates as people write them, blanks, words for nothing, needed by the model or not."""
    old = mercer.tables.write(table.drop("price", "kind").take(slice(0, 3)), tmp_path / "old.csv")
    lines = [line.split(",") for line in old.read_text().splitlines()]
    odd = [["id", "day"], ["007", " 31.01.2024"], ["NA", "-"], ["1.50", "TRUE"]]
    text = "\n".join(",".join(a + b) for a, b in zip(lines, odd, strict=True)) + "\n"
    new = tmp_path / "new.csv"
    new.write_text(text)
    result = call("predict", fitted.file, new, "--all-columns", "--raw")
    assert result.exit_code == 0, result.output
    for line, was in zip(result.stdout.splitlines(), text.splitlines(), strict=True):
        assert line.replace('" 31.01.2024"', " 31.01.2024").startswith(was + ",")
    # Decimal commas, though the new file is cut at commas; and nothing is taken for a formula.
    new.write_text(text.replace(",", ";").replace(".", ",").replace("007", "-0,50"))
    result = call("predict", fitted.file, new, "--keep", "id", "--limit", "1")
    assert result.stdout.splitlines()[1].startswith('"-0,50",')
    new.write_text(text)
    # Into a file with types, values are what they are.
    out = tmp_path / "out.parquet"
    assert call("predict", fitted.file, new, "--keep", "size", "--keep", "id", "-o", out).exit_code == 0
    assert read(out).kind("size") == "number"
    # Rows of a Parquet file have no way of being written, but all their digits.
    source = mercer.tables.write(table.drop("price"), tmp_path / "a.parquet")
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pq.read_table(source).append_column("id", pa.array([2**60 + 1] * len(table))), source)
    said = call("predict", fitted.file, source, "--keep", "id", "--limit", "1").stdout
    assert said.splitlines()[1].startswith(f"{2**60 + 1},")


def test_numbers_that_begin_with_zero(call, fitted, table, tmp_path):
    few = table.drop("price")
    codes = Table({**few.columns, "rank": np.array(["01"] * len(few), dtype=object)}, len(few))
    path = mercer.tables.write(codes, tmp_path / "codes.csv")
    asked = ("predict", fitted.file, path, "--keep", "rank", "--json", "--limit", "1")
    assert json.loads(call(*asked).stdout)["columns"]["rank"] == ["01"]
    assert json.loads(call(*asked, "--number", "rank").stdout)["columns"]["rank"] == [1]
    assert "--number zip: the model learned from words there" in call(*asked, "--number", "zip").stderr


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_table_that_does_not_fit_is_predicted_part_by_part(call, fitted, table, tmp_path, ending):
    """The same answers, with the same words kept."""
    source = write(table, tmp_path / f"in.{ending}")
    asked = ("predict", fitted.file, source, "--keep", "city", "--keep", "zip", "--interval", "0.8")
    result = call(*asked, "-o", tmp_path / f"parts.{ending}", "--memory", "1kB")
    assert "is read part by part" in result.stderr
    assert result.stdout.endswith("(60 rows: prediction, low, high)\n")
    assert call(*asked, "-o", tmp_path / f"whole.{ending}").exit_code == 0
    parts, whole = (read(tmp_path / f"{name}.{ending}", kinds={"zip": "text"}) for name in ("parts", "whole"))
    assert parts.names == whole.names and parts["zip"].tolist() == whole["zip"].tolist()
    np.testing.assert_allclose(_as_matrix(parts), _as_matrix(whole), rtol=1e-12)


def test_by_parts_words_are_no_formulas_and_far_rows_are_named(call, fitted, table, tmp_path):
    city = table["city"].copy()
    city[3] = "=1+1"
    columns = {**table.columns, "city": city, "prediction": table["size"]}
    source, out = write(Table(columns), tmp_path / "in.parquet"), tmp_path / "out.csv"
    asked = ["predict", fitted.file, source, "-o", out, "--keep", "city", "--keep", "prediction"]
    result = call(*asked, "--memory", "1kB", "--json")
    assert "'=1+1" in out.read_text() and "the new one is 'prediction_2'" in result.stderr
    assert "1 rows lie beyond what was learned from, where nothing is known: city = '=1+1'" in result.stderr
    assert json.loads(result.stdout)["columns"] == ["city", "prediction", "prediction_2", "low", "high"]
    assert call(*asked, "--memory", "1kB", "--raw", "--force").exit_code == 0
    assert "'=1+1" not in out.read_text()


@pytest.mark.parametrize("memory", [[], ["--memory", "1kB"]])
def test_folders_and_queries(call, fitted, table, tmp_path, memory):
    (tmp_path / "many").mkdir()
    for number in range(3):
        write(table.take(slice(20 * number, 20 * number + 20)), tmp_path / "many" / f"{number}.parquet")
    expected = mercer.load(fitted.file).predict(table)
    query = f"select * from '{tmp_path}/many/*.parquet'"
    for number, where in enumerate((tmp_path / "many", query)):
        out = tmp_path / f"out{number}.parquet"
        said = call("predict", fitted.file, where, "-o", out, "--keep", "city", *memory)
        assert said.exit_code == 0 and ("part by part" in said.stderr) == bool(memory)
        np.testing.assert_allclose(read(out)["prediction"], expected, rtol=1e-9)
        assert read(out)["city"].tolist() == table["city"].tolist()
    missing = call("predict", fitted.file, where, "-o", tmp_path / "x.csv", "--keep", "town", *memory)
    assert missing.exit_code == 1 and "town" in missing.stderr and not (tmp_path / "x.csv").exists()
