"""
Twenty terms to remember with
=============================

Examples wander along a line, and the machine may keep twenty of them. Who goes decides what is remembered:
`Oldest` forgets what it could still use; `Merge` puts terms together that are alike, and so keeps up;
`Projection` has given its places away by the time the examples are elsewhere, and what is far from all of
them it can't learn.

After t steps f = Σ_i α_i k(x_i,·) has up to t terms, and each prediction costs as many kernel values. A
budget of B terms makes that constant. Dropping term j changes f by √(α_j² k(x_j, x_j)) in norm; moving its
weight to the others, as merging and projecting do, costs less.

"Discussion" of the online kernel machine in [004].
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import OnlineKernelRegressor, plot
from mercer.kernels import Gaussian
from mercer.online import Merge, Oldest, Projection

rng, n = np.random.default_rng(0), 4000
X = np.linspace(-6, 6, n)[:, None] + rng.uniform(-1.5, 1.5, (n, 1))
y = np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(n)
budgets = {"Oldest": Oldest(20), "Merge": Merge(20), "Projection": Projection(20)}
machines = {name: OnlineKernelRegressor(Gaussian(0.4), budget=budget) for name, budget in budgets.items()}

# %%
# The error of predictions that were made before the example was learned.
fig, ax = plt.subplots(figsize=(8, 3.8), layout="constrained")
for (name, machine), colour in zip(machines.items(), plot.COLOURS, strict=False):
    plot.learning_curve(machine, X, y, ax, window=100, label=name, colour=colour)
plt.show()

# %%
# Which examples are in f as time goes by: a term is a horizontal line.
fig, axes = plt.subplots(1, 3, figsize=(11, 3.8), sharey=True, layout="constrained")
fig.get_layout_engine().set(wspace=0.06)
for ax, (name, machine), colour in zip(axes, machines.items(), plot.COLOURS, strict=False):
    plot.budget_use(machine, X, y, ax, colour=colour)
    ax.set_title(f"{name}: {ax.get_title()}", fontsize=10)
for ax in axes[1:]:
    ax.set_ylabel("")
plt.show()
