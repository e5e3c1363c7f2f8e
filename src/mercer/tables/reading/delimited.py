"""CSV and its relatives: cells between commas, semicolons, tabs or bars, the first line holding the names.

PyArrow reads them fast. Where it refuses, and where it is not installed, Python's csv module reads them
exactly: it either finds the line that is wrong or shows that nothing is.
"""

from __future__ import annotations

import csv
import io
import re
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from mercer.tables.reading import budget
from mercer.tables.reading.arrow import coded, from_arrow
from mercer.tables.reading.cells import MISSING, Coded, is_number, understood
from mercer.tables.reading.dates import ORDERS, SLASHES, DatesRead
from mercer.tables.reading.errors import Stray, TableError, checked_names, shown
from mercer.tables.reading.table import Table
from mercer.tables.reading.text import (
    PIECE,
    Kept,
    all_bytes,
    as_utf8,
    head_bytes,
    lines_of,
    opened,
    refusals,
    text_stream,
)

DELIMITERS = ",\t;|"
BLANK = " \t\r\n"
PLAIN_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?)?$"
HEAD_ROWS = 10_000
LOOK_ROWS = 50
COMMAS = "Numbers were read with decimal commas."
UTF16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class Sheet:
    """A delimited file in memory: UTF-8, and how it is cut into cells."""

    path: Path
    data: bytes
    delimiter: str
    remarks: list[str]

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """(line, cells) of every record, header first, without blank lines."""
        return records_of(text_stream(self.data), self.delimiter, self.path)

    def line_of(self, row: int) -> int:
        """The line on which a row (from 0) begins."""
        return next(islice(self.records(), row + 1, None))[0]

    def body(self) -> int:
        """Where the rows begin, in bytes."""
        return len(_first_records(io.BytesIO(self.data), self.delimiter, 1, self.path))


def records_of(lines: Iterable[str], delimiter: str, path: Path) -> Iterator[tuple[int, list[str]]]:
    """(line, cells) of every record that has something in it. Lines count as in an editor."""
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    line, width = 1, 0
    try:
        for cells in reader:
            if _counts(cells, width):
                width = width or len(cells)
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        raise TableError(_explained(str(error)), path=path, line=line) from None


def _counts(cells: list[str], width: int) -> bool:
    """Whether there is anything on a line. In a table of one column, blanks or "" are a missing value."""
    return len(cells) > 1 or bool(cells and (width == 1 or cells[0].strip(BLANK)))


def _explained(error: str) -> str:
    if "expected after" in error:
        return "text follows a closing quote. A quote inside a quoted cell is written twice."
    if "end of data" in error:
        return "a quote that is opened here is never closed."
    if "field limit" in error:
        return (
            f"a cell has more than {csv.field_size_limit():,} characters; most likely a quote is not closed."
        )
    return f"{error}."


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


def load(path: Path, limit: int | None) -> Sheet:
    """The file, or as much of it as `limit` rows take."""
    head = head_bytes(path)
    delimiter = sniff(as_utf8_head(head))
    if limit is None or head.startswith(UTF16):
        data = all_bytes(path, _factor(head, delimiter))
    else:
        with refusals(path), opened(path) as file:
            data = _first_records(file, delimiter, limit + 1, path)
    data, remarks = as_utf8(data, path)
    if not re.search(rb"[^ \t\r\n]", data):
        raise TableError("the file is empty. The first line must hold the names of the columns.", path=path)
    return Sheet(path, data, delimiter, remarks)


def as_utf8_head(head: bytes) -> str:
    """The head as text, whatever it is: enough to find delimiters."""
    encoding = "utf-16" if head.startswith(UTF16) else "utf-8-sig"
    return head.decode(encoding, errors="replace").lstrip("\r\n")


def _factor(head: bytes, delimiter: str) -> float:
    """Bytes of memory per byte of file: the file, its cells as Arrow strings, and what becomes of them.

    A number takes 8 bytes (and 8 while it is made); words that repeat take no more; where every row has a
    word of its own, each is an object. How much there is of each shows in the first rows.
    """
    text = as_utf8_head(head[: 1 << 16])
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        rows = [row for row in islice(reader, 1, 200) if row]
    except csv.Error:
        rows = []
    width = min(map(len, rows), default=0)
    if not width:
        return 3.0
    objects = sum(
        len(set(cells)) > len(cells) / 2 and sum(map(is_number, cells)) < len(cells) / 2
        for cells in ([row[j].strip() for row in rows] for j in range(width))
    )
    size = sum(len(cell) + 1 for row in rows for cell in row[:width]) / len(rows)
    return 2 + (16 * width + 200 * objects) / size


