"""
Why no other directions hold more
=================================

k directions at right angles to each other, the columns of S, hold the variance tr(SᵀCS). Written in the
eigenvectors of C, with B = VᵀS, that is λ₁β₁ + … + λ_pβ_p, where β_i is the squared length of row i of B. The
columns of B have length 1, so the β add up to k; and B can be extended to an orthogonal matrix B̃, whose rows
have length 1, so no β is above 1. Whatever S is, its β is a point of the polytope on the left.

On that polytope a linear function is largest at a corner, and as the first eigenvalues are the largest ones
it is the corner β = (1, …, 1, 0, …, 0). That is the β of the first k eigenvectors: they reach the bound,
and nothing is above it.

Figure 12.4 of [003].
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import plot

plot.pca_bound(np.array([[2.0, 0.8], [0.8, 1.0]]), 1)
plt.show()

# %%
# In space, with two directions out of three. The cut at β₁ + β₂ + β₃ = 2 is drawn in green.

plot.pca_bound(np.diag([3.0, 2.0, 0.5]), 2)
plt.show()
