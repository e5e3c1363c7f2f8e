"""
What a class can't say
======================

Each panel is a labelling of the same points (full: +), with the set that a hypothesis calls +. Lines in the
plane realise all eight labellings of three points, so they shatter them. Of four points at least two
labellings fail; a frame marks them. Rectangles shatter four points that are placed well.

The VC dimension is the size of the largest set that is shattered. Any four points in the plane fall into
two parts whose convex hulls meet (Radon), and no line has one part on each side: hence 3 for lines. Of five
points, the rectangle around those that are furthest left, right, up and down contains the fifth: hence 4
for rectangles.

"Shattering" in [002].
"""

import matplotlib.pyplot as plt

from mercer import plot
from mercer.theory.learnability import HalfSpaces, Rectangles

# %%
# Three points and lines: all of 2³ labellings.
fig, axes = plt.subplots(2, 4, figsize=(8, 4.4), layout="constrained")
plot.shattering(HalfSpaces(2), [[0, 0], [4, 1], [1, 4]], axes.ravel())
plt.show()

# %%
# Four points and lines: corners across from each other can't be told from the other two.
fig, axes = plt.subplots(2, 8, figsize=(12, 3.6), layout="constrained")
plot.shattering(HalfSpaces(2), [[0, 0], [0, 3], [3, 0], [3, 3]], axes.ravel())
plt.show()

# %%
# Four points and rectangles: all of 2⁴ labellings.
fig, axes = plt.subplots(2, 8, figsize=(12, 3.6), layout="constrained")
plot.shattering(Rectangles(2), [[0, 1], [-1, 0], [1, 0], [0, -1]], axes.ravel())
plt.show()
