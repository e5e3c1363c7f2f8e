"""`mercer fit`: what it writes, prints and refuses."""

import shlex
import signal
import sqlite3
import sys

import pytest
from typer.testing import CliRunner

import mercer
from mercer.cli.app import app
from mercer.cli.options import column_names


def test_it_prints_what_was_found(fitted):
    said = fitted.result.stdout
    for words in (
        "Regression of price: 60 rows, 5 columns",
        str(fitted.model),
        "2-fold cross-validation",  # in haste
        "gradient boosting",
        "What matters",
        "Solver: cholesky",
        "Test-set bound",
        "Left out: note",
        f"Model: {fitted.file}",
        f"Report: {fitted.page}",
    ):
        assert words in said, words
    assert fitted.result.stderr == ""


def test_it_writes_the_model_and_the_report(fitted, table):
    assert fitted.model.target == "price" and fitted.model.evidence.seed == 3
    kinds = {c.name: c.kind for c in fitted.model.schema.columns}
    assert kinds["zip"] == "category" and "kind" not in kinds
    text = fitted.page.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>") and "houses.csv" in text
    command = "mercer fit houses.csv --target price --minutes 0.01 --seed 3 --text zip --ignore kind"
    assert command in text and "mercer.fit(" not in text
    assert fitted.model.evidence.command == command and fitted.model.evidence.source == "houses.csv"
    assert str(fitted.folder) not in text and str(fitted.folder).encode() not in fitted.file.read_bytes()
    left = {path.name for path in fitted.folder.iterdir()}
    assert left == {"houses.csv", "houses.mercer", "houses.html"}


def test_json(sorted_out):
    facts = sorted_out.facts
    assert (facts["task"], facts["target"], facts["rows"]) == ("classification", "kind", 60)
    assert facts["classes"] == ["cheap", "dear", "fair"] and facts["report"] is None
    scores = facts["tested"]["scores"]
    assert scores["error rate"]["low"] <= scores["error rate"]["value"] <= scores["error rate"]["high"]
    assert set(facts["tested"]["others"]) == {"constant", "linear model", "gradient boosting"}
    assert facts["output"] == str(sorted_out.file) and facts["model"] == str(sorted_out.model)


@pytest.fixture
def instant(monkeypatch, fitted):
    """A fit that takes no time; the calls."""
    calls = []

    def fit(data, **options):
        calls.append((data, options))
        return fitted.model

    monkeypatch.setattr("mercer.tables.model.fit", fit)
    monkeypatch.setattr("mercer.fit", fit, raising=False)
    return calls


def test_it_asks_what_one_would_ask_in_python(call, instant, fitted, table, tmp_path):
    options = ["--text", "zip", "--ignore", "kind", "--minutes", "0.5", "--seed", "3"]
    output = ["-o", tmp_path / "m.mercer", "--no-report", "-q"]
    assert call("fit", fitted.csv, "-t", "price", *options, *output).exit_code == 0
    data, asked = instant[-1]
    assert data == table.drop("kind")
    asked.pop("progress")
    assert asked.pop("engine") == "auto"
    assert asked == {"target": "price", "task": None, "minutes": 0.5, "random_state": 3, "groups": None}


def test_groups(call, instant, fitted, tmp_path):
    file = tmp_path / "m.mercer"
    result = call("fit", fitted.csv, "-t", "price", "--group", "city", "-o", file, "--no-report", "-q")
    assert result.exit_code == 0 and instant[-1][1]["groups"] == "city" and "city" in instant[-1][0]
    assert "--group city" in mercer.load(file).evidence.command


def test_the_engine(call, instant, fitted, tmp_path, monkeypatch):
    file = tmp_path / "m.mercer"
    options = ["--no-report", "-q", "-o", file]
    assert call("fit", fitted.csv, "-t", "price", "--engine", "cpu", *options).exit_code == 0
    assert instant[-1][1]["engine"] == "cpu" and "--engine cpu" in mercer.load(file).evidence.command
    assert call("fit", fitted.csv, "-t", "price", "--engine", "tpu", *options, "--force").exit_code == 2
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setattr("mercer.cli.fit._data", lambda *_: pytest.fail("the table was read"))
    result = call("fit", fitted.csv, "-t", "price", "--engine", "cuda", *options, "--force")
    assert result.exit_code == 1 and "pip install 'mercer[gpu]'; --engine cpu does without" in result.stderr


