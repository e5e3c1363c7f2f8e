"""For study: how far every round leaves the nodes from what all rows together would say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.estimators import KernelRidge
from mercer.network.combined import Agreed
from mercer.representations import Nystrom


@dataclass(frozen=True, eq=False)
class Disagreement:
    """Distance from the pooled fit after each round.

    Attributes
    ----------
    errors : (rounds + 1, nodes)
        Root of the mean squared difference of a node's predictions and the pooled ones, in units of the
        standard deviation of the latter; before the first round, and after each.
    messages, bytes : (rounds + 1,) sent until then, the preparation included
    present : (nodes,) which nodes were there in the end

    Examples
    --------
    >>> from mercer import NetworkKernelRegressor
    >>> from mercer.network import MovingSource, disagreement, grid
    >>> field = MovingSource()
    >>> readings = field.readings(field.sensors(4, random_state=0), t=0.0, random_state=0)
    >>> machine = NetworkKernelRegressor(graph=grid(2, 2), lam=1e-3, record=True, random_state=0)
    >>> found = disagreement(machine.fit(*readings), readings.X, readings.y)
    >>> bool(found.errors[-1].max() < 1e-3), len(found.errors) == machine.n_rounds_ + 1
    (True, True)
    """

    errors: np.ndarray
    messages: np.ndarray
    bytes: np.ndarray
    present: np.ndarray

    @property
    def worst(self) -> np.ndarray:
        """(rounds + 1,) the largest error of the nodes that were there in the end."""
        return self.errors[:, self.present].max(axis=1)

    def rounds_to(self, error: float) -> int | None:
        """Rounds after which no such node is farther off than this, for good; None: more than there were."""
        late = np.flatnonzero(~(self.worst <= error))
        first = int(late[-1]) + 1 if len(late) else 0
        return first if first < len(self.errors) else None


def disagreement(machine: Any, X: Any, y: Any, rows: Any = None) -> Disagreement:
    """How far each node is from the pooled fit, round by round.

    Parameters
    ----------
    machine : a fitted NetworkKernelRegressor, combine="consensus", with record=True
    X, y : the rows it was fitted to; differences are taken there
    rows : which of them are pooled, where not all are: those of nodes that were left, for instance

    Examples
    --------
    >>> from mercer import NetworkKernelRegressor
    >>> from mercer.network import MovingSource, grid
    >>> field = MovingSource()
    >>> readings = field.readings(field.sensors(9, random_state=0), t=0.0, random_state=0)
    >>> machine = NetworkKernelRegressor(graph=grid(3, 3), lam=1e-4, record=True, random_state=0)
    >>> found = disagreement(machine.fit(*readings), readings.X, readings.y)
    >>> found.rounds_to(1e-3) < found.rounds_to(1e-6) < machine.n_rounds_
    True
    """
    combined = getattr(machine, "combined_", None)
    if not isinstance(combined, Agreed) or combined.past_coef is None or combined.past_intercepts is None:
        raise ValueError("rounds are compared of a machine fitted with combine='consensus' and record=True")
    X, y = np.asarray(X, np.float64), np.asarray(y, np.float64)
    kept = slice(None) if rows is None else rows
    form = Nystrom(centres=machine.centres_)
    pooled = KernelRidge(machine.kernel_, machine.lam_, form, offset=machine.offset)
    wanted = pooled.fit(X[kept], y[kept]).predict(X).reshape(len(X), -1)
    size = max(float(np.sqrt(np.mean(np.square(wanted - wanted.mean(axis=0))))), np.finfo(float).tiny)
    K = combined.centres.facing(X).dense()
    errors = []
    for coef, b in zip(combined.past_coef, combined.past_intercepts):
        said = np.einsum("nm,imt->int", K, coef) + b[:, None, :]
        errors.append(np.sqrt(np.mean(np.square(said - wanted), axis=(1, 2))) / size)
    before = np.array(machine.traffic_.preparation)
    by_round = np.zeros((len(errors) - 1, 2), np.int64)
    known = machine.traffic_.by_round
    by_round[: len(known)] = known  # the last rounds of a tree send nothing
    sent = np.concatenate([[before], before + np.cumsum(by_round, axis=0)])
    return Disagreement(np.array(errors), sent[:, 0], sent[:, 1], combined.present)
