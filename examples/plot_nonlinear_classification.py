"""
Non-linear classification
=========================

Two crescents can't be separated by a line. Logistic classification with the linear kernel does what it can;
with a Gaussian kernel its border bends between them. The colour fades where the machine is unsure: along
the border, and away from the examples, where the kernel knows nothing.

In both panels the same problem is solved, (1/n) Σ_i log(1 + e^(−y_i f(x_i))) + λ‖f‖². By the representer
theorem its solution is f(x) = Σ_i α_i k(x_i, x), and θ(f(x)) is the probability. A linear function of the
features of the kernel, it is as non-linear in x as they are.

Figure 12.19 of [003].
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from mercer import KernelLogistic, plot
from mercer.kernels import Gaussian, Linear

X, y = make_moons(150, noise=0.2, random_state=0)

# %%
# Nothing but the kernel differs.
fig, axes = plt.subplots(1, 2, figsize=(9.5, 3.8), sharey=True, layout="constrained")
for ax, kernel in zip(axes, (Linear(), Gaussian(0.5)), strict=True):
    machine = KernelLogistic(kernel, lam=1e-3, offset=True).fit(X, y)
    plot.decision_regions(machine, X, y, ax)
    ax.set_title(f"{kernel!r}: {machine.score(X, y):.0%} of the examples right", fontsize=10)
axes[0].get_legend().remove()
plt.show()
