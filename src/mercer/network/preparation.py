"""Before the first round: what all nodes must know, found from what each proposes, and flooded once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._units import equal_rows
from mercer.engines import Engine
from mercer.estimators import KernelRidge
from mercer.estimators.lam import is_auto
from mercer.features.centres import centres_of
from mercer.kernels import Kernel
from mercer.network.faults import Faults
from mercer.network.flooding import flood
from mercer.network.members import Members
from mercer.network.topology import neighbours

# A node with fewer different rows can't tell by leaving one out.
_FEWEST_ROWS = 5
# λn without any such node: noise of a tenth of the variance that the kernel stands for.
_NOISE = 0.1
_NUMBER = 8


@dataclass(frozen=True, eq=False)
class Prepared:
    """What all nodes know when the rounds begin."""

    kernel: Kernel
    sample: np.ndarray  # rows that nodes proposed, or centres that were given
    centres: np.ndarray
    lam: float | None  # None: it will be found from the sums over all rows
    level: np.ndarray  # (outputs,) the mean of all targets, from which they are counted; 0 without an offset
    log: list[tuple[int, int, int, int]]  # messages of the flood, in rounds before 0


def prepare(
    machine: Any,
    members: Members,
    X: np.ndarray,
    targets: np.ndarray,
    kernel: Kernel,
    engine: Engine,
    rng: np.random.Generator,
) -> Prepared:
    """Centres, the kernel's parameters and λ, from one flood of what every node has to say.

    A node says how many rows and which neighbours it has, the mean of its targets, which λn it would take (if
    that is to be voted on), and proposes rows as centres, from which parameters of the kernel are found, too.
    """
    given = not isinstance(machine.centres, str) and hasattr(machine.centres, "__len__")
    wanted = not given and (machine.combine == "consensus" or bool(kernel.unresolved()))
    quota = -(-machine.n_centres // members.graph.n_nodes)
    if given:
        sample, sizes = _given(machine.centres, X), np.zeros(len(members.rows))
    else:
        picked = [_proposed(X[rows], quota, kernel, machine.centres, engine, rng) for rows in members.rows]
        sample = np.concatenate([X[rows[own]] for rows, own in zip(members.rows, picked)])
        sizes = np.array([len(own) * X.shape[1] if wanted else 0 for own in picked])
    kernel = kernel.resolve(sample)
    degrees = np.array([len(near) for near in neighbours(members.graph)])
    # Who will have the sums over all rows can wait for them; the others take a vote.
    later = machine.combine == "consensus" and machine.exchange != "coefficients"
    auto = is_auto(machine.lam) and not later
    log: list[tuple[int, int, int, int]] = []
    if members.graph.n_nodes > 1:
        means = targets.shape[1] if machine.offset and machine.combine == "consensus" else 0
        numbers = sizes + degrees + 1 + auto + means
        said = flood(members.graph, _NUMBER * numbers, Faults(), members.graph.n_nodes)
        log = [(r - said.rounds, i, j, size) for r, i, j, size in said.messages]
    n = len(X)
    lam: float | None
    if is_auto(machine.lam):
        lam = None if later else _voted(machine, members, X, targets, kernel, sample) / n
    else:
        lam = machine.lam.value(n) if hasattr(machine.lam, "value") else float(machine.lam)
    level = targets.mean(axis=0) if machine.offset else np.zeros(targets.shape[1])
    return Prepared(kernel, sample, np.asarray(sample, np.float64), lam, level, log)


def _given(centres: Any, X: np.ndarray) -> np.ndarray:
    Z = np.asarray(centres, dtype=np.float64)
    if Z.ndim != 2 or Z.shape[1] != X.shape[1] or not len(Z) or not np.isfinite(Z).all():
        raise ValueError(f"centres must be finite rows of {X.shape[1]} features, got shape {Z.shape}")
    return Z


def _proposed(
    rows: np.ndarray, quota: int, kernel: Kernel, how: Any, engine: Engine, rng: np.random.Generator
) -> np.ndarray:
    """Which of its different rows a node proposes as centres."""
    if not len(rows):
        return np.zeros(0, np.int64)
    first = np.sort(np.unique(equal_rows(rows), return_index=True)[1])
    if len(first) <= quota:
        return first
    K = engine.operator(kernel.resolve(rows[first]), rows[first])
    return first[centres_of(how).choose(K, quota, rng)]


def _voted(
    machine: Any, members: Members, X: np.ndarray, targets: np.ndarray, kernel: Kernel, sample: np.ndarray
) -> float:
    """λn: the median of what nodes find by leaving one out."""
    votes = []
    for rows in members.rows:
        if len(np.unique(equal_rows(X[rows]))) >= _FEWEST_ROWS if len(rows) else False:
            own = KernelRidge(kernel, offset=machine.offset, engine=machine.engine, random_state=0)
            votes.append(own.fit(X[rows], targets[rows]).lam_ * len(rows))
    return float(np.median(votes)) if votes else _NOISE * float(np.mean(kernel.diagonal(sample)))
