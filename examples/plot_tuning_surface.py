"""
The valley of σ and λ
=====================

The error of kernel ridge regression on the diabetes data depends on the width σ and on λ together. Dots are the trials of
a search; between them the error is interpolated, and lines join places of the same error. It is a long valley: a wider
kernel wants a smaller λ, and along the bottom the error hardly changes.

A wide Gaussian kernel has few large eigenvalues, so all but smooth functions are expensive already, and λ need not be large. The
search models log error by a Gaussian process over (log σ, log λ), tries next where the expected improvement is largest, and for each σ
takes the whole path over λ from one eigendecomposition, by leaving one out in closed form.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler

from mercer import KernelRidge, plot
from mercer.kernels import Gaussian
from mercer.selection import tune

X, y = load_diabetes(return_X_y=True)
X = StandardScaler().fit_transform(X)
tuning = tune(KernelRidge(Gaussian(), offset=True), X, y, trials=15, random_state=0)

# %%
# Over both parameters, and over σ alone with the best λ for each.
fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
plot.surface(tuning, "kernel__sigma", "lam", left)
plot.surface(tuning, "kernel__sigma", ax=right)
print(tuning.best_params, f"{tuning.objective}: {tuning.best_value:.0f}")
