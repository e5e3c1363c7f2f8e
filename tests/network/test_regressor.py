"""The regressor, against fits to all rows at once and against formulas written out."""

import numpy as np
import pytest

from mercer import FromAlpha, KernelRidge, NetworkKernelRegressor, load, save
from mercer.kernels import Gaussian, Precomputed
from mercer.network import Faults, MovingSource, complete, geometric, grid, ring
from mercer.representations import Nystrom
from mercer.solvers import ConvergenceWarning

FIELD = MovingSource()
SENSORS = FIELD.sensors(16, random_state=0)
X, Y, NODES = FIELD.readings(SENSORS, 0.1, per_node=12, random_state=0)
GRAPHS = {"ring": ring(16), "grid": grid(4, 4), "geometric": geometric(SENSORS), "complete": complete(16)}
KERNEL, LAM = Gaussian(0.25), 1e-3


def network(**given):
    given = {"lam": LAM, "n_centres": 48, "random_state": 0, "graph": GRAPHS["grid"], **given}
    return NetworkKernelRegressor(KERNEL, **given)


def pooled(machine, rows=slice(None), y=Y, lam=LAM):
    form = Nystrom(centres=machine.centres_)
    return KernelRidge(machine.kernel_, lam=lam, representation=form, offset=machine.offset).fit(
        X[rows], y[rows]
    )


# -- consensus -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GRAPHS)
def test_every_node_reaches_the_pooled_solution(name):
    machine = network(graph=GRAPHS[name]).fit(X, Y, NODES)
    wanted = pooled(machine).predict(X)
    assert machine.agreed_ and machine.n_rounds_ < 150
    assert max(np.abs(machine.predict(X, node=i) - wanted).max() for i in range(16)) < 1e-8
    assert np.abs(machine.predict(X) - wanted).max() < 1e-8
    assert np.allclose(machine.function_(X) + machine.intercept_, machine.predict(X))
    assert machine.dual_coef_.shape == (48,)


@pytest.mark.parametrize("exchange", ["coefficients", "tree"])
def test_other_exchanges_reach_it_too(exchange):
    rows = NODES < 4
    machine = network(exchange=exchange, lam=0.1, graph=ring(4), n_centres=16).fit(
        X[rows], Y[rows], NODES[rows]
    )
    wanted = pooled(machine, rows, lam=0.1).predict(X)
    assert max(np.abs(machine.predict(X, node=i) - wanted).max() for i in range(4)) < 1e-6


def test_several_outputs_no_offset_and_small_lam():
    y = np.column_stack([Y, 1e3 * X[:, 0] + 1e4])
    for offset in (True, False):
        machine = network(offset=offset, lam=1e-6).fit(X, y, NODES)
        wanted = pooled(machine, y=y, lam=1e-6).predict(X)
        assert np.abs((machine.predict(X, node=5) - wanted) / y.std(axis=0)).max() < 1e-6
        assert machine.intercept_.shape == (2,) and machine.dual_coef_.shape == (48, 2)


def test_half_of_the_nodes_failing_is_survived():
    graph = GRAPHS["geometric"]
    faults = Faults.failing(graph, 0.5, first=5, random_state=1)
    machine = network(graph=graph, faults=faults).fit(X, Y, NODES)
    left = [i for i in range(16) if i not in faults.down]
    wanted = pooled(machine, np.isin(NODES, left)).predict(X)
    assert len(left) == 8 and machine.agreed_
    assert max(np.abs(machine.predict(X, node=i) - wanted).max() for i in left) < 1e-6
    assert np.abs(machine.predict(X) - wanted).max() < 1e-6
    silent = machine.traffic_.log[machine.traffic_.log[:, 0] >= 5]
    assert not np.isin(silent[:, 1], list(faults.down)).any()
    # Nobody speaks to them any more, once they have been missed.
    assert not np.isin(silent[silent[:, 0] > 5 + faults.patience, 2], list(faults.down)).any()


def test_who_comes_back_catches_up_though_messages_are_lost_and_late():
    faults = Faults.failing(GRAPHS["grid"], 0.5, first=5, last=25, loss=0.1, delay=2, random_state=1)
    machine = network(faults=faults).fit(X, Y, NODES)
    wanted = pooled(machine).predict(X)
    assert machine.agreed_ and machine.n_rounds_ > 25
    assert max(np.abs(machine.predict(X, node=i) - wanted).max() for i in range(16)) < 1e-6


def test_survivors_that_are_cut_off_agree_among_themselves():
    # A row of five: without the middle, two and two are left.
    rows, edges = NODES < 5, [(0, 1), (1, 2), (2, 3), (3, 4)]
    machine = network(graph=edges, faults=Faults(down={2: (3, None)}))
    machine.fit(X[rows], Y[rows], NODES[rows])
    for part in ([0, 1], [3, 4]):
        wanted = pooled(machine, np.isin(NODES, part)).predict(X)
        assert max(np.abs(machine.predict(X, node=i) - wanted).max() for i in part) < 1e-6


