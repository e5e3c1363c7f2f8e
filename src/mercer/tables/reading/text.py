"""Text files: their bytes, unpacked and checked, as UTF-8; and the lines that errors speak of."""

from __future__ import annotations

import codecs
import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from io import BufferedIOBase
from itertools import islice
from pathlib import Path
from typing import Any

from mercer.tables.reading import budget
from mercer.tables.reading.errors import TableError, refused_as

PIECE = 1 << 20
LONGEST_LINE = 64 * PIECE
_PACKED = 5.0
_OBJECT = 60  # bytes that Python adds to a line
_NEWLINE = re.compile(rb"\r\n?|\n")


@contextmanager
def unpacked(path: Path) -> Iterator[BufferedIOBase]:
    """The file for reading, unpacked if it is gzip; what goes wrong on the way is a `TableError`."""
    with refused_as("it can not be read", OSError, EOFError, zlib.error, MemoryError):
        with open(path, "rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        with gzip.open(path, "rb") if packed else open(path, "rb") as file:
            yield file


def unpacked_size(path: Path) -> float:
    """About how many bytes the content has; text that is packed has some five times as many."""
    size = path.stat().st_size
    with open(path, "rb") as file:
        return size * (_PACKED if file.read(2) == b"\x1f\x8b" else 1.0)


def all_bytes(path: Path, factor: float = 1.0) -> bytes:
    """The whole content, if there is memory for the work: `factor` bytes for each byte of content.

    A packed file is measured first, as its content may be a thousand times as large.
    """
    budget.ask(factor * path.stat().st_size)
    with unpacked(path) as file:
        if not isinstance(file, gzip.GzipFile):
            return file.read()
        most, size = budget.available_memory() / (factor + 1), 0
        # Counted first and read afterwards: what is too large is refused without being held.
        while piece := file.read(PIECE):
            size += len(piece)
            if size > most:
                budget.ask((factor + 1) * size, "unpacking and reading it")
        file.seek(0)
        return file.read(size)


def lines_of(file: Any) -> Iterator[Any]:
    """Lines of an open file, bytes or text; one that does not end is refused before memory is full of it."""
    number = 0
    while line := file.readline(LONGEST_LINE):
        number += 1
        if len(line) >= LONGEST_LINE:
            raise TableError(
                f"a line has more than {LONGEST_LINE:,} characters. Is this a table?", line=number
            )
        yield line


def head_bytes(path: Path, size: int = PIECE) -> bytes:
    """The first bytes of the content."""
    with unpacked(path) as file:
        return file.read(size)


def head_records(path: Path, records: Callable[[Iterator[str]], Iterable[Any]], count: int) -> bytes:
    """As many bytes as the first records take; `records` finds them in lines, of any superset of ASCII.

    There may be any number of blank lines between them, so what is put aside is bounded, too.
    """
    kept: list[str] = []

    def lines(text: Any) -> Iterator[str]:
        size, most = 0, budget.available_memory() / 4
        for line in lines_of(text):
            kept.append(line)
            size += len(line) + _OBJECT
            if size > most:
                budget.ask(5 * size)
            yield line

    with unpacked(path) as file:
        text = io.TextIOWrapper(file, encoding="latin-1", newline="")  # type: ignore[type-var]
        for _ in islice(records(lines(text)), count):
            pass
    return "".join(kept).encode("latin-1")


def head_lines(path: Path, count: int) -> bytes:
    """The first lines that have something on them."""
    return head_records(path, lambda lines: (line for line in lines if not line.isspace()), count)


def decoded(lines: Iterable[bytes]) -> Iterator[str]:
    """Lines as text. It must be UTF-8: that it is something else shows only when all of it is there."""
    for number, raw in enumerate(lines, 1):
        try:
            text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            problem = f"byte 0x{raw[error.start]:02x} is not UTF-8. Save the file as UTF-8."
            raise TableError(problem, line=number) from None
        if "\0" in text:
            raise TableError("there is a NUL byte, which text files do not have.", line=number)
        yield text


def line_at(data: bytes, position: int) -> int:
    """The number of the line on which a byte lies."""
    return len(_NEWLINE.findall(data, 0, position)) + 1 - (data[position - 1 : position + 1] == b"\r\n")


def as_utf8(data: bytes) -> tuple[bytes, list[str]]:
    """Content as UTF-8 without a mark in front, and remarks. UTF-16 has a mark; the rest is Windows'."""
    remarks = []
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        try:
            data, remarks = data.decode("utf-16").encode(), ["The file is UTF-16."]
        except UnicodeError as error:
            raise TableError(f"it begins as UTF-16, but is not: {error}. Save it as UTF-8.") from None
    data = data.removeprefix(codecs.BOM_UTF8)
    if (nul := data.find(b"\0")) >= 0:
        raise TableError(
            "there is a NUL byte, which text files do not have. The file is damaged, or of another kind.",
            line=line_at(data, nul),
        )
    try:
        data.decode("utf-8") if not data.isascii() else None
        return data, remarks
    except UnicodeDecodeError as error:
        line, bad = line_at(data, error.start), data[error.start]
        foreign = set(data.decode("utf-8", errors="ignore"))
        problem = f"byte 0x{bad:02x} is not UTF-8. Save the file as UTF-8."
        if any(ord(letter) > 127 for letter in foreign):  # the rest is UTF-8: one spot is damaged
            raise TableError(problem, line=line) from None
        try:
            text = data.decode("cp1252")
        except UnicodeDecodeError as second:
            raise TableError(problem, line=line_at(data, second.start)) from None
        return text.encode(), [f"Line {line:,} is not UTF-8; the file was read as Windows-1252."]
