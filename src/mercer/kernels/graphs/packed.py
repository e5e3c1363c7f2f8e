"""Graphs at the door, and all graphs of a set as one: arrays over all nodes and all neighbours."""

from __future__ import annotations

from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np

from mercer._memory import available_memory
from mercer._xp import issparse
from mercer.graphs import Graph, Labels
from mercer.kernels.counts import mix

# Where labels that are whole numbers begin, and the label of what has none.
_WHOLE, NO_LABEL = np.array([0x6D61726B], np.uint64), np.uint64(0x6E6F6E65)

# Bytes a node takes: its label, and where its neighbours are, while they are put in order.
_BYTES = 48


class PackedGraphs:
    """Many graphs as one that isn't connected. Taken apart like an array of points.

    starts : nodes of graph i are starts[i] … starts[i+1] − 1
    labels : a 64-bit number for the label of every node, the same for equal labels in every process
    edges : (m, 2) nodes, each edge once, graph after graph
    edge_starts : edges of graph i are edge_starts[i] … edge_starts[i+1] − 1
    edge_labels : a number for the label of every edge
    """

    ndim = 1
    dtype = np.dtype(object)

    def __init__(self, starts, labels, edge_starts, edges, edge_labels):
        self.starts, self.labels = starts, labels
        self.edge_starts, self.edges, self.edge_labels = edge_starts, edges, edge_labels

    @classmethod
    def of(cls, X: Any) -> PackedGraphs:
        """From checked graphs."""
        if isinstance(X, PackedGraphs):
            return X
        starts = _ends([g.n_nodes for g in X])
        edge_starts = _ends([len(g.edges) for g in X])
        edges = np.concatenate([np.zeros((0, 2), np.int64), *(g.edges for g in X)])
        edges = edges + np.repeat(starts[:-1], np.diff(edge_starts))[:, None]
        labels = _numbers([g.node_labels for g in X], np.diff(starts))
        links = _numbers([g.edge_labels for g in X], np.diff(edge_starts))
        return cls(starts, labels, edge_starts, edges, links)

    @property
    def shape(self) -> tuple[int]:
        return (len(self.starts) - 1,)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, index: Any) -> PackedGraphs:
        index = np.arange(len(self))[index]
        nodes, starts = _places(self.starts, index)
        rows, edge_starts = _places(self.edge_starts, index)
        moved = np.repeat(starts[:-1] - self.starts[:-1][index], np.diff(edge_starts))
        edges = self.edges[rows] + moved[:, None]
        return PackedGraphs(starts, self.labels[nodes], edge_starts, edges, self.edge_labels[rows])

    @property
    def sizes(self) -> np.ndarray:
        """How many nodes every graph has."""
        return np.diff(self.starts)

    @cached_property
    def neighbours(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(ends, node, label): neighbours of node v, and the labels of the edges to them, are at
        ends[v] … ends[v+1] − 1. A loop makes a node its own neighbour, once."""
        i, j = self.edges.T
        two = i != j
        tails, heads = np.concatenate([i, j[two]]), np.concatenate([j, i[two]])
        order = np.lexsort((heads, tails))
        ends = _ends(np.bincount(tails, minlength=len(self.labels)))
        return ends, heads[order], np.concatenate([self.edge_labels, self.edge_labels[two]])[order]


def as_graphs(X: Any, what: str) -> np.ndarray:
    """A set of graphs as an array of `Graph`."""
    advice = f"{what} takes a list of graphs; for a single one give [graph]"
    if isinstance(X, Graph) or issparse(X) or hasattr(X, "is_directed") or isinstance(X, str | bytes):
        raise ValueError(advice)
    if hasattr(X, "to_numpy"):
        X = X.to_numpy()
    if isinstance(X, np.ndarray):
        X = X[:, 0] if X.ndim == 2 and X.shape[1] == 1 else X
        if X.ndim != 1 and not (X.ndim == 3 and X.shape[1] == X.shape[2]):
            raise ValueError(f"{advice}; got an array of shape {X.shape}")
    if not hasattr(X, "__len__") or isinstance(X, dict | set | frozenset):
        raise ValueError(f"{what} takes a list of graphs; got {type(X).__name__}")
    out = np.empty(len(X), object)
    for i, item in enumerate(X):
        try:
            out[i] = Graph.of(item)
        except ValueError as error:
            raise ValueError(f"{what}: graph {i}: {error}") from error
    nodes = sum(g.n_nodes for g in out)
    if _BYTES * nodes > available_memory():
        raise ValueError(f"{what}: graphs with {nodes:,} nodes in all are more than there is memory for")
    return out


def _ends(lengths: Any) -> np.ndarray:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(np.asarray(lengths, np.int64))])


def _places(starts: np.ndarray, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(where the parts with these numbers lie, where they begin once they lie one after another)"""
    lengths = np.diff(starts)[index]
    new = _ends(lengths)
    return np.arange(new[-1]) + np.repeat(starts[:-1][index] - new[:-1], lengths), new


def _numbers(labels: list[Labels | None], sizes: np.ndarray) -> np.ndarray:
    """A 64-bit number for every label of all graphs."""
    known: dict[Any, np.uint64] = {}
    parts = [np.zeros(0, np.uint64)]
    for found, size in zip(labels, sizes, strict=True):
        if found is None:
            parts.append(np.full(size, NO_LABEL))
        elif isinstance(found, np.ndarray):
            parts.append(mix(_WHOLE, found))
        else:
            for label in set(found) - known.keys():
                known[label] = _number(label)
            parts.append(np.array([known[label] for label in found], np.uint64))
    return np.concatenate(parts)


def _number(label: Any) -> np.uint64:
    if isinstance(label, int) and -(1 << 63) <= label < 1 << 63:
        return mix(_WHOLE, np.array([label]))[0]  # as in an array
    text = repr(label).encode("utf-8", "surrogatepass")
    return np.uint64(int.from_bytes(blake2b(text, digest_size=8).digest(), "little"))
