"""
How the norm of f sharpens a decision
=====================================

Logistic classification answers with a probability, θ(f(x)) = 1 / (1 + exp(−f(x))), of the second class. The
sign of f decides where the border lies, its size how sudden the step is: a small ‖f‖ gives a long ramp, and
as ‖f‖ grows the ramp becomes a hard threshold. λ sets the price of the norm, so it sets the sharpness.

The examples overlap between 4 and 6, so that certainty there would be wrong, and the sharpest curve is not
the best one. In the plane the dashed lines, at probabilities 0.1, 0.25, 0.75 and 0.9, close in on the solid
one at 0.5 in the same way.

Figure 12.13 of [003].
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelLogistic, plot
from mercer.kernels import Linear

rng = np.random.default_rng(0)
x = rng.uniform(0, 10, 60)
y = np.where(x + rng.normal(0, 0.8, 60) > 5, "late", "early")


def fits(X, y):
    machines = {}
    for lam in (1.0, 0.1, 1e-4):
        machine = KernelLogistic(Linear(), lam=lam, offset=True).fit(X, y)
        machines[f"λ = {lam:g}, ‖f‖ = {machine.function_.norm():.2f}"] = machine
    return machines


fig, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
plot.probability_1d(fits(x[:, None], y), x[:, None], y, ax)
plt.show()

# %%
# The same in the plane.

X = rng.standard_normal((120, 2)) + np.repeat([[-1.0, -0.6], [1.0, 0.6]], 60, axis=0)
plot.probability_fields(fits(X, np.repeat(["a", "b"], 60)), X, np.repeat(["a", "b"], 60))
plt.show()
