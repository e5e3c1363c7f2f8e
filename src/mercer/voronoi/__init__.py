"""Voronoi cells in a rectangle, and Lloyd's algorithm: k centres that stand for a density.

>>> from mercer.voronoi import lloyd
>>> quantization = lloyd(None, 40, random_state=0)      # None: the uniform density
>>> quantization.centres.shape, quantization.converged
((40, 2), True)
"""

from mercer.voronoi.cells import Cells, cells
from mercer.voronoi.lloyd import Quantization, hexagon_bound, lloyd

__all__ = ["Cells", "Quantization", "cells", "hexagon_bound", "lloyd"]
