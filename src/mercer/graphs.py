"""Graphs as values: what kernels on graphs take for points."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._xp import issparse

__all__ = ["Graph"]

Labels = np.ndarray | tuple[Any, ...]
_INT64 = np.iinfo(np.int64)


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Graph:
    """An undirected graph, with labels at its nodes and edges or without.

    Parameters
    ----------
    edges : (m, 2) integers
        Pairs of nodes, which are numbered from 0; loops are allowed. An edge that is given twice, in
        whichever direction, is one edge.
    n_nodes : int, optional
        By default as many as there are labels or, without labels, up to the last one that has an edge.
    node_labels : sequence, optional
        One a node: numbers, text, or tuples of these. Equal labels are the same label, 1 and 1.0 too.
    edge_labels : sequence, optional
        One an edge, in the order of `edges`.

    Attributes
    ----------
    edges : (m, 2) integers
        Each edge once, the smaller number first, in rising order; edge labels follow that order.

    Notes
    -----
    Two graphs are equal if their numbered nodes, edges and labels are; whether renumbering would make them
    so is not asked. Kernels on graphs don't depend on the numbering.

    Examples
    --------
    >>> water = Graph([[0, 1], [0, 2]], node_labels=["O", "H", "H"])
    >>> water, water.degrees.tolist()
    (Graph(3 nodes, 2 edges, node labels), [2, 1, 1])
    >>> Graph([[0, 3]], n_nodes=3)
    Traceback (most recent call last):
    ...
    ValueError: edge 0 goes to node 3, but the graph has 3 nodes, numbered from 0: a dangling edge
    """

    edges: np.ndarray
    n_nodes: int
    node_labels: Labels | None
    edge_labels: Labels | None

    def __init__(self, edges: Any, n_nodes: Any = None, node_labels: Any = None, edge_labels: Any = None):
        pairs = _pairs(edges)
        nodes = None if node_labels is None else _labels(node_labels, "node_labels")
        count = _node_count(pairs, n_nodes, nodes)
        over = np.flatnonzero(pairs.max(axis=1, initial=-1) >= count)
        if len(over):
            there = f"the graph has {count} node{'s' * (count != 1)}, numbered from 0"
            raise ValueError(
                f"edge {over[0]} goes to node {pairs[over[0]].max()}, but {there}: a dangling edge"
            )
        links = None if edge_labels is None else _labels(edge_labels, "edge_labels")
        if links is not None and len(links) != len(pairs):
            raise ValueError(
                f"edge_labels are {len(links)}, but there are {len(pairs)} edges: give one an edge"
            )
        pairs, links = _each_once(pairs, links)
        for part in (pairs, nodes, links):
            if isinstance(part, np.ndarray):
                part.flags.writeable = False
        for name, value in zip(
            ("edges", "n_nodes", "node_labels", "edge_labels"), (pairs, count, nodes, links)
        ):
            object.__setattr__(self, name, value)

    @classmethod
    def of(cls, x: Any, node_label: str = "label", edge_label: str = "label") -> Graph:
        """The graph that x describes.

        Parameters
        ----------
        x : Graph, networkx graph, adjacency matrix, list of edges, or a tuple of edges and labels
            A matrix (NumPy, or SciPy sparse) must be symmetric; entries that are not 0 are edges and, unless
            all are 1, labels of them. A list of pairs has edges, an array that is square is a matrix (but
            whole numbers in two rows and two columns are edges, unless all are 0 or 1). A tuple
            ``(edges, node_labels)`` or ``(edges, node_labels, edge_labels)`` may begin with a matrix, too.
        node_label, edge_label : str
            The attributes of networkx graphs that are labels, where nodes or edges have them; names of nodes
            and other attributes (weights, too) count for nothing. Parallel edges are one edge.

        Examples
        --------
        >>> import numpy as np
        >>> Graph.of(np.array([[0, 1], [1, 0]])) == Graph.of([(0, 1)])
        True
        >>> Graph.of(([(0, 1)], ["C", "O"])).node_labels
        ('C', 'O')
        """
        if isinstance(x, Graph):
            return x
        if callable(getattr(x, "is_directed", None)) and hasattr(x, "nodes") and hasattr(x, "edges"):
            return _of_networkx(x, node_label, edge_label)
        if isinstance(x, tuple) and _has_labels(x):
            return _labelled(x)
        if _is_matrix(x):
            return _of_matrix(x)
        if not isinstance(x, (list, tuple, np.ndarray)):
            raise ValueError(
                f"{x!r:.60} ({type(x).__name__}) is no graph: give a mercer.graphs.Graph, a networkx graph, "
                f"an adjacency matrix, a list of edges, or a tuple (edges, node_labels)"
            )
        return cls(x)

    @property
    def degrees(self) -> np.ndarray:
        """The number of neighbours of every node; a node with a loop is its own neighbour."""
        i, j = self.edges.T
        return np.bincount(np.concatenate([i, j[i != j]]), minlength=self.n_nodes)

    def with_degrees(self) -> Graph:
        """This graph with degrees for node labels: for graphs that have no labels of their own."""
        return Graph(self.edges, self.n_nodes, self.degrees, self.edge_labels)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        return self._content() == other._content()

    def __hash__(self) -> int:
        return hash(self._content())

    def _content(self) -> tuple[Any, ...]:
        labels = (
            v.tobytes() if isinstance(v, np.ndarray) else v for v in (self.node_labels, self.edge_labels)
        )
        return self.n_nodes, self.edges.tobytes(), *labels

    def __repr__(self) -> str:
        n, m = self.n_nodes, len(self.edges)
        labels = (("node labels", self.node_labels), ("edge labels", self.edge_labels))
        said = [f"{n} node{'s' * (n != 1)}", f"{m} edge{'s' * (m != 1)}"]
        return f"Graph({', '.join(said + [name for name, v in labels if v is not None])})"


# -- edges and labels --------------------------------------------------------------------------------------


def _pairs(edges: Any) -> np.ndarray:
    words = "edges must be pairs of whole numbers, one row an edge"
    try:
        pairs = np.array(list(edges) if not hasattr(edges, "__len__") else edges)
    except (TypeError, ValueError):
        raise ValueError(f"{words}; got {edges!r:.60}") from None
    if pairs.size == 0 and pairs.ndim >= 1:
        pairs = np.zeros((0, 2), np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(f"{words}; got shape {pairs.shape}")
    if pairs.dtype.kind not in "iu":
        raise ValueError(f"{words}, got {pairs.dtype}: number the nodes from 0")
    if pairs.size and int(pairs.max()) >= _INT64.max:
        raise ValueError(
            f"edges go to node {int(pairs.max())}: nodes are numbered from 0, without large gaps"
        )
    under = np.flatnonzero((pairs < 0).any(axis=1))
    if len(under):
        raise ValueError(f"edge {under[0]} has the node {pairs[under[0]].min()}: nodes are numbered from 0")
    return np.sort(pairs.astype(np.int64), axis=1)


def _node_count(pairs: np.ndarray, given: Any, labels: Labels | None) -> int:
    if given is None:
        return len(labels) if labels is not None else int(pairs.max(initial=-1)) + 1
    if isinstance(given, (bool, np.bool_)) or not isinstance(given, (int, np.integer)) or given < 0:
        raise ValueError(f"n_nodes must be a whole number of at least 0, got {given!r}")
    if labels is not None and len(labels) != given:
        raise ValueError(f"node_labels are {len(labels)}, but there are {given} nodes: give one a node")
    return int(given)


def _each_once(
    pairs: np.ndarray, links: Labels | None, names: Sequence[Any] | None = None
) -> tuple[np.ndarray, Labels | None]:
    """Edges in order, each of them once, with their labels. Nodes may have names beside their numbers."""
    found, first, where = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
    if links is None:
        return found, None
    again = first[where.ravel()]
    for i in np.flatnonzero(again != np.arange(len(pairs))):
        if links[i] != links[again[i]]:
            u, v = pairs[i].tolist() if names is None else (repr(names[k]) for k in pairs[i])
            raise ValueError(
                f"the edge between {u} and {v} has two labels, {links[again[i]]} and {links[i]}: "
                f"give it one, a tuple of both if need be"
            )
    return found, links[first] if isinstance(links, np.ndarray) else tuple(links[i] for i in first)


def _labels(values: Any, what: str) -> Labels:
    """Labels in one spelling: an array where all are whole numbers, a tuple otherwise."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable) or isinstance(values, dict):
        raise ValueError(f"{what} must be a list of labels in their order, got {values!r:.60}")
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind == "i":
        return values.astype(np.int64)  # a copy: the graph's own
    found = tuple(_label(v, what, i) for i, v in enumerate(values))
    if all(type(v) is int and _INT64.min <= v <= _INT64.max for v in found):
        return np.array(found, np.int64)
    return found


