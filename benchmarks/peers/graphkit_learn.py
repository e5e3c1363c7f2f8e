"""graphkit-learn: networkx graphs, pair by pair in Python.

On several cores its Weisfeiler–Lehman kernel takes longer, and has other values; so that one runs on one.

Its pairs of nodes with the same labels at both ends are compared in both directions, so a path counts twice
unless they differ.
"""

from benchmarks.peers import missing

name = "graphkit-learn"


def available():
    return missing("gklearn", "networkx")


def _theirs(graphs):
    import networkx

    out = []
    for g in graphs:
        theirs = networkx.Graph()
        labels = [0] * g.n_nodes if g.node_labels is None else g.node_labels
        theirs.add_nodes_from((i, {"label": str(label)}) for i, label in enumerate(labels))
        theirs.add_edges_from(g.edges.tolist())
        out.append(theirs)
    return out


def _gram(kernel, graphs, threads):
    G, way = _theirs(graphs), "imap_unordered" if threads > 1 else None
    settings = {"parallel": way, "n_jobs": threads, "verbose": 0, "normalize": False}
    return lambda: kernel.compute(G, **settings)[0]


def _wl(graphs, iterations):
    from gklearn.kernels import WLSubtree

    kernel = WLSubtree(node_labels=["label"], height=iterations, ds_infos={"directed": False})
    return _gram(kernel, graphs, 1)


def _paths(graphs, iterations):
    from gklearn.kernels import ShortestPath
    from gklearn.utils.kernels import deltakernel

    from mercer._threads import cpu_count

    kernel = ShortestPath(
        node_labels=["label"], node_kernels={"symb": deltakernel}, ds_infos={"directed": False}
    )
    run = _gram(kernel, graphs, cpu_count())
    return lambda: run() / 2


graph_grams = {"wl": _wl, "paths": _paths}
