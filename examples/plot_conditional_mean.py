"""
What to expect of y, given x
============================

Cut the joint density at one x and divide by what is left: that is π(y | x), how y is distributed where the
input is x. Its mean E(y | x), as a function of x, is the best answer in squares: no function of x has a
smaller expected (y − f(x))². It is what regression is after, and it exists whatever the noise is like.

With examples alone there is hardly ever more than one y for an x, so nothing can be averaged as it stands.
A machine averages over neighbours instead, and how far neighbourhood reaches is what its kernel says. The
dashed curve is fitted to 300 examples, and comes close to E(y | x) where examples are many.

Figure 12.9 of [003].
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRidge, plot
from mercer.kernels import Gaussian


def spread(x):
    return 0.25 + 0.12 * (x + 3)


def density(points):
    x, y = points.T
    noise = (y - np.sin(1.5 * x)) / spread(x)
    return np.exp(-0.5 * (x**2 + noise**2)) / (2 * np.pi * spread(x))


rng = np.random.default_rng(0)
x = rng.standard_normal(300)
y = np.sin(1.5 * x) + spread(x) * rng.standard_normal(300)
machine = KernelRidge(Gaussian(0.7), lam=1e-3).fit(x[:, None], y)
fig, ax = plt.subplots(figsize=(7, 4.4), layout="constrained")
plot.conditional_mean(density, ((-3, 3), (-3.2, 3.2)), ax, at=(-1.5, 0.0, 1.5), machine=machine)
plt.show()
