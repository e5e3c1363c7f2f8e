"""
Too narrow, right, too wide
===========================

A noisy curve is fitted by kernel ridge regression with three widths of the Gaussian kernel and one λ. A kernel that
is too narrow follows the noise, and one that is too wide can't follow the curve. The error when each example is left
out tells which is which, without further data.

The fit is f(x) = Σ_i α_i k(x_i, x) with k(x, x′) = exp(−‖x − x′‖²/2σ²): a sum of bumps of width σ at the examples. With
H = K(K + nλI)⁻¹, the matrix that turns y into fitted values, the residual at an example that was left out is
(y_i − f(x_i))/(1 − H_ii), so all n refits cost no more than one fit.

Figure 12.18 of [003].
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRidge, plot
from mercer.kernels import Gaussian


def truth(x):
    return np.sin(2 * x) + 0.3 * x


rng = np.random.default_rng(0)
X = rng.uniform(-3, 3, (60, 1))
y = truth(X[:, 0]) + 0.25 * rng.standard_normal(60)

# %%
# Three widths, and the mean squared error with each example left out.
fig, axes = plt.subplots(1, 3, figsize=(11, 3.4), sharey=True, layout="constrained")
for ax, sigma in zip(axes, (0.05, 0.5, 5.0), strict=True):
    machine = KernelRidge(Gaussian(sigma), lam=1e-3).fit(X, y)
    plot.regression_1d(machine, X, y, ax, truth=truth)
    error = np.mean(machine.loo_residuals() ** 2)
    ax.set_title(f"σ = {sigma:g}, leave-one-out error {error:.2f}", fontsize=10)
for ax in axes[1:]:
    ax.set_ylabel("")
    ax.get_legend().remove()
