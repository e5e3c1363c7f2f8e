"""GraKeL: graphs in its own form beforehand, features in Python dictionaries, the matrix by SciPy or NumPy.

A graph of its own remembers paths once they are known, so that only the first run says how long it takes.
Its pairs of nodes are ordered: each path is counted twice in either graph, so four times in a product, but
only twice if the labels at both ends differ.
"""

from benchmarks.peers import missing

name = "GraKeL"


def available():
    return missing("grakel")


def _theirs(graphs):
    """Neighbours and labels by the numbers of nodes; one without neighbours must be there, or it is lost."""
    from grakel import Graph

    out = []
    for g in graphs:
        neighbours = {u: {} for u in range(g.n_nodes)}
        for u, v in g.edges.tolist():
            neighbours[u][v] = neighbours[v][u] = 1
        labels = [0] * g.n_nodes if g.node_labels is None else list(g.node_labels)
        out.append(Graph(neighbours, node_labels=dict(enumerate(labels))))
    return out


def _wl(graphs, iterations):
    from grakel import VertexHistogram, WeisfeilerLehman

    G = _theirs(graphs)
    return lambda: WeisfeilerLehman(n_iter=iterations, base_graph_kernel=VertexHistogram).fit_transform(G)


def _assignment(graphs, iterations):
    from grakel import WeisfeilerLehmanOptimalAssignment

    G = _theirs(graphs)
    return lambda: WeisfeilerLehmanOptimalAssignment(n_iter=iterations).fit_transform(G)


def _paths(graphs, iterations):
    from grakel import ShortestPath

    G = _theirs(graphs)
    return lambda: ShortestPath(with_labels=True).fit_transform(G) / 4


graph_grams = {"wl": _wl, "assignment": _assignment, "paths": _paths}