def _first_records(file: Any, delimiter: str, count: int, path: Path) -> bytes:
    """As many bytes as the first records take. Their bounds are the same in every superset of ASCII."""
    kept = Kept(path)

    def lines(text: io.TextIOWrapper) -> Iterator[str]:
        for line in lines_of(text, path):
            kept.add(line)
            yield line

    text = io.TextIOWrapper(file, encoding="latin-1", newline="")
    width = 0
    try:
        for cells in csv.reader(lines(text), delimiter=delimiter):
            if _counts(cells, width):
                width = width or len(cells)
                count -= 1
            if count <= 0:
                break
    except csv.Error:
        pass  # what was read is looked at again, and refused with its line
    finally:
        text.detach()
    return "".join(kept.lines).encode("latin-1")


def read_delimited(path: Path, kinds: dict[str, str], limit: int | None = None) -> Table:
    """A table from a delimited file."""
    sheet = load(path, limit)
    names = _names(sheet)
    columns = _fast(sheet, [kinds.get(name) for name in names])
    columns = _exact(sheet, len(names)) if columns is None else columns
    made: dict[str, np.ndarray] = {}
    signs: dict[str, str] = {}  # of decimals, and a column that has them
    remarks = list(sheet.remarks)
    for j, name in enumerate(names):
        try:
            made[name], kind = _typed(columns[j], kinds.get(name), sheet.delimiter == ";")
        except Stray as stray:
            raise stray.at(name, path, sheet.line_of(stray.row)) from None
        if kind in ORDERS:
            remarks.append(DatesRead(name, kind))
        if sheet.delimiter == ";" and made[name].dtype.kind == "f":
            signs |= {sign: name for sign in _decimals(columns[j])}
        columns[j] = None  # a column's text is let go once it is understood
    if len(signs) == 2:
        raise TableError(
            f"numbers have points here, but decimal commas in column {shown(signs[','])}. "
            "Is 1.234 more than a thousand? Write all numbers one way.",
            path=path,
            column=signs["."],
        )
    remarks += [COMMAS] * ("," in signs)
    return Table({name: column[:limit] for name, column in made.items()}, remarks=remarks)


def _names(sheet: Sheet) -> list[str]:
    line, first = next(sheet.records())
    return header_names(first, sheet.path, line)


def header_names(first: list[str], path: Path, line: int) -> list[str]:
    """The names of the columns, from the first record."""
    names = [name.strip(BLANK) for name in first]
    if all(map(is_number, names)):
        raise TableError(
            f"the first line must hold the names of the columns, but has numbers: {shown(', '.join(names))}. "
            "Put a line of names above it.",
            path=path,
            line=line,
        )
    return checked_names(names, path, line)


def _fast(sheet: Sheet, kinds: list[str | None]) -> list[Any] | None:
    """Every column as Arrow's numbers or strings; None if PyArrow is not there or refuses the file."""
    try:
        import pyarrow as pa
        import pyarrow.compute as compute
        import pyarrow.csv as pc
    except ImportError:
        return None
    quotes = sheet.data.count(b'"')
    if quotes % 2:  # one is stray or not closed
        return None
    names = [str(j) for j in range(len(kinds))]
    likely = {str(j) for j in _likely_numbers(sheet, kinds)}
    # Numbers without the way through text take half the time. Where one is none, the text says which.
    for numbers in (likely, set()) if likely else (set(),):
        try:
            table = pc.read_csv(
                pa.BufferReader(pa.py_buffer(sheet.data).slice(sheet.body())),
                pc.ReadOptions(column_names=names, block_size=8 * PIECE),
                pc.ParseOptions(delimiter=sheet.delimiter, newlines_in_values=quotes > 0),
                pc.ConvertOptions(
                    column_types={name: pa.float64() if name in numbers else pa.string() for name in names},
                    null_values=sorted(MISSING),
                    strings_can_be_null=True,
                ),
            )
        except (pa.ArrowException, OSError, ValueError):
            continue
        if not any(compute.any(compute.is_inf(table[name])).as_py() for name in numbers):
            return list(table.columns)
    return None


def _likely_numbers(sheet: Sheet, kinds: list[str | None]) -> list[int]:
    """Columns that hold numbers, and nothing that is an effort to read, in the first rows."""
    if sheet.delimiter == ";":  # where numbers may have decimal commas
        return []
    try:
        rows = [cells for _, cells in islice(sheet.records(), 1, 1 + LOOK_ROWS)]
    except TableError:
        return []
    if any(len(cells) != len(kinds) for cells in rows):
        return []

    def plain(cells: tuple[str, ...]) -> bool:
        words = [cell for cell in cells if cell not in MISSING]
        return bool(words) and all(map(is_number, words))

    columns = zip(*rows, strict=True)
    return [j for j, cells in enumerate(columns) if kinds[j] in (None, "number") and plain(cells)]


