"""CSV: read as pandas and Python's csv module read it, fast and exactly, with the line of what is wrong."""

import csv
import gzip
import io
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.tables.reading import Table, TableError, batches, delimited, read


def save(tmp_path, text, name="a.csv", encoding="utf-8"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
    return path


def test_a_table_of_all_kinds(tmp_path):
    path = save(
        tmp_path, 'n,w,d,f\n1,x,2024-01-01,True\n,"y, z",2024-01-02T10:00+01:00,FALSE\n-2.5,NA,,true\n'
    )
    table = read(path)
    np.testing.assert_array_equal(table["n"], [1, np.nan, -2.5])
    assert table["w"].tolist() == ["x", "y, z", None] and table["f"].tolist() == ["true", "false", "true"]
    np.testing.assert_array_equal(
        table["d"], np.array(["2024-01-01", "2024-01-02T09:00", "NaT"], dtype="datetime64[us]")
    )
    assert table.remarks == ()


def test_numbers_that_pandas_writes_come_back(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        rng.normal(size=(300, 4)) * 10.0 ** rng.integers(-200, 200, (300, 4)), columns=list("abcd")
    )
    frame = frame.mask(rng.random((300, 4)) < 0.1).assign(i=rng.integers(-1000, 1000, 300))
    frame.to_csv(tmp_path / "a.csv", index=False)
    table = read(tmp_path / "a.csv")
    for name in frame:
        np.testing.assert_array_equal(table[name], frame[name])


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_delimiters_and_line_ends_are_found(tmp_path, delimiter, ends):
    lines = [delimiter.join(row) for row in (["a", "b", "c"], ["1", "x y", "2.5"], ["2", "z,;", "3.5"])]
    lines[2] = lines[2].replace("z,;", '"z,;"')
    expected = Table.of({"a": [1, 2], "b": ["x y", "z,;"], "c": [2.5, 3.5]})
    for last in ("", ends, ends + ends):
        assert read(save(tmp_path, ends.join(lines) + last)) == expected


def test_packed_marked_and_foreign_files(tmp_path):
    text, expected = "naïve,b\né,1\nü,2\n", Table.of({"naïve": ["é", "ü"], "b": [1, 2]})
    assert read(save(tmp_path, gzip.compress(text.encode()), "a.csv.gz")) == expected
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "cp1252"):
        assert read(save(tmp_path, text, encoding=encoding)) == expected
    assert "Windows-1252" in read(save(tmp_path, text, encoding="cp1252")).remarks[0]


def test_quotes_and_line_ends_inside_them(tmp_path):
    path = save(tmp_path, 'a,b\n"says ""hi""","two\nlines"\n5" pipe," x "\n"","\r\n"\n')
    assert read(path) == Table.of({"a": ['says "hi"', '5" pipe', None], "b": ["two\nlines", "x", None]})


def test_decimal_commas_in_files_with_semicolons(tmp_path):
    table = read(save(tmp_path, "a;b;c\n1,5;2;x\n-0,25;3;y,z\n"))
    assert table == Table.of({"a": [1.5, -0.25], "b": [2, 3], "c": ["x", "y,z"]})
    assert "decimal commas" in table.remarks[0]
    assert read(save(tmp_path, "a;b\n1.5;2\n")).remarks == ()
    with pytest.raises(
        TableError, match="column 'b': numbers have points here, but decimal commas in column 'a'"
    ):
        read(save(tmp_path, "a;b\n1,5;1.234\n2,5;3\n"))


def test_one_column_and_blank_lines(tmp_path):
    assert read(save(tmp_path, 'a\n1\n\n""\n3\n')) == Table.of({"a": [1, None, 3]})
    assert read(save(tmp_path, "\n\na,b\n\n1,2\n   \n3,4\n\n")) == Table.of({"a": [1, 3], "b": [2, 4]})


def test_kinds_may_be_said(tmp_path):
    path = save(tmp_path, "zip,x\n00501,1\n10001,oops\n" + "20001,2\n" * 30)
    assert read(path, kinds={"zip": "text", "x": "text", "no": "date"})["zip"][0] == "00501"
    with pytest.raises(
        TableError, match=r"line 3, column 'x': 'oops' is not a number, but 31 of the 32 values"
    ):
        read(path)
    with pytest.raises(TableError, match=r"line 2, column 'x': '1' is not a date"):
        read(path, kinds={"x": "date"})