def _label(value: Any, what: str, place: int) -> Any:
    """A label such that equal ones look equal."""
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return tuple(_label(v, what, place) for v in value)
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float) and not math.isnan(value):
        return int(value) if value.is_integer() else value
    if isinstance(value, (int, str)):
        return value
    missing = ": fill in what is missing" if value is None or value != value else ""
    raise ValueError(
        f"{what} must be numbers, text, or tuples of these; number {place} is {value!r:.60}"
        f" ({type(value).__name__}){missing}"
    )


# -- other things that are graphs --------------------------------------------------------------------------


def _is_matrix(x: Any) -> bool:
    """Is it a sparse matrix, a square array, or lists that are one (of which pairs are not)?"""
    if issparse(x):
        return True
    if isinstance(x, np.ndarray):
        square = x.ndim == 2 and x.shape[0] == x.shape[1] > 0
        # Two edges look like a matrix of two nodes; that has no other numbers than 0 and 1.
        return square and (x.shape != (2, 2) or x.dtype.kind not in "iu" or bool(np.isin(x, (0, 1)).all()))
    rows = isinstance(x, list) and len(x) > 0 and all(isinstance(row, (list, np.ndarray)) for row in x)
    return rows and len(x) != 2 and all(len(row) == len(x) for row in x)


