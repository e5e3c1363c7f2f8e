"""
Four dimensions in two and three
================================

Each flower of the Iris data is a point in four dimensions. Projected on the two directions of largest
variance, one species stands apart and the two others touch; a third direction adds little.

The embedding is z_i = (⟨x_i − m, v_1⟩, …, ⟨x_i − m, v_d⟩), where m is the mean and v_1, …, v_d the first
eigenvectors of the covariance. Among all affine spaces of dimension d, the one through m along these
vectors is nearest to the points: the mean squared distance is the sum of the eigenvalues left out.

Figure 12.3 of [003].
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

from mercer import KernelPCA, plot
from mercer.kernels import Linear

iris = load_iris()
y = iris.target_names[iris.target]

# %%
# Kernel PCA with the linear kernel is PCA.
fig = plt.figure(figsize=(10, 4.4), layout="constrained")
for place, count in enumerate((2, 3), start=1):
    ax = fig.add_subplot(1, 2, place, projection="3d" if count == 3 else None)
    machine = KernelPCA(Linear(), n_components=count, random_state=0)
    plot.cloud(machine.fit_transform(iris.data), y, ax, labels="component")
    ax.set_title(f"{count} of 4: {machine.explained_variance_ratio_.sum():.1%} explained", fontsize=10)
plt.show()
