"""
Bias and variance
=================

Twenty samples of 80 examples are drawn from a curve that is known, and a machine is fitted to each. The
mean of the twenty fits misses the curve by the bias; around their mean they scatter by the variance. Three
parameters trade one for the other: the weight λ of the norm, the width σ of the kernel, and the number R of
neighbours.

At every point x the expected squared error of a fit f̂ is E(f̂(x) − f(x))² = (E f̂(x) − f(x))² + Var f̂(x).
A large λ, a wide kernel and many neighbours all hold f̂ still: little variance, much bias. Small ones
follow the noise: the other way round. The sum has its least value in between, and that is what a search for
λ looks for.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelNeighborsRegressor, KernelRidge, plot, theory
from mercer.kernels import Gaussian


def truth(X):
    return np.sin(2 * X[:, 0]) + 0.5 * np.sin(5 * X[:, 0])


def draw(n, rng):
    X = rng.uniform(-3, 3, (n, 1))
    return X, truth(X) + 0.7 * rng.standard_normal(n)


# %%
# One parameter a panel; the ring marks the least sum.
panels = (
    (KernelRidge(Gaussian(0.4)), "lam", np.logspace(-6, 0, 13)),
    (KernelRidge(Gaussian(), lam=3e-3), "kernel__sigma", np.geomspace(0.08, 3, 13)),
    (KernelNeighborsRegressor(Gaussian(1.0)), "n_neighbors", [1, 2, 3, 5, 8, 12, 16, 22, 30]),
)
fig, axes = plt.subplots(1, 3, figsize=(12, 4), sharey=True, layout="constrained")
for ax, (machine, name, values) in zip(axes, panels, strict=True):
    found = theory.bias_variance(machine, name, values, draw, truth, 80, repetitions=20)
    plot.bias_variance(found, ax)
    print(f"{name}: least at {found.best:g}")
axes[0].set_ylim(0, 0.5)
for ax in axes[1:]:
    ax.set_ylabel("")
plt.show()
