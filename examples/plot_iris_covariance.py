"""
Covariance and its spectrum
===========================

Four lengths were measured on each of 150 flowers. The matrix shows which of them grow together: petals'
length and width do, and sepals' width goes the other way a little. The bars show how much of all variance
lies along each eigenvector of that matrix; one direction has more than nine tenths of it.

The empirical covariance is Ĉ = X̃ᵀX̃/n with the centred points as rows of X̃. It is symmetric and
non-negative, so Ĉ = V diag(σ²) Vᵀ; the variance along the direction v_k is v_kᵀĈv_k = σ_k², and all of them
sum to the trace of Ĉ, the mean squared distance from the mean. A spectrum that falls fast says that the
cloud is flat.

Figure 12.1 of [003].
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from mercer import plot

iris = load_iris()
C = np.cov(iris.data.T, bias=True)
names = [name.removesuffix(" (cm)") for name in iris.feature_names]

# %%
# The stronger the colour, the larger the entry.
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
plot.covariance(C, left).set_title("covariance of the four lengths", fontsize=10)
left.set_xticks(range(4), names, rotation=30, ha="right")
left.set_yticks(range(4), names)
plot.spectrum(C, right).set_title("its spectrum", fontsize=10)
plt.show()
