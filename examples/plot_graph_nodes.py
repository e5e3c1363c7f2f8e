"""
Which nodes carry the decision
==============================

Small molecules are graphs: atoms are nodes with labels, bonds are edges. The kernel of Weisfeiler and Lehman
counts what can be seen from each node within a few steps, and a support vector machine learns which molecules
are alcohols, that is, have an oxygen with a hydrogen at a carbon. Nobody told it what to look at.

Take a node out, and the score changes; by how much is the colour of the node. In an alcohol it is the oxygen,
its hydrogen and the carbon beside them that speak for it. In an ether the oxygen lies between two carbons
and says little; what speaks against an alcohol there are the ends of the chain, as both have their hydrogens.

Kernels on graphs go beyond the texts.
"""

import matplotlib.pyplot as plt

from mercer import KernelSVC, plot
from mercer.graphs import Graph
from mercer.kernels import WeisfeilerLehman


def molecule(heavy):
    """A chain such as "CCO" or "COC", with as many hydrogens as its atoms have free bonds."""
    labels, edges = list(heavy), [(i, i + 1) for i in range(len(heavy) - 1)]
    for i, atom in enumerate(heavy):
        bonds = sum(i in edge for edge in edges)
        for _ in range({"C": 4, "O": 2, "N": 3}[atom] - bonds):
            edges.append((i, len(labels)))
            labels.append("H")
    return Graph(edges, node_labels=labels)


alcohols = ["CO", "CCO", "CCCO", "CCCCO", "OCCO", "OCCCO"]
others = ["CC", "CCC", "CCCC", "COC", "CCOC", "CCOCC", "CN", "CCN"]
graphs = [molecule(chain) for chain in alcohols + others]
kinds = ["alcohol"] * len(alcohols) + ["none"] * len(others)
machine = KernelSVC(WeisfeilerLehman(2).normalize(), lam=1e-3).fit(graphs, kinds)

fig, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
for ax, chain in zip(axes, ("CCCCCO", "CCCOC"), strict=True):
    plot.graph_nodes(machine, molecule(chain), ax, label="alcohol")
axes[1].get_legend().remove()
plt.show()
