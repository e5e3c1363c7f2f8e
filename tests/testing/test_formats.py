"""check_format goes over every reader there is, and finds what is wrong with one."""

import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from mercer.tables.reading import Format, LineFormat, Table, TableError, write
from mercer.tables.reading.formats import FORMATS
from mercer.testing import LawViolation, check_format

TABLE = Table.of({"target": [1.0, 2.5, 0.0], "x1": [3.0, 0.0, 4.0]})
# Content that is wrong, and its line.
WRONG = {
    "LIBSVM": (b"1 1:2\n1 x:2\n", 2),
    "JSON lines": (b'{"a": 1}\n\n{"a"', 3),
    "delimited text": (b"a,b\n1,2\n3\n", 3),
}


def example(form, folder):
    path = folder / f"a{form.suffixes[0]}"
    if form.name == "LIBSVM":
        path.write_text("1 1:3\n2.5\n0 1:4\n")
    elif form.is_database:
        connect = sqlite3.connect if form.name == "SQLite" else pytest.importorskip("duckdb").connect
        with closing(connect(str(path))) as connection:
            connection.execute("create table numbers (target double, x1 double)")
            connection.execute("insert into numbers values (1, 3), (2.5, 0), (0, 4)")
            connection.commit()
    else:
        write(TABLE, path)
    return path.read_bytes()


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_every_reader_keeps_the_laws(form, tmp_path):
    check_format(form, example(form, tmp_path), TABLE, *WRONG.get(form.name, (b"nonsense", None)))


class Pairs(LineFormat):
    name, suffixes = "pairs", (".pairs",)

    def row(self, line):
        if "=" not in line:
            raise TableError("a word has no =.")
        return {name: float(value) for name, value in (word.split("=") for word in line.split())}


class Unpacked(Format):
    name, suffixes = "unpacked", (".unpacked",)

    def read(self, wanted):
        rows = wanted.path.read_text().splitlines()
        return Table.of({"n": [float(row) for row in rows]})


class Unlimited(Unpacked):
    def read(self, wanted):
        rows = replace(wanted, limit=None).load()[0].decode().split()
        if not rows:
            raise TableError("there are no rows.")
        return Table.of({"n": [float(row) for row in rows]})


class Nowhere(Pairs):
    def read(self, wanted):
        try:
            return super().read(wanted)
        except TableError:
            raise TableError("it is wrong.") from None


def test_what_breaks_a_law_is_found():
    content, table = b"n=1\n\nn=2\n", Table.of({"n": [1, 2]})
    check_format(Pairs(), content, table, b"n=1\n7\n", 2)
    for form, data, wrong, words in (
        (Pairs(), b"n=1\nn=3\n", None, "must be the table in it"),
        (Unpacked(), b"1\n2\n", None, "a file must be read packed: UnicodeDecodeError"),
        (Unlimited(), b"1\n2\n", None, "limit=1 must give the first row"),
        (Nowhere(), content, b"n=1\n7\n", "must be a TableError that names file and line: it says"),
        (Pairs(), content, b"n=x\n", "TableError that names file and line: it is ValueError"),
        (Pairs(), content, content, "it was read: Table"),
    ):
        with pytest.raises(LawViolation, match=words):
            check_format(form, data, table, wrong, 2)
