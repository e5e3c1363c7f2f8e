"""
Two rings, by k-means and by their cut
======================================

Two rings lie one inside the other. k-means divides them by a straight line, whatever the start, because
cells of nearest means are convex. With a Gaussian kernel and points weighted by how many others are near,
the same iterations find the rings.

With weights w_i = Σ_j k(x_i, x_j) and kernel k(x_i, x_j)/(w_i w_j), the energy of weighted k-means in the
feature space is the normalised cut of the graph with edges k(x_i, x_j), up to a constant. The cut is Σ_ℓ
links(V_ℓ, rest)/links(V_ℓ, all): near zero where hardly any edge leads from one part to the other, as
between two rings that are further apart than the kernel is wide.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelKMeans, plot
from mercer.kernels import Gaussian, Linear

rng, n = np.random.default_rng(0), 300
angle, radius = rng.uniform(0, 2 * np.pi, n), np.where(np.arange(n) % 2, 3.0, 1.0)
X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]) + rng.normal(0, 0.1, (n, 2))

# %%
# The same points, two ideas of what belongs together.
plain = KernelKMeans(Linear(), n_clusters=2, random_state=0).fit(X)
cut = KernelKMeans(Gaussian(0.4), n_clusters=2, normalized=True, random_state=0).fit(X)
fig, (left, right) = plt.subplots(1, 2, figsize=(8.5, 4), sharey=True, layout="constrained")
plot.cluster_cells(plain, X, left).set_title("k-means", fontsize=10)
plot.cluster_cells(cut, X, right).set_title(
    f"normalised cut {plot.style.number(cut.normalized_cut_)}", fontsize=10
)
plt.show()
