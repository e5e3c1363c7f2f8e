"""
Regions of nearest neighbours
=============================

Flowers of the Iris data, projected on two principal components, are classified by the majority among the R
flowers that are nearest. With R = 1 every flower has a region of its own, and one that lies among others
makes an island; the more neighbours are asked, the smoother the borders.

The share of class ℓ near x is h_ℓ(x) = (1/R) #{i ≤ R : y_σ(i) = ℓ}, where σ sorts the examples by their
distance from x, and the answer is a class with the largest share. The colour is as strong as that share.
One neighbour copies the noise of a single label, R of them average it; but the further away they are, the
less they say about x.

Figure 12.12 of [003].
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

from mercer import KernelNeighborsClassifier, KernelPCA, plot
from mercer.kernels import Linear

iris = load_iris()
X = KernelPCA(Linear(), n_components=2, random_state=0).fit_transform(iris.data)
y = iris.target_names[iris.target]

# %%
# One machine serves all R: it has its examples sorted by distance either way.
machine = KernelNeighborsClassifier(n_neighbors=5).fit(X, y)
fig, axes = plt.subplots(2, 2, figsize=(9.5, 7), sharex=True, sharey=True, layout="constrained")
plot.neighbours(machine, X, y, (1, 5, 10, 40), axes.ravel())
plt.show()
