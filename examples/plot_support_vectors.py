"""
Support vectors
===============

The solid line is the border of a support vector machine, the dashed ones are its margin. Examples on the
margin or beyond it are ringed: they carry the machine, and the others could go. From left to right C grows:
fewer support vectors, a narrower margin, more faith in single examples.

The hinge loss max(0, 1 − y f(x)) is zero for y f(x) > 1, and so is its derivative there. At the minimum of
(1/n) Σ_i max(0, 1 − y_i f(x_i)) + λ‖f‖² the coefficient of k(x_i,·) is that derivative over −2λn, so
examples outside of the margin have none. C = 1/(2λn) is the largest that any coefficient can be.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from mercer import KernelSVC, plot
from mercer.kernels import Gaussian

X, y = make_moons(150, noise=0.25, random_state=0)

# %%
# Three values of C.
fig, axes = plt.subplots(1, 3, figsize=(12, 3.8), sharey=True, layout="constrained")
for ax, C in zip(axes, (0.1, 1.0, 1000.0), strict=True):
    machine = KernelSVC.from_C(C, kernel=Gaussian(0.5)).fit(X, y)
    plot.margin(machine, X, y, ax)
    ax.set_title(f"C = {C:g}: {len(machine.support_)} support vectors", fontsize=10)
for ax in axes[:-1]:
    ax.get_legend().remove()
plt.show()
