"""
Examples are drawn from a joint density
=======================================

What one assumes of data is that pairs (x, y) are drawn, one independent of the other, from a probability π on
the plane. Nobody knows π; a few hundred dots are all that is seen of it. Summed over y it is the marginal
π(x), which says where inputs are likely, and summed over x the marginal π(y).

Here π is known, because it was made up: x is normal, and y is a curve of x plus noise that grows with x. The
bars are histograms of the dots. They come closer to the marginals the more dots there are, and that is how
anything at all can be learned.

Figure 12.8 of [003].
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import plot


def spread(x):
    return 0.25 + 0.12 * (x + 3)


def density(points):
    x, y = points.T
    noise = (y - np.sin(1.5 * x)) / spread(x)
    return np.exp(-0.5 * (x**2 + noise**2)) / (2 * np.pi * spread(x))


rng = np.random.default_rng(0)
x = rng.standard_normal(300)
y = np.sin(1.5 * x) + spread(x) * rng.standard_normal(300)
fig, ax = plt.subplots(figsize=(6, 5), layout="constrained")
plot.joint_density(density, ((-3, 3), (-3.2, 3.2)), ax, samples=np.column_stack([x, y]))
plt.show()
