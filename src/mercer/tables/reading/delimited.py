"""CSV and its relatives: cells between commas, semicolons, tabs or bars, the first line holding the names.

Files are read by PyArrow. Streams, whose lines must be understood as they come, are read by Python's csv
module, and so is a file that PyArrow refuses, to find the line that is wrong. Cells mean the same to both.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from mercer.tables.reading import budget
from mercer.tables.reading.arrow import BATCH, coded, needed
from mercer.tables.reading.cells import MISSING, WRITTEN, Coded, Understood, is_number, understood
from mercer.tables.reading.errors import TableError, checked_names, shown
from mercer.tables.reading.format import Cut, Format, Row, Wanted, assembled, seen_kinds
from mercer.tables.reading.table import Table
from mercer.tables.reading.text import (
    LONGEST_LINE,
    PIECE,
    all_bytes,
    as_utf8,
    decoded,
    head_bytes,
    head_records,
    lines_of,
    unpacked,
)

DELIMITERS = ",\t;|"
BLANK = " \t\r\n"
COMMAS = "Numbers were read with decimal commas."
# What Python's csv module says, and what it means.
_FAULTS = {
    "expected after": "text follows a closing quote. A quote inside a quoted cell is written twice.",
    "end of data": "a quote that is opened here is never closed.",
    "field limit": f"a cell has more than {csv.field_size_limit():,} characters; is a quote not closed?",
}
# Bytes of memory for a byte of text: while it is held as cells, and about how many in the end.
_HELD, _NEEDED = 4.0, 10.0
# Bytes that a word takes as an object of its own, and while it is understood.
_WORD = 200
UTF16 = (b"\xff\xfe", b"\xfe\xff")


class Delimited(Format):
    """Cells between commas, semicolons, tabs or bars."""

    name = "delimited text"
    suffixes = (".csv", ".tsv", ".tab")

    def looks_so(self, head: str) -> bool:
        """Any text may be a column without delimiters."""
        return True

    def read(self, wanted: Wanted) -> Table:
        needed("reading it")
        sheet = load(wanted.path, wanted.limit)
        names = sheet.names()
        # Cells that are copied keep the words for missing values; understanding the others then takes longer.
        columns = sheet.columns(len(names), [""] if WRITTEN in wanted.kinds.values() else sorted(MISSING))
        budget.ask(16 * len(names) * len(columns[0]))  # a number, and while it is made another
        signs: dict[str, str] = {}  # of decimals, and a column that has them

        def column(j: int) -> Understood:
            text, columns[j] = columns[j], None  # a column's text is let go once it is understood
            found = _typed(text, wanted.kinds.get(names[j]), sheet)
            if sheet.delimiter == ";" and found.kind == "number":
                signs.update(dict.fromkeys(_decimals(text), names[j]))
            return found

        table = assembled(names, column, line_of=sheet.line_of, remarks=sheet.remarks)
        if not len(table) and not wanted.empty:
            line, _ = next(sheet.records())
            raise TableError("there are names of columns, but no rows below them.", line=line)
        if len(signs) == 2:
            raise TableError(
                f"numbers have points here, but decimal commas in column {shown(signs[','])}. "
                "Is 1.234 more than a thousand? Write all numbers one way.",
                column=signs["."],
            )
        remarks = (*table.remarks, *[COMMAS] * ("," in signs))
        return Table(table.columns, remarks=remarks).take(slice(wanted.limit))

    def parts(self, wanted: Wanted) -> Iterator[Table]:
        """As `read` does it, piece by piece; what columns are, the first piece says where `kinds` do not."""
        needed("reading it")
        kinds = dict(wanted.kinds)
        for before, sheet in _sheets(wanted.path, wanted.empty):
            names = sheet.names()
            try:
                columns = sheet.columns(len(names), sorted(MISSING))
            except TableError as error:
                error.line = None if error.line is None else before + error.line
                raise
            line_of = partial(_line_in_file, sheet, before)
            content = {n: c for n, c in zip(names, columns, strict=True) if not wanted.skip(n)}
            names = list(content)
            table = assembled(
                names,
                lambda j: _typed(content[names[j]], kinds.get(names[j]), sheet),  # noqa: B023
                line_of=line_of,
                n_rows=len(columns[0]),
                remarks=sheet.remarks,
            )
            if len(table) and not kinds.keys() >= set(names):
                kinds = seen_kinds(table) | kinds
            yield table

    def of_lines(self, lines: Iterable[bytes], head: bytes, cut: Cut) -> Iterator[Table]:
        delimiter = sniff(as_utf8_head(head))
        records = records_of(decoded(lines), delimiter)
        line, header = next(records, (1, [""]))
        names = header_names(header, line)

        def made(part: list[Row]) -> Table:
            for line, cells in part:
                _require_width(cells, len(names), delimiter, line)
            table = assembled(names, lambda j: column(part, j), line_of=lambda row: part[row][0])
            cut.learn(table)
            return table

        def column(part: list[Row], j: int) -> Understood:
            values, kind = [cells[j] for _, cells in part], cut.kinds.get(names[j])
            numbers = _plain_numbers(values) if kind == "number" else None
            if numbers is not None:
                return Understood(numbers, "number")
            return understood(Coded.of(values), kind, delimiter == ";")

        return cut.of_rows(records, made)

    def for_query(self, wanted: Wanted) -> tuple[Any, tuple[str, ...]]:
        """The table; or, if it is larger than memory, batches of it.

        What columns are is then seen on the first rows; a later value that does not fit makes the query fail.
        """
        from mercer.tables.reading.duck import Scanned

        large = _NEEDED * wanted.path.stat().st_size > budget.available_memory()
        cut = Cut(BATCH, 0, dict(wanted.kinds), BATCH)
        first = next(self._batches(wanted.path, cut), None) if large else None
        if first is None:
            return super().for_query(wanted)
        return Scanned(first, lambda: self._batches(wanted.path, cut)), first.remarks

    def _batches(self, path: Path, cut: Cut) -> Iterator[Table]:
        with unpacked(path) as file:
            yield from self.of_lines(lines_of(file), head_bytes(path), cut)


@dataclass(frozen=True)
class Sheet:
    """A delimited file in memory: UTF-8, and how it is cut into cells."""

    data: bytes
    delimiter: str
    remarks: list[str]

    def records(self) -> Iterator[Row]:
        """(line, cells) of every record, header first, without blank lines."""
        text = io.TextIOWrapper(io.BytesIO(self.data), encoding="utf-8", newline="")
        return records_of(text, self.delimiter)

    def names(self) -> list[str]:
        """Those of the columns."""
        line, first = next(self.records())
        return header_names(first, line)

    def line_of(self, row: int) -> int:
        """The line on which a row (from 0) begins."""
        return next(islice(self.records(), row + 1, None))[0]

    def columns(self, width: int, missing: list[str]) -> list[Any]:
        """Every column as Arrow's strings, null for missing words; or the line that is wrong."""
        import pyarrow as pa
        import pyarrow.csv as pc

        quotes = self.data.count(b'"')
        if quotes % 2:  # one is inside a cell, which is fine, or never closed, which PyArrow would take
            self._require_sound(width)
        names = [str(j) for j in range(width)]
        try:
            table = pc.read_csv(
                pa.BufferReader(self.data),
                pc.ReadOptions(
                    column_names=names, skip_rows=next(self.records())[0] - 1, block_size=8 * PIECE
                ),
                pc.ParseOptions(
                    delimiter=self.delimiter,
                    newlines_in_values=quotes > 0,
                    invalid_row_handler=lambda row: "error" if row.text.strip(BLANK) else "skip",
                ),
                pc.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.string()),
                    null_values=missing,
                    strings_can_be_null=True,
                ),
            )
        except (pa.ArrowException, OSError, ValueError) as error:
            self._require_sound(width)
            raise TableError(f"PyArrow says: {error}.") from None
        return table.slice(1).columns  # below the header

    def _require_sound(self, width: int) -> None:
        """Refuse the first record that is wrong, by its line."""
        for line, cells in self.records():
            _require_width(cells, width, self.delimiter, line)


