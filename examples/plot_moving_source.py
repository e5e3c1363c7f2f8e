"""
Following a source that moves
=============================

A source wanders through a field of thermometers. At five times every node has fresh readings, and four ways
of using them are compared: to collect all rows; to agree on the same function by messages; to glue the
functions of the nodes together; and to average them.

The average gives f_i as much to say where its node has no row as where it has many. Gluing weights the
nodes by what they know at x, f(x) = Σ_i w_i(x) f_i(x) with w_i(x) ∝ 1/s_i²(x) − 1/k(x,x) and s_i² the
variance of a Gaussian process that has seen the rows of node i. Consensus reaches the pooled fit itself, so
that its curve lies on that of the pooled one.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRidge, NetworkKernelRegressor, plot
from mercer.kernels import Gaussian
from mercer.network import MovingSource, follow, geometric

kernel, lam = Gaussian(0.15), 1e-4
field = MovingSource()
sensors = field.sensors(25, random_state=0)
radio = geometric(sensors, 0.35)


def network(**how):
    return NetworkKernelRegressor(kernel, lam, graph=radio, n_centres=75, random_state=0, **how)


# %%
# The root mean square error over the field, by time.
machines = {
    "pooled": KernelRidge(kernel, lam),
    "consensus": network(exchange="tree"),
    "glued": network(combine="glue"),
    "average": network(combine="average"),
}
fig, ax = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
plot.followed(follow(machines, field, sensors, np.linspace(0, 1, 5)), ax)
plt.show()
