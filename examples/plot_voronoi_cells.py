"""
Voronoi cells
=============

Twenty-five places divide a square: each takes what is nearer to it than to any other. Cells are filled by
their area on the left; on the right after every place has moved to the middle of its cell, a hundred times,
which makes them much alike.

A cell is the intersection of half-planes {x : ‖x − c_i‖ ≤ ‖x − c_j‖}, hence a convex polygon with sides on
the bisectors. Cells of points drawn at random have six sides on average, if one forgets the border: that is
Euler's formula, corners − sides + cells = 1, with three sides meeting in every corner.
"""

import matplotlib.pyplot as plt

from mercer import plot
from mercer.voronoi import lloyd

found = lloyd(None, 25, max_iter=100, tol=0, random_state=1)

# %%
# The darker, the larger; the legend has the smallest and the largest.
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4.9), layout="constrained")
plot.cells(found, left, by="mass", iteration=0).set_title("drawn at random", fontsize=10)
plot.cells(found, right, by="mass").set_title("after 100 iterations", fontsize=10)
plt.show()
