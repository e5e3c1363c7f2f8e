"""
Left out, and predicted
=======================

How well does a machine predict patients it has not seen? Each of 442 patients of the diabetes data is left
out in turn, and predicted by a fit to the others. On the diagonal a prediction would be right. On the left
the same for the patients it was fitted to: with a small λ it knows them by heart, and that says nothing.

Let H = 11ᵀ/n + K̃(K̃ + (n − 1)λI)⁻¹, where K̃ is K with its rows and columns centred, because of the
offset. Leaving example i out, with the same λ, gives the residual (y − Hy)_i/(1 − H_ii). The nearer H_ii is
to 1, the more the fit at x_i is its own label come back, and the further the two panels are apart.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler

from mercer import KernelRidge, plot
from mercer.kernels import Gaussian

X, y = load_diabetes(return_X_y=True)
X = StandardScaler().fit_transform(X)

# %%
# Blue: a λ that is too small. Orange: a good one.
fig, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.4), sharex=True, sharey=True, layout="constrained")
for lam, colour in zip((1e-5, 3e-3), plot.COLOURS, strict=False):
    machine = KernelRidge(Gaussian(4.0), lam=lam, offset=True).fit(X, y)
    for ax, errors in ((left, y - machine.predict(X)), (right, machine.loo_residuals())):
        label = f"λ = {lam:g}: RMSE {np.sqrt(np.mean(errors**2)):.0f}"
        plot.predicted_vs_true(y, y - errors, ax, label=label, colour=colour)
left.set(xlim=(0, 370), ylim=(-30, 500))
left.set_title("seen", fontsize=10)
right.set_title("left out", fontsize=10)
right.set_ylabel("")
plt.show()
