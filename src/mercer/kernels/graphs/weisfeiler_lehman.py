"""The Weisfeiler–Lehman kernels: what can be seen from a node within a few steps."""

from __future__ import annotations

import numpy as np

from mercer._params import require_count, require_flag
from mercer.kernels.counting import Counting
from mercer.kernels.counts import Counts, mix
from mercer.kernels.graphs.packed import PackedGraphs, as_graphs
from mercer.kernels.graphs.words import cut, label_words


def refined(graphs: PackedGraphs, iterations: int) -> np.ndarray:
    """The label of every node (a row) after 0, 1, …, `iterations` refinements (columns)."""
    out = np.empty((len(graphs.labels), iterations + 1), np.uint64)
    out[:, 0] = graphs.labels
    ends, heads, links = graphs.neighbours
    degrees = np.diff(ends)
    tails = np.repeat(np.arange(len(degrees)), degrees)
    # Nodes with many neighbours first, so that those with more than so many are the first ones.
    order = np.argsort(-degrees, kind="stable")
    first = ends[:-1][order]
    having = len(degrees) - np.searchsorted(np.sort(degrees), np.arange(degrees.max(initial=0)), side="right")
    for i in range(iterations):
        seen = _sorted_by_node(mix(links, out[heads, i]), tails)
        made = mix(out[order, i], 0)
        for place, count in enumerate(having):
            made[:count] = mix(made[:count], seen[first[:count] + place])
        out[order, i + 1] = made
    return out


def _sorted_by_node(numbers: np.ndarray, tails: np.ndarray) -> np.ndarray:
    """Numbers put in order among those of the same node; `tails` rise."""
    kinds, rank = np.unique(numbers, return_inverse=True)
    if len(tails) and (int(tails[-1]) + 1) * len(kinds) < 1 << 62:  # one sort of plain numbers is fastest
        return kinds[np.sort(tails * len(kinds) + rank.ravel()) % len(kinds)]
    return numbers[np.lexsort((numbers, tails))]


class WeisfeilerLehman(Counting):
    """k(x,z) = Σ_t |x|_t |z|_t over all subtree patterns t, |x|_t how many nodes of x have it.

    The pattern of depth 0 of a node is its label; that of depth i its own pattern of depth i−1 with those of
    its neighbours, in no order (and the labels of the edges to them, where there are some).

    Parameters
    ----------
    iterations : int
        The largest depth; 0 compares labels of nodes.
    assignment : bool
        min(|x|_t, |z|_t) in place of the product: the best assignment of nodes of x to nodes of z, each pair
        worth as many depths as their patterns agree in.

    Notes
    -----
    Graphs are what `mercer.graphs.Graph.of` takes. Nodes without labels have all the same one; the first
    refinement then gives them their degrees. ``Graph.with_degrees`` starts with these. Large graphs have more
    nodes: ``WeisfeilerLehman(4).normalize()`` makes up for that.

    Two patterns count as the same if their 64-bit hashes are, which for different ones hardly happens (see
    `mercer.kernels.counts`).

    References
    ----------
    Shervashidze et al., Weisfeiler-Lehman graph kernels, JMLR 12 (2011). Kriege, Giscard and Wilson, On valid
    optimal assignment kernels, NeurIPS (2016).

    Examples
    --------
    Water and hydrogen peroxide. Depth 0: 1 · 2 for O, 2 · 2 for H. Depth 1: an H at an O is in both twice,
    O(H, H) and O(H, O) in one of them.

    >>> water = ([(0, 1), (0, 2)], ["O", "H", "H"])
    >>> peroxide = ([(0, 1), (0, 2), (1, 3)], ["O", "O", "H", "H"])
    >>> WeisfeilerLehman(1)([water, peroxide])
    array([[10., 10.],
           [10., 16.]])
    >>> WeisfeilerLehman(1, assignment=True)([water, peroxide])
    array([[6., 5.],
           [5., 8.]])
    """

    def __init__(self, iterations=3, assignment=False):
        self.iterations = iterations
        self.assignment = assignment

    def validate(self):
        require_count(self.iterations, "WeisfeilerLehman: iterations", least=0)
        require_flag(self.assignment, "WeisfeilerLehman: assignment")

    def points(self, X):
        return as_graphs(X, "WeisfeilerLehman")

    def features(self, X):
        graphs = PackedGraphs.of(X)
        patterns = refined(graphs, self.iterations)
        counts = Counts.of(graphs.starts * patterns.shape[1], patterns.ravel())
        return _copies(counts)[0] if self.assignment else counts

    def rule(self):
        if self.assignment:
            return "an optimal assignment of nodes by a hierarchy: an inner product of feature vectors"
        return super().rule()

    def spelled(self, X):
        graphs = PackedGraphs.of(X)
        patterns = refined(graphs, self.iterations)
        words = self._words(X, graphs, patterns)
        if not self.assignment:
            return words
        counts = Counts.of(graphs.starts * patterns.shape[1], patterns.ravel())
        _, kind, copy = _copies(counts)
        numbers, first = np.unique(mix(kind, copy), return_index=True)
        return {
            int(number): words[int(kind[k])] + (f", no. {copy[k]}" if copy[k] > 1 else "")
            for number, k in zip(numbers, first, strict=True)
        }

    def _words(self, X, graphs, patterns):
        """Patterns in words: C(H, O) is a node C with the neighbours H and O, as far as it was looked at."""
        own = label_words([g.node_labels for g in X], graphs.sizes, "·")
        links = label_words([g.edge_labels for g in X], np.diff(graphs.edge_starts), "")
        link = dict(zip(graphs.edge_labels.tolist(), links, strict=True))
        ends, heads, passed = graphs.neighbours
        words: dict[int, str] = {}
        for i in range(patterns.shape[1]):
            for number, v in zip(*np.unique(patterns[:, i], return_index=True), strict=True):
                word = own[v]
                if i:
                    around = range(ends[v], ends[v + 1])
                    seen = ((link[int(passed[e])], words[int(patterns[heads[e], i - 1])]) for e in around)
                    word += f"({', '.join(sorted(f'{a}: {b}' if a else b for a, b in seen))})"
                words[int(number)] = cut(word)
        return words


def _copies(counts: Counts) -> tuple[Counts, np.ndarray, np.ndarray]:
    """(features: 1 for the first, the second, … occurrence of each feature; of which; the how many-th)

    The inner product of such rows is Σ min(count in x, count in z).
    """
    times = counts.values.astype(np.int64)
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(times)])
    kind, copy = np.repeat(counts.ids, times), np.arange(ends[-1]) - np.repeat(ends[:-1], times) + 1
    return Counts.of(ends[counts.starts], mix(kind, copy)), kind, copy
