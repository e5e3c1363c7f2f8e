"""Where the rows of a table come from: batches of Arrow's columns, from the first row on or a later one."""

from __future__ import annotations

import errno
import importlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from mercer.rows.files import FoundFile

# Bytes of a batch, as it is decoded, and its rows.
_BATCH_BYTES, _FEWEST, _MOST = 4 << 20, 64, 1 << 16

# What a source is known by: paths, sizes, times.
Identity = list[tuple[str, int, int]]


class TableSource:
    """A table elsewhere. Contract: `name`, `schema`, `length`, and `batches`.

    Attributes
    ----------
    name : str, for messages
    schema : pyarrow.Schema
    length : int, or None where nobody knows before all has been read
    alone : can only one reader be open at a time?
    """

    name: str
    schema: Any
    length: int | None = None
    alone = False

    def batches(self, first: int, columns: Sequence[str]) -> Iterator[Any]:
        """Batches of these columns from row `first` on, which must be an `entry`, in one order always."""
        raise NotImplementedError

    def entry(self, row: int) -> int:
        """The last row up to this one at which reading can begin."""
        return 0

    def identity(self) -> Identity | None:
        """Changes when the rows do; None where that can't be told without reading them."""
        return None

    def stored_bytes(self, columns: Sequence[str]) -> int | None:
        """Bytes that a pass over these columns reads, where that is known."""
        return None

    def read_whole(self) -> int:
        """Rows of the largest part that can only be read at once."""
        return 0

    def as_numbers(self, features: Sequence[str]) -> None:
        """These columns shall be numbers with a fraction, whatever the first rows of a text look like."""


def needed(what: str, package: str = "PyArrow") -> ModuleType:
    """PyArrow (or DuckDB), or a sentence that says how to get it."""
    try:
        return importlib.import_module(package.lower())
    except ImportError:
        raise ImportError(f"{what} needs {package}: pip install 'mercer[cli]'") from None


def batch_rows(schema: Any, columns: Sequence[str]) -> int:
    """Rows of a batch: few where they are wide."""
    return min(max(_BATCH_BYTES // (8 * max(len(columns), 1)), _FEWEST), _MOST)


def identity_of(files: Sequence[FoundFile]) -> Identity:
    """What the files are known by."""
    return [(os.path.realpath(file.path), file.size, file.written) for file in files]


class SourceFiles(TableSource):
    """Files of one format, one after the other. They must stay as they are while they are read."""

    def __init__(self, paths: Sequence[Path]):
        self.paths = tuple(paths)
        more = f" and {len(self.paths) - 1:,} more" if len(self.paths) > 1 else ""
        self.name = f"{self.paths[0]}{more}"
        self.files = tuple(FoundFile(path) for path in self.paths)
        self._identity = identity_of(self.files)

    def identity(self):
        return list(self._identity)

    def unified(self, schemas: Sequence[Any]) -> Any:
        """One schema for all files; each must have all columns."""
        import pyarrow as pa

        first = schemas[0]
        for path, schema in zip(self.paths, schemas, strict=True):
            if set(schema.names) != set(first.names):
                odd = sorted(set(schema.names) ^ set(first.names))
                raise ValueError(
                    f"{path} and {self.paths[0]} have different columns ({', '.join(map(repr, odd[:5]))} is "
                    "in one of them only): files that are read together have the same"
                )
        plain = [pa.schema([pa.field(f.name, f.type) for f in schema]) for schema in schemas]
        try:
            return pa.unify_schemas(plain, promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise ValueError(
                f"{self.name}: columns of one name differ in type: {said(error)}. Write the files alike, or "
                "cast the column in a query (select … from …)"
            ) from None


@contextmanager
def sound(path: Any, what: str) -> Iterator[None]:
    """What PyArrow (or the system) says about a file that it can't read, with the name of the file."""
    import pyarrow as pa

    try:
        yield
    except (FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except OSError as error:
        if error.errno in (errno.EIO, errno.ENOMEM, errno.EMFILE, errno.ENFILE):
            raise
        raise ValueError(f"{path} is no sound {what}: {said(error)}") from error
    except (pa.ArrowException, ValueError, LookupError, TypeError, NotImplementedError) as error:
        raise ValueError(f"{path} is no sound {what}: {said(error)}") from error


def said(error: BaseException) -> str:
    """An error's words on one line, not too long."""
    words = " ".join(str(error).split()) or type(error).__name__
    return words if len(words) <= 300 else words[:300] + "…"


def checked_names(names: Sequence[str], name: str) -> None:
    """Columns have names, each its own."""
    if not names:
        raise ValueError(f"{name} has no columns")
    if len(set(names)) < len(names):
        twice = next(n for i, n in enumerate(names) if n in names[:i])
        raise ValueError(f"{name} has two columns of the name {twice!r}: rename one")