@pytest.mark.parametrize(
    "text, line, message",
    [
        ("", None, "the file is empty"),
        (" \n\r\n", None, "the file is empty"),
        ("a,b\n", 1, "no rows below"),
        ("\n\na,b\n\n", 3, "no rows below"),
        ("a,b\n1,2\n3\n", 3, "1 cell where the header has 2: '3'"),
        ("a,b\n1,2\n3,4,5\n", 3, "3 cells where the header has 2"),
        ('a,b\n"x\n\ny",2\n3,4,5\n', 5, "3 cells"),
        ("a,b\r\n1,2\r\n\r\n3\r\n", 4, "1 cell"),
        ("a,,c\n1,2,3\n", 1, "column 2 of 3 has no name"),
        (",a\n0,1\n", 1, "index=False"),
        ("a,b, a\n1,2,3\n", 1, "columns 1 and 3 have the same name"),
        ("1.5,2\n3,4\n", 1, "must hold the names of the columns, but has numbers: '1.5, 2'"),
        ('a,b\n1,"2\n3,4\n', 2, "a quote that is opened here is never closed"),
        ('a,b\n1,2\n"x"y,"\n', 3, "text follows a closing quote"),
        ("a,b\n1,2\n3,\0\n", 3, "NUL byte"),
        ("a,b\n1,2\n" * 1 + '3,"' + "x\n" * 100_000, 3, "a quote"),
        ("a,b\n1,2\n" + "3,4\n" * 30 + "inf,4\n", 33, "'inf' is not a finite number"),
        ('a,b\n1,"x\ny"\n2,z\n1e999,z\n', 5, "'1e999' is not a finite number"),
        ("d\n" + "2024-01-31\n" * 30 + "2024-02-30\n", 32, "'2024-02-30' is not a date"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_by_line(tmp_path, text, line, message):
    path = save(tmp_path, text)
    with pytest.raises(TableError, match=message) as caught:
        read(path)
    assert caught.value.line == line and str(caught.value).startswith(str(path))
    assert len(str(caught.value)) < len(str(path)) + 400


def test_a_limit_reads_no_further(tmp_path):
    path = save(tmp_path, 'a,b\n1,"x\ny"\n\n2,z\n3,oops,ragged\n\0\n')
    assert read(path, limit=2) == Table.of({"a": [1, 2], "b": ["x\ny", "z"]})
    with pytest.raises(TableError, match="line 6: 3 cells"):
        read(path, limit=3)
    assert read(save(tmp_path, 'a;b\n1;"x\n"\n2;y\n'), limit=1)["b"].tolist() == ["x"]
    assert read(save(tmp_path, gzip.compress(b"a\n1\n2\n"), "a.csv.gz"), limit=1) == Table.of({"a": [1]})
    assert read(save(tmp_path, "a,b\n1,2\n3,4\n", encoding="utf-16"), limit=1).n_rows == 1
    assert read(path, limit=1).n_rows == 1
    with pytest.raises(TableError, match="no rows below"):
        read(save(tmp_path, "a,b\n"), limit=1)


def test_very_many_columns(tmp_path):
    names = [f"c{i}" for i in range(50_000)]
    text = ",".join(names) + "\n" + ("1.5," * 50_000)[:-1] + "\n"
    table = read(save(tmp_path, text))
    assert len(table.names) == 50_000 and table["c49999"].tolist() == [1.5]
    with pytest.raises(TableError, match="line 3: 49999 cells where the header has 50000"):
        read(save(tmp_path, text + ("2," * 49_999)[:-1]))


cells = st.one_of(
    st.none(),
    st.integers(-(10**6), 10**6).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=8),
    st.sampled_from(['"', '""', "a,b", "x\ny", "\r\n", "NA", "-", "2024-01-01", "true", "ß", " x "]),
)


@st.composite
def sheets(draw):
    width = draw(st.integers(1, 4))
    return draw(st.lists(st.lists(cells, min_size=width, max_size=width), min_size=1, max_size=8))


# Columns of one kind, where the fast way has ways of its own.
dates = st.from_regex(
    r"\A(19|20|00)[0-9]{2}-[01][0-9]-[0-3][0-9]([T ][0-2][0-9]:[0-6][0-9]:[0-6][0-9](\.[0-9]{1,7})?Z?)?\Z"
)
numbers = st.from_regex(r"\A ?[+-]?[0-9]{1,3}([.,][0-9]{1,3})?(e[0-9])?\Z")


@given(
    sheets() | st.lists(st.tuples(dates | st.none(), numbers | st.just("-")), min_size=1, max_size=8),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(",;"),
)
def test_files_and_streams_agree(tmp_path_factory, rows, ends, delimiter):
    """PyArrow reads the one, Python's csv module the other: the same table, or the same refusal."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator=ends, quoting=csv.QUOTE_MINIMAL)
    writer.writerow([f"c{j}" for j in range(len(rows[0]))])
    # Python's writer leaves lone carriage returns unquoted in some versions, which are line ends to readers.
    writer.writerows([[None if c is None else c.replace("\r", "") for c in row] for row in rows])
    path = save(tmp_path_factory.getbasetemp(), out.getvalue(), "agree.csv")

    def result(reader):
        try:
            return reader()
        except TableError as error:
            return error

    expected, found = result(lambda: read(path)), result(lambda: next(batches(path, 100)))
    if isinstance(expected, TableError) and "decimal commas" in str(expected):
        return  # points in one column and commas in another: only a whole file shows it
    if isinstance(expected, TableError):
        assert str(found) == str(expected)
    else:
        assert found == expected and set(found.remarks) == set(expected.remarks) - {delimited.COMMAS}


def test_a_number_that_is_none_far_below(tmp_path):
    text = "a,b,c,d,e\n" + '1,x,7,,2024-01-01\nNA,2," 8",,2024-01-02\n' * 40
    assert read(save(tmp_path, text)).kind("a") == "number"
    with pytest.raises(TableError, match="line 82, column 'a': 'oops' is not a number, but 40 of the 41"):
        read(save(tmp_path, text + "oops,x,7,,2024-01-01\n"))


@given(sheets())
def test_words_are_those_of_the_csv_module(tmp_path_factory, rows):
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL).writerows([[f"c{j}" for j in range(len(rows[0]))], *rows])
    path = save(tmp_path_factory.getbasetemp(), out.getvalue(), "words.csv")
    seen = list(csv.reader(io.StringIO(out.getvalue(), newline="")))
    table = read(path, kinds={name: "text" for name in seen[0]})
    for j, name in enumerate(seen[0]):
        for found, cell in zip(table[name], [row[j] for row in seen[1:]], strict=True):
            assert found is None or found.lower() == cell.strip(" \t\r\n").lower()


def test_without_pyarrow_a_sentence_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = save(tmp_path, "a,b\n1,x\n2,y\n")
    for file in (path, save(tmp_path, b"PAR1....PAR1", "a.parquet")):
        with pytest.raises(TableError, match="pip install 'mercer"):
            read(file)
    # What is in memory, and streams, need nothing.
    expected = Table.of({"a": [1, 2], "b": ["x", "y"]})
    assert next(batches(path)) == next(batches(io.BytesIO(path.read_bytes()))) == expected


def test_digits_with_leading_zeros_are_words(tmp_path):
    path = save(tmp_path, "zip,n,x\n00501,1,007\n10001,02,-1.5\n,2,3\n")
    table = read(path)
    assert table["zip"].tolist() == ["00501", "10001", None] and table["n"].tolist() == ["1", "02", "2"]
    assert table["x"].tolist() == [7, -1.5, 3]  # no code has a sign, or a part behind a point
    assert len(table.remarks) == 2
    assert table.remarks[0] == (
        "Column 'zip' has digits that begin with 0, such as '00501', and was read as words. "
        "If numbers are meant: kinds={'zip': 'number'} (--number zip)."
    )
    assert read(path, kinds={"zip": "number"})["zip"].tolist()[:2] == [501, 10001]
    (first,) = batches(path)
    assert first == table and first.remarks == table.remarks


def test_as_written(tmp_path):
    text = 'a,b,c,d,e\n00501, x ,31.01.2024,NA,"1,50"\n7,TRUE,01/02/2024,,-\n'
    names = "abcde"
    found = read(save(tmp_path, text), kinds=dict.fromkeys(names, "written"))
    assert [found[name].tolist() for name in names] == [
        ["00501", "7"], [" x ", "TRUE"], ["31.01.2024", "01/02/2024"], ["NA", None], ["1,50", "-"]
    ]  # fmt: skip
    # Others are understood as ever.
    found = read(save(tmp_path, text), kinds={"d": "written"})
    assert found["d"].tolist() == ["NA", None] and found["b"].tolist() == ["x", "TRUE"]
    assert found["a"].tolist() == ["00501", "7"] and found.kind("c") == "text"


def test_files_larger_than_memory(tmp_path, monkeypatch):
    path = save(tmp_path, "a,b,w\n" + "".join(f"{i},{i / 2},w{i % 3}\n" for i in range(20_000)))
    size = path.stat().st_size
    monkeypatch.setattr("mercer.tables.reading.budget.available_memory", lambda: size)
    with pytest.raises(TableError, match=r"would take about .* of memory, .* limit= \(--limit\), .* query="):
        read(path)
    assert read(path, limit=10).n_rows == 10
    monkeypatch.setattr(delimited, "_NEEDED", 1e12)
    monkeypatch.setattr("mercer.tables.reading.budget.available_memory", lambda: 1 << 30)
    table = read(path, query="select w, sum(a) as total from t where b >= 1 group by w order by w")
    a = np.arange(2, 20_000)
    assert table["total"].tolist() == [float(a[a % 3 == k].sum()) for k in range(3)]
    twice = read(path, query="select count(*) as n from t x join t y on x.a = y.a where y.b > 1")
    assert twice["n"].tolist() == [19_997.0]  # the file is gone through anew for each of the two
    assert read(save(tmp_path, "a,b\n"), query="select * from t", empty=True).n_rows == 0
    commas = save(tmp_path, "a;b\n" + "1,5;x\n" * 20, "commas.csv")
    assert read(commas, query="select sum(a) as s from t")["s"].tolist() == [30.0]
    late = save(tmp_path, "a,b\n" + "1,2\n" * 20_000 + "oops,2\n", "late.csv")
    with pytest.raises(TableError, match="late.csv, line 20,002, column 'a': 'oops' is not a number"):
        read(late, query="select sum(a) as s from t")


def test_sniffing_is_not_misled():
    assert delimited.sniff("a;b\n1,5;2,5\n") == ";"
    assert delimited.sniff('a,b\n"x;y",1\n"z;w",2\n') == ","
    assert delimited.sniff("a\n1\n2\n") == ","
    assert delimited.sniff("a b\tc\n1 2\t3\n") == "\t"
    assert delimited.sniff("a,b;c\n1,2\n3,4\n") == ","
