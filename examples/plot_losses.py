"""
Losses that bound the number of mistakes
========================================

A classifier that answers with the sign of a score s is wrong where y·s ≤ 0, and the 0–1 loss counts that.
Minimising it is hard, as it is flat and jumps. What is minimised instead are convex functions that lie above
it: where they are small, mistakes must be few. They differ in what they say of points that are right:
the hinge loss forgets them from a margin of 1 on, the logistic loss never quite does, and the squared loss
even punishes a score for being too right.

The figure of the text draws the logistic loss log(1 + exp(−y·s)) below the 0–1 loss, which its own note calls
a mistake. It is log 2 at 0, so divided by log 2 it touches the step there; the legend has this factor, 1.44.
Factors change nothing about the minimiser but the meaning of λ.

Figure 12.14 of [003], corrected.
"""

import matplotlib.pyplot as plt

from mercer import plot

fig, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
plot.losses(ax=ax)
plt.show()

# %%
# Losses made for regression can be used on labels ±1, and bound the 0–1 loss as well, some of them scaled.

fig, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
plot.losses(["squared", "huber", "absolute", "logistic"], ax)
plt.show()
