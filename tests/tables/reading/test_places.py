"""Wherever a table is, its parts are the whole, and columns are the same in every file."""

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from mercer.tables.reading import Table, TableError, write
from mercer.tables.reading.places import ArrowPlace, FilePlace, TextsPlace, is_place, place_of

N = 900


@pytest.fixture(scope="module")
def whole():
    rng = np.random.default_rng(0)
    x, city = rng.standard_normal(N), rng.choice(["Bonn", "Ulm", None], N)
    x[::7] = np.nan
    day = np.datetime64("2024-01-01", "us") + rng.integers(0, 100, N) * np.timedelta64(1, "D")
    return Table.of({"x": x, "city": city, "day": day, "ok": rng.random(N) < 0.5})


@pytest.fixture
def folder(whole, tmp_path, request):
    """The table in three files; the columns of the last are in another order."""
    made = tmp_path / "many"
    made.mkdir()
    for number, rows in enumerate(np.array_split(np.arange(N), 3)):
        names = whole.names[:: -1 if number == 2 else 1]
        write(whole.take(rows).select(names), made / f"part-{number}.{request.param}")
    (made / "_SUCCESS").touch()
    return made


@pytest.mark.parametrize("folder", ["csv", "csv.gz", "parquet", "arrow"], indirect=True)
def test_folders_patterns_and_lists(whole, folder):
    ending = "".join(next(folder.glob("part-0*")).suffixes)
    files = [str(file) for file in sorted(folder.glob("part-*"))]
    for where in (folder, str(folder), f"{folder}/part-*{ending}", files):
        place = place_of(where)
        assert is_place(where) and place.in_parts and place_of(place) is place
        parts = list(place.parts())
        assert len(parts) >= 3 and Table.joined(parts) == whole and place.whole() == whole
        assert N * 4 * 4 < place.held(np.inf) < 300 * N * 4
        before = place.identity()
    (folder / f"part-1{ending}").write_bytes(b"")
    assert place.identity() != before


def test_datasets_relations_and_queries(whole, tmp_path):
    import duckdb

    file = write(whole, tmp_path / "a.parquet")
    query = f"select * from '{file}' order by x // 1 is null"
    with duckdb.connect() as connection:
        for where in (ds.dataset(file), query.split(" order")[0], connection.sql(f"from '{file}'")):
            place = place_of(where)
            assert is_place(where) and place.whole() == whole and place.identity() is None
            # As little as is needed is read to see that it is too large; what fits is not read again.
            assert 0 < place.held(10.0) < np.inf
            assert place.held(np.inf) > 8 * 4 * N
            place.source.batches = None
            assert place.whole({"x": "number"}) == whole
            del place.source.batches
            assert Table.joined(list(place.parts())) == whole
    assert sorted(place_of(query).whole()["day"]) == sorted(whole["day"])
    (tmp_path / "year=2020").mkdir()
    (tmp_path / "year=2021").mkdir()
    for year in (2020, 2021):
        pq.write_table(pa.table({"x": [1.0, 2.0]}), tmp_path / f"year={year}" / "a.parquet")
    file.unlink()
    assert place_of(tmp_path).whole()["year"].tolist() == [2020, 2020, 2021, 2021]
    with pytest.raises(ValueError, match="the query failed: .*nowhere"):
        place_of("select * from 'nowhere.parquet'")
    with pytest.raises(TableError, match="there are no rows"):
        place_of("select 1 as x limit 0").whole()
    assert len(place_of("select 1 as x limit 0").whole(empty=True)) == 0


def test_files_say_together_what_columns_are(tmp_path):
    """A column without values has no type in Arrow; whole numbers and fractions are numbers."""
    pq.write_table(pa.table({"a": pa.nulls(2), "b": [1, 2]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"a": ["Bonn", None], "b": [0.5, 1.5]}), tmp_path / "1.parquet")
    found = place_of(tmp_path).whole()
    assert found["a"].tolist() == [None, None, "Bonn", None] and found["b"].tolist() == [1, 2, 0.5, 1.5]
    pq.write_table(pa.table({"a": ["x"], "b": ["many"]}), tmp_path / "2.parquet")
    with pytest.raises(ValueError, match="columns of one name differ in type"):
        place_of(tmp_path)
    pq.write_table(pa.table({"a": ["x"]}), tmp_path / "2.parquet")
    with pytest.raises(ValueError, match="different columns .'b' is in one of them only"):
        place_of(tmp_path)
    pq.write_table(pa.table({"a": ["x"], "b": [float("inf")]}), tmp_path / "2.parquet")
    with pytest.raises(TableError, match=r"and 2 more, row 5, column 'b': inf is not a finite number"):
        list(place_of(tmp_path).parts())


def test_texts_that_do_not_belong_together(tmp_path):
    first, second = tmp_path / "0.csv", tmp_path / "1.csv"
    first.write_text("n,word\n")  # without rows it says nothing of its columns
    second.write_text("word,n\na,x1\n")
    assert place_of(tmp_path).whole()["n"].tolist() == ["x1"]
    first.write_text("n,word\n1,a\n2,b\n")
    with pytest.raises(TableError, match=r"1.csv, line 2, column 'n': 'x1' is not a number.*--text n"):
        place_of(tmp_path).whole()
    assert place_of(tmp_path).whole({"n": "text"})["n"].tolist() == ["1", "2", "x1"]
    second.write_text("word,m\na,1\n")
    with pytest.raises(TableError, match=r"1.csv: its columns are not those of .*0.csv \('m', 'n'\)"):
        place_of(tmp_path).whole()
    second.write_text("")
    with pytest.raises(TableError, match="1.csv: the file is empty"):
        place_of(tmp_path).whole()
    second.rename(tmp_path / "1.txt")
    with pytest.raises(ValueError, match="1.txt is of an unknown format"):
        place_of(tmp_path)
    (tmp_path / "year=1").mkdir()
    (tmp_path / "1.txt").rename(tmp_path / "year=1" / "1.csv")
    with pytest.raises(TableError, match="hive_partitioning"):
        place_of(tmp_path)


def test_what_is_no_place(tmp_path):
    for X in ([{"x": 1}], [[1.0]], np.zeros((2, 2)), {"x": [1]}, ["a", "b"]):
        assert not is_place(X)
    with pytest.raises(FileNotFoundError, match="no file is called"):
        place_of(tmp_path / "*.csv")
    with pytest.raises(ValueError, match="has no files"):
        place_of(tmp_path)
    assert isinstance(place_of(tmp_path / "a.csv"), FilePlace)  # whether it is there shows when it is read
    assert isinstance(place_of("select 1 as x"), ArrowPlace)
    (tmp_path / "a[1].csv").write_text("x\n1\n")
    assert isinstance(place_of(tmp_path / "a[1].csv"), FilePlace)
    assert isinstance(place_of([tmp_path / "a[1].csv"]), TextsPlace)
    assert is_place((tmp_path / "a[1].csv", "nothing.csv"))
    with pytest.raises(FileNotFoundError, match="there is no file nothing.csv"):
        place_of([tmp_path / "a[1].csv", "nothing.csv"])
    with pytest.raises(TableError, match="can not be read"):
        place_of("a\0b").whole()
