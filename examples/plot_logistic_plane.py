"""
Logistic classification in the plane
====================================

Two clouds are separated by a straight line, with a probability on either side: the colour is as strong as the machine
is sure. From left to right λ falls, so the norm of the weights β may grow. The line turns a little; what changes most
is how wide the zone of doubt is.

The probability is θ(⟨x, β⟩ + b) with θ(s) = 1/(1 + e^(−s)). The direction β/‖β‖ places the line. Across it, s grows by ‖β‖
for each unit of length, so that probabilities go from a quarter to three quarters within 2 ln 3/‖β‖: with ‖β‖ → ∞ the border
becomes sharp, and the classifier a hard one.

Figure 12.13 of [003].
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from mercer import KernelLogistic, plot
from mercer.kernels import Linear

X, y = make_blobs(120, centers=[[-1.2, -0.6], [1.2, 0.6]], cluster_std=0.8, random_state=0)

# %%
# The linear kernel, with three weights on the norm.
fig, axes = plt.subplots(1, 3, figsize=(11, 3.8), sharey=True, layout="constrained")
for ax, lam in zip(axes, (0.3, 0.03, 0.0003), strict=True):
    machine = KernelLogistic(Linear(), lam=lam, offset=True).fit(X, y)
    plot.decision_regions(machine, X, y, ax)
    # f is linear here, so its values at two unit vectors and at the origin give β.
    beta = machine.decision_function(np.eye(2)) - machine.decision_function(np.zeros((1, 2)))
    ax.set_title(f"λ = {lam:g}, ‖β‖ = {np.linalg.norm(beta):.2g}", fontsize=10)
for ax in axes[:-1]:
    ax.get_legend().remove()
