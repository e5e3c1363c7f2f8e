"""
A network that agrees
=====================

Twenty-five thermometers watch a field. Each has its own readings and hears its neighbours only; no one
collects all rows. Round by round they pass on what they know, until every node has the function that a fit
to all rows would give. How soon depends on the graph: on a ring news has far to go, and a few long edges
shorten its way.

The fit to all rows minimises (1/n) Σ_i (y_i − f(x_i))² + λ‖f‖². With common centres, all it needs of a
node's rows are sums, H = Σ ψψᵀ and g = Σ ψy over them, so the nodes agree on the mean of these: each moves
towards its neighbours, with one constraint an edge. The number of rounds grows as √(λ_N/λ_2), a ratio of
eigenvalues of the graph's Laplacian.
"""

import matplotlib.pyplot as plt

from mercer import NetworkKernelRegressor, plot
from mercer.kernels import Gaussian
from mercer.network import MovingSource, disagreement, geometric, ring, small_world

nodes_count = 25
field = MovingSource()
sensors = field.sensors(nodes_count, random_state=0)
X, y, nodes = field.readings(sensors, 0.1, random_state=0)
radio = geometric(sensors, 0.35)

# %%
# The field at one time, its nodes, and who hears whom.
fig, ax = plt.subplots(figsize=(4.6, 4.6), layout="constrained")
plot.sensor_field(lambda x: field(x, 0.1), sensors, radio, ax)
plt.show()

# %%
# The distance of the worst node from the fit to all rows, by rounds and by messages.
graphs = {"ring": ring(nodes_count), "radio": radio, "small world": small_world(nodes_count)}
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
for (name, graph), colour in zip(graphs.items(), plot.COLOURS, strict=False):
    machine = NetworkKernelRegressor(
        Gaussian(0.15), 1e-4, graph=graph, n_centres=75, tol=1e-8, record=True, random_state=0
    ).fit(X, y, nodes)
    found = disagreement(machine, X, y)
    print(f"{name}: 1e-3 after {found.rounds_to(1e-3)} rounds, 1e-6 after {found.rounds_to(1e-6)}")
    plot.consensus_curve(found, left, colour=colour, label=f"{name}, {len(graph.edges)} edges")
    plot.consensus_curve(found, right, by="messages", colour=colour)
right.set_ylabel("")
plt.show()