def test_messages_are_counted():
    # Three nodes in a row, one centre each, known beforehand: rows, neighbours and means are what is said.
    rows = NODES < 3
    machine = network(graph=[(0, 1), (1, 2)], centres=SENSORS[:3], tol=0, max_rounds=7)
    machine.fit(X[rows], Y[rows], NODES[rows])
    traffic = machine.traffic_
    # Four ways in round 0, then the middle passes on to both sides. The middle has one neighbour more.
    assert traffic.preparation == (6, 8 * (2 * 3 + 2 * 4 + 2 * 3))
    # Coordinates: three centres and the offset. Sums: 4·5/2 + 4 + 1 + 1; an age of each node, a header.
    assert traffic.by_round.tolist() == [[4, 4 * (8 * 16 + 2 * 3 + 24)]] * 7
    assert machine.n_rounds_ == 7 and not machine.agreed_
    tree = network(graph=ring(3), centres=SENSORS[:3], exchange="tree").fit(X[rows], Y[rows], NODES[rows])
    assert tree.traffic_.by_round[:, 0].sum() == 4 and tree.traffic_.sent[1, 2] == tree.traffic_.sent[2, 1]


def test_what_was_known_earlier():
    machine = network(record=True).fit(X, Y, NODES)
    # Before the first round a node has fitted its own rows, at the centres of all.
    own = pooled(machine, NODES == 4)
    assert np.allclose(machine.predict(X, node=4, rounds=0), own.predict(X), atol=1e-6)
    assert np.array_equal(machine.predict(X, rounds=machine.n_rounds_), machine.predict(X))
    with pytest.raises(ValueError, match=r"rounds=9999 is none"):
        machine.predict(X, rounds=9999)
    with pytest.raises(ValueError, match="record=True"):
        network().fit(X, Y, NODES).predict(X, rounds=1)


# -- average and gluing ----------------------------------------------------------------------------------


def test_the_average_is_the_mean_of_fits():
    uneven = np.where(NODES < 3, 0, NODES)  # node 0 has the rows of three, nodes 1 and 2 have none
    machine = network(combine="average").fit(X, Y, uneven)
    fits = [
        KernelRidge(KERNEL, lam=LAM).fit(X[uneven == i], Y[uneven == i]).predict(X) for i in np.unique(uneven)
    ]
    shares = np.array([(uneven == i).mean() for i in np.unique(uneven)])
    assert np.allclose(machine.predict(X), shares @ np.array(fits), atol=1e-10)
    assert np.allclose(machine.function_(X) + machine.intercept_, machine.predict(X), atol=1e-8)
    assert np.allclose(machine.gluing_weights(X).sum(axis=1), 1)


@pytest.mark.parametrize("weights", ["precision", "closeness"])
def test_glued_functions_are_weighted_fits(weights):
    machine = network(combine="glue", weights=weights).fit(X, Y, NODES)
    shares = machine.gluing_weights(X)
    assert np.allclose(shares.sum(axis=1), 1) and (shares >= 0).all()
    # With the noise of all rows: λ_i n_i = λ n.
    fits = [KernelRidge(KERNEL, lam=LAM * 16).fit(X[i == NODES], Y[i == NODES]).predict(X) for i in range(16)]
    assert np.allclose(machine.predict(X), (shares * np.array(fits).T).sum(axis=1), atol=1e-10)
    assert not hasattr(machine, "function_")
    truth = FIELD(X, 0.1)
    local = np.mean([np.std(fit - truth) for fit in fits])
    assert np.std(machine.predict(X) - truth) < local / 4  # each node by itself knows its surroundings only


def test_a_node_knows_what_has_reached_it():
    machine = network(combine="average", graph=ring(16)).fit(X, Y, NODES)
    own = KernelRidge(KERNEL, lam=LAM).fit(X[NODES == 3], Y[NODES == 3])
    assert np.allclose(machine.predict(X, node=3, rounds=0), own.predict(X), atol=1e-10)
    three = [KernelRidge(KERNEL, lam=LAM).fit(X[i == NODES], Y[i == NODES]).predict(X) for i in (2, 3, 4)]
    assert np.allclose(machine.predict(X, node=3, rounds=1), np.mean(three, axis=0), atol=1e-10)
    assert machine.n_rounds_ == 8 and np.allclose(machine.predict(X, node=3), machine.predict(X))
    cut = network(combine="glue", graph=ring(16), faults=Faults(down={2: (0, None), 5: (0, None)}))
    with pytest.warns(ConvergenceWarning, match="have not heard of all others"):
        cut.fit(X, Y, NODES)
    assert (cut.gluing_weights(X, node=3).any(axis=0).nonzero()[0] == [3, 4]).all()


# -- rows and parameters ---------------------------------------------------------------------------------


