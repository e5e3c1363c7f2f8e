"""
How many neighbours?
====================

Three classes of unequal size: an arch, what lies inside, and what lies beside it. On the left is the share
of examples that R neighbours get wrong when the example itself is left out. With R = 1 wrong labels are
copied; with too many the smaller classes are outvoted, and lose ground.

Leaving example i out means that its R nearest neighbours are looked for among the others: they are places 2
to R + 1 of the list sorted by distance, where i itself has place 1. So one sorted list an example answers
for every R at once, and the R with the fewest errors is taken.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelNeighborsClassifier, plot

rng, n = np.random.default_rng(0), 240
kind = rng.choice(3, n, p=[0.5, 0.3, 0.2])
angle = rng.uniform(0, np.pi, n)
arch = np.column_stack([np.cos(angle), np.sin(angle)]) * [2.0, 1.6]
centres = np.array([[0.0, 0.0], [0.0, 0.2], [2.6, -0.2]])
X = np.where((kind == 0)[:, None], arch, centres[kind]) + rng.normal(0, 0.45, (n, 2))
y = np.array(["arch", "inside", "beside"])[kind]

# %%
# The machine looks at R = 1, …, 150 and takes the best.
machine = KernelNeighborsClassifier(max_neighbors=150).fit(X, y)
fig, (left, *regions) = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
plot.neighbour_errors(machine, left)
plot.neighbours(machine, X, y, (machine.n_neighbors_, 145), regions)
plt.show()
