"""
What bounds give away
=====================

Five bounds on the error rate of logistic regression are drawn against the number of examples, beside the
true error rate. There are 64 points only, so every risk is a sum of 64 terms and known exactly. Four of the
bounds hold with probability 95 %, all four at once. The leave-one-out bound holds only on average over
samples, so it may lie below the truth, and here it sometimes does. Bounds above the dotted line, at 1, say
nothing.

A bound is the error that was measured, plus a price: about √(ln(1/δ)/2m) for m fresh test examples, and for
the others what the machine could have made of noise. That is measured by its norm (margin, PAC–Bayes), or
by how little one example matters to it (stability, leaving one out). All prices fall with n, though at
different speeds.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelLogistic, plot, theory
from mercer.kernels import Gaussian

problem, sizes = theory.PointsProblem(noise=0.05), [50, 100, 200, 400, 800, 1600]
names = ("Test-set bound", "Margin bound", "PAC–Bayes bound", "Stability bound", "Leave-one-out bound")
rng = np.random.default_rng(0)


def once(n):
    """The five bounds and the true error rate, for one sample of n examples."""
    X, y = problem.labels(n, rng)
    X_test, y_test = problem.labels(n // 4, rng)
    machine = KernelLogistic(Gaussian(0.2), lam=0.02, offset=False).fit(X, y)
    found = theory.certificate(machine, X, y, X_test=X_test, y_test=y_test)
    values = {b.name: b.value for b in found.bounds}
    return [*(values[name] for name in names), problem.error(machine.decision_function(problem.points))]


# %%
# Every point is the mean over four samples.
*series, risks = np.array([np.mean([once(n) for _ in range(4)], axis=0) for n in sizes]).T
fig, ax = plt.subplots(figsize=(8, 4.8), layout="constrained")
plot.slack(sizes, dict(zip(names, series, strict=True)), risks, ax, ylabel="error rate")
ax.axhline(1.0, color=plot.INK, linewidth=0.8, linestyle=":")
plt.show()
