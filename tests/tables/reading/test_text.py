"""Bytes of text files: unpacked, decoded, lines counted."""

import gzip
import tracemalloc

import pytest

from mercer.tables.reading import TableError, batches, read
from mercer.tables.reading.errors import in_file
from mercer.tables.reading.text import all_bytes, as_utf8, head_bytes, head_lines, line_at


def test_packed_files_are_unpacked_by_content(tmp_path):
    path = tmp_path / "any name"
    path.write_bytes(gzip.compress(b"a\nb\n\nc\n"))
    assert all_bytes(path) == b"a\nb\n\nc\n"
    assert (
        head_bytes(path, 3) == b"a\nb"
        and head_lines(path, 3) == b"a\nb\n\nc\n"
        and head_lines(path, 1) == b"a\n"
    )


@pytest.mark.parametrize(
    "spoil",
    [lambda b: b[:-4], lambda b: b[:12], lambda b: b[:-6] + b"xxxxxx", lambda b: b[:10] + b"\xff" * 9],
)
def test_broken_packed_files_are_refused(tmp_path, spoil):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(spoil(gzip.compress(b"a,b\n1,2\n" * 50)))
    for reader in (all_bytes, head_bytes, lambda p: head_lines(p, 1000)):
        with pytest.raises(TableError, match="a.csv.gz: it can not be read"), in_file(path):
            reader(path)


def test_a_packed_file_that_grows_too_large_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"0,0\n" * 20_000_000, 1))
    monkeypatch.setattr("mercer.tables.reading.budget.available_memory", lambda: 20 << 20)
    with pytest.raises(TableError, match="unpacking and reading it would take"):
        all_bytes(path)


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_lines_are_those_of_an_editor(ends):
    data = ends.join(["one", "two", "", "four"]).encode()
    assert [line_at(data, data.index(word)) for word in (b"one", b"two", b"four")] == [1, 2, 4]
    assert line_at(data, data.index(ends.encode()) + len(ends) - 1) == 1


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_encodings(encoding):
    text = "name,straße\né,ü\n"
    data, remarks = as_utf8(text.encode(encoding))
    assert data.decode() == text
    assert len(remarks) == (encoding in ("utf-16", "cp1252"))


@pytest.mark.parametrize(
    "data, line",
    [
        (b"a\nb\0c\n", 2),
        ("é\nü".encode() + b"\xff\n", 2),  # one bad byte in UTF-8 is damage, not another encoding
        (b"a\nb\n\x81\n", 3),  # no letter in Windows-1252, either
    ],
)
def test_bytes_that_are_no_text_are_named_by_line(data, line):
    with pytest.raises(TableError) as caught:
        as_utf8(data)
    assert caught.value.line == line


def test_broken_utf16_is_refused():
    with pytest.raises(TableError, match="line 2: there is a NUL byte"):
        as_utf8("a\nb\0".encode("utf-16"))
    with pytest.raises(TableError, match="begins as UTF-16"):
        as_utf8(b"\xff\xfea\0b")


def test_what_is_too_large_is_refused_without_being_held(tmp_path, monkeypatch):
    """80 MB in a file of 350 kB: as a whole, and as blank lines or one line before the first row."""
    whole = tmp_path / "bomb.csv.gz"
    whole.write_bytes(gzip.compress(b"a,b\n" + b"0,0\n" * 20_000_000, 1))
    blank = tmp_path / "blank.csv.gz"
    blank.write_bytes(gzip.compress(b"a,b\n" + b"\n" * 20_000_000, 1))
    monkeypatch.setattr("mercer.tables.reading.budget.available_memory", lambda: 20 << 20)
    for file, limit in ((whole, None), (blank, 5)):
        tracemalloc.start()
        try:
            with pytest.raises(TableError, match="would take about"):
                read(file, limit=limit)
            assert tracemalloc.get_traced_memory()[1] < 24 << 20
        finally:
            tracemalloc.stop()


def test_a_line_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr("mercer.tables.reading.text.LONGEST_LINE", 1000)
    file = tmp_path / "long.csv"
    file.write_text("a,b\n1,2\n" + "3," * 5000)
    for reader in (lambda: read(file, limit=5), lambda: list(batches(file, 2))):
        with pytest.raises(TableError, match="line 3: a line has more than 1,000"):
            reader()
    assert len(read(file, limit=1)) == 1
