"""
The valley of σ and λ
=====================

The error of kernel ridge regression on the diabetes data depends on the width σ and on λ together. Dots are
the trials of a search; between them the error is interpolated, and lines join places of the same error. It
is a long valley: a wider kernel wants a smaller λ, and along the bottom the error hardly changes.

A wide Gaussian kernel has few large eigenvalues, so all but smooth functions are expensive already, and λ
need not be large. The search models log error by a Gaussian process over (log σ, log λ), tries next where
the expected improvement is largest, and for each σ takes the whole path over λ from one eigendecomposition,
by leaving one out in closed form.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler

from mercer import KernelRidge, plot
from mercer.kernels import Gaussian
from mercer.selection import tune

X, y = load_diabetes(return_X_y=True)
X = StandardScaler().fit_transform(X)
space = {"kernel__sigma": (1.0, 300.0), "lam": None}
tuning = tune(KernelRidge(Gaussian(), offset=True), X, y, space=space, trials=20, random_state=0)

# %%
# The deeper the colour, the smaller the error; the best trial is marked.
fig, ax = plt.subplots(figsize=(7.5, 5), layout="constrained")
plot.surface(tuning, "kernel__sigma", "lam", ax)
ax.set_xlabel("σ")
print(tuning.best_params, f"{tuning.objective}: {tuning.best_value:.0f}")
plt.show()
