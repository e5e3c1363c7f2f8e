"""Who can hear whom: neighbourhood graphs of a network, and what nodes need to know of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import (
    breadth_first_order,
    connected_components,
    minimum_spanning_tree,
    shortest_path,
)

from mercer._params import require_count, require_nonnegative, require_positive
from mercer.features.base import generator
from mercer.graphs import Graph

# A node without a graph is joined to so many of the nodes nearest to it.
_NEAREST = 3


def ring(n_nodes: int) -> Graph:
    """Every node has two neighbours: the longest ways there are.

    >>> ring(4).edges.tolist()
    [[0, 1], [0, 3], [1, 2], [2, 3]]
    """
    n = require_count(n_nodes, "n_nodes")
    return _joined([(i, (i + 1) % n) for i in range(n)], n)


def grid(rows: int, columns: int) -> Graph:
    """Rows and columns of nodes, each joined to those beside, above and below it.

    >>> grid(2, 3)
    Graph(6 nodes, 7 edges)
    """
    r, c = require_count(rows, "rows"), require_count(columns, "columns")
    number = np.arange(r * c).reshape(r, c)
    beside = np.column_stack([number[:, :-1].ravel(), number[:, 1:].ravel()])
    below = np.column_stack([number[:-1].ravel(), number[1:].ravel()])
    return _joined(np.concatenate([beside, below]).tolist(), r * c)


def complete(n_nodes: int) -> Graph:
    """Every node hears every other one.

    >>> complete(4)
    Graph(4 nodes, 6 edges)
    """
    n = require_count(n_nodes, "n_nodes")
    return _joined(np.column_stack(np.triu_indices(n, 1)).tolist(), n)


def small_world(n_nodes: int, reach: int = 2, shortcuts: float = 0.2, random_state: Any = 0) -> Graph:
    """A ring in which nodes up to `reach` apart are joined, and a share of such edges leads elsewhere.

    The edges between nodes next to each other stay, so that the graph is connected.

    >>> small_world(12)
    Graph(12 nodes, 24 edges)
    """
    n, reach = require_count(n_nodes, "n_nodes"), require_count(reach, "reach")
    share, rng = require_nonnegative(shortcuts, "shortcuts"), generator(random_state)
    found = {(i, (i + 1) % n) for i in range(n)}
    edges = {(min(pair), max(pair)) for pair in found}
    for i in range(n):
        for step in range(2, reach + 1):
            j = (i + step) % n
            taken = {v for u, v in edges if u == i} | {u for u, v in edges if v == i} | {i}
            free = np.setdiff1d(np.arange(n), list(taken))
            if len(free) and rng.uniform() < share:
                j = int(rng.choice(free))
            if i != j:
                edges.add((min(i, j), max(i, j)))
    return _joined(sorted(edges), n)


def geometric(positions: Any, radius: float | None = None) -> Graph:
    """Nodes no farther apart than `radius`, as radios are; None: the smallest that connects all of them.

    Parameters
    ----------
    positions : (nodes, d) array

    Examples
    --------
    >>> geometric([[0.0], [1.0], [3.0]]).edges.tolist()
    [[0, 1], [1, 2]]
    >>> geometric([[0.0], [1.0], [3.0]], radius=3.0)
    Graph(3 nodes, 3 edges)
    """
    apart = _distances(_positions(positions))
    if radius is None:
        radius = float(minimum_spanning_tree(_as_tree_weights(apart)).data.max(initial=1.0)) - 1.0
    else:
        radius = require_positive(radius, "radius")
    near = np.triu(apart <= radius * (1 + 1e-12), 1)
    return _joined(np.argwhere(near).tolist(), len(apart))


def nearest(positions: Any, n_neighbours: int = _NEAREST) -> Graph:
    """Every node joined to those nearest to it, and to whoever else must be for all to be connected.

    >>> nearest([[0.0], [1.0], [5.0], [6.0]], n_neighbours=1).edges.tolist()
    [[0, 1], [1, 2], [2, 3]]
    """
    apart = _distances(_positions(positions))
    n, k = len(apart), require_count(n_neighbours, "n_neighbours")
    tree = np.argwhere(minimum_spanning_tree(_as_tree_weights(apart)).toarray() > 0)
    np.fill_diagonal(apart, np.inf)
    closest = np.argsort(apart, axis=1, kind="stable")[:, : min(k, n - 1)]
    pairs = np.column_stack([np.repeat(np.arange(n), closest.shape[1]), closest.ravel()])
    return _joined(np.concatenate([tree, pairs]).tolist(), n)


def _joined(pairs: Sequence[Any], n: int) -> Graph:
    return Graph([pair for pair in pairs if pair[0] != pair[1]], n_nodes=n)


def _positions(positions: Any) -> np.ndarray:
    found = np.asarray(positions, dtype=np.float64)
    if found.ndim != 2 or not len(found) or not np.isfinite(found).all():
        raise ValueError(f"positions must be finite numbers, one row a node; got shape {found.shape}")
    return found


def _distances(points: np.ndarray) -> np.ndarray:
    return np.sqrt(np.square(points[:, None, :] - points[None, :, :]).sum(axis=2))


def _as_tree_weights(apart: np.ndarray) -> np.ndarray:
    """Distances plus 1: SciPy takes a 0, of nodes in the same place, for no edge."""
    return np.triu(apart + 1.0, 1)


# -- what nodes need to know ---------------------------------------------------------------------------------


def names_of(graph: Any) -> list[Any] | None:
    """Names of the nodes of a networkx graph, in their order, if they are all text or all whole numbers.

    None of other graphs, and of names that are no labels for rows: then nodes are numbered in their order.
    """
    if not callable(getattr(graph, "is_directed", None)) or not hasattr(graph, "nodes"):
        return None
    names = list(graph.nodes)
    plain = any(all(type(name) is kind for name in names) for kind in (str, int))
    return names if plain else None


def neighbours(graph: Graph) -> list[list[int]]:
    """The neighbours of every node, in rising order, loops left out.

    >>> neighbours(ring(3))
    [[1, 2], [0, 2], [0, 1]]
    """
    found: list[list[int]] = [[] for _ in range(graph.n_nodes)]
    for i, j in graph.edges.tolist():
        if i != j:
            found[i].append(j)
            found[j].append(i)
    return [sorted(some) for some in found]


def components(graph: Graph, present: np.ndarray | None = None) -> list[np.ndarray]:
    """Nodes that reach each other over nodes that are `present` (all, if not given), largest group first."""
    there = np.ones(graph.n_nodes, bool) if present is None else np.asarray(present, bool)
    _, label = connected_components(_adjacency(graph, there), directed=False)
    groups = [np.flatnonzero((label == k) & there) for k in np.unique(label[there])]
    return sorted(groups, key=len, reverse=True)


def require_connected(graph: Graph) -> None:
    """ValueError, naming nodes that can't reach each other, unless all can."""
    if graph.n_nodes == 0:
        raise ValueError("the graph has no nodes")
    parts = components(graph)
    if len(parts) > 1:
        few = ", ".join(str(i) for i in parts[1][:5].tolist()) + ", …" * (len(parts[1]) > 5)
        raise ValueError(
            f"the graph is not connected: it falls into {len(parts)} parts, and nothing that node "
            f"{parts[0][0]} knows ever reaches node {few}. Add edges between the parts, or fit each by itself"
        )


