"""What a network predicts, as a whole and node by node: functions that agree, or functions put together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._state import NOT_NEGATIVE, ArraySpec, require
from mercer.estimators import KernelRidge
from mercer.estimators.plan import parts_of
from mercer.functions import KernelFunction
from mercer.network.flooding import NEVER
from mercer.network.gluing import Knowledge, by_closeness, by_knowledge


@dataclass(frozen=True, eq=False)
class Agreed:
    """A function of its own at every node, all at the same centres, which the rounds have made the same.

    Attributes
    ----------
    centres : KernelFunction, whose points are the centres; its coefficients count for nothing
    coef, intercepts : (nodes, centres, outputs), (nodes, outputs)
    present : (nodes,) which of them were there in the last round
    lost : (nodes,) which were lost with the worker they lived on, and what they knew with them
    past_coef, past_intercepts : the same before the first round and after each; None where not recorded
    """

    centres: KernelFunction
    coef: np.ndarray
    intercepts: np.ndarray
    present: np.ndarray
    lost: np.ndarray
    past_coef: np.ndarray | None = None
    past_intercepts: np.ndarray | None = None

    holds = {
        "coef": ArraySpec("f8", "nodes", "centre", "outputs", finite=True),
        "intercepts": ArraySpec("f8", "nodes", "outputs", finite=True),
        "present": ArraySpec("b", "nodes"),
        "lost": ArraySpec("b", "nodes"),
        "past_coef": (ArraySpec("f8", "times", "nodes", "centre", "outputs"), type(None)),
        "past_intercepts": (ArraySpec("f8", "times", "nodes", "outputs"), type(None)),
    }

    def check_state(self) -> None:
        """Refuse coefficients of other centres."""
        require(self.coef.shape[1] == len(self.centres), "coefficients are those of other centres")
        require((self.past_coef is None) == (self.past_intercepts is None), "half of the past is missing")
        require(self.present.any(), "no node is there")

    @property
    def n_nodes(self) -> int:
        return len(self.coef)

    @property
    def outputs(self) -> int:
        return self.coef.shape[2]

    def function(
        self, node: int | None = None, rounds: int | None = None
    ) -> tuple[KernelFunction, np.ndarray]:
        """(f, b) of a node, or the mean of all that are there; after so many rounds."""
        coef, b = self.coef, self.intercepts
        if rounds is not None:
            if self.past_coef is None or self.past_intercepts is None:
                raise ValueError("what nodes knew earlier is kept with record=True only: fit again with it")
            if not 0 <= rounds < len(self.past_coef):
                raise ValueError(f"there were {len(self.past_coef) - 1} rounds, and rounds={rounds} is none")
            coef, b = self.past_coef[rounds], self.past_intercepts[rounds]
        if node is not None:
            if self.lost[node]:
                raise ValueError(f"node {node} was lost with its worker, and what it knew with it")
            return self.centres.with_coef(coef[node]), b[node]
        return self.centres.with_coef(coef[self.present].mean(axis=0)), b[self.present].mean(axis=0)

    def scores(self, X: Any, node: int | None = None, rounds: int | None = None) -> np.ndarray:
        """(n, outputs)"""
        f, b = self.function(node, rounds)
        return f.at_points(X) + b


@dataclass(frozen=True, eq=False)
class Gathered:
    """Functions that nodes fitted to their own rows, put together by whoever has heard of them.

    Attributes
    ----------
    machines : one a node; None where it has no rows
    counts : (nodes,) rows
    arrived : (nodes, nodes) after how many rounds node i knew the function of j; −1: never
    how : "average", "precision" or "closeness"
    known : one `Knowledge` a node, for "precision"
    places, width : (nodes, d) and a number, for "closeness"
    """

    machines: list[Any]
    counts: np.ndarray
    arrived: np.ndarray
    how: str
    known: list[Any]
    places: np.ndarray
    width: float

    holds = {
        "machines": list[KernelRidge | None],
        "counts": ArraySpec("f8", "nodes"),
        "arrived": ArraySpec("i", "nodes", "nodes"),
        "known": list[Knowledge | None],
        "places": ArraySpec("f8", "nodes", None),
        "width": NOT_NEGATIVE,
    }

    def check_state(self) -> None:
        """Refuse functions and nodes that differ in number."""
        sizes = {len(self.machines), len(self.known), len(self.counts)}
        require(len(sizes) == 1, "there is not one function for each node")
        require(self.how in ("average", "precision", "closeness"), f"nodes can't be combined by {self.how!r}")
        missing = [m is None for m in self.machines] == (self.counts == 0).tolist()
        require(missing and self.counts.any(), "nodes have a function if, and only if, they have rows")

    @property
    def n_nodes(self) -> int:
        return len(self.machines)

    @property
    def outputs(self) -> int:
        return next(len(m.solution_.intercept) for m in self.machines if m is not None)

    def heard(self, node: int | None, rounds: int | None) -> np.ndarray:
        """Nodes with rows whose functions are put together by this one, after so many rounds."""
        if rounds is not None and rounds < 0:
            raise ValueError(f"rounds must not be negative, got {rounds}")
        if node is None:
            when = np.where(self.arrived == NEVER, np.iinfo(np.int64).max, self.arrived).max(axis=0)
            when = when if rounds is not None else np.zeros(self.n_nodes)
        else:
            when = np.where(self.arrived[node] == NEVER, np.iinfo(np.int64).max, self.arrived[node])
        limit = np.iinfo(np.int64).max - 1 if rounds is None else rounds
        there = np.flatnonzero((when <= limit) & (self.counts > 0))
        if not len(there):
            who = "nobody" if node is None else f"node {node}"
            raise ValueError(
                f"{who} knows a function there: it has no rows and has heard of none; wait longer"
            )
        return there

    def weights(
        self, X: Any, node: int | None = None, rounds: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """(numbers of nodes, their weights at each point): not negative, and 1 in all."""
        there = self.heard(node, rounds)
        counts = self.counts[there]
        if self.how == "average":
            return there, np.repeat((counts / counts.sum())[:, None], len(X), axis=1)
        if self.how == "closeness":
            return there, by_closeness(self.places[there], self.width, X)
        return there, by_knowledge([self.known[i] for i in there.tolist()], counts, X)

    def scores(self, X: Any, node: int | None = None, rounds: int | None = None) -> np.ndarray:
        """(n, outputs)"""
        out = np.empty((len(X), self.outputs))
        for rows in parts_of(len(X), int(self.counts.max()) + self.n_nodes * self.outputs):
            there, weights = self.weights(X[rows], node, rounds)
            parts = [self.machines[i].scores(X[rows]) for i in there.tolist()]
            out[rows] = np.einsum("in,int->nt", weights, np.array(parts, np.float64))
        return out

    def mean(self) -> tuple[KernelFunction, np.ndarray]:
        """(f, b) of the mean of all functions, by numbers of rows."""
        there = np.flatnonzero(self.counts > 0)
        shares = self.counts[there] / self.counts[there].sum()
        fitted = [self.machines[i] for i in there.tolist()]
        total: Any = None
        for share, machine in zip(shares.tolist(), fitted):
            f = machine.function_
            f = f.with_coef(f.coef[:, None]) if f.coef.ndim == 1 else f
            total = share * f if total is None else total + share * f
        b = sum(share * m.solution_.intercept for share, m in zip(shares.tolist(), fitted))
        return total, np.asarray(b)
