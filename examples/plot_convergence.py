"""
How solvers get there
=====================

The same problem, logistic classification of two crescents, is solved in two ways. Drawn is the norm of the
gradient after each iteration, relative to that at the start. Newton's method needs a handful of iterations,
each more precise than all before; gradient descent needs dozens, each of which is cheap.

At a distance e from the minimum Newton's method, f ← f − (∇²E)⁻¹∇E, leaves an error of order e²: the number
of correct digits doubles. A gradient step shrinks the error by a factor 1 − 1/κ at worst, where κ is the
ratio of the largest curvature of the objective to the smallest: a straight line on these axes.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from mercer import KernelLogistic, plot
from mercer.kernels import Gaussian
from mercer.solvers import GradientDescent, Newton

X, y = make_moons(300, noise=0.2, random_state=0)

# %%
# Nothing but the solver differs, and both reach the same function.
fig, ax = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
for solver, colour in zip((Newton(), GradientDescent()), plot.COLOURS, strict=False):
    machine = KernelLogistic(Gaussian(0.5), lam=1e-2, solver=solver).fit(X, y)
    plot.convergence(machine.solution_, ax, label=type(solver).__name__, colour=colour)
    print(f"{type(solver).__name__}: {machine.solution_.iterations} iterations")
plt.show()
