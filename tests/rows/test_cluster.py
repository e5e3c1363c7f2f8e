"""Rows on a cluster of processes: the same sums as in one process, whoever computes them and whoever dies."""

import logging
import os
import signal
import threading
import time

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from cluster_tasks import Deadly, Endless, Normal, Times, broken, counted, doubled, pid
from distributed import Client, LocalCluster

from mercer.rows import ArrayRows
from mercer.rows.cluster import ClusterRows, jobs_of
from mercer.rows.watch import ClusterError, NoWorkersError, found_client

RNG = np.random.default_rng(0)
X = RNG.standard_normal((4000, 3)).astype(np.float32)
y, w = RNG.standard_normal(4000), RNG.uniform(size=4000)
V = RNG.standard_normal(3).astype(np.float32)


@pytest.fixture(scope="module")
def client():
    """Two processes of one thread each."""
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(params=["sent", "read", "dask"])
def placed(request, client, tmp_path):
    """A function that puts X, y and w on the cluster, in shards of 100 rows, in one of three ways."""

    def place(rows=100):
        if request.param == "sent":
            return ClusterRows(Unpicklable(X, y, w, rows), client=client)
        if request.param == "read":
            paths = [tmp_path / name for name in ("X.npy", "y.npy", "w.npy")]
            for path, array in zip(paths, (X, y, w), strict=True):
                np.save(path, array)
            return ClusterRows(ArrayRows(*paths, rows=rows), client=client)
        chunks = [da.from_array(array, chunks=(rows, *array.shape[1:])) for array in (X, y, w)]
        return ClusterRows(*chunks, client=client)

    return place


class Unpicklable(ArrayRows):
    """Rows that can not travel: their shards are sent."""

    def __reduce__(self):
        raise TypeError("these rows stay here")


def same(found, expected):
    return all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize("rows", [7, 100, 4000])
def test_the_same_sums_to_the_last_bit(client, placed, rows):
    local, there = ArrayRows(X, y, w, rows=rows), placed(rows)
    assert there.shape == (4000, 3) and there.dtype == np.float32 and there.sizes == local.sizes
    assert there.has_y and there.has_w
    for task, v in ((Times(), V), (Normal(X[:20]), RNG.standard_normal(20).astype(np.float32))):
        expected = local.total(task, v)
        assert all(same(there.total(task, v), expected) for _ in range(2))
    assert same(there.changed(doubled).total(Times(), V), local.changed(doubled).total(Times(), V))
