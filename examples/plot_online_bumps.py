"""
Learning is adding bumps
========================

An online machine at work, panel by panel: every update shrinks the bumps that are there and adds one at the
new example. With the hinge loss an example that is right by a margin of 1 adds nothing, as the fourth one;
with the squared loss each bump is 2η times as high as the error it makes up for.

The update is f ← f − η∇L[f], and the gradient is a function. For L = max(0, 1 − y f(x)) + λ‖f‖² it gives f
← (1 − 2ηλ) f + ηy k(x,·), where the last term is left out if y f(x) ≥ 1; for L = (y − f(x))² + λ‖f‖² it
gives f ← (1 − 2ηλ) f + 2η(y − f(x)) k(x,·).

Figure 1 of [004].
"""

import matplotlib.pyplot as plt

from mercer import OnlineKernelClassifier, OnlineKernelRegressor, plot
from mercer.kernels import Gaussian

k = Gaussian(0.6)
X = [[0.0], [1.5], [3.0], [-0.4]]

# %%
# Labels +, −, +, + and the hinge loss.
machine = OnlineKernelClassifier(k, "hinge", lam=0.02, step=1.8, budget=None)
fig, axes = plt.subplots(2, 2, figsize=(10, 6), sharex=True, layout="constrained")
plot.bumps(machine, X, [1, -1, 1, 1], axes.ravel())
fig.suptitle("hinge loss", color=plot.INK)
plt.show()

# %%
# Numbers and the squared loss.
machine = OnlineKernelRegressor(k, lam=0.1, step=0.4, budget=None)
fig, axes = plt.subplots(2, 2, figsize=(10, 6), sharex=True, layout="constrained")
plot.bumps(machine, X, [1.0, -0.6, 1.4, 0.3], axes.ravel())
fig.suptitle("squared loss", color=plot.INK)
plt.show()
