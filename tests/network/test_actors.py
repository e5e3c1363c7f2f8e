"""Nodes on the workers of a cluster: the same numbers and the same messages as in one process."""

import os
import signal

import numpy as np
import pytest

from clusters import cluster_of
from mercer import KernelRidge, NetworkKernelRegressor
from mercer.kernels import Gaussian
from mercer.network import Faults, MovingSource, grid
from mercer.network.actors import DaskCarrier, on_workers
from mercer.representations import Nystrom

FIELD = MovingSource()
X, Y, NODES = FIELD.readings(FIELD.sensors(6, random_state=0), 0.0, per_node=8, random_state=0)


@pytest.fixture
def client():
    """A cluster for each test: one of them kills a worker."""
    with cluster_of(2) as client:
        yield client


@pytest.mark.parametrize(
    "given",
    [
        {"max_rounds": 12, "tol": 0.0, "faults": Faults(down={1: (3, 6)}, loss=0.1, delay=1)},
        {"exchange": "tree"},
        {"combine": "glue"},
    ],
    ids=str,
)
def test_the_same_as_in_one_process(client, given):
    machine = NetworkKernelRegressor(Gaussian(0.25), 1e-3, grid(2, 3), n_centres=18, random_state=0, **given)
    here = machine.fit(X, Y, NODES)
    numbers, log = [here.predict(X, node=i) for i in range(6)], here.traffic_.log
    there = machine.fit(X, Y, NODES, client=client)
    assert np.allclose(numbers, [there.predict(X, node=i) for i in range(6)], rtol=1e-12, atol=1e-12)
    assert np.array_equal(there.traffic_.log, log)


def test_a_worker_that_is_killed_takes_its_nodes_with_it(client, monkeypatch):
    """The others arrive at what their own rows say; nothing was said of faults."""
    near = [(0, 2), (2, 4), (1, 3), (3, 5), (0, 1)]  # nodes 1, 3 and 5 live on the second worker
    machine = NetworkKernelRegressor(Gaussian(0.25), 1e-3, near, n_centres=18, random_state=0)
    second = sorted(client.scheduler_info(n_workers=-1)["workers"])[1]
    pid = client.run(os.getpid, workers=[second])[second]
    plain = DaskCarrier.round

    def round(self, plan):
        if plan.round == 5:
            os.kill(pid, signal.SIGKILL)
        return plain(self, plan)

    monkeypatch.setattr(DaskCarrier, "round", round)
    machine.set_params(tol=0.0, max_rounds=70).fit(X, Y, NODES, client=client)
    left = np.isin(NODES, [0, 2, 4])
    form = Nystrom(centres=machine.centres_)
    wanted = KernelRidge(Gaussian(0.25), 1e-3, form).fit(X[left], Y[left]).predict(X)
    assert machine.combined_.present.tolist() == [True, False] * 3
    assert np.abs(machine.predict(X, node=4) - wanted).max() < 1e-6
    assert np.abs(machine.predict(X) - wanted).max() < 1e-6
    with pytest.raises(ValueError, match="lost with its worker"):
        machine.predict(X, node=3)


def test_a_cluster_without_workers():
    class Empty:
        def scheduler_info(self, n_workers):
            return {"workers": {}}

    with pytest.raises(ValueError, match="no workers"):
        on_workers(Empty(), int, [])
