"""A network of thermometers watches a field with a moving source.

Above: the field; how far the worst node is from the fit to all rows, by rounds and by messages, on three
graphs. Below: what is known when half of the nodes are gone; the same half falling silent in round 25 and
coming back in round 150, while the others agree without them, then with them; errors by time while the source
moves.
"""

import argparse

import numpy as np
from matplotlib.figure import Figure

from mercer import KernelRidge, NetworkKernelRegressor, plot
from mercer.kernels import Gaussian
from mercer.network import Faults, MovingSource, disagreement, follow, geometric, ring, small_world

NODES, KERNEL, LAM = 25, Gaussian(0.15), 1e-4


def network(**given):
    return NetworkKernelRegressor(KERNEL, LAM, **{"n_centres": 75, "tol": 1e-8, "random_state": 0, **given})


def failing(graph, readings, ax):
    """Distance of the survivors from their own pooled fit, and later of all from that of all."""
    X, y, nodes = readings
    faults = Faults.failing(graph, 0.52, first=25, last=149, random_state=2)
    machine = network(graph=graph, faults=faults, record=True).fit(X, y, nodes)
    left = ~np.isin(nodes, list(faults.down))
    among = np.flatnonzero(~np.isin(np.arange(NODES), list(faults.down)))
    all_rows, survivors = disagreement(machine, X, y), disagreement(machine, X, y, rows=left)
    plot.consensus_curve(all_rows, ax, label="all nodes, from the fit to all rows")
    ax.plot(
        survivors.errors[:, among].max(axis=1),
        color=plot.COLOURS[1],
        linewidth=2,
        label="those who are left, from the fit to their rows",
    )
    ax.axvspan(25, 150, color=plot.INK, alpha=0.12, linewidth=0)
    ax.set_title(f"{len(faults.down)} of {NODES} nodes silent", fontsize=10)
    ax.legend(frameon=False, labelcolor=plot.INK, fontsize=8, loc="lower left")
    return machine, among[0], sorted(faults.down)


def main(output):
    field = MovingSource()
    sensors = field.sensors(NODES, random_state=0)
    readings = field.readings(sensors, 0.1, random_state=0)
    X, y, nodes = readings
    radio = geometric(sensors, 0.35)
    figure = Figure(figsize=(15, 8.5), layout="constrained")
    above, below = figure.subplots(2, 3)
    graphs = {"ring": ring(NODES), "radio": radio, "small world": small_world(NODES)}
    for (name, graph), colour in zip(graphs.items(), plot.COLOURS, strict=False):
        found = disagreement(network(graph=graph, record=True).fit(X, y, nodes), X, y)
        print(f"{name}: 1e-3 after {found.rounds_to(1e-3)} rounds, 1e-6 after {found.rounds_to(1e-6)}")
        plot.consensus_curve(found, above[1], colour=colour, label=f"{name}, {len(graph.edges)} edges")
        plot.consensus_curve(found, above[2], by="messages", colour=colour)
    limits = float(field(X, 0.1).min()), float(field(X, 0.1).max())
    plot.sensor_field(lambda x: field(x, 0.1), sensors, radio, above[0], limits=limits)
    above[0].set_title("the field, its nodes, and who hears whom", fontsize=10)
    machine, survivor, gone = failing(radio, readings, below[1])

    def then(x):
        return machine.predict(x, node=survivor, rounds=150)

    plot.sensor_field(then, sensors, radio, below[0], silent=gone, limits=limits)
    below[0].set_title("what those who are left make of it", fontsize=10)
    machines = {
        "pooled": KernelRidge(KERNEL, LAM),
        "consensus": network(graph=radio, exchange="tree"),
        "glued": network(graph=radio, combine="glue"),
        "average": network(graph=radio, combine="average"),
    }
    plot.followed(follow(machines, field, sensors, np.linspace(0, 1, 5)), below[2])
    figure.savefig(output)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", default="sensor_network.svg", help="where to save the figure")
    main(parser.parse_args().output)
