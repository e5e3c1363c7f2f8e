"""
How wide should the kernel be?
==============================

A noisy curve is fitted by kernel ridge regression with Gaussian kernels of many widths σ and one λ. A
kernel that is too narrow follows the noise, and one that is too wide can't follow the curve. The error when
each example is left out tells which is which, without further data. Between the two it is low and flat, so
the choice need not be a fine one.

The fit is f(x) = b + Σ_i α_i k(x_i, x) with k(x, x′) = exp(−‖x − x′‖²/2σ²): a sum of bumps of width σ at
the examples, and an offset. Let H = 11ᵀ/n + K̃(K̃ + (n − 1)λI)⁻¹, where K̃ is K with its rows and columns
centred. H turns y into fitted values, with the λ of a fit to n − 1 examples, and the residual at example i,
when it is left out, is (y − Hy)_i/(1 − H_ii). So all n refits cost about as much as one fit.
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


def fitted(sigma):
    """A machine of that width, and its mean squared error with every example left out."""
    machine = KernelRidge(Gaussian(sigma), lam=1e-3).fit(X, y)
    return machine, np.mean(machine.loo_residuals() ** 2)


# %%
# Three widths: too narrow, right, too wide.
fig, axes = plt.subplots(1, 3, figsize=(11, 3.4), sharey=True, layout="constrained")
for ax, sigma in zip(axes, (0.05, 0.5, 5.0), strict=True):
    machine, error = fitted(sigma)
    plot.regression_1d(machine, X, y, ax, truth=truth)
    ax.set_title(f"σ = {sigma:g}, leave-one-out error {error:.2f}", fontsize=10)
for ax in axes[1:]:
    ax.set_ylabel("")
    ax.get_legend().remove()
plt.show()

# %%
# And forty of them, by their errors.
sigmas = np.geomspace(0.03, 10, 40)
errors = [fitted(sigma)[1] for sigma in sigmas]
best = int(np.argmin(errors))
fig, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
plot.style.dressed(ax, "σ", "leave-one-out error (mean square)")
ax.plot(sigmas, errors, color=plot.COLOURS[0], linewidth=2)
ax.plot(sigmas[best], errors[best], "o", color=plot.COLOURS[1], label=f"least at σ = {sigmas[best]:.2f}")
plot.style.log_ticks(ax, "x")
plot.style.legend(ax)
plt.show()
