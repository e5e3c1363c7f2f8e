"""
Leave-one-out error against λ
=============================

How large should λ be? For three widths of the kernel the error with every example left out is drawn against
λ, on the diabetes data. The curves fall while less and less noise is followed, and rise where the fit turns
into a constant. Each width has its own best λ: the narrower the kernel, the larger.

One eigendecomposition serves every λ. Let U diag(s) Uᵀ be K after centring, which is what the offset does.
The matrix that turns y into fitted values is H = 11ᵀ/n + U diag(s/(s + nλ)) Uᵀ. A fit to n − 1 examples with
the same λ has (n − 1)λ in the place of nλ. With that in H, the residual at example i, when it is left out,
is (y − Hy)_i/(1 − H_ii). The n refits for each λ are never made, and the result is exact.
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
