"""Whose rows are whose, and who can hear whom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length, column_or_1d

from mercer.engines import Tiled
from mercer.features.centres import centres_of
from mercer.graphs import Graph
from mercer.kernels import Kernel
from mercer.network.topology import names_of, nearest, require_connected

_ROWS_A_NODE, _MOST_NODES = 10, 16


@dataclass(frozen=True, eq=False)
class Members:
    """The nodes of a network."""

    names: list[Any]
    graph: Graph
    rows: list[np.ndarray]  # of each node

    @property
    def number(self) -> dict[Any, int]:
        """Those of the names."""
        return {name: i for i, name in enumerate(self.names)}

    @property
    def counts(self) -> np.ndarray:
        """(nodes,) numbers of rows."""
        return np.array([len(rows) for rows in self.rows], np.float64)


def members_of(
    graph: Any, nodes: Any, n_nodes: int | None, X: np.ndarray, kernel: Kernel, rng: np.random.Generator
) -> Members:
    """The nodes that a graph, labels of rows, both, or neither of them describe."""
    if graph is not None:
        made = Graph.of(graph)
        require_connected(made)
        names = names_of(graph) or list(range(made.n_nodes))
        if nodes is None:
            nodes = cells(X, len(names), kernel, rng)
            return Members(names, made, _rows_of(nodes, list(range(len(names)))))
        return Members(names, made, _rows_of(_labels(nodes, X), names))
    if nodes is None:
        nodes = cells(X, n_nodes or max(1, min(_MOST_NODES, len(X) // _ROWS_A_NODE)), kernel, rng)
    labels = _labels(nodes, X)
    names = np.unique(labels).tolist()
    rows = _rows_of(labels, names)
    places = np.array([X[some].mean(axis=0, dtype=np.float64) for some in rows])
    return Members(names, nearest(places), rows)


def cells(X: np.ndarray, n_nodes: int, kernel: Kernel, rng: np.random.Generator) -> np.ndarray:
    """(n,) numbers of cells: rows go to the nearest, by the kernel, of some drawn as in k-means++."""
    count = min(n_nodes, len(X))
    if count == 1:
        return np.zeros(len(X), np.int64)
    K = Tiled().operator(kernel.resolve(X), X)
    chosen = centres_of("k-means++").choose(K, count, rng)
    squares = K.diag()
    apart = squares[chosen][None, :] - 2 * np.asarray(K.columns(chosen), np.float64)
    return np.argmin(apart, axis=1)


def _labels(nodes: Any, X: np.ndarray) -> np.ndarray:
    labels = column_or_1d(nodes)
    check_consistent_length(X, labels)
    if labels.dtype.kind == "f":
        if not (np.isfinite(labels).all() and (labels == np.round(labels)).all()):
            raise ValueError("nodes must be whole numbers or names, one a row; some are neither")
        labels = labels.astype(np.int64)
    return labels


def _rows_of(labels: np.ndarray, names: list[Any]) -> list[np.ndarray]:
    number = {name: i for i, name in enumerate(names)}
    found, where = np.unique(labels, return_inverse=True)
    unknown = [label for label in found.tolist() if label not in number]
    if unknown:
        raise ValueError(
            f"row {int(np.flatnonzero(labels == unknown[0])[0])} belongs to node {unknown[0]!r}, but the "
            f"graph has the {len(names)} nodes {names[0]!r} to {names[-1]!r}"
        )
    own = np.array([number[label] for label in found.tolist()])[where.ravel()]
    return [np.flatnonzero(own == i) for i in range(len(names))]
