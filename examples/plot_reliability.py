"""
As often right as it is sure?
=============================

A classifier that says "90 %" should be right nine times out of ten. Machines with three weights λ on the
norm were fitted to 200 points of two crescents that overlap, and asked about 5,000 others; dots on the
dashed line are as often right as they are sure. With too little weight the machine is too sure of itself,
with too much it does not dare to say what it knows.

The logistic loss log(1 + e^(−y f(x))) has its least expectation where θ(f(x)) = P(y = 1 | x), so that with
unlimited examples the probabilities are right. With few the norm decides: without λ‖f‖² f grows until the
examples seen have probability one, and what is true of them is promised of all.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from mercer import KernelLogistic, plot
from mercer.kernels import Gaussian

X, y = make_moons(200, noise=0.35, random_state=0)
X_test, y_test = make_moons(5000, noise=0.35, random_state=1)


def bins(probability, right, edges=(0.5, 0.7, 0.85, 0.95, 0.99, 1.0)):
    """(mean probability, share that was right, number) of the answers between two edges, if any."""
    place = np.digitize(probability, edges[1:-1])
    inside = (place == j for j in range(len(edges) - 1))
    return [(probability[i].mean(), right[i].mean(), int(i.sum())) for i in inside if i.any()]


# %%
# Larger dots stand for more points; lines are 95 % intervals.
fig, axes = plt.subplots(1, 3, figsize=(11, 3.8), sharey=True, layout="constrained")
for ax, lam in zip(axes, (1e-7, 1e-4, 1e-2), strict=True):
    machine = KernelLogistic(Gaussian(0.5), lam=lam, offset=True).fit(X, y)
    shares = machine.predict_proba(X_test)
    plot.reliability(bins(shares.max(axis=1), shares.argmax(axis=1) == y_test), ax)
    ax.set_title(f"λ = {lam:g}", fontsize=10)
for ax in axes:
    ax.set_xlim(0.47, 1.03)
    ax.set_ylim(0.37, 1.06)
for ax in axes[1:]:
    ax.set_ylabel("")
plt.show()
