"""
k-means and Voronoi cells
=========================

Points in the plane are divided among k means. A point belongs to the mean that is nearest, so the places
that belong to one mean form a cell: a polygon, whose sides lie half-way between two means. Rings mark the
means.

k-means looks for the means c_1, …, c_k with the least energy E = Σ_i min_ℓ ‖x_i − c_ℓ‖². With the means
given, the best each point can do is to join the nearest one, and the set {x : ‖x − c_ℓ‖ ≤ ‖x − c_m‖ for all
m} is an intersection of half-planes, the Voronoi cell of c_ℓ. More means make smaller cells and less
energy, whether or not there are more groups to find.

Figure 12.5 of [003].
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_blobs

from mercer import KernelKMeans, plot
from mercer.kernels import Linear

X, _ = make_blobs(400, centers=5, cluster_std=1.1, random_state=3)

# %%
# The linear kernel makes k-means in the plane itself. The number above a panel is E.
fig, axes = plt.subplots(1, 3, figsize=(11, 3.8), sharey=True, layout="constrained")
for ax, k in zip(axes, (2, 5, 12), strict=True):
    machine = KernelKMeans(Linear(), n_clusters=k, random_state=0).fit(X)
    plot.cluster_cells(machine, X, ax)
    ax.set_title(f"k = {k}: {ax.get_title()}", fontsize=10)
plt.show()
