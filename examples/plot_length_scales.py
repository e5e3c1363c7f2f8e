"""
A length for each column
========================

The target is 10 sin(π x₁x₂) + 20 (x₃ − ½)² + 10 x₄ + 5 x₅ and noise; five more columns have nothing to do
with it. A kernel with one length scale for each column is fitted by following the gradient of the
leave-one-out error. The more a curve bends along a column, the shorter its length. That is not the same as
how much the column matters: straight lines need no short length, and a column whose length is left short by
chance may still do nothing. What a column is worth shows when its values are shuffled.

The kernel is k(x, x′) = exp(−½ Σ_j (x_j − x′_j)²/ℓ_j²). The leave-one-out error of least squares has a
closed form, so it has a gradient in all ℓ_j and in λ at once, for the price of one factorisation of K + nλI.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.inspection import permutation_importance

from mercer import KernelRidge, plot
from mercer.kernels import Gaussian
from mercer.selection import path, refine
from mercer.tables.model.evidence import Importance

X, y = make_friedman1(300, noise=1.0, random_state=0)
X_test, y_test = make_friedman1(500, noise=1.0, random_state=1)

# %%
# From one length for all to one for each.
start = KernelRidge(Gaussian(1.0).scaled(np.ones(10)), lam=1e-3, offset=True)
found = refine(start, X, y)
machine = found.machine.fit(X, y)
print(f"leave-one-out error {found.loo_mse_before:.2f} before, {found.loo_mse:.2f} after")

# %%
# Left: by how much the error on fresh rows grows if a column is shuffled. Right: its length.
rmse = "neg_root_mean_squared_error"
shuffled = permutation_importance(machine, X_test, y_test, scoring=rmse, n_repeats=5, random_state=0)
columns = zip(shuffled.importances_mean, shuffled.importances_std, machine.kernel.lengths, strict=True)
items = [Importance(f"x{j}", *numbers) for j, numbers in enumerate(columns, start=1)]
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
plot.importance(items, left)
plot.length_scales(items, right)
plt.show()

# %%
# With these lengths, the error against λ, as a share of the variance of y.
along = path(machine, X, y)
fig, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
plot.loo_curve(along.lams, along.loo_mse / np.var(y), machine.lam, ax)
plt.show()
