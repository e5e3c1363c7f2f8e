"""
Handwritten digits as a cloud
=============================

An image of eight by eight pixels is a point in 64 dimensions. Two principal components of 1,797 digits show
some of the ten classes apart and others mixed; three components in the feature space of a Gaussian kernel
separate more of them, although no label was used.

PCA needs scalar products of the points only, so it can be done with ⟨φ(x), φ(x′)⟩ = k(x, x′): component j
of x is Σ_i a_ij k(x_i, x), up to a constant, with a_j an eigenvector of the centred matrix K over the root
of its eigenvalue. With the linear kernel these are the components of the pixels; with another kernel they
bend along the cloud.

Figure 12.16 of [003].
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from mercer import KernelPCA, plot
from mercer.kernels import Gaussian, Linear

X, y = load_digits(return_X_y=True)

# %%
# Pixels that are side by side vary together, so 64 numbers are many fewer in truth.
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
C = np.cov(X.T)
plot.covariance(C, left).set_title("covariance of the pixels", fontsize=10)
plot.spectrum(C, right).set_title("its spectrum", fontsize=10)
plt.show()

# %%
# In the plane with the linear kernel, in space with a Gaussian one.
fig = plt.figure(figsize=(11, 5), layout="constrained")
for place, (kernel, count) in enumerate(((Linear(), 2), (Gaussian(25.0), 3)), start=1):
    ax = fig.add_subplot(1, 2, place, projection="3d" if count == 3 else None)
    machine = KernelPCA(kernel, n_components=count, random_state=0)
    plot.cloud(machine.fit_transform(X), y, ax, size=3.5, labels="component")
    ax.set_title(f"{kernel!r}: {machine.explained_variance_ratio_.sum():.0%} explained", fontsize=10)
plt.show()
