"""CSV and TSV: the same rows as pandas reads, and errors that name the line."""

import gzip

import numpy as np
import pandas as pd
import pytest

from mercer.rows import open_rows
from mercer.rows.text import TextFiles


@pytest.mark.parametrize("name", ["t.csv", "t.tsv"])
@pytest.mark.parametrize("cache", [None, False])
def test_as_pandas(table, save, whole, name, cache):
    path = save(table, name)
    frame = pd.read_csv(path, sep="\t" if name.endswith("tsv") else ",")
    rows = open_rows(path, "city", "w", columns=["a", "b", "c", "price"], rows=170, cache=cache)
    assert rows.shape == (1000, 4) and rows.dtype == np.float64 and rows.names == ("a", "b", "c", "price")
    for _ in range(2):  # a second pass reads what the first has kept, or the text anew
        found = whole(rows)
        assert np.allclose(found.X, frame[["a", "b", "c", "price"]].astype(float), rtol=1e-15, atol=0)
        assert found.y.tolist() == frame["city"].tolist()
        assert np.array_equal(found.w, frame["w"])
    single = open_rows(path, "city", columns=["a"], dtype=np.float32)
    assert single.dtype == np.float32 and np.array_equal(whole(single).X[:, 0], table["a"].to_numpy())
    assert np.array_equal(rows.take(np.array([999, 3, 500])).X, found.X[[3, 500, 999]])


@pytest.mark.parametrize(
    "written, expected",
    [
        ("x;y\n1,5;2\n2;3\n", [1.5, 2.0]),  # decimal commas
        ("x;y\n1.5;2\n2;3\n", [1.5, 2.0]),
        ("x|y\n1|2\n", [1.0]),
        ("\ufeffx,y\r\n1,2\r\n\r\n3,4\r\n", [1.0, 3.0]),
        ('"x","y"\n"1","2"\n', [1.0]),
        ("x,y,note\n1,2,'a\n3,4,b\n", [1.0, 3.0]),
        ('x,y,note\n1,2,"two\nlines"\n3,4,b\n', [1.0, 3.0]),
        ("x,y\ntrue,1\nfalse,2\n", [1.0, 0.0]),
    ],
)
def test_ways_of_writing(tmp_path, whole, written, expected):
    path = tmp_path / "a.csv"
    path.write_bytes(written.encode())
    assert whole(open_rows(path, "y", columns=["x"])).X[:, 0].tolist() == expected


def test_packed_and_several(tmp_path, whole):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"x,y\n1,2\n"))
    (tmp_path / "b.csv").write_text("y,x\n4,3\n")
    found = whole(open_rows(str(tmp_path / "*.csv*"), "y"))
    assert found.X.tolist() == [[1.0], [3.0]] and found.y.tolist() == [2, 4]


def test_targets_that_turn_out_otherwise(tmp_path, whole, monkeypatch):
    """What the first piece of a text says of a column need not hold for the rest."""
    monkeypatch.setattr("mercer.rows.text._PIECE", 64)
    path = tmp_path / "a.csv"
    path.write_text("x,y\n" + "1,1\n" * 100 + "2.5,0.5\n")
    found = whole(open_rows(path, "y"))
    assert found.X[-1, 0] == 2.5 and found.y.dtype == np.float64 and found.y[-2:].tolist() == [1.0, 0.5]
    path.write_text("x,y\n" + ",1\n" * 100 + "2.5,3\n")  # a column that is empty at first
    found = whole(open_rows(path, "y", missing="drop"))
    assert found.X.tolist() == [[2.5]] and found.y.tolist() == [3]
    path.write_text("x,y\n" + "1,1\n" * 100 + "2,\n")
    assert whole(open_rows(path, "y", missing="drop", rows=30)).y.tolist() == [1.0] * 100
    path.write_text("x,y\n" + "1,1\n" * 100 + "2,9007199254740993\n")
    assert whole(open_rows(path, "y")).y[-1] == 9007199254740993  # no float64 holds it


@pytest.mark.parametrize(
    "written, said",
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("x,y\n", "has no rows"),
        ("x,y\n1,2\n3\n", "a.csv, line 3: expected 2 columns, got 1"),
        ("x,y\n" + "1,2\n" * 40 + "oops,2\n", "a.csv, line 42, column 'x': invalid value 'oops'"),
        ("x,y\n" + "1,2\n" * 40 + "1,oops\n", "a.csv, line 42, column 'y': invalid value 'oops'"),
        ("x,x,y\n1,2,3\n", "two columns of the name 'x'"),
        ("z,y\n1,2\n", "has no column 'x': it has 'z', 'y'"),
    ],
)
def test_what_is_wrong(tmp_path, monkeypatch, written, said):
    monkeypatch.setattr("mercer.rows.text._PIECE", 64)
    path = tmp_path / "a.csv"
    path.write_text(written)
    with pytest.raises(ValueError, match=said):
        open_rows(path, "y", columns=["x"])


@pytest.mark.parametrize("code", ["utf-16", "utf-16-be", "utf-16-le"])
def test_other_codes(tmp_path, code):
    path = tmp_path / "a.csv"
    path.write_bytes("x,y\n1,2\n".encode(code))
    with pytest.raises(ValueError, match="a.csv is no text in UTF-8, but in UTF-16, it seems"):
        open_rows(path, "y")


def test_nobody_knows_how_many(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n1,2\n")
    source = TextFiles([path])
    assert source.length is None and source.entry(7) == 0 and source.identity()[0][1] == 8
