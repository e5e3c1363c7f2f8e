"""Rows of files: how fast they are decoded, kept and read again, and what memory that takes.

``python -m benchmarks.reading [rows]`` makes a table of ten float32 columns as Parquet and CSV in a temporary
folder, and reads each in a process of its own: opening, the first pass and a later one (rows a second), and
the most memory that was resident (Linux).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

PIECE = 1_000_000
WAYS = {"decoded at every pass": False, "kept on disk": None}


def make(folder: Path, rows: int) -> dict[str, Path]:
    """The same kind of table in three files; text, which is slow to write, of a tenth of the rows."""
    import pyarrow as pa
    import pyarrow.csv as text
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    schema = pa.schema([(f"x{j}", pa.float32()) for j in range(10)])
    paths = {
        "Parquet": folder / "a.parquet",
        "Parquet, one group of rows": folder / "b.parquet",
        "CSV": folder / "c.csv",
    }

    def piece(n: int) -> pa.Table:
        X = rng.standard_normal((n, 10), dtype=np.float32)
        return pa.Table.from_arrays(list(X.T), schema=schema)

    with pq.ParquetWriter(paths["Parquet"], schema) as out:
        for start in range(0, rows, PIECE):
            out.write_table(piece(min(PIECE, rows - start)), row_group_size=PIECE)
    with pq.ParquetWriter(paths["Parquet, one group of rows"], schema) as out:
        out.write_table(piece(rows), row_group_size=rows)
    with text.CSVWriter(paths["CSV"], schema) as out:
        for start in range(0, rows // 10, PIECE):
            out.write_table(piece(min(PIECE, rows // 10 - start)))
    return paths


def measure(path: str, cache: bool | None) -> dict[str, float]:
    """Seconds of opening and of passes, and the most resident memory, in this process."""
    from mercer.rows import describe, open_rows

    def seconds(call) -> float:
        start = time.perf_counter()
        call()
        return time.perf_counter() - start

    found: dict[str, float] = {}
    rows = None

    def opened():
        nonlocal rows
        rows = open_rows(path, "x9", cache=cache)

    found["open"] = seconds(opened)
    for name in ("first", "later"):
        found[name] = seconds(lambda: rows.total(lambda shard: (len(shard),)))
    found["statistics"] = seconds(lambda: describe(rows))
    status = Path("/proc/self/status").read_text() if Path("/proc/self/status").exists() else ""
    peak = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")]
    return found | {"rows": rows.shape[0], "peak": int(peak[0]) / 1e3 if peak else float("nan")}


def main(rows: int = 4_000_000) -> None:
    print(
        f"{'':28} {'':22} {'open s':>7} {'first':>7} {'later':>7} {'stat.':>7}  million rows/s {'peak MB':>8}"
    )
    with tempfile.TemporaryDirectory(prefix="mercer-reading-") as folder:
        for name, path in make(Path(folder), rows).items():
            for way, cache in WAYS.items():
                call = [sys.executable, "-m", "benchmarks.reading", str(path), json.dumps(cache)]
                done = subprocess.run(call, check=True, capture_output=True, text=True)
                found = json.loads(done.stdout)
                rate = [found["rows"] / found[k] / 1e6 for k in ("first", "later", "statistics")]
                print(
                    f"{name:28} {way:22} {found['open']:7.2f} {rate[0]:7.1f} {rate[1]:7.1f} {rate[2]:7.1f}"
                    f" {'':15} {found['peak']:8.0f}"
                )


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(measure(sys.argv[1], json.loads(sys.argv[2]))))
    else:
        main(*map(int, sys.argv[1:]))
