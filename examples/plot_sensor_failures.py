"""
Half of a network falls silent
==============================

In round 25 half of the thermometers of a network fall silent, and come back in round 150. The others agree
without them, on what their own rows say; then with them, on what all rows say. On the left is what the
survivors make of the field meanwhile: hollow nodes say nothing, and near them the field is guessed.

For every neighbour a node holds a vector, and forgets it when the neighbour has been silent for some
rounds. Where nothing moves any more, Σ_i ∇f_i(x) = 0 holds over the nodes that are there, whatever the
vectors were at the beginning. So a fault is only another start: the others arrive at the minimum of what is
left, and a node that comes back is taken up again.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import NetworkKernelRegressor, plot
from mercer.kernels import Gaussian
from mercer.network import Faults, MovingSource, disagreement, geometric

nodes_count = 25
field = MovingSource()
sensors = field.sensors(nodes_count, random_state=0)
X, y, nodes = field.readings(sensors, 0.1, random_state=0)
radio = geometric(sensors, 0.35)
faults = Faults.failing(radio, 0.52, first=25, last=149, random_state=2)
machine = NetworkKernelRegressor(
    Gaussian(0.15), 1e-4, graph=radio, faults=faults, n_centres=75, tol=1e-8, record=True, random_state=0
).fit(X, y, nodes)
gone = sorted(faults.down)
there = np.setdiff1d(np.arange(nodes_count), gone)

# %%
# Left: a survivor's function after round 150. Right: the shaded rounds are those of silence.
fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), width_ratios=(1, 1.35), layout="constrained")
limits = float(field(X, 0.1).min()), float(field(X, 0.1).max())
plot.sensor_field(
    lambda x: machine.predict(x, node=there[0], rounds=150), sensors, radio, left, silent=gone, limits=limits
)
left.set_title(f"{len(gone)} of {nodes_count} nodes silent", fontsize=10)
all_rows, survivors = disagreement(machine, X, y), disagreement(machine, X, y, rows=~np.isin(nodes, gone))
plot.consensus_curve(all_rows, right, label="all nodes, from the fit to all rows")
worst, label = survivors.errors[:, there].max(axis=1), "those who are left, from the fit to their rows"
right.plot(worst, color=plot.COLOURS[1], linewidth=2, label=label)
right.axvspan(25, 150, color=plot.INK, alpha=0.12, linewidth=0)
right.legend(frameon=False, labelcolor=plot.INK, fontsize=8, loc="lower left")
plt.show()