def test_files_are_named_after_the_table(call, instant, fitted, monkeypatch, tmp_path):
    packed = mercer.tables.write(mercer.tables.read(fitted.csv), tmp_path / "flats.csv.gz")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    result = call("fit", packed, "--target", "price", "--quiet")
    assert result.exit_code == 0 and result.output == ""
    assert {path.name for path in (tmp_path / "here").iterdir()} == {"flats.mercer", "flats.html"}


def test_what_is_read_is_what_is_asked_for(call, instant, table, tmp_path):
    file = tmp_path / "base.sqlite"
    with sqlite3.connect(file) as base:
        for name in ("houses", "others"):
            base.execute(f"create table {name} (price real, size real, zip text)")
            base.executemany(f"insert into {name} values (?, ?, ?)", [(i, i % 7, f"0{i}") for i in range(30)])
    base.close()
    output = ["-o", tmp_path / "m.mercer", "--no-report", "-q"]
    chosen = ["--query", "select price, size from t where size > 3", "--table", "houses", "--limit", "5"]
    assert call("fit", file, "-t", "price", *chosen, *output).exit_code == 0
    data, options = instant[-1]
    assert data.names == ("price", "size") and len(data) == 5 and data["size"].min() > 3
    assert options["target"] == "price" and options["task"] is None
    assert call("fit", file, "-t", "price", "--table", "others", "--text", "zip", *output).exit_code == 0
    assert instant[-1][0]["zip"][1] == "01"
    result = call("fit", file, "-t", "price", *output)
    assert result.exit_code == 1 and "2 tables" in result.stderr and "--table" in result.stderr


