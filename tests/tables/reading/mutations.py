"""Damaged and hostile tables: sound files of every kind, and ways to spoil them.

`fuzz(kind, cases, seed, folder)` is what the tests run with few cases and `python -m benchmarks.fuzz tables`
with many: each file must give a `TableError`, or a table that agrees with an independent reader.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np

from mercer.tables.reading import Table, TableError, read

INTERESTING = [
    b"\0",
    b"\xff",
    b'"',
    b"\n",
    b"\r",
    b",",
    b";",
    b"\t",
    b":",
    b"-",
    b"e999",
    b"inf",
    b"nan",
    b"9" * 25,
]
INTERESTING += [
    b"\xff\xff\xff\xff",
    b"\x00\x00\x00\x80",
    b"\xff\xff\xff\x7f",
    b"\xef\xbb\xbf",
    b"\xc3\x28",
    b"[" * 50,
]


def rows(rng: np.random.Generator, n: int = 60) -> dict[str, list]:
    """Columns of every kind, with missing values, quotes, line ends and letters beyond ASCII."""
    words = ["Bonn", "Köln", 'says "hi"', "a, b", "two\nlines", "東京", ""]
    days = np.datetime64("2020-01-01") + rng.integers(0, 2000, n)
    return {
        "price": [None if rng.random() < 0.1 else round(float(x), 3) for x in rng.normal(100, 30, n)],
        "rooms": [int(x) for x in rng.integers(1, 9, n)],
        "city": [words[i] or None for i in rng.integers(0, len(words), n)],
        "sold": [str(day) for day in days],
    }


def _csv(rng: np.random.Generator, delimiter: str = ",", decimal: str = ".") -> bytes:
    out, columns = io.StringIO(), rows(rng)
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        cells = ["" if cell is None else str(cell) for cell in row]
        writer.writerow([cells[0].replace(".", decimal), *cells[1:]])
    return out.getvalue().encode()


def _json_lines(rng: np.random.Generator) -> bytes:
    columns = rows(rng)
    records = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def _libsvm(rng: np.random.Generator) -> bytes:
    lines = []
    for _ in range(60):
        indices = np.flatnonzero(rng.random(12) < 0.4) + 1
        lines.append(
            " ".join(["+1" if rng.random() < 0.5 else "-1", *(f"{i}:{rng.normal():.4g}" for i in indices)])
        )
    return ("\n".join(lines) + "\n").encode()


def _arrow_table(rng: np.random.Generator):
    import pyarrow as pa

    columns = rows(rng)
    table = pa.table({name: pa.array(values) for name, values in columns.items()})
    kinds = table["city"].dictionary_encode()
    days = pa.array(np.array(columns["sold"], dtype="datetime64[D]"))
    return (
        table.append_column("kind", kinds)
        .append_column("day", days)
        .append_column("yes", pa.array([True] * 60))
    )


def _parquet(rng: np.random.Generator) -> bytes:
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(
        _arrow_table(rng), out, row_group_size=25, compression=rng.choice(["snappy", "zstd", "none"])
    )
    return out.getvalue()


def _ipc(rng: np.random.Generator, stream: bool = False) -> bytes:
    import pyarrow as pa

    out, table = io.BytesIO(), _arrow_table(rng)
    options = pa.ipc.IpcWriteOptions(
        compression=str(rng.choice(["lz4", "zstd"])) if rng.random() < 0.5 else None
    )
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(out, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=60)
    return out.getvalue()


def _sqlite(rng: np.random.Generator) -> bytes:
    with closing(sqlite3.connect(":memory:")) as connection:
        columns = rows(rng)
        connection.execute("create table houses (price real, rooms integer, city text, sold text)")
        connection.executemany("insert into houses values (?, ?, ?, ?)", zip(*columns.values(), strict=True))
        connection.execute("create index by_city on houses (city)")
        connection.commit()
        return connection.serialize()


def _duckdb(rng: np.random.Generator, folder: Path) -> bytes:
    import duckdb

    path = folder / "sound.duckdb"
    path.unlink(missing_ok=True)
    with closing(duckdb.connect(str(path))) as connection:
        connection.register("source", _arrow_table(rng))
        connection.execute("create table houses as select * from source")
    return path.read_bytes()


KINDS: dict[str, Callable[[np.random.Generator, Path], bytes]] = {
    "csv": lambda rng, folder: _csv(rng),
    "semicolon.csv": lambda rng, folder: _csv(rng, ";", ","),
    "tsv": lambda rng, folder: _csv(rng, "\t"),
    "csv.gz": lambda rng, folder: gzip.compress(_csv(rng)),
    "jsonl": lambda rng, folder: _json_lines(rng),
    "libsvm": lambda rng, folder: _libsvm(rng),
    "parquet": lambda rng, folder: _parquet(rng),
    "arrow": lambda rng, folder: _ipc(rng),
    "stream.arrow": lambda rng, folder: _ipc(rng, stream=True),
    "sqlite": lambda rng, folder: _sqlite(rng),
    "duckdb": _duckdb,
}


def mutate(data: bytes, rng: np.random.Generator) -> bytes:
    """Spoil bytes in one of seven ways, or in a few."""
    result = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        n = len(result)
        if n < 4:
            break
        # Half of the time near an end, where many formats keep what they say about the rest.
        at = int(rng.integers(n)) if rng.random() < 0.5 else int(min(rng.exponential(40), n - 1)) % n
        at = n - 1 - at if rng.random() < 0.3 else at
        length = int(rng.integers(1, min(n, 64)))
        match rng.integers(7):
            case 0:
                for place in rng.integers(0, n, rng.integers(1, 5)):
                    result[place] ^= 1 << int(rng.integers(8))
            case 1:
                result[at] ^= 1 << int(rng.integers(8))
            case 2:
                del result[max(at, 1) :]
            case 3:
                result[at:at] = rng.bytes(length)
            case 4:
                del result[at : at + length]
            case 5:
                other = int(rng.integers(n))
                result[at : at + length], result[other : other + length] = (
                    result[other : other + length],
                    result[at : at + length],
                )
            case 6:
                token = INTERESTING[rng.integers(len(INTERESTING))]
                result[at : at + (len(token) if rng.random() < 0.5 else 0)] = token
    return bytes(result)


def fuzz(kind: str, cases: int, seed: int, folder: Path) -> Counter[str]:
    """Read spoilt files of one kind; count the tables and the errors.

    Raises
    ------
    AssertionError
        If anything but a `Table` or a `TableError` came back, or another reader sees something else. The
        message holds the number of the case; `case(kind, seed, number, folder)` makes its file again.
    """
    counts: Counter[str] = Counter()
    for number in range(cases):
        path = case(kind, seed, number, folder)
        try:
            table = read(path)
        except TableError as error:
            assert str(path) in str(error), f"{kind} {seed} {number}: no file is named in {error}"
            counts["error"] += 1
            continue
        except BaseException as error:
            raise AssertionError(f"{kind} {seed} {number}: {type(error).__name__}: {error}") from error
        assert isinstance(table, Table) and table.n_rows > 0
        agree = ORACLES.get(kind)
        if agree is not None:
            assert agree(table, path), f"{kind} {seed} {number}: another reader sees something else"
        counts["table"] += 1
    return counts


def case(kind: str, seed: int, number: int, folder: Path) -> Path:
    """The file of one case."""
    rng = np.random.default_rng([seed, number, *kind.encode()])
    path = folder / f"case.{kind}"
    path.write_bytes(mutate(KINDS[kind](rng, folder), rng))
    return path


def _agrees_with_csv(table: Table, path: Path) -> bool:
    """Python's csv module: as many rows, and the same numbers."""
    data = path.read_bytes()
    data = gzip.decompress(data) if path.suffix == ".gz" else data
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("utf-16") if data[:2] in (b"\xff\xfe", b"\xfe\xff") else data.decode("cp1252")
    for delimiter in ",;\t|":
        records = [r for r in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if r]
        header = [name.strip() for name in records[0]] if records else []
        if tuple(header) == table.names:
            break
    else:
        return False
    many = len(header) > 1
    body = [r for r in records[1:] if len(r) > 1 or r[0].strip() or not many]
    for j, name in enumerate(header):
        if table.kind(name) == "number":
            cells = [r[j].strip().replace(",", ".") for r in body]
            for cell, value in zip(cells, table[name], strict=True):
                if not (float(cell) == value if value == value else not any(c.isdigit() for c in cell)):
                    return False
    return len(body) == table.n_rows


