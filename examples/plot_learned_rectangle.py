"""
Learning a rectangle
====================

Points are positive inside a rectangle that the learner does not know. It answers with the tightest one
around the positive examples, which lies within the target always, so that it errs in four strips only. The
more examples, the thinner the strips.

The error is the probability of the strips, here the area of the target minus that of the fit. A strip of
probability ε/4 escapes m examples with probability (1 − ε/4)ᵐ, and there are four of them: with m ≥ (4/ε)
ln(4/δ) examples the error is at most ε with probability 1 − δ. For ε = 0.1 and δ = 0.05 these are the 176
examples of the last panel.

"Learning Rectangles" in [002].
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import plot
from mercer.theory.learnability import UniformBox

world = UniformBox([0.2, 0.25], [0.75, 0.8])
X = world.sample(176, np.random.default_rng(3))

# %%
# The same stream of examples, seen after 12, 50 and 176 of them.
fig, axes = plt.subplots(1, 3, figsize=(11, 4.2), layout="constrained")
for ax, m in zip(axes, (12, 50, 176), strict=True):
    plot.learned_rectangle(world.target, X[:m], world.target(X[:m]), ax)
    error = world.target.volume - world.H.learn(X[:m], world.target(X[:m])).volume
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1)
    ax.set_title(f"{m} examples, error {error:.3f}", fontsize=10)
for ax in axes[::2]:
    ax.get_legend().remove()
plt.show()
