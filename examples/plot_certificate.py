"""
What theory promises of a machine
=================================

Two machines tell odd digits from even ones. A bar is the error rate that was measured, its whisker reaches
to a bound that theory proves for examples yet to come: with probability 95 %, all of them at once, but for
those marked "(average)". These hold for the mean over samples, and may fail for the one at hand. Beyond the
dashed line a bound is worse than always giving the same answer; an arrow says that it lies outside of the
axis.

The test-set bound needs examples that were set aside. The others come from the training examples alone, and
pay for what the machine could have fitted to pure noise: of order ‖f‖·κ/(γ√n) for a margin γ, where κ²
bounds k(x,x). They hold before any test, whatever the data look like, and so are far from tight.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from mercer import KernelLogistic, KernelSVC, plot
from mercer.kernels import Gaussian
from mercer.theory import certificate

X, digits = load_digits(return_X_y=True)
X, y = X / 16, np.where(digits % 2, "odd", "even")
order = np.random.default_rng(0).permutation(len(y))
train, test = order[:1200], order[1200:]

# %%
# The certificate as a table, and as a figure.
fig, axes = plt.subplots(1, 2, figsize=(11.5, 4.4), layout="constrained")
machines = KernelLogistic(Gaussian(2.0), lam=1e-3), KernelSVC(Gaussian(2.0), lam=1e-3, offset=False)
for ax, machine in zip(axes, machines, strict=True):
    machine.fit(X[train], y[train])
    found = certificate(machine, X[train], y[train], X_test=X[test], y_test=y[test])
    plot.bounds(found, ax)
    ax.set_xlabel(f"error rate of {type(machine).__name__}")
    print(found, end="\n\n")
plt.show()
