"""
A step of functional gradient descent
=====================================

A function is a sum of three bumps. One step downhill on the objective of a single example shrinks every
bump a little and adds one at the example: on the right the curve is nearer to the point, and flatter
everywhere else.

The objective is E[f] = (f(x) − y)² + λ‖f‖². Evaluation is linear in f with gradient k(x,·), because f(x) =
⟨f, k(x,·)⟩, and ‖f‖² has gradient 2f; so ∇E[f] = 2(f(x) − y) k(x,·) + 2λf is itself a function. The step f
← f − η∇E[f] = (1 − 2ηλ) f − 2η(f(x) − y) k(x,·) needs no coordinates at all.

"Functional gradient descent" in [004].
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import plot
from mercer.functions import KernelFunction
from mercer.functions.functionals import Evaluation, SquaredNorm
from mercer.kernels import Gaussian

k, lam, eta = Gaussian(0.6), 0.2, 0.35
f = KernelFunction(k, [[-2.0], [-0.5], [1.0]], [0.8, -0.6, 0.9])
x, y = [2.2], 1.4

# %%
# Functionals are written as on paper, and know their gradients.
E = (Evaluation(k, x) - y) ** 2 + lam * SquaredNorm()
g = f - eta * E.gradient(f)
print(f"E = {E}:  {E(f):.3f} before the step, {E(g):.3f} after it")

# %%
# Before and after.
grid = np.linspace(-4, 4.5, 400)
fig, axes = plt.subplots(1, 2, figsize=(10, 3.6), sharey=True, layout="constrained")
titles = ("f and its bumps", "after one step: shrunk, and one bump more")
for ax, function, title in zip(axes, (f, g), titles, strict=True):
    plot.function_1d(function, grid, ax, terms=True)
    ax.plot(*x, y, "o", color=plot.COLOURS[1], label="the example")
    ax.legend(frameon=False, labelcolor=plot.INK, fontsize=9, loc="lower right")
    ax.set_title(title, fontsize=10)
plt.show()
