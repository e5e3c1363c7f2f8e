"""
Probably approximately correct: rectangles
==========================================

A rectangle is learned as the tightest fit to the positive examples, many thousand times. Drawn is how often
its error was above ε = 0.1, against the number m of examples; beside it the bound, which holds for every
rectangle and every distribution of the points, and so has to lie above all of them.

The fit errs in four strips between it and the target. If the error is above ε, one of them has a
probability of more than ε/4 and no example in it, which happens with probability (1 − ε/4)ᵐ. Hence P(error
> ε) ≤ 4(1 − ε/4)ᵐ ≤ 4 e^(−εm/4), and m ≥ (4/ε) ln(4/δ) examples are enough for a failure rate of δ.

"Learning Rectangles" in [002].
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import plot
from mercer.theory.learnability import UniformBox, sample_size, simulate

epsilon, delta = 0.1, 0.05
world = UniformBox([0, 0], [1, 1])
enough = sample_size(world.H, epsilon=epsilon, delta=delta)

# %%
# 20,000 trials for each m: the target is the whole unit square, points are uniform.
sizes = np.unique(np.geomspace(5, 1.5 * enough, 40).astype(int))
found = simulate(world, sizes, epsilon, trials=20_000, random_state=0)
fig, ax = plt.subplots(figsize=(7.5, 4.4), layout="constrained")
plot.failure_rates(found, ax, delta=delta, H=world.H)
ax.set_xscale("log")
print(f"{enough} examples suffice by the bound")
plt.show()
