"""`mercer predict`: the numbers are the model's, whatever file they come from and go to."""

import json
import sqlite3

import numpy as np
import pytest

import mercer
from mercer.data import Table, read, write


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
    assert call("predict", sorted_out.file, sorted_out.table, "-o", out, "--proba").exit_code == 0
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
    assert call("predict", fitted.file, fitted.csv, "-o", out, "--interval", "0.9999", "-q").output == ""
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
