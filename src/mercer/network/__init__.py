"""Learning over a network: nodes with rows of their own, which speak to their neighbours only."""

from mercer.network.faults import Faults
from mercer.network.regressor import NetworkKernelRegressor
from mercer.network.topology import complete, geometric, grid, nearest, ring, small_world
from mercer.network.traffic import Traffic

__all__ = [
    "Faults",
    "NetworkKernelRegressor",
    "Traffic",
    "complete",
    "geometric",
    "grid",
    "nearest",
    "ring",
    "small_world",
]