def _require_width(cells: list[str], width: int, delimiter: str, line: int) -> None:
    if len(cells) != width:
        raise TableError(
            f"{len(cells)} cell{'s' * (len(cells) != 1)} where the header has {width}: "
            f"{shown(delimiter.join(cells))}. Cells are cut at every {delimiter!r} outside quotes.",
            line=line,
        )


def records_of(lines: Iterable[str], delimiter: str, strict: bool = True) -> Iterator[Row]:
    """(line, cells) of every record that has something in it. Lines count as in an editor."""
    reader = csv.reader(lines, delimiter=delimiter, strict=strict)
    line, width = 1, 0
    try:
        for cells in reader:
            if _counts(cells, width):
                width = width or len(cells)
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        said = next((words for part, words in _FAULTS.items() if part in str(error)), f"{error}.")
        raise TableError(said, line=line) from None


def _counts(cells: list[str], width: int) -> bool:
    """Whether there is anything on a line. In a table of one column, blanks or "" are a missing value."""
    return len(cells) > 1 or bool(cells and (width == 1 or cells[0].strip(BLANK)))


def sniff(head: str) -> str:
    """The delimiter: the one that cuts most lines into as many cells as the first, and into most cells."""

    def score(delimiter: str) -> tuple[float, int]:
        reader = csv.reader(io.StringIO(head, newline=""), delimiter=delimiter)
        try:
            widths = [len(cells) for cells in islice(reader, 100) if cells]
        except csv.Error:
            return 0.0, 0
        if len(widths) > 1 and len(widths) < 100:
            widths.pop()  # may be cut in two
        share = np.mean([width == widths[0] for width in widths]) if widths else 0.0
        return (float(share) if widths and widths[0] > 1 else 0.0), (widths[0] if widths else 0)

    best = max(DELIMITERS, key=score)
    return best if score(best)[1] > 1 else ","


# Bytes of a piece of text: in memory its cells take several times as much.
_PIECE = 4 << 20


