"""
Classes that come apart
=======================

Two round clouds of deviation 1, their centres ω apart, are given to the same logistic machine. Where they
overlap, a point in the middle may belong to either, and the honest answer is a probability near one half over
a wide strip. As ω grows the strip narrows, though the machine and its λ stay what they are.

For two such Gaussian clouds the true probability is θ(ω x₁): the slope of the score is the distance of the
classes itself. With classes that do not overlap at all the slope could grow without end, as any larger one
fits better; λ is what stops it.

Figure 12.15 of [003].
"""

import matplotlib.pyplot as plt

from mercer import plot

fig, axes = plt.subplots(1, 3, figsize=(11, 3), layout="constrained")
plot.class_separation((0.5, 2.0, 5.0), axes)
plt.show()
