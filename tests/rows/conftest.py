"""A small table, and the same as files of every kind."""

import os
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.csv as text
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest


@pytest.fixture
def table():
    """1,000 rows: three features of different kinds, labels, a target, weights."""
    rng = np.random.default_rng(0)
    n = 1000
    return pa.table(
        {
            "a": rng.standard_normal(n).astype(np.float32),
            "b": rng.integers(-5, 5, n).astype(np.int16),
            "c": rng.random(n) < 0.5,
            "city": rng.choice(["Bonn", "Ulm", "Köln"], n),
            "price": rng.standard_normal(n),
            "w": rng.random(n),
        }
    )


@pytest.fixture
def save(tmp_path):
    """save(table, name): the path of a file of that format."""

    def made(content, name, **options):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        ending = name.rpartition(".")[2]
        if ending == "parquet":
            pq.write_table(content, path, **options)
        elif ending == "feather":
            feather.write_feather(content, path, **options)
        elif ending in ("csv", "tsv"):
            text.write_csv(content, path, text.WriteOptions(delimiter="\t" if ending == "tsv" else ","))
        else:
            np.save(path, content)
        return path

    return made


@pytest.fixture
def rewrite():
    """rewrite(path, content): other bytes in the same file, a second later; as they are if None is given."""

    def written(path, content=None):
        content = path.read_bytes() if content is None else content
        later = path.stat().st_mtime_ns + 10**9
        with open(path, "r+b") as file:
            file.truncate(0)
            file.write(content)
        os.utime(path, ns=(later, later))

    return written


@pytest.fixture
def whole():
    """whole(rows): everything of all shards together, and where each begins."""

    def read(rows):
        shards = [rows.shard(k) for k in range(len(rows.sizes))]
        assert [len(s) for s in shards] == list(rows.sizes)
        assert [s.first for s in shards] == [0, *np.cumsum(rows.sizes)[:-1]]

        def joined(name):
            parts = [getattr(s, name) for s in shards]
            return None if parts[0] is None else np.concatenate(parts)

        return SimpleNamespace(X=joined("X"), y=joined("y"), w=joined("w"))

    return read