def _sheets(path: Path, empty: bool) -> Iterator[tuple[int, Sheet]]:
    """A file in pieces, each below the line of names (or this alone), and how many lines come before it."""
    head = head_bytes(path)
    if head.startswith(UTF16):
        raise TableError("it is UTF-16 and too large to be read at once. Save it as UTF-8.")
    delimiter = sniff(as_utf8_head(head))
    names, before, first = b"", 0, b""
    with unpacked(path) as file:
        for piece in _whole_records(file):
            if names:
                if piece.strip():
                    data, remarks = as_utf8(names + piece)
                    yield before - names.count(b"\n"), Sheet(data, delimiter, remarks)
            else:
                first += piece
                data, remarks = as_utf8(first)
                sheet = Sheet(data, delimiter, remarks)
                if (line := _second(sheet)) is not None:
                    names = b"".join(data.splitlines(keepends=True)[: line - 1])
                    yield 0, sheet
            before += piece.count(b"\n")
    if not names:
        text = first.strip()
        if text and empty:
            yield 0, sheet
            return
        raise TableError(
            "there are names of columns, but no rows below them." if text else "the file is empty."
        )


def _second(sheet: Sheet) -> int | None:
    """The line of the record below the names of the columns, which are looked at; None if there is none."""
    records = list(islice(sheet.records(), 2))
    if records:
        sheet.names()
    return records[1][0] if len(records) == 2 else None


def _whole_records(file: Any) -> Iterator[bytes]:
    """Pieces of a file that end where a record does: at the end of a line, outside quotes."""
    left = b""
    while new := file.read(_PIECE):
        data = left + new
        end = data.rfind(b"\n") + 1
        if data.count(b'"', 0, end) % 2:
            # The last line end outside quotes: one after which an even number of them is open.
            parts = data[:end].split(b'"')
            while len(parts) > 1 and (len(parts) % 2 == 0 or b"\n" not in parts[-1]):
                parts.pop()
            whole = b'"'.join(parts)
            end = whole.rfind(b"\n") + 1
        if len(data) - end > LONGEST_LINE:
            raise TableError(f"a row has more than {LONGEST_LINE:,} characters; is a quote not closed?")
        if end:
            yield data[:end]
        left = data[end:]
    if left:
        yield left


def _line_in_file(sheet: Sheet, before: int, row: int) -> int:
    return before + sheet.line_of(row)


def load(path: Path, limit: int | None) -> Sheet:
    """The file, or as much of it as `limit` rows take."""
    head = head_bytes(path)
    delimiter = sniff(as_utf8_head(head))
    if limit is None or head.startswith(UTF16):
        data = all_bytes(path, _HELD)
    else:
        # What is wrong with them shows when they are looked at again.
        data = head_records(path, lambda lines: records_of(lines, delimiter, strict=False), limit + 1)
    data, remarks = as_utf8(data)
    if not re.search(rb"[^ \t\r\n]", data):
        raise TableError("the file is empty. The first line must hold the names of the columns.")
    return Sheet(data, delimiter, remarks)


def as_utf8_head(head: bytes) -> str:
    """The head as text, whatever it is: enough to find delimiters."""
    encoding = "utf-16" if head.startswith(UTF16) else "utf-8-sig"
    return head.decode(encoding, errors="replace").lstrip("\r\n")


def header_names(first: list[str], line: int) -> list[str]:
    """The names of the columns, from the first record."""
    names = [name.strip(BLANK) for name in first]
    if all(map(is_number, names)):
        raise TableError(
            f"the first line must hold the names of the columns, but has numbers: {shown(', '.join(names))}. "
            "Put a line of names above it.",
            line=line,
        )
    return checked_names(names, line)


def _typed(column: Any, kind: str | None, sheet: Sheet) -> Understood:
    """A column from Arrow's strings. Plain numbers, of which large files are made, are understood at once."""
    import pyarrow as pa
    import pyarrow.compute as compute

    words, comma = compute.utf8_trim(column, BLANK), sheet.delimiter == ";"
    code = compute.any(compute.match_substring_regex(words, "^0[0-9]")).as_py()
    if kind == "number" or (kind is None and not code):
        try:
            plain = compute.replace_substring(words, ",", ".") if comma else words
            numbers = plain.cast(pa.float64()).to_numpy()
            if not np.isinf(numbers).any():
                return Understood(numbers, "number")
        except pa.ArrowInvalid:
            pass  # the words say which
    budget.ask(_WORD * compute.count_distinct(column).as_py())
    return understood(coded(column), kind, comma)


def _decimals(column: Any) -> set[str]:
    """Which of point and comma appear in a column."""
    import pyarrow.compute as compute

    return {sign for sign in ".," if compute.any(compute.match_substring(column, sign)).as_py()}


def _plain_numbers(values: list[str]) -> np.ndarray | None:
    """Numbers, if all are written plainly; Python knows other ways of writing them, which files have not."""
    try:
        found = np.array(list(map(float, values)))
    except ValueError:
        return None
    whole = "".join(values)
    return found if np.isfinite(found).all() and whole.isascii() and "_" not in whole else None
