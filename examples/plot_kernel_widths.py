"""
One curve for each width σ
==========================

Kernel ridge regression with a Gaussian kernel adds up bumps of width σ, one at each example. With the same λ
narrow bumps follow the noise, and between the examples the fit falls back to the offset b; wide ones can't
bend as the curve does.
In between lies a σ that neither sees the noise nor misses the curve.

One call draws all of them: beside each other, to look at every fit by itself, or in one picture, to see where
they part.

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
machines = {f"σ = {sigma:g}": KernelRidge(Gaussian(sigma), lam=1e-3).fit(X, y) for sigma in (0.05, 0.5, 5.0)}
plot.regressions(machines, X, y, truth=truth)
plt.show()

# %%
# And all on the same Axes.

fig, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
plot.regressions(machines, X, y, ax, truth=truth)
plt.show()
