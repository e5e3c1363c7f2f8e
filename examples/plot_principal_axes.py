"""
Main axes capture variance
==========================

A cloud that is longer than it is wide has a direction in which it spreads the most. It is the eigenvector of
the covariance matrix with the largest eigenvalue σ₁², and that eigenvalue is the variance along it; the next
axis stands at a right angle to it. The arrows are as long as the deviations σ₁ and σ₂, and the ellipses hold
what lies within one and two of them.

A point projected onto the first axis keeps, on average, the share of the squared distances from the mean that
the legend has for it. No other line keeps more: that is what principal components are, and why the first few
of them are the best small description that projections can give.

Figure 12.2 of [003].
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from mercer import plot

rng = np.random.default_rng(0)
X = rng.standard_normal((400, 2)) * [2.0, 0.6] @ [[0.8, 0.6], [-0.6, 0.8]] + [1.0, 2.0]
fig, ax = plt.subplots(figsize=(6, 4.6), layout="constrained")
plot.principal_axes(X, ax)
plt.show()

# %%
# Length and width of petals of Fisher's irises: nearly all of the variance lies along one axis.

fig, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
plot.principal_axes(load_iris().data[:, 2:], ax).set(xlabel="length in cm", ylabel="width in cm")
plt.show()
