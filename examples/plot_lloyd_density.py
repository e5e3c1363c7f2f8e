"""
Lloyd's algorithm on a density
==============================

One hundred means share a square, first under a uniform density, then under one with three hills. Cells of
the uniform density become hexagons, but for the border and some pairs of five and seven sides between
regions of different direction. Under the hills cells are small where the density is large.

The energy is Σ_ℓ ∫ ‖x − c_ℓ‖² dμ(x), the integral over the cell V_ℓ of c_ℓ. Two steps lower it in turn: V_ℓ
becomes the Voronoi cell of c_ℓ, and c_ℓ the centre of gravity ∫ x dμ(x)/∫ dμ(x) of V_ℓ. For the uniform
density no k means can do better than k regular hexagons would (dashed), and the iterations come within a
few per cent of that.

Figure 12.7 of [003].
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import plot
from mercer.voronoi import lloyd


def hills(x):
    centres, widths, heights = [[0.3, 0.35], [0.72, 0.68], [0.2, 0.85]], [0.12, 0.16, 0.07], [1.0, 0.6, 0.7]
    squares = np.sum((x[:, None] - np.array(centres)) ** 2, axis=2)
    return 0.03 + np.exp(-squares / (2 * np.square(widths))) @ np.array(heights)


# %%
# Uniform: colours are the numbers of sides of inner cells.
fig, axes = plt.subplots(1, 4, figsize=(12, 3.6), layout="constrained")
plot.lloyd_frames(lloyd(None, 100, random_state=0), axes, frames=3)
plt.show()

# %%
# Uneven: the density is the colour underneath.
fig, axes = plt.subplots(1, 4, figsize=(12, 3.2), layout="constrained")
plot.lloyd_frames(lloyd(hills, 100, random_state=0), axes, frames=3, by="density")
plt.show()