def test_nodes_without_rows_with_one_row_and_with_equal_rows():
    few = np.isin(NODES, [0, 1, 2]) | (np.arange(len(X)) == np.flatnonzero(NODES == 3)[0])
    x, y, nodes = X[few].copy(), Y[few], NODES[few]
    x[nodes == 1] = x[nodes == 1][0]
    for combine in ("consensus", "average", "glue"):
        machine = network(combine=combine, graph=grid(2, 4)).fit(x, y, nodes)
        assert np.isfinite(machine.predict(X)).all()
        if combine == "consensus":
            form = Nystrom(centres=machine.centres_)
            wanted = KernelRidge(KERNEL, lam=LAM, representation=form).fit(x, y).predict(X)
            assert np.abs(machine.predict(X, node=7) - wanted).max() < 1e-6  # which has no rows
    with pytest.raises(ValueError, match="node 7 knows a function"):
        machine.predict(X, node=7, rounds=0)


def test_float32_stays_float32():
    machine = network().fit(X.astype(np.float32), Y.astype(np.float32), NODES)
    found = machine.predict(X.astype(np.float32), node=1)
    wanted = network().fit(X, Y, NODES).predict(X)
    assert found.dtype == np.float32 and np.abs(found - wanted).max() < 1e-3
    assert network(combine="glue").fit(X.astype(np.float32), Y, NODES).predict(X).dtype == np.float64


def test_lam_left_to_the_data():
    found = network(lam="auto").fit(X, Y, NODES)
    truth = FIELD(X, 0.1)
    errors = {
        lam: np.std(network(lam=lam, exchange="tree").fit(X, Y, NODES).predict(X) - truth)
        for lam in (1e-7, 1e-3, 0.1)
    }
    assert np.std(found.predict(X) - truth) < 1.2 * min(errors.values())
    voted = network(lam="auto", combine="glue").fit(X, Y, NODES)
    votes = [KernelRidge(KERNEL).fit(X[i == NODES], Y[i == NODES]).lam_ * 12 for i in range(16)]
    assert voted.lam_ == pytest.approx(np.median(votes) / len(X))
    lonely = network(lam="auto", combine="glue").fit(X[::12], Y[::12], NODES[::12])
    assert lonely.lam_ == pytest.approx(0.1 / 16)
    assert network(lam=FromAlpha(0.5)).fit(X, Y, NODES).lam_ == pytest.approx(0.5 / len(X))
    unresolved = NetworkKernelRegressor(exchange="tree", random_state=0).fit(X, Y, NODES)
    assert 0.2 < unresolved.kernel_.sigma < 0.8 and "16 nodes" in str(unresolved.plan_)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"combine": "vote"}, "combine must be one of 'consensus'"),
        ({"exchange": "rows"}, "exchange must be one of"),
        ({"weights": None}, "weights must be one of"),
        ({"lam": -1.0}, "lam"),
        ({"n_nodes": 0}, "n_nodes must be"),
        ({"n_centres": 0}, "n_centres must be"),
        ({"tol": -1}, "tol must be"),
        ({"faults": Faults(loss=2)}, "no network"),
        ({"faults": Faults(loss=0.1), "exchange": "tree"}, "exchange='statistics'"),
        ({"faults": Faults(down={99: (0, 1)})}, "names the node 99"),
        ({"centres": "best"}, "centres must be"),
        ({"centres": np.ones((3, 5))}, "rows of 2 features"),
        ({"graph": [(0, 1), (2, 3)]}, "not connected"),
        ({"graph": ring(4)}, "belongs to node 4"),
    ],
)
def test_what_can_not_be_is_refused(given, words):
    with pytest.raises(ValueError, match=words):
        network(**given).fit(X, Y, NODES)


def test_other_refusals():
    with pytest.raises(TypeError, match="mercer.network.Faults"):
        network(faults="many").fit(X, Y, NODES)
    with pytest.raises(ValueError, match="rows of numbers"):
        NetworkKernelRegressor(Precomputed()).fit(np.eye(4), np.arange(4.0))
    machine = network().fit(X, Y, NODES)
    with pytest.raises(ValueError, match="no node 99: nodes_ has 0, 1"):
        machine.predict(X, node=99)
    with pytest.raises(ValueError, match="combine='glue'"):
        machine.gluing_weights(X)
    with pytest.warns(ConvergenceWarning, match="do not agree yet after 3 rounds"):
        network(max_rounds=3).fit(X, Y, NODES)


# -- files -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [{"record": True}, {"combine": "average"}, {"combine": "glue"}])
def test_a_network_is_saved_and_loaded(given, tmp_path):
    machine = network(**given, faults=Faults(loss=0.05), tol=1e-4).fit(X, Y, NODES)
    save(machine, tmp_path / "network.mercer")
    again = load(tmp_path / "network.mercer")
    assert np.array_equal(again.predict(X, node=2), machine.predict(X, node=2))
    assert again.graph_ == machine.graph_ and np.array_equal(again.traffic_.log, machine.traffic_.log)
    assert again.get_params()["faults"] == Faults(loss=0.05)
