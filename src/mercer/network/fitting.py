"""The three ways from rows at nodes to what the network predicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.engines import Engine
from mercer.estimators import KernelRidge
from mercer.functions import KernelFunction
from mercer.network.combined import Agreed, Gathered
from mercer.network.coordinates import SharedCoordinates
from mercer.network.faults import Faults
from mercer.network.flooding import NEVER, flood
from mercer.network.gluing import Knowledge
from mercer.network.members import Members
from mercer.network.node import NetworkRules, NodeSetup
from mercer.network.preparation import Prepared
from mercer.network.rounds import InProcess, Proceedings, run_rounds
from mercer.network.topology import diameter, neighbours, spanning_tree

_NUMBER = 8


@dataclass(frozen=True, eq=False)
class Network:
    """Nodes, what they agreed on before, and what will happen to them."""

    members: Members
    faults: Faults
    prepared: Prepared
    engine: Engine
    client: Any = None


def agree(
    machine: Any, network: Network, X: np.ndarray, targets: np.ndarray
) -> tuple[Agreed, Proceedings, float]:
    """Rounds of consensus, after which every node has the pooled solution."""
    graph, prepared = network.members.graph, network.prepared
    parents: list[int | None] = [None] * graph.n_nodes
    if machine.exchange == "tree":
        graph, parents = spanning_tree(graph)
    near = neighbours(graph)
    coordinates = SharedCoordinates(prepared.kernel, prepared.centres, network.engine, machine.offset)
    faults = network.faults
    rows_a_node = len(X) / graph.n_nodes
    rules = NetworkRules(
        graph, machine.exchange, rows_a_node, faults.patience, int(faults.delay), float(machine.tol)
    )
    setups = [
        NodeSetup(
            X[rows], targets[rows] - prepared.level, coordinates, prepared.lam, i, near[i], rules, parents[i]
        )
        for i, rows in enumerate(network.members.rows)
    ]
    carrier: Any
    if network.client is None:
        carrier = InProcess(setups)
    else:
        from mercer.network.actors import DaskCarrier

        carrier = DaskCarrier(network.client, setups)
    horizon = graph.n_nodes if faults.down or network.client else diameter(graph)
    if faults.loss or faults.delay:
        horizon += faults.patience  # what has not come can't disturb the quiet
    settled = faults.last_change + rules.oldest + 1 if faults.down else 0
    course = run_rounds(carrier, near, faults, horizon, settled, machine.max_rounds, machine.record)
    found = carrier.solutions()
    coef, b = _lifted(coordinates, found, prepared.level)
    lam = float(np.median([lam for (_, lam), up in zip(found, course.up.tolist()) if up]))
    empty = np.zeros((len(prepared.centres), targets.shape[1]))
    base = KernelFunction(prepared.kernel, prepared.centres, empty, network.engine)
    past: tuple[Any, Any] = (None, None)
    if machine.record:
        parts = [_lifted(coordinates, solutions, prepared.level) for solutions in course.history]
        past = np.array([c for c, _ in parts]), np.array([b for _, b in parts])
    lost = np.isin(np.arange(graph.n_nodes), list(carrier.lost))
    return Agreed(base, coef, b, course.up, lost, *past), course, lam


def _lifted(
    coordinates: SharedCoordinates, solutions: list[tuple[np.ndarray, float]], level: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    pairs = [coordinates.coefficients(theta) for theta, _ in solutions]
    return np.array([c for c, _ in pairs]), np.array([b + level for _, b in pairs])


def gather(
    machine: Any, network: Network, X: np.ndarray, targets: np.ndarray
) -> tuple[Gathered, Proceedings, float]:
    """Each node fits its own rows; the functions are flooded.

    For the mean, each is fitted with the λ of all n rows: too little for the few it has, so that it follows
    their noise, which the mean takes out again. For gluing, each sees the noise that there is: λ_i n_i = λn.
    """
    members, prepared, n = network.members, network.prepared, len(X)
    assert prepared.lam is not None
    tasks: list[tuple[Any, ...]] = []
    for rows in members.rows:
        lam = prepared.lam if machine.combine == "average" else prepared.lam * n / max(len(rows), 1)
        own = KernelRidge(prepared.kernel, lam, offset=machine.offset, engine=network.engine, random_state=0)
        tasks.append((own, X[rows], targets[rows]))
    if network.client is None:
        machines = [_fitted(*task) for task in tasks]
    else:
        from mercer.network.actors import on_workers

        machines = on_workers(network.client, _fitted, tasks)
    how = "average" if machine.combine == "average" else machine.weights
    places = [X[r].mean(axis=0, dtype=np.float64) if len(r) else np.zeros(X.shape[1]) for r in members.rows]
    known: list[Knowledge | None] = [None] * len(machines)
    if how == "precision":
        alpha = prepared.lam * n
        known = [
            Knowledge.of(prepared.kernel, X[rows], alpha, network.engine) if len(rows) else None
            for rows in members.rows
        ]
    # A function is its points and coefficients, b and n_i; what a node knows is judged by its rows.
    d, outputs = X.shape[1], targets.shape[1]
    terms = np.array([0 if m is None else len(m.function_) for m in machines])
    points = np.maximum(terms, [0 if one is None else len(one.rows) for one in known])
    sizes = _NUMBER * (points * d + terms * outputs + outputs + 1)
    said = flood(members.graph, sizes, network.faults, machine.max_rounds)
    spread = _spacing(np.array(places), members)
    found = Gathered(machines, members.counts, said.arrived, how, known, np.array(places), spread)
    up = network.faults.up(len(machines), said.rounds)
    known_to_all = bool((said.arrived[up] != NEVER).all())
    return found, Proceedings(said.messages, [], said.rounds, known_to_all, up), prepared.lam


def _fitted(machine: KernelRidge, rows: np.ndarray, targets: np.ndarray) -> KernelRidge | None:
    """The machine of a node; None without rows."""
    return machine.fit(rows, targets) if len(rows) else None


def _spacing(places: np.ndarray, members: Members) -> float:
    """Half the median distance of neighbours that have rows: the width of a node's surroundings."""
    i, j = members.graph.edges.T
    apart = np.linalg.norm(places[i] - places[j], axis=1)
    apart = apart[(members.counts[i] > 0) & (members.counts[j] > 0) & (apart > 0)]
    return float(np.median(apart)) / 2 if len(apart) else 1.0
