"""Engines: where the numbers are computed."""

from mercer._memory import available_memory
from mercer.engines.base import Engine
from mercer.engines.cuda import Cuda
from mercer.engines.dask import Dask
from mercer.engines.tiled import Tiled

__all__ = ["Cuda", "Dask", "Engine", "Tiled", "available_memory"]
