"""Mercer: learning with kernels, from ten points on a blackboard to data that fills a machine.

>>> import numpy as np, mercer
>>> X = np.linspace(0, 6, 40)[:, None]
>>> machine = mercer.KernelRidge(kernel=mercer.kernels.Gaussian(1.0), lam=1e-6).fit(X, np.sin(X[:, 0]))
>>> bool(abs(machine.predict([[1.0]]) - np.sin(1.0)) < 1e-3)
True
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

# What is below for people, for those who read types: the same names (tests/test_public_api.py compares them).
if TYPE_CHECKING:
    from mercer import engines as engines
    from mercer import estimators as estimators
    from mercer import features as features
    from mercer import functions as functions
    from mercer import graphs as graphs
    from mercer import io as io
    from mercer import kernels as kernels
    from mercer import lab as lab
    from mercer import losses as losses
    from mercer import network as network
    from mercer import online as online
    from mercer import onnx as onnx
    from mercer import operators as operators
    from mercer import plot as plot
    from mercer import posterior as posterior
    from mercer import representations as representations
    from mercer import rows as rows
    from mercer import selection as selection
    from mercer import solvers as solvers
    from mercer import tables as tables
    from mercer import testing as testing
    from mercer import theory as theory
    from mercer import voronoi as voronoi
    from mercer.estimators import FromAlpha as FromAlpha
    from mercer.estimators import FromC as FromC
    from mercer.estimators import KernelClassifier as KernelClassifier
    from mercer.estimators import KernelKMeans as KernelKMeans
    from mercer.estimators import KernelLogistic as KernelLogistic
    from mercer.estimators import KernelNearestNeighbors as KernelNearestNeighbors
    from mercer.estimators import KernelNeighborsClassifier as KernelNeighborsClassifier
    from mercer.estimators import KernelNeighborsRegressor as KernelNeighborsRegressor
    from mercer.estimators import KernelOneClass as KernelOneClass
    from mercer.estimators import KernelPCA as KernelPCA
    from mercer.estimators import KernelPerceptron as KernelPerceptron
    from mercer.estimators import KernelRadiusNeighborsClassifier as KernelRadiusNeighborsClassifier
    from mercer.estimators import KernelRadiusNeighborsRegressor as KernelRadiusNeighborsRegressor
    from mercer.estimators import KernelRegressor as KernelRegressor
    from mercer.estimators import KernelRidge as KernelRidge
    from mercer.estimators import KernelSVC as KernelSVC
    from mercer.estimators import KernelSVR as KernelSVR
    from mercer.io import load as load
    from mercer.io import save as save
    from mercer.network import NetworkKernelRegressor as NetworkKernelRegressor
    from mercer.online import OnlineKernelClassifier as OnlineKernelClassifier
    from mercer.online import OnlineKernelRegressor as OnlineKernelRegressor
    from mercer.onnx import to_onnx as to_onnx
    from mercer.rows import progress as progress
    from mercer.tables import Model as Model
    from mercer.tables import TableClassifier as TableClassifier
    from mercer.tables import TableRegressor as TableRegressor
    from mercer.tables.model.fit import fit as fit

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

if not TYPE_CHECKING:  # or every name would be one, to those who read types

    def __getattr__(name: str) -> Any:
        if name in _LAZY:
            return getattr(importlib.import_module(_LAZY[name]), name)
        if name in _ROOMS or name in _ROOMS_WITH_EXTRAS:
            return importlib.import_module(f"mercer.{name}")
        from mercer._names import missing_name

        raise AttributeError(missing_name("mercer", name))


def __dir__() -> list[str]:
    return [*__all__, *_ROOMS_WITH_EXTRAS]