def test_the_task_can_be_said(call, instant, fitted, tmp_path):
    options = ["--no-report", "-q", "-o", tmp_path / "m.mercer"]
    assert call("fit", fitted.csv, "-t", "zip", "--task", "regression", *options).exit_code == 0
    assert instant[-1][1]["task"] == "regression"
    assert call("fit", fitted.csv, "-t", "zip", "--task", "other", *options).exit_code == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-t", "prize"], "there is no column 'prize'. Do you mean 'price'?"),
        (["-t", "price", "--text", "zap"], "there is no column 'zap'"),
        (["-t", "price", "--ignore", "zap"], "there is no column 'zap'"),
        (["-t", "price", "--ignore", "price"], "this is the target"),
        (["-t", "price", "--group", "zap"], "there is no column 'zap'"),
        (["-t", "price", "--group", "price"], "this is the target"),
        (["-t", "price", "--group", "city", "--ignore", "city"], "this is the column of groups"),
        (["-t", "price", "--query", "select 1 where false"], "selects no rows"),
        (["-t", "price", "--table", "x"], "one table"),
        (["-t", "price", "--limit", "3"], "too few"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(call, fitted, tmp_path, options, words):
    result = call("fit", fitted.csv, *options, "--no-report", "-o", tmp_path / "m.mercer")
    assert result.exit_code == 1 and result.stdout == ""
    assert result.stderr.startswith("mercer: ") and words in result.stderr and result.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_rows_without_a_target_are_left_out(call, tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("size,sale price\n" + "".join(f"{i},{i if i % 4 else ''}\n" for i in range(40)))
    options = ["--no-report", "--minutes", "0.01", "-o", tmp_path / "m.mercer"]
    result = call("fit", file, "-t", "sale price", *options)
    assert result.exit_code == 0
    assert "Note: 10 rows without 'sale price' were left out, the first of them row 1" in result.stdout


def test_mixed_columns_are_named_by_line(call, tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("price,size\n" + "1,2\n" * 40 + "1,two\n")
    result = call("fit", file, "-t", "price")
    assert result.exit_code == 1 and f"{file}, line 42, column 'size'" in result.stderr


def test_from_standard_input(instant, fitted, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    options = ["-t", "price", "--text", "zip", "--ignore", "kind", "-q"]
    result = CliRunner().invoke(app, ["fit", "-", *options], input=fitted.csv.read_bytes())
    assert result.exit_code == 0, result.output
    assert instant[-1][0] == mercer.tables.read(fitted.csv, kinds={"zip": "text"}).drop("kind")
    assert {path.name for path in tmp_path.iterdir()} == {"table.mercer", "table.html"}
    evidence = mercer.load("table.mercer").evidence
    assert evidence.command.startswith("mercer fit - --target price") and evidence.source == "standard input"
    result = CliRunner().invoke(app, ["fit", "-", *options, "--format", "jsonl"], input=b'{"price": 1}\n[')
    assert result.exit_code == 1 and "mercer: standard input, line 2: this is no JSON" in result.stderr


def test_the_command_that_is_kept_can_be_typed_again(call, instant, fitted, tmp_path):
    """Quoted for the shell, with every option that decides what the model is."""
    options = ["--task", "regression", "--minutes", "0.5", "--query", "select * from t where size > 1"]
    output = ["-o", tmp_path / "m.mercer", "--no-report", "-q"]
    file = tmp_path / "my houses.csv"
    file.write_bytes(fitted.csv.read_bytes())
    assert call("fit", file, "-t", "price", *options, *output).exit_code == 0
    command = mercer.load(tmp_path / "m.mercer").evidence.command
    first = instant[-1]
    words = shlex.split(command)
    assert words[:3] == ["mercer", "fit", "my houses.csv"]
    assert call("fit", file, *words[3:], *output).exit_code == 0
    again = instant[-1]
    assert again[0] == first[0]
    assert {**again[1], "progress": None} == {**first[1], "progress": None}


@pytest.mark.parametrize(
    "arguments",
    [
        ["t.csv", "-t", "price", "--format", "csv"],
        ["t.csv"],
        ["-t", "price"],
        ["t.csv", "-t", "price", "--minutes", "0"],
        ["t.csv", "-t", "price", "--minutes", "soon"],
        ["t.csv", "-t", "price", "--seed", "-1"],
        ["t.csv", "-t", "price", "--limit", "0"],
        ["t.csv", "-t", "price", "--colour", "red"],
    ],
)
def test_wrong_usage(call, arguments):
    assert call("fit", *arguments).exit_code == 2


def test_nothing_is_overwritten_that_is_read(call, fitted):
    before = fitted.csv.read_bytes()
    for options in (["-o", fitted.csv], ["--report", fitted.csv], ["-o", "a.html", "--report", "a.html"]):
        result = call("fit", fitted.csv, "-t", "price", *options)
        assert result.exit_code == 1 and "choose another name" in result.stderr
    assert fitted.csv.read_bytes() == before


def test_without_matplotlib_it_says_so_before_the_work(call, fitted, monkeypatch, tmp_path):
    monkeypatch.setattr("mercer.cli.fit.find_spec", lambda name: None)
    monkeypatch.chdir(tmp_path)
    result = call("fit", fitted.csv, "-t", "price")
    assert result.exit_code == 1 and "mercer[plot]" in result.stderr and "--no-report" in result.stderr


def _interrupted(*_, **__):
    raise KeyboardInterrupt


def test_interrupted_while_it_works(call, fitted, monkeypatch, tmp_path):
    monkeypatch.setattr("mercer.fit", _interrupted, raising=False)
    monkeypatch.chdir(tmp_path)
    result = call("fit", fitted.csv, "-t", "price")
    assert result.exit_code == 130 and "interrupted; nothing was written" in result.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("options", [[], ["--quiet"], ["--json"]])
def test_interrupted_after_the_first_model(call, fitted, monkeypatch, tmp_path, options):
    """What there is is written, and that it was interrupted is said, also where nothing else is."""

    def signalled(self):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("mercer.tables.model.evaluation.PartLearner.learned", signalled)
    monkeypatch.chdir(tmp_path)
    result = call("fit", fitted.csv, "-t", "price", *options)
    assert result.exit_code == 0 and "interrupted: what was learned by then is kept" in result.stderr
    model = mercer.load("houses.mercer")
    assert len(model.predict(mercer.tables.read(fitted.csv))) == 60
    words = "it was interrupted before the model was done"
    assert any(words in said for said in model.evidence.remarks)
    assert words in (tmp_path / "houses.html").read_text(encoding="utf-8")
    assert (words in result.stdout) == (options != ["--quiet"])


def test_interrupted_before_the_first_model(call, fitted, monkeypatch, tmp_path):
    monkeypatch.setattr("mercer.tables.model.evaluation.first_part", _interrupted)
    monkeypatch.chdir(tmp_path)
    result = call("fit", fitted.csv, "-t", "price")
    assert result.exit_code == 130 and "interrupted; nothing was written" in result.stderr
    assert not list(tmp_path.iterdir())


def test_an_interrupted_fit_with_a_checkpoint_says_how_to_go_on(call, fitted, monkeypatch, tmp_path):
    monkeypatch.setattr("mercer.fit", _interrupted, raising=False)
    monkeypatch.chdir(tmp_path)
    options = ["-t", "price", "--memory", "1kB", "--checkpoint", "fit.checkpoint"]
    assert "nothing was written" in call("fit", fitted.csv, *options).stderr  # it had not come so far
    (tmp_path / "fit.checkpoint").touch()
    result = call("fit", fitted.csv, *options)
    said = "interrupted; the same command goes on from fit.checkpoint"
    assert result.exit_code == 130 and said in result.stderr and "nothing" not in result.stderr


def test_interrupted_while_it_draws(call, instant, fitted, monkeypatch, tmp_path):
    monkeypatch.setattr("mercer.tables.report.model_report", _interrupted)
    monkeypatch.chdir(tmp_path)
    result = call("fit", fitted.csv, "-t", "price")
    assert result.exit_code == 130 and "houses.mercer is written, houses.html is not" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["houses.mercer"]


def test_a_report_that_fails_does_not_lose_the_model(call, instant, fitted, monkeypatch, tmp_path):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("mercer.tables.report.page.Report.write", full)
    monkeypatch.chdir(tmp_path)
    result = call("fit", fitted.csv, "-t", "price")
    assert result.exit_code == 1 and "houses.mercer is written, but houses.html is not" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["houses.mercer"]


def test_names_of_columns_complete(fitted, tmp_path):
    class Context:
        params = {"table": None}
        args = [str(fitted.csv)]

    assert column_names(Context(), "") == list(mercer.tables.read(fitted.csv).names)
    assert column_names(Context(), "s") == ["size", "sold"]
    Context.args = [str(tmp_path / "nothing.csv")]
    assert column_names(Context(), "") == []


def test_a_table_that_does_not_fit_is_read_part_by_part(call, instant, fitted, tmp_path):
    """It says so, and asks for the file instead of the table; names are looked up before."""
    from mercer.tables.model.large import LargeTable

    output = ["-o", tmp_path / "m.mercer", "--no-report", "--ignore", "kind", "--memory", "1kB"]
    kept = tmp_path / "fit.checkpoint"
    said = call("fit", fitted.csv, "-t", "price", *output, "--checkpoint", kept)
    assert said.exit_code == 0 and "is read part by part: the whole table would take" in said.stderr
    data, asked = instant[-1]
    assert isinstance(data, LargeTable) and data.without == ("kind",) and data.place.path == fitted.csv
    assert (asked["memory"], asked["checkpoint"]) == ("1kB", kept)
    assert mercer.load(tmp_path / "m.mercer").evidence.command.endswith("--memory 1kB --ignore kind")
    assert "Do you mean 'price'?" in call("fit", fitted.csv, "-t", "prize", *output, "--force").stderr
    assert "such as '2GB'" in call("fit", fitted.csv, "-t", "price", *output[:3], "--memory", "x").stderr


def test_folders_and_queries(call, instant, fitted, table, tmp_path, monkeypatch):
    """They are read as a file is; without a name of their own the model is called table.mercer."""
    from mercer.tables import write

    monkeypatch.chdir(tmp_path)
    (tmp_path / "many").mkdir()
    write(table.take(slice(30)), tmp_path / "many" / "0.csv")
    write(table.take(slice(30, None)), tmp_path / "many" / "1.csv")
    query = "select * from 'many/*.csv' where size // 1 > 0"
    for where, made, source in (
        ("many", "many.mercer", "many"),
        ("many/*.csv", "table.mercer", "*.csv"),
        (query, "query.mercer", "a query ("),
    ):
        output = ["-o", made] * (where == query)
        said = call("fit", where, "-t", "price", "--ignore", "kind", "--no-report", *output)
        assert said.exit_code == 0, said.stderr
        data, _ = instant[-1]
        assert data.names == table.drop("kind").names and len(data) == 60
        assert mercer.load(tmp_path / made).evidence.source.startswith(source)
    said = call("fit", query, "-t", "price", "--no-report", "-o", "large.mercer", "--memory", "1kB")
    assert "a query" in said.stderr and "more than" in said.stderr and "1 kB may be taken" in said.stderr
    assert "--limit is for one file" in call("fit", "many", "-t", "size", "--limit", "3", "--force").stderr
    assert "all files of which are read" in call("fit", "many", "-t", "size", "-o", "many/a.mercer").stderr
    assert "not from a query" in call("stream", query, "-t", "price").stderr
