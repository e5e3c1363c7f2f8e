"""
Leave-one-out error against λ
=============================

How large should λ be? For three widths of the kernel the error with every example left out is drawn against
λ, on the diabetes data. The curves fall while less and less noise is followed, and rise where the fit turns
into a constant. Each width has its own best λ: the narrower the kernel, the larger.

With K = U diag(s) Uᵀ, centred because of the offset, one eigendecomposition serves every λ: the matrix that
turns y into fitted values is H(λ) = U diag(s/(s + nλ)) Uᵀ, and the residual at an example that was left out
is (y_i − f(x_i))/(1 − H_ii(λ)). The n refits for each λ are never made, and the result is exact.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler

from mercer import KernelRidge, plot
from mercer.kernels import Gaussian
from mercer.selection import path

X, y = load_diabetes(return_X_y=True)
X = StandardScaler().fit_transform(X)

# %%
# A path for each width; the dot marks its least error.
fig, ax = plt.subplots(figsize=(7, 4.4), layout="constrained")
for sigma, colour in zip((2.0, 4.0, 8.0), plot.COLOURS, strict=False):
    found = path(KernelRidge(Gaussian(sigma), offset=True), X, y)
    plot.lam_path(found, ax, label=f"σ = {sigma:g}", colour=colour)
    print(f"σ = {sigma:g}: smallest error {found.loo_mse.min():.0f} at λ = {found.best_lam:.1e}")
ax.set_ylim(2500, 7000)
plt.show()
