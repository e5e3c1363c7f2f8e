"""Dask clusters for tests: real ones, and complete before the first test asks them anything."""

import logging
from contextlib import contextmanager

from distributed import Client, LocalCluster


@contextmanager
def cluster_of(workers, threads=1, *, processes=True, default=False):
    """A client of so many workers; on a busy machine they may come after the cluster itself."""
    kind = {"processes": processes, "dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    with (
        LocalCluster(n_workers=workers, threads_per_worker=threads, **kind) as cluster,
        Client(cluster, set_as_default=default) as client,
    ):
        if workers:
            client.wait_for_workers(workers, timeout=120)
        yield client