def diameter(graph: Graph) -> int:
    """The number of edges between the two nodes farthest apart.

    >>> diameter(ring(6)), diameter(complete(6))
    (3, 1)
    """
    ways = shortest_path(_adjacency(graph), unweighted=True, directed=False)
    return int(ways[np.isfinite(ways)].max(initial=0))


def spanning_tree(graph: Graph) -> tuple[Graph, list[int | None]]:
    """A tree of shortest ways to the node that is nearest to all others, and the parent of every node in it.

    >>> tree, parents = spanning_tree(ring(5))
    >>> tree, parents
    (Graph(5 nodes, 4 edges), [None, 0, 1, 4, 0])
    """
    A = _adjacency(graph)
    ways = shortest_path(A, unweighted=True, directed=False)
    root = int(np.argmin(ways.max(axis=1)))
    _, before = breadth_first_order(A, root, directed=False)
    parents = [None if i == root else int(j) for i, j in enumerate(before.tolist())]
    return _joined([(i, j) for i, j in enumerate(parents) if j is not None], graph.n_nodes), parents


def laplacian_range(graph: Graph) -> tuple[float, float]:
    """The smallest positive and the largest eigenvalue of the graph's Laplacian: how fast news spreads.

    >>> low, high = laplacian_range(complete(5))
    >>> round(low, 6), round(high, 6)
    (5.0, 5.0)
    """
    A = _adjacency(graph).toarray()
    values = np.linalg.eigvalsh(np.diag(A.sum(axis=1)) - A)
    positive = values[values > 1e-9 * max(values[-1], 1.0)]
    return (float(positive[0]), float(positive[-1])) if len(positive) else (1.0, 1.0)


def _adjacency(graph: Graph, present: np.ndarray | None = None) -> csr_array:
    i, j = graph.edges.T
    kept = i != j
    if present is not None:
        kept &= present[i] & present[j]
    i, j = i[kept], j[kept]
    ones = np.ones(2 * len(i))
    return csr_array((ones, (np.r_[i, j], np.r_[j, i])), shape=(graph.n_nodes, graph.n_nodes))
