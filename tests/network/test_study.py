"""Distance from the pooled fit, round by round, against predictions."""

import numpy as np
import pytest

from mercer import KernelRidge, NetworkKernelRegressor
from mercer.kernels import Gaussian
from mercer.network import Faults, MovingSource, disagreement, grid
from mercer.representations import Nystrom

FIELD = MovingSource()
X, Y, NODES = FIELD.readings(FIELD.sensors(9, random_state=0), 0.0, per_node=8, random_state=0)


def fitted(**given):
    machine = NetworkKernelRegressor(Gaussian(0.25), 1e-3, grid(3, 3), n_centres=27, random_state=0, **given)
    return machine.fit(X, Y, NODES)


def test_errors_and_counts():
    machine = fitted(record=True)
    found = disagreement(machine, X, Y)
    wanted = KernelRidge(Gaussian(0.25), 1e-3, Nystrom(centres=machine.centres_)).fit(X, Y).predict(X)
    for r in (0, 3, machine.n_rounds_):
        apart = [np.sqrt(np.mean((machine.predict(X, i, r) - wanted) ** 2)) / wanted.std() for i in range(9)]
        assert np.allclose(found.errors[r], apart, rtol=1e-4, atol=1e-12)
    assert found.worst[-1] < 1e-8 < 1e-2 < found.worst[0]
    first = found.rounds_to(1e-6)
    assert (found.worst[first:] <= 1e-6).all() and found.worst[first - 1] > 1e-6
    assert found.rounds_to(0.0) is None and found.rounds_to(np.inf) == 0
    assert found.messages[0] == machine.traffic_.preparation[0]
    assert (found.messages[-1], found.bytes[-1]) == (machine.traffic_.messages, machine.traffic_.bytes)


def test_rows_that_are_left():
    machine = fitted(record=True, faults=Faults(down={0: (3, None), 8: (3, None)}))
    found = disagreement(machine, X, Y, rows=~np.isin(NODES, [0, 8]))
    assert found.present.tolist() == [False, *[True] * 7, False] and found.worst[-1] < 1e-7
    tree = fitted(record=True, exchange="tree")
    assert disagreement(tree, X, Y).worst[-1] < 1e-9


def test_what_is_not_recorded():
    for machine in (fitted(), fitted(combine="glue")):
        with pytest.raises(ValueError, match="record=True"):
            disagreement(machine, X, Y)
