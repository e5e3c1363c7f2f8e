"""
k-means, iteration by iteration
===============================

Three means start at three flowers of the Iris data, drawn at random. Then two steps alternate: every flower
joins the nearest mean, and every mean moves to the middle of its flowers. After a few rounds nothing moves
any more. The species were never shown to the machine; counted afterwards, they nearly are its clusters.

Both steps lower the energy E(c, z) = Σ_i ‖x_i − c_{z_i}‖²: the first is its minimum over the labels z with
the means c fixed, the second over c with z fixed, since a sum of squared distances is least at the mean.
There are finitely many labellings and none comes back, so the iterations end; at a local minimum, which is
why several starts are worth trying.

Figure 12.6 of [003].
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

from mercer import KernelKMeans, plot
from mercer.kernels import Linear

iris = load_iris()
X, y = iris.data[:, 2:], iris.target_names[iris.target]
machine = KernelKMeans(Linear(), n_clusters=3, init="random", n_init=1, random_state=2).fit(X)

# %%
# The start, two iterations, and the end. A white disc is a mean.
fig, axes = plt.subplots(2, 2, figsize=(8, 6.4), sharex=True, sharey=True, layout="constrained")
for ax, iteration in zip(axes.flat, (0, 1, 2, machine.n_iter_), strict=True):
    plot.cluster_cells(machine, X, ax, iteration=iteration)
for ax in axes[1]:
    ax.set_xlabel("petal length")
for ax in axes[:, 0]:
    ax.set_ylabel("petal width")
plt.show()

# %%
# The energy never rises. On the right, which species every cluster holds.
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
plot.cluster_energy(machine, left)
plot.cluster_classes(machine.labels_, y, right)
plt.show()
