"""
Linear regression
=================

The line that least squares finds makes the sum of the squared segments as small as can be. In one dimension
that is a slope and an offset; with the linear kernel k(x, z) = x·z the same machine that bends curves
elsewhere finds them, and chooses by itself whether to solve for p weights or for n coefficients.

A line is also the simplest model that can be wrong. The second figure has points on a curve: the segments
are no longer noise, they are long where the curve is far from any line, and on the same side for whole
stretches. Residuals with a pattern are how one sees that a model is too simple.

Figure 12.10 of [003].
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRidge, plot
from mercer.kernels import Linear

rng = np.random.default_rng(0)
X = rng.uniform(0, 4, (30, 1))
noise = 0.4 * rng.standard_normal(30)
fig, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for ax, y, title in (
    (axes[0], 1 + 0.8 * X[:, 0] + noise, "a line"),
    (axes[1], X[:, 0] ** 2 / 2 + noise, "a curve"),
):
    machine = KernelRidge(Linear(), lam=1e-6, offset=True).fit(X, y)
    plot.regression_1d(machine, X, y, ax, residuals=True, label="least squares")
    ax.set_title(f"points on {title}: slope {machine.coef_[0]:.2f}", fontsize=10)
plt.show()