def _agrees_with_split(table: Table, path: Path) -> bool:
    """A LIBSVM reader of four lines."""
    lines = [
        line.split(b"#")[0].split() for line in path.read_bytes().removeprefix(b"\xef\xbb\xbf").splitlines()
    ]
    lines = [parts for parts in lines if parts]
    for i, parts in enumerate(lines):
        pairs = dict(part.split(b":") for part in parts[1:] if not part.startswith(b"qid"))
        row = {int(k): float(v) for k, v in pairs.items()}
        if table["target"][i] != float(parts[0]):
            return False
        for name in table.names[1:]:
            if not np.array_equal(table[name][i], row.get(int(name[1:]), 0.0), equal_nan=True):
                return False
    return len(lines) == table.n_rows


def _agrees_with_sqlite(table: Table, path: Path) -> bool:
    """SQLite itself: as many rows, and the same numbers."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        name = connection.execute("select name from sqlite_master where type = 'table'").fetchone()[0]
        found = connection.execute(f'select * from "{name}"').fetchall()
    columns = list(zip(*found, strict=True))
    for j, name in enumerate(table.names):
        if table.kind(name) == "number":
            for value, seen in zip(columns[j], table[name], strict=True):
                if seen == seen and float(value) != seen:
                    return False
    return len(found) == table.n_rows


ORACLES: dict[str, Callable[[Table, Path], bool]] = {
    "csv": _agrees_with_csv,
    "semicolon.csv": _agrees_with_csv,
    "tsv": _agrees_with_csv,
    "csv.gz": _agrees_with_csv,
    "libsvm": _agrees_with_split,
    "sqlite": _agrees_with_sqlite,
}
