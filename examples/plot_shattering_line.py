"""
Shattering on the line
======================

Two classes on the line differ in what they can say. Left intervals [0, a) can't call the right one of two
points + and the left one −, so their VC dimension is 1. Intervals [a, b] shatter two points, but of three
they can't leave out the middle one. A frame marks the labellings that no hypothesis has.

To show that a VC dimension is at least d, one set of d points that is shattered is enough; to show that it
is less, every set has to fail. That is a game with an adversary: whatever points one names, he answers with
the labelling in the frame, and wins.

"Left bounded intervals" and "Real intervals" in [002].
"""

import matplotlib.pyplot as plt

from mercer import plot
from mercer.theory.learnability import Intervals, LeftIntervals

# %%
# Left intervals and two points.
fig, axes = plt.subplots(1, 4, figsize=(8, 2.4), layout="constrained")
plot.shattering(LeftIntervals(), [1, 2], axes)
plt.show()

# %%
# Intervals and two points: shattered. A single point is an interval, too.
fig, axes = plt.subplots(1, 4, figsize=(8, 2.4), layout="constrained")
plot.shattering(Intervals(), [1, 2], axes)
plt.show()

# %%
# Intervals and three points: one labelling is missing.
fig, axes = plt.subplots(2, 4, figsize=(8, 4.4), layout="constrained")
plot.shattering(Intervals(), [1, 2, 3], axes.ravel())
plt.show()