def _of_matrix(x: Any, **labels: Any) -> Graph:
    from scipy.sparse import coo_array

    x = x if issparse(x) else np.asarray(x)
    if x.dtype.kind not in "biuf":
        raise ValueError(f"an adjacency matrix holds numbers, got {x.dtype}")
    A = coo_array(x)
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"an adjacency matrix is square; got shape {A.shape}")
    A.sum_duplicates()
    if not np.isfinite(A.data).all():
        raise ValueError("an adjacency matrix must not hold NaN or infinity: 0 says that there is no edge")
    A.eliminate_zeros()
    if (A != A.T).nnz:
        raise ValueError(
            "the adjacency matrix is not symmetric, and graphs are undirected here: take A + A.T"
        )
    upper = A.row <= A.col
    values = A.data[upper]
    if (values != 1).any() and "edge_labels" not in labels:
        labels["edge_labels"] = values
    return Graph(np.column_stack([A.row, A.col])[upper], n_nodes=A.shape[0], **labels)


def _has_labels(x: tuple[Any, ...]) -> bool:
    """Does the tuple begin with all edges, rather than with the first of them?"""
    if len(x) not in (2, 3) or isinstance(x[0], (int, np.integer)):
        return False
    first = x[0]
    if issparse(first) or not isinstance(first, Sequence | np.ndarray) or isinstance(first, (str, bytes)):
        return True
    return len(first) == 0 or not isinstance(first[0], (int, float, str, np.generic))


def _labelled(x: tuple[Any, ...]) -> Graph:
    edges, nodes, links = x if len(x) == 3 else (*x, None)
    if _is_matrix(edges):
        if links is not None:
            raise ValueError("labels of edges are given by a list of edges, or as entries of the matrix")
        return _of_matrix(edges, node_labels=nodes)
    return Graph(edges, node_labels=nodes, edge_labels=links)


def _of_networkx(x: Any, node_label: str, edge_label: str) -> Graph:
    if x.is_directed():
        raise ValueError("the graph is directed, and graphs are undirected here: take x.to_undirected()")
    nodes, edges = list(x.nodes(data=True)), list(x.edges(data=True))
    names = [name for name, _ in nodes]
    number = {name: i for i, name in enumerate(names)}
    labels = _attributes([known for _, known in nodes], node_label, "nodes")
    found = _attributes([known for *_, known in edges], edge_label, "edges")
    links = None if found is None else _labels(found, "edge_labels")
    # Parallel edges are found here, while nodes still have names that an error can say.
    pairs, links = _each_once(_pairs([(number[u], number[v]) for u, v, _ in edges]), links, names)
    return Graph(pairs, n_nodes=len(nodes), node_labels=labels, edge_labels=links)


def _attributes(known: list[dict], name: str, what: str) -> list[Any] | None:
    """The attribute of all nodes, or of all edges; None if no one has it."""
    having = sum(name in k for k in known)
    if 0 < having < len(known):
        raise ValueError(f"{having} of {len(known)} {what} have the attribute {name!r}: all of them or none")
    return [k[name] for k in known] if having else None
