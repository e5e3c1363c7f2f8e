"""Tables in text: CSV and TSV files, packed or not, read from the first line to the last."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mercer.rows.source import SourceFiles, checked_names, said, sound

# Text is taken in pieces of so many bytes, the first of which says what the columns are.
_PIECE = 1 << 22
_DELIMITERS = (",", "\t", ";", "|")


class NotWhole(ValueError):
    """A column whose first values are whole numbers has others, too: it is to be read anew as numbers."""

    def __init__(self, column: str, problem: str):
        super().__init__(problem)
        self.column = column


class TextFiles(SourceFiles):
    """Rows of CSV and TSV files with a header line; nobody knows how many before they are read.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "a.csv")
    >>> _ = file.write_text("x;y\\n1,5;2\\n2;3\\n")
    >>> [batch.to_pydict() for batch in TextFiles([file]).batches(0, ["x", "y"])]
    [{'x': [1.5, 2.0], 'y': [2, 3]}]
    """

    def __init__(self, paths: Sequence[Path]):
        import pyarrow as pa

        super().__init__(paths)
        self._looks = []
        schemas = []
        for path in self.paths:
            look, schema = _look(path)
            self._looks.append(look)
            schemas.append(schema)
            checked_names(schema.names, str(path))
        # Columns without a value among the first rows are numbers, until a word comes.
        self.schema = pa.schema(
            [
                pa.field(f.name, pa.float64() if pa.types.is_null(f.type) else f.type)
                for f in self.unified(schemas)
            ]
        )

    def as_numbers(self, features):
        import pyarrow as pa

        for name in features:
            j = self.schema.get_field_index(name)
            if pa.types.is_integer(self.schema.field(j).type):
                self.schema = self.schema.set(j, pa.field(name, pa.float64()))

    def batches(self, first, columns):
        for number, look in enumerate(self._looks):
            yield from self.files[number].checked(self._read(self.paths[number], look, columns))

    def _read(self, path: Path, look: dict[str, str], columns: Sequence[str]) -> Any:
        types = {name: self.schema.field(name).type for name in columns}
        with _named(path, look), _opened(path, look, types) as reader:
            yield from reader


@contextmanager
def _named(path: Path, look: dict[str, str]) -> Iterator[None]:
    """What PyArrow says of a text, with file, line and column."""
    import pyarrow as pa

    try:
        with sound(path, "table"):
            yield
    except ValueError as error:
        cause = error.__cause__
        if isinstance(cause, pa.ArrowInvalid) and "to int64" in str(cause):
            name = _column_of(path, look, str(cause))
            raise NotWhole(name, f"{path}: {said(cause)}") from None
        if isinstance(cause, pa.ArrowInvalid) and (place := _place(path, look, cause)):
            raise ValueError(f"{path}, {place}") from None
        raise


def _opened(path: Path, look: dict[str, str], types: dict[str, Any] | None = None) -> Any:
    import pyarrow.csv as text

    # One thread: then errors name the line, and other threads compute meanwhile.
    return text.open_csv(
        str(path),
        text.ReadOptions(use_threads=False, block_size=_PIECE),
        text.ParseOptions(delimiter=look["delimiter"], newlines_in_values=True),
        text.ConvertOptions(
            column_types=types, include_columns=list(types or ()), decimal_point=look["decimal_point"]
        ),
    )


def _look(path: Path) -> tuple[dict[str, str], Any]:
    """Which signs separate columns and fractions, and what kinds of columns there are."""
    import pyarrow as pa

    with sound(path, "table"), pa.input_stream(str(path), compression="detect") as opened:
        start = opened.read(_PIECE).split(b"\n", 1)[0]
    # Of two bytes for a sign, one is nearly always 0.
    if start.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in start:
        raise ValueError(f"{path} is no text in UTF-8, but in UTF-16, it seems: save it as UTF-8")
    line = start.decode("utf-8", "replace")
    if not line.strip():
        raise ValueError(f"{path} is empty, or has no line with the names of the columns")
    bare = re.sub(r'"[^"]*"', "", line)
    delimiter = max(_DELIMITERS, key=bare.count)
    found = []
    # Where semicolons separate columns a comma may begin the fraction.
    for point in (".", ",") if delimiter == ";" else (".",):
        look = {"delimiter": delimiter, "decimal_point": point}
        with _named(path, look), _opened(path, look) as reader:
            found.append((look, reader.schema))
    return max(found, key=lambda one: sum(pa.types.is_floating(f.type) for f in one[1]))


def _column_of(path: Path, look: dict[str, str], words: str) -> str:
    """The name of the column that PyArrow names by its number."""
    with _opened(path, look) as reader:
        number = re.search(r"CSV column #(\d+)", words)
        return reader.schema.names[int(number[1])] if number else ""


def _place(path: Path, look: dict[str, str], error: BaseException) -> str | None:
    """Which line, which column, and what is wrong there, from PyArrow's words."""
    words = said(error)
    if found := re.match(r"CSV parse error: Row #(\d+): (.*)", words):
        return f"line {int(found[1]):,}: {found[2][0].lower()}{found[2][1:]}"
    if found := re.match(r"In CSV column #\d+: Row #(\d+): CSV conversion error to \w+: (.*)", words):
        column = _column_of(path, look, words)
        return (
            f"line {int(found[1]):,}, column {column!r}: {found[2]}, where numbers were before. Correct it; "
            f"or leave the column out, or cast it by a query: \"select … from '{path.name}'\""
        )
    return None
