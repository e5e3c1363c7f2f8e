"""Batches put together are the table that `read` gives; and they come one at a time."""

import gzip
import io
import json
import tracemalloc

import numpy as np
import pytest

from mercer.tables.reading import Table, TableError, batches, read, write

RNG = np.random.default_rng(0)


def table(n=53):
    return Table.of(
        {
            "size": np.where(RNG.random(n) < 0.1, np.nan, RNG.standard_normal(n).round(3)),
            "city": np.array(["Bonn", "Kiel", None, 'a, "b"\nc'], dtype=object)[RNG.integers(4, size=n)],
            "sold": np.datetime64("2024-01-01", "us") + RNG.integers(0, 400, n).astype("m8[D]"),
        }
    )


def joined(parts):
    parts = list(parts)
    return Table({name: np.concatenate([p[name] for p in parts]) for name in parts[0].names})


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "jsonl", "jsonl.gz", "parquet", "arrow"])
@pytest.mark.parametrize("size, start", [(7, 0), (7, 9), (10, 20), (100, 0), (1, 50), (8, 53), (8, 60)])
def test_files(ending, size, start, tmp_path):
    whole = table()
    path = write(whole, tmp_path / f"t.{ending}")
    parts = list(batches(path, size, start=start))
    sizes = [len(p) for p in parts]
    assert sum(sizes) == max(53 - start, 0)
    ends = start + np.cumsum(sizes)
    assert all(end % size == 0 for end in ends[:-1]) and all(s <= size for s in sizes)
    if parts:
        assert joined(parts) == read(path).take(slice(start, None))


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_lines(ending, tmp_path):
    path = write(table(), tmp_path / f"t.{ending}")
    for form in (None, ending):
        assert joined(batches(io.BytesIO(b"\n" + path.read_bytes()), 8, form=form)) == read(path)


def test_dicts_and_tables():
    rows = [{"a": i, "b": "x" if i % 2 else None} for i in range(9)]
    assert joined(batches(iter(rows), 4)) == joined(batches(rows, 4)) == Table.of(rows)
    assert [len(t) for t in batches(np.eye(5), 2, start=3)] == [1, 1]


def test_lines_come_as_they_are_written():
    """A batch is there when its last line is, not when the file ends."""

    class Live(io.RawIOBase):
        asked = 0

        def readline(self, size=-1):
            self.asked += 1
            return b"a,b\n" if self.asked == 1 else b"%d,x\n" % self.asked

    live = Live()
    found = batches(live, 3)
    assert next(found)["a"].tolist() == [2.0, 3.0, 4.0] and live.asked <= 5
    assert next(found)["a"].tolist() == [5.0, 6.0, 7.0] and live.asked <= 8


def test_memory_is_that_of_a_batch(tmp_path):
    path, most = tmp_path / "t.csv", []
    for n in (10, 50_000, 120_000):
        path.write_text("a,b\n" + "".join(f"{i},{i * 700000000}.123456789\n" for i in range(n)))
        tracemalloc.start()
        assert sum(len(t) for t in batches(path, 100)) == n
        most.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert most[2] < 1.1 * most[1]  # the first ran without: what is imported later is no batch


def test_what_columns_are_is_seen_in_the_first_rows(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "1,x\n" * 1500 + "oops,x\n")
    with pytest.raises(TableError, match=r"t.csv, line 1,502, column 'a': 'oops' is not a number"):
        list(batches(path, 10))
    with pytest.raises(TableError, match="line 1,502"):
        list(batches(path, 10, start=1200))
    assert joined(batches(path, 10, kinds={"a": "text"}))["a"][-1] == "oops"
    path.write_text("a,b\n" + "1,x\n" * 900 + "one,x\n" * 900)  # one batch alone would say otherwise
    assert next(batches(path, 10))["a"].tolist() == ["1"] * 10


def refused(match, content, **options):
    with pytest.raises(TableError, match=match):
        list(batches(io.BytesIO(content), **options))


def test_errors_name_the_line():
    refused("it is empty", b"\n\n")
    refused("line 4: 1 cell where the header has 2", b"a,b\n1,2\n\n3\n")
    refused("line 3: byte 0xe9 is not UTF-8", b"a,b\n1,2\n\xe9,2\n")
    refused("line 2: there is a NUL", b"a,b\n1,\x002\n")
    refused("line 1, column 'a': columns 1 and 2", b"a,a\n1,2\n")
    refused("line 1: the first line must hold the names", b"1,2\n3,4\n")
    refused("line 2: .*never closed", b'a,b\n"1,2\n3,4\n')
    refused("line 2: this is no JSON", b'{"a": 1}\n{"a": \n')
    refused("line 3: the key 'b' was not in the first 2 rows", b'{"a": 1}\n{"a": 2}\n{"b": 2}\n', size=2)
    refused("line 3, column 'a': 'x' is not a number", b'{"a": 1}\n{"a": 2}\n{"a": "x"}\n', size=2)
    refused("line 3, column 'a': '1_0' is not a number", b"a,b\n1,2\n1_0,4\n", size=1)
    refused("the rows are empty", b"{}\n")
    with pytest.raises(TableError, match="row 2: 3 is no dict"):
        list(batches(iter([{"a": 1}, 3])))
    with pytest.raises(TableError, match="row 3, column 'a': 'x' is not a number"):
        list(batches(iter([{"a": 1}, {"a": 2}, {"a": "x"}]), 1))
    with pytest.raises(TableError, match="row 3: the key 'b'"):
        list(batches(iter([{"a": 1}, {"a": 2}, {"b": 3}]), 1))
    for options in ({"size": 0}, {"start": -1}, {"size": True}):
        with pytest.raises(ValueError, match="whole number"):
            batches(iter([]), **options)


def test_parquet_errors_name_the_row(tmp_path):
    path = write(Table.of({"a": ["1"] * 5 + ["x"]}), tmp_path / "t.parquet")
    with pytest.raises(TableError, match="row 6, column 'a': 'x' is not a number"):
        list(batches(path, 2, kinds={"a": "number"}))
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(TableError, match="no sound Parquet file"):
        list(batches(path, 2))


def test_a_packed_file_that_is_cut_short(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 99999)[:-9])
    with pytest.raises(TableError, match=r"t.csv.gz: it can not be read"):
        list(batches(path))


def test_json_strings_stay_words():
    rows = b"".join(json.dumps({"zip": z}).encode() + b"\n" for z in ("00501", "01067"))
    assert next(batches(io.BytesIO(rows), 2))["zip"].tolist() == ["00501", "01067"]
