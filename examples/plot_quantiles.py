"""
Quantiles of y given x
======================

The noise of these points grows with x, and a single curve would not say so. Five quantiles do: between the
outermost two lie nine tenths of all y, and the band widens where the noise does. All are fitted together,
and never cross.

The loss at level τ is V(y, f) = max(τ(y − f), (τ − 1)(y − f)): a point above the curve costs τ for each
unit of distance, one below 1 − τ. At the minimum the two pulls are in balance, which is when a share τ of
the points lies below. With τ = ½ this is the median, and V half the absolute error.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRegressor, plot
from mercer.kernels import Gaussian
from mercer.losses import Quantile

rng = np.random.default_rng(0)
x = rng.uniform(0, 4, (400, 1))
y = np.sin(2 * x[:, 0]) + (0.1 + 0.25 * x[:, 0]) * rng.standard_normal(400)

# %%
# Five levels, one machine.
levels = [0.05, 0.25, 0.5, 0.75, 0.95]
machine = KernelRegressor(Gaussian(0.7), loss=Quantile(levels), lam=3e-4, offset=True).fit(x, y)
fig, ax = plt.subplots(figsize=(8, 4.4), layout="constrained")
plot.quantiles(machine, x, y, ax)
plt.show()
