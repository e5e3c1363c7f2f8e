"""The engine of a cluster: rows are shared out among the workers of Dask, and each computes with its own."""

from __future__ import annotations

from functools import cache

from mercer._params import require_nonnegative
from mercer._threads import in_dask_task
from mercer.engines.base import Engine
from mercer.engines.cuda import Cuda
from mercer.engines.tiled import Tiled
from mercer.rows import open_rows
from mercer.rows.placing import is_of_dask


class Dask(Engine):
    """Kernel products on the workers of a Dask cluster, where the rows are.

    `place` shares rows out among the workers; tasks on them go there, and only vectors of the size of the
    centres travel. A task takes this engine along: there, its operators are those of the worker's own engine.
    Here they are those of the CPU: centres and samples fit into one process.

    Parameters
    ----------
    client : distributed.Client, optional
        None: that of `address`, or the current one (`distributed.default_client()`). It stays in this
        process: an engine that is pickled or saved has none.
    address : str, optional
        Where the scheduler is, as ``"tcp://10.0.0.1:8786"``.
    engine : Engine, optional
        What workers compute with; None: `Cuda` where a worker has a GPU, `Tiled` elsewhere.
    patience : float
        Seconds to wait for a worker when there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from distributed import Client
    >>> with Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=":0") as client:
    ...     rows = Dask(client).place(np.arange(12.0).reshape(6, 2))
    ...     rows.total(lambda shard: (shard.X.sum(axis=0),))
    (array([30., 36.]),)
    """

    name = "dask"
    sends = True
    # A client means this process, and nothing in another one or in a file.
    stays_here = ("client",)

    def __init__(self, client=None, address=None, engine=None, patience=60.0):
        self.client = client
        self.address = address
        self.engine = engine
        self.patience = patience

    def validate(self):
        require_nonnegative(self.patience, "Dask: patience")
        if self.address is not None and not isinstance(self.address, str):
            raise ValueError(
                f"Dask: address must be a string such as 'tcp://10.0.0.1:8786', got {self.address!r}"
            )
        if self.client is not None and self.address is not None:
            raise ValueError("Dask: give a client or an address, not both")
        if self.engine is not None and (not isinstance(self.engine, Engine) or isinstance(self.engine, Dask)):
            raise ValueError(
                f"Dask: engine must be another engine, that of a worker, or None; got {self.engine!r}"
            )

    def place(self, X, y=None, w=None):
        """Rows on the workers: see `ClusterRows`, which takes rows, arrays, Dask arrays and data frames."""
        from mercer.rows.cluster import ClusterRows
        from mercer.rows.watch import found_client

        self.validate()
        if not is_of_dask(X):
            X, y, w = open_rows(X, y, w), None, None
            if X.on_workers:
                return X
        return ClusterRows(X, y, w, found_client(self.client, self.address), self.patience)

    def at_rows(self):
        return _best() if self.engine is None else self.engine.usable()

    def here(self) -> Engine:
        """What computes in this process: on a worker its own engine, elsewhere that of the CPU."""
        return self.at_rows() if in_dask_task() else Tiled()

    def operator(self, kernel, X, Z=None):
        self.validate()
        return self.here().operator(kernel, X, Z)

    def free_bytes(self):
        return self.here().free_bytes()

    def expecting(self, pairs):
        return self.here().expecting(pairs)

    def single_threaded(self):
        return self.here().single_threaded()

    # -- a value that holds a client: copies share it, other processes have none --------------------

    def __getstate__(self):
        return {**vars(self), "client": None}

    def __copy__(self):
        return self.replace()

    def __deepcopy__(self, memo):
        return self.replace()

    def __sklearn_clone__(self):
        return self.replace()


@cache
def _best() -> Engine:
    """The GPU's engine if there is a GPU; looked for once in a process."""
    return Cuda().usable()
