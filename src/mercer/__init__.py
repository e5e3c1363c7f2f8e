"""Mercer: learning with kernels, from ten points on a blackboard to data that fills a machine.

>>> import numpy as np, mercer
>>> X = np.linspace(0, 6, 40)[:, None]
>>> machine = mercer.KernelRidge(kernel=mercer.kernels.Gaussian(1.0), lam=1e-6).fit(X, np.sin(X[:, 0]))
>>> bool(abs(machine.predict([[1.0]]) - np.sin(1.0)) < 1e-3)
True
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0.dev0"

# Name -> module it lives in. Resolved on first use, so that `import mercer` costs milliseconds.
_LAZY = {
    "KernelRidge": "mercer.estimators",
    "KernelLogistic": "mercer.estimators",
    "KernelRegressor": "mercer.estimators",
    "KernelClassifier": "mercer.estimators",
    "KernelKMeans": "mercer.estimators",
    "KernelPerceptron": "mercer.estimators",
    "KernelSVC": "mercer.estimators",
    "KernelSVR": "mercer.estimators",
    "KernelOneClass": "mercer.estimators",
    "KernelNeighborsClassifier": "mercer.estimators",
    "KernelNeighborsRegressor": "mercer.estimators",
    "KernelRadiusNeighborsClassifier": "mercer.estimators",
    "KernelRadiusNeighborsRegressor": "mercer.estimators",
    "KernelNearestNeighbors": "mercer.estimators",
    "KernelPCA": "mercer.estimators",
    "FromAlpha": "mercer.estimators",
    "FromC": "mercer.estimators",
    "OnlineKernelClassifier": "mercer.online",
    "OnlineKernelRegressor": "mercer.online",
    "NetworkKernelRegressor": "mercer.network",
    "Model": "mercer.tables",
    "TableClassifier": "mercer.tables",
    "TableRegressor": "mercer.tables",
    "fit": "mercer.tables",
    "load": "mercer.io",
    "progress": "mercer.rows",
    "save": "mercer.io",
    "to_onnx": "mercer.onnx",
}
_ROOMS = (
    "engines",
    "estimators",
    "features",
    "functions",
    "graphs",
    "io",
    "kernels",
    "losses",
    "network",
    "online",
    "onnx",
    "operators",
    "posterior",
    "representations",
    "rows",
    "selection",
    "solvers",
    "tables",
    "testing",
    "theory",
    "voronoi",
)

# These need optional packages (Starlette, Matplotlib): `from mercer import *` works without them.
_ROOMS_WITH_EXTRAS = ("lab", "plot")

__all__ = [*sorted(_LAZY), *_ROOMS, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    if name in _ROOMS or name in _ROOMS_WITH_EXTRAS:
        return importlib.import_module(f"mercer.{name}")
    raise AttributeError(f"module 'mercer' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, *_ROOMS_WITH_EXTRAS]