def _exact(sheet: Sheet, width: int) -> list[Any]:
    """Every column, coded; or the line that has too few cells or too many."""
    known: list[dict[str, int]] = [{} for _ in range(width)]
    codes = [array("i") for _ in range(width)]
    for line, cells in islice(sheet.records(), 1, None):
        if len(cells) != width:
            cut = shown(sheet.delimiter.join(cells))
            raise TableError(
                f"{len(cells)} cell{'s' * (len(cells) != 1)} where the header has {width}: {cut}. "
                "Cells are cut at every " + repr(sheet.delimiter) + " outside quotes.",
                path=sheet.path,
                line=line,
            )
        for cell, words, column in zip(cells, known, codes):
            column.append(words.setdefault(cell, len(words)))
    return [Coded(list(words), np.array(column, dtype=np.int32)) for words, column in zip(known, codes)]


def _typed(column: Any, kind: str | None, comma: bool) -> tuple[np.ndarray, str]:
    """A column from its text, and what it was taken for."""
    if isinstance(column, Coded):
        return understood(column, kind, comma)
    import pyarrow as pa
    import pyarrow.compute as compute

    if pa.types.is_floating(column.type):
        return column.to_numpy(), "number"
    # What large files are made of, Arrow understands at once: plain numbers, plain dates.
    if kind in (None, "number"):
        ways = [lambda: column, lambda: compute.utf8_trim(column, " \t")]
        ways += [lambda: compute.replace_substring(column, ",", ".")] if comma else []
        for way in ways:
            try:
                numbers = way().cast(pa.float64()).to_numpy()
            except pa.ArrowInvalid:
                continue
            if not np.isinf(numbers).any():
                return numbers, "number"
    if (
        kind in (None, "date", *ORDERS)
        and compute.all(compute.match_substring_regex(column, PLAIN_DATE)).as_py()
    ):
        try:
            return from_arrow(column.cast(pa.timestamp("us"))), kind or "date"
        except (pa.ArrowInvalid, Stray):
            pass
    return understood(coded(column), kind, comma)


def _decimals(column: Any) -> set[str]:
    """Which of point and comma appear in a column."""
    if isinstance(column, Coded):
        return {sign for sign in ".," if any(sign in word for word in column.words)}
    import pyarrow.compute as compute

    return {sign for sign in ".," if compute.any(compute.match_substring(column, sign)).as_py()}


def fits(path: Path) -> bool:
    """Whether the whole file can be read into memory."""
    head = head_bytes(path)
    return _factor(head, sniff(as_utf8_head(head))) * path.stat().st_size <= budget.available_memory()


def header_line(path: Path) -> int:
    """The line on which the names of the columns are."""
    return next(load(path, 1).records())[0]


def lazily(path: Path, kinds: dict[str, str]) -> tuple[Any, tuple[str, ...]]:
    """A file larger than memory as an Arrow data set, for queries that need only a part of it; and remarks.

    What columns are is seen on the first rows; a later value that does not fit makes the query fail.
    """
    import pyarrow as pa
    import pyarrow.csv as pc
    import pyarrow.dataset as ds

    head = read_delimited(path, kinds, HEAD_ROWS)
    if set(SLASHES) <= set(head.orders.values()):
        # Arrow reads all columns in one order, and would take days for months: they stay words.
        words = {name: "text" for name, order in head.orders.items() if order in SLASHES}
        head = read_delimited(path, kinds | words, HEAD_ROWS)
    forms = [form for order in sorted(set(head.orders.values())) for form in _forms(order)]
    sheet = load(path, 1)
    types = {"number": pa.float64(), "date": pa.timestamp("us"), "text": pa.string()}
    columns = {name: types[head.kind(name)] for name in head.names}
    form = ds.CsvFileFormat(
        parse_options=pc.ParseOptions(delimiter=sheet.delimiter, newlines_in_values=True),
        read_options=pc.ReadOptions(
            column_names=list(head.names), skip_rows_after_names=1, block_size=8 * PIECE
        ),
        convert_options=pc.ConvertOptions(
            decimal_point="," if COMMAS in head.remarks else ".",
            column_types=columns,
            null_values=sorted(MISSING),
            strings_can_be_null=True,
            timestamp_parsers=[pc.ISO8601, *forms],
        ),
    )
    return ds.dataset(path, pa.schema(columns), form), head.remarks


def _forms(order: str) -> list[str]:
    """How C's strptime is told an order of dates: without a time, and with one."""
    date = order.replace("D", "%d").replace("M", "%m").replace("Y", "%Y")
    return [date, f"{date} %H:%M", f"{date} %H:%M:%S"]
