"""
Learning conjunctions
=====================

A conjunction of Boolean variables is learned by elimination: keep those that were true in every positive
example. Drawn is how often its error was above ε = 0.1 after m examples. Here the target is the empty
conjunction, always true, over twenty variables, each false with probability 3ε/n: so rarely that it takes
long to eliminate them, and often enough that those left standing do harm.

A variable that should go, and has not, is one that was true in all m positive examples. If it is false with
probability above ε/n in a positive example, it survives with probability at most (1 − ε/n)ᵐ; summed over
the n variables, P(error > ε) ≤ n (1 − ε/n)ᵐ, and m ≥ (n/ε)(ln n + ln 1/δ) examples are enough.

"Learning Conjunctions: Analysis" in [002].
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import plot
from mercer.theory.learnability import BooleanCube, sample_size, simulate

epsilon, delta, n = 0.1, 0.05, 20
world = BooleanCube(n, (), 1 - 3 * epsilon / n, negations=False)
enough = sample_size(world.H, epsilon=epsilon, delta=delta)

# %%
# The bound knows neither the target nor the distribution, so it asks for more than this one needs.
sizes = np.unique(np.geomspace(5, 1.5 * enough, 40).astype(int))
found = simulate(world, sizes, epsilon, trials=20_000, random_state=0)
fig, ax = plt.subplots(figsize=(7.5, 4.4), layout="constrained")
plot.failure_rates(found, ax, delta=delta, H=world.H)
ax.set_xscale("log")
print(f"{enough} examples suffice by the bound")
plt.show()
