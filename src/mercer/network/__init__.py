"""Learning over a network: nodes with rows of their own, which speak to their neighbours only."""

from mercer.network.faults import Faults
from mercer.network.field import Followed, MovingSource, Readings, follow
from mercer.network.regressor import NetworkKernelRegressor
from mercer.network.study import Disagreement, disagreement
from mercer.network.topology import complete, geometric, grid, nearest, ring, small_world
from mercer.network.traffic import Traffic

__all__ = [
    "Disagreement",
    "Faults",
    "Followed",
    "MovingSource",
    "NetworkKernelRegressor",
    "Readings",
    "Traffic",
    "complete",
    "disagreement",
    "follow",
    "geometric",
    "grid",
    "nearest",
    "ring",
    "small_world",
]
