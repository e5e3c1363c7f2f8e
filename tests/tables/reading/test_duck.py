"""SQL through DuckDB: right answers, and no way out of the file."""

from contextlib import closing

import duckdb
import numpy as np
import pandas as pd
import pyarrow.feather
import pytest

from mercer.tables.reading import Table, TableError, read

FRAME = pd.DataFrame(
    {"price": [10.0, None, 30.0, 40.0], "city": ["Bonn", "Köln", None, "Bonn"], "k": [1, 2, 3, 4]}
)


@pytest.fixture
def folder(tmp_path):
    FRAME.to_csv(tmp_path / "a.csv", index=False)
    FRAME.to_parquet(tmp_path / "a.parquet")
    pyarrow.feather.write_feather(FRAME, tmp_path / "a.feather")
    FRAME.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    with closing(duckdb.connect(str(tmp_path / "a.duckdb"))) as connection:
        connection.register("frame", FRAME)
        connection.execute("create table houses as select * from frame")
    return tmp_path


NAMES = ["a.csv", "a.parquet", "a.feather", "a.jsonl", "a.duckdb"]


@pytest.mark.parametrize("name", NAMES)
def test_queries_over_every_kind_of_file(folder, name):
    table = read(
        folder / name,
        query="select city, sum(price) as total from t where price > 0 group by city order by city",
    )
    expected = FRAME[FRAME.price > 0].groupby("city", dropna=False).price.sum()
    assert table["city"].tolist() == ["Bonn", None]
    assert table["total"].tolist() == [expected["Bonn"], 30.0]
    assert read(folder / name, query="from t", limit=2) == read(folder / name, limit=2)
    assert read(folder / name, query="select price is null as m from t")["m"].tolist() == [
        "false",
        "true",
        "false",
        "false",
    ]
    assert read(folder / name, query="select k from t", kinds={"k": "text"})["k"].tolist() == [
        "1",
        "2",
        "3",
        "4",
    ]


HOSTILE = [
    "copy t to '{folder}/out.csv'",
    "attach '{folder}/new.db'",
    "create table u as select 1",
    "drop view t",
    "insert into t values (1)",
    "install httpfs",
    "load httpfs",
    "set enable_external_access = true",
    "reset lock_configuration",
    "pragma enable_profiling",
    "export database '{folder}/out'",
    "select * from read_csv('{folder}/secret.csv')",
    "select * from '{folder}/secret.csv'",
    "select * from read_text('{folder}/secret.csv')",
    "select * from read_blob('/etc/hostname')",
    "select * from glob('{folder}/*')",
    "select * from sniff_csv('{folder}/secret.csv')",
    "select * from parquet_scan('{folder}/a.parquet')",
    "select * from query('copy t to ''{folder}/out.csv''')",
    "select * from t; copy t to '{folder}/out.csv'",
    "select getenv('HOME')",
    "select * from secret",
    "select * from FRAME",
    "call pragma_version()",
    "explain analyze select 1",
    "select * from no_such_table",
    "select nonsense from t",
    "nonsense",
    " ; ",
    "select '\ud800'",
    "select error('made')",
]


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.duckdb"])
def test_hostile_queries_fail_and_change_nothing(folder, name):
    (folder / "secret.csv").write_text("secret\nvalue\n")
    secret = FRAME  # noqa: F841  a variable that a query must not see
    before = {path: path.read_bytes() for path in folder.iterdir()}
    for query in HOSTILE:
        with pytest.raises(TableError) as caught:
            print(query, read(folder / name, query=query.replace("{folder}", str(folder))))
        assert (
            str(caught.value).startswith(str(folder / name))
            and "value" not in str(caught.value).split(": ", 1)[1]
        )
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_memory_is_bounded(folder, monkeypatch):
    monkeypatch.setattr("mercer.tables.reading.budget.available_memory", lambda: 100 << 20)
    with pytest.raises(TableError, match="memory|Memory"):
        read(folder / "a.parquet", query="select list(x) as a from range(100000000) r(x)")
    with pytest.raises(TableError, match="rows of it would take about"):
        read(folder / "a.parquet", query="select x, x + 1 as y, x + 2 as z from range(100000000) r(x)")


def test_tables_of_a_duckdb_file(tmp_path):
    path = tmp_path / "a.duckdb"
    with closing(duckdb.connect(str(path))) as connection:
        connection.execute(
            "create table houses as select 1 as a, timestamp '2024-01-02' as d, 1.5::decimal(9, 2) as m"
        )
        assert connection.execute("checkpoint")
    table = read(path)
    assert table["a"].tolist() == [1] and table["m"].tolist() == [1.5] and table.kind("d") == "date"
    with closing(duckdb.connect(str(path))) as connection:
        connection.execute(
            'create schema s; create table s."odd ""name" as select 2 as b; create view v as select 3 as c'
        )
    with pytest.raises(TableError, match="3 tables; say which with table=.*'houses', 'v', 's.odd \"name'"):
        read(path)
    assert read(path, table='s.odd "name') == Table.of({"b": [2]})
    assert read(path, table="v") == Table.of({"c": [3]})
    assert read(path, table="v", query="select c + 1 as c from t") == Table.of({"c": [4]})
    assert read(path, query="select a from houses") == Table.of({"a": [1]})
    with pytest.raises(TableError, match="there is no table 'w'"):
        read(path, table="w")


def test_a_hostile_view_in_a_file_reads_nothing(tmp_path):
    (tmp_path / "secret.csv").write_text("secret\nvalue\n")
    with closing(duckdb.connect(str(tmp_path / "a.duckdb"))) as connection:
        connection.execute(f"create view v as select * from read_csv('{tmp_path}/secret.csv')")
    with pytest.raises(TableError, match="DuckDB says") as caught:
        read(tmp_path / "a.duckdb")
    assert "value" not in str(caught.value)


def test_types_of_results(folder):
    casts = ["1::hugeint", "date '2024-01-02'", "'x'::enum('x', 'y')", "uuid()", "time '00:01:30'"]
    query = "select " + ", ".join(f"{cast} as {name}" for cast, name in zip(casts, "hdeus", strict=True))
    table = read(folder / "a.csv", query=query)
    assert [table.kind(name) for name in table.names] == ["number", "date", "text", "text", "number"]
    assert table["s"][0] == 90 and len(table["u"][0]) == 36
    with pytest.raises(TableError, match="column 'a'.*values of type list"):
        read(folder / "a.csv", query="select [1, 2] as a from t")
    with pytest.raises(TableError, match="same name"):
        read(folder / "a.csv", query="select 1 as a, 2 as a")
    with pytest.raises(TableError, match="not a finite number"):
        read(folder / "a.csv", query="select 'inf'::double as a")


def test_a_database_file_cannot_be_damaged_unseen(folder):
    data = bytearray((folder / "a.duckdb").read_bytes())
    rng = np.random.default_rng(0)
    for place in rng.integers(12_288, len(data), 300):
        data[place] ^= 255
    (folder / "b.duckdb").write_bytes(data)
    with pytest.raises(TableError, match="DuckDB says"):
        read(folder / "b.duckdb")
