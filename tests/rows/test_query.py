"""Queries: the same rows as DuckDB gives at once."""

import pickle

import duckdb
import numpy as np
import pytest

from mercer.rows import lives_elsewhere, open_rows
from mercer.rows.query import QuerySource, is_query, is_relation


def test_relations(whole):
    with duckdb.connect() as connection:
        relation = connection.sql(
            "select i * 0.5::float as x, i % 3 as y, ('w' || i % 2) as word from range(5000) t(i)"
        )
        assert is_relation(relation) and lives_elsewhere(relation) and not is_relation("select 1")
        for cache in (None, False):
            rows = open_rows(relation, "y", columns=["x"], rows=700, cache=cache)
            found = whole(rows)
            assert np.array_equal(found.X[:, 0], np.arange(5000) * 0.5) and rows.dtype == np.float32
            assert np.array_equal(found.y, np.arange(5000) % 3)
            assert np.array_equal(rows.shard(0).X, found.X[:700])  # back to the beginning
            del rows  # a reader that is not at the end holds the connection
        assert whole(open_rows(relation, "word", columns=["x"])).y[:3].tolist() == ["w0", "w1", "w0"]
        assert connection.sql("select 1").fetchall() == [(1,)]


def test_text_over_files(table, save, whole):
    path = save(table, "t.parquet")
    query = f"select a, b, price from '{path}' where b > 0"
    rows = open_rows(query, "price")
    wanted = table["b"].to_numpy() > 0
    assert np.array_equal(whole(rows).y, table["price"].to_numpy()[wanted])
    again = pickle.loads(pickle.dumps(rows))
    assert np.array_equal(whole(again).X, whole(rows).X) and again.fingerprint() == rows.fingerprint()
    assert open_rows(f"{query} and b > 1", "price").fingerprint() != rows.fingerprint()


def test_other_processes(table, whole):
    """Rows of a relation can be sent where what is kept of them can be read, and say so where not."""
    with duckdb.connect() as connection:
        relation = connection.sql("select i::double as x, i as y from range(10) t(i)")
        rows = open_rows(relation, "y")
        assert np.array_equal(whole(pickle.loads(pickle.dumps(rows))).X, whole(rows).X)
        alone = pickle.loads(pickle.dumps(open_rows(relation, "y", cache=False)))
        with pytest.raises(ValueError, match="only be asked in its own process"):
            alone.shard(0)


@pytest.mark.parametrize(
    "query, said",
    [
        ("select x from 'nowhere.parquet'", "the query failed: .*nowhere"),
        ("select 1 as x; select 2 as x", "must be one SELECT"),
        ("with t as (select 1 as x) select nothing from t", "the query failed: .*nothing"),
        ("select 1 as x where false", "the query has no rows"),
        ("select 1 as x, 2 as x", "two columns of the name|x_1"),
    ],
)
def test_queries_that_fail(query, said):
    assert is_query(query)
    with pytest.raises(ValueError, match=said):
        open_rows(
            query,
            "x_1" if "2 as x" in query and ";" not in query else None,
            columns=["y"] if "x_1" in said else None,
        )


def test_errors_while_rows_come():
    source = QuerySource(
        "select i as x, case when i > 5 then cast('no' as int) else 1 end as y from range(10) t(i)"
    )
    with pytest.raises(ValueError, match="the query failed"):
        list(source.batches(0, ["x", "y"]))
