"""The laws of table readers."""

from __future__ import annotations

import gzip
import io
import tempfile
from collections.abc import Callable
from pathlib import Path

from mercer.tables.reading import Format, Table, TableError, batches, read
from mercer.testing.common import fail


def check_format(
    form: Format, content: bytes, table: Table, wrong: bytes | None = None, line: int | None = None
) -> None:
    """Raise `LawViolation` if a table reader breaks a law.

    The laws: a file of its kind is the table it should be, read as a whole, in batches, as it comes through
    an open file such as standard input, by a query, and packed with gzip if it is text; `limit` gives the
    first rows; an empty file, and one that is wrong, is a `TableError` that names the file and the line.

    Parameters
    ----------
    form : Format
    content : bytes
        Of a file of this kind, with two rows or more.
    table : Table
        What is in it.
    wrong : bytes, optional
        The content of a file that can't be read.
    line : int, optional
        Where it is wrong, if its lines mean something.

    Examples
    --------
    >>> from mercer.tables.reading.jsonlines import JsonLines
    >>> content = b'{"a": 1}\\n{"a": 2}\\n'
    >>> check_format(JsonLines(), content, Table.of({"a": [1, 2]}), wrong=content + b"{", line=3)
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"a{form.suffixes[0]}")
        path.write_bytes(content)
        packed = path.with_name(f"{path.name}.gz")
        packed.write_bytes(gzip.compress(content))
        ways: dict[str, Callable[[], Table]] = {
            "as a whole": lambda: read(path, form=form),
            "in batches": lambda: Table.joined(list(batches(path, 2, form=form))),
            "from an open file": lambda: Table.joined(list(batches(io.BytesIO(content), 2, form=form))),
            "by a query": lambda: read(path, form=form, query="select * from t"),
            **({} if form.start else {"packed": lambda: read(packed, form=form)}),
        }
        for way, reading in ways.items():
            try:
                found = reading()
            except Exception as error:
                fail(form, f"a file must be read {way}", f"{type(error).__name__}: {error}")
            if found != table:
                fail(form, f"a file read {way} must be the table in it", f"{found}, not {table}")
        if (first := read(path, form=form, limit=1)) != table.take(slice(1)):
            fail(form, "limit=1 must give the first row", f"{first}, not {table.take(slice(1))}")
        for bad, at in ((b"", None), *([] if wrong is None else [(wrong, line)])):
            path.write_bytes(bad)
            _require_refused(form, path, at)


def _require_refused(form: Format, path: Path, line: int | None) -> None:
    law = f"{path.read_bytes()[:40]!r} must be a TableError that names file and line"
    try:
        found = read(path, form=form)
    except TableError as error:
        if error.path != str(path) or (line is not None and error.line != line):
            fail(form, law, f"it says: {error}")
    except Exception as error:
        fail(form, law, f"it is {type(error).__name__}: {error}")
    else:
        fail(form, law, f"it was read: {found}")
