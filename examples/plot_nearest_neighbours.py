"""
A vote among the nearest
========================

To classify a place, ask the R examples nearest to it and take the class that most of them have. The disk that
holds them grows with R where examples are sparse and stays small where they are dense, so the method looks
as closely as the data allow. The share h of the votes is a rough probability.

One neighbour is at the mercy of a single odd example. With many neighbours the disk reaches into regions
that have nothing to do with the place asked for. R should grow with the number n of examples, but more slowly
than n itself, so that the disks still shrink; the text has it the other way round.

Figure 12.11 of [003].
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from mercer import plot

X, y = make_moons(90, noise=0.25, random_state=9)
y = np.array(["upper", "lower"])[y]
fig, axes = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained")
plot.nearest(X, y, (1.36, 0.42), (1, 7, 45), axes)
plt.show()
