"""SQLite files, against sqlite3 and pandas."""

import sqlite3
from contextlib import closing

import numpy as np
import pandas as pd
import pytest

from mercer.tables.reading import Table, TableError, read


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "a #?%20 b.db"  # characters that mean something in a URI
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("create table houses (price real, rooms integer, city text, sold text, zip text)")
        connection.executemany(
            "insert into houses values (?, ?, ?, ?, ?)",
            [
                (10.5, 3, "Bonn", "2024-01-01", "1"),
                (None, 4, None, "2024-01-02", "2"),
                (7, 5, "Köln", None, "3"),
            ],
        )
        connection.commit()
    return path


def expected():
    days = np.array(["2024-01-01", "2024-01-02", "NaT"], dtype="datetime64[us]")
    return Table.of(
        {
            "price": [10.5, None, 7],
            "rooms": [3, 4, 5],
            "city": ["Bonn", None, "Köln"],
            "sold": days,
            "zip": [1, 2, 3],
        }
    )


def test_the_only_table(path):
    assert read(path) == expected() == read(path, table="houses")
    assert read(path, limit=2).n_rows == 2
    assert read(path, kinds={"zip": "text", "rooms": "text"})["zip"].tolist() == ["1", "2", "3"]


def test_a_table_that_pandas_wrote(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"a": rng.normal(size=50_000), "b": rng.integers(0, 9, 50_000), "c": rng.choice(list("xyz"), 50_000)}
    )
    with closing(sqlite3.connect(tmp_path / "a.sqlite")) as connection:
        frame.to_sql("frame", connection, index=False)
    assert read(tmp_path / "a.sqlite") == Table.of(frame)


def test_queries(path):
    table = read(path, query="select city, price * 2 as twice from t where price > 8")
    assert table == Table.of({"city": ["Bonn"], "twice": [21.0]})
    assert read(path, query="select count(*) as n from houses join t using (rooms)")["n"].tolist() == [3]
    endless = "with recursive r(i) as (select 1 union all select i + 1 from r) select i from r"
    assert read(path, query=endless, limit=1000)["i"][-1] == 1000


def test_several_tables(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute('create table "odd ""name" (a)')
        connection.execute('insert into "odd ""name" values (1)')
        connection.execute("create view cheap as select * from houses where price < 8")
        connection.commit()
    with pytest.raises(TableError, match="3 tables; say which with table= .*'houses'.*'cheap'"):
        read(path)
    with pytest.raises(TableError, match="there is no table 'homes'. There are: 'houses'"):
        read(path, table="homes")
    assert read(path, table='odd "name') == Table.of({"a": [1]})
    assert read(path, table="cheap")["price"].tolist() == [7.0]
    assert read(path, query="select price from houses", limit=1)["price"].tolist() == [10.5]
    assert read(path, table="cheap", query="select rooms from t")["rooms"].tolist() == [5]


@pytest.mark.parametrize(
    "query",
    [
        "insert into houses values (1, 1, '', '', '')",
        "delete from houses",
        "drop table houses",
        "create table other (a)",
        "attach database '{folder}/other.db' as o",
        "select * from t; drop table houses",
        "vacuum into '{folder}/copy.db'",
        "pragma journal_mode = wal",
        "pragma writable_schema = on",
        "select load_extension('{folder}/evil.so')",
        "select readfile('/etc/hostname')",
        "select writefile('{folder}/x', 'x')",
        "select fts3_tokenizer('simple')",
        "begin exclusive",
        "explain delete from houses",
        "select * from no_such_table",
        "select zeroblob(2000000000)",
        "nonsense",
        " ; ",
        "select '\ud800'",
    ],
)
def test_hostile_queries_fail_and_change_nothing(path, query):
    before, files = path.read_bytes(), set(path.parent.iterdir())
    with pytest.raises(TableError, match=r"b.db: "):
        read(path, query=query.replace("{folder}", str(path.parent)))
    assert path.read_bytes() == before and set(path.parent.iterdir()) == files


@pytest.mark.parametrize(
    "query, message",
    [
        ("select 1 as a, 2 as a", "same name"),
        ("select x'00' as a", "row 1, column 'a': holds bytes"),
        ("select 9e999 as a", "not a finite number"),
        ("select price from t where price < 0", "selects no rows"),
    ],
)
def test_results_that_are_no_table(path, query, message):
    with pytest.raises(TableError, match=message):
        read(path, query=query)


def test_types_that_are_mixed(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("create table mixed (a, b)")
        connection.executemany(
            "insert into mixed values (?, ?)", [(i, i) for i in range(40)] + [("oops", "x")]
        )
        connection.executemany("insert into mixed values (?, ?)", [(None, "y")] * 40)
        connection.commit()
    with pytest.raises(
        TableError, match="row 41, column 'a': 'oops' is not a number, but 40 of the 41 values"
    ):
        read(path, table="mixed")
    table = read(path, table="mixed", kinds={"a": "text"})
    assert table["a"][0] == "0" and table["b"].dtype == object


def test_no_database(tmp_path):
    (tmp_path / "a.db").write_bytes(b"words")
    with pytest.raises(TableError, match="called .db, but does not begin as a SQLite file"):
        read(tmp_path / "a.db")
    (tmp_path / "b.db").write_bytes(b"SQLite format 3\0" + b"x" * 500)
    with pytest.raises(TableError, match="SQLite says: file is not a database"):
        read(tmp_path / "b.db")
    with closing(sqlite3.connect(tmp_path / "c.db")) as connection:
        connection.execute("create table a (b)")
        connection.execute("drop table a")
        connection.commit()
    with pytest.raises(TableError, match="there is no table in this file"):
        read(tmp_path / "c.db")


def test_what_would_not_fit_is_refused(path, monkeypatch):
    monkeypatch.setattr("mercer.tables.reading.budget.available_memory", lambda: 1 << 20)
    with pytest.raises(TableError, match="more than 3 rows of it would take about"):
        read(path)
