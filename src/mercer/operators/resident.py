"""Operators over vectors that stay where an engine computes, for methods that make many products."""

from __future__ import annotations

from typing import Any

import numpy as np


class Resident:
    """An operator, and vectors in the memory where it is computed. This one: on the host, NumPy's arrays.

    Parameters
    ----------
    K : Operator

    Examples
    --------
    >>> from mercer.operators import Matrix
    >>> here = Matrix(np.array([[2.0, 0.0], [0.0, 3.0]])).resident()
    >>> here.fetch(here.multiply(here.place(np.ones((2, 1)))))
    array([[2.],
           [3.]])
    """

    def __init__(self, K: Any):
        self.K = K

    def place(self, V: np.ndarray) -> Any:
        """An array as vectors of this memory, in float64."""
        return np.asarray(V, dtype=np.float64)

    def fetch(self, V: Any) -> np.ndarray:
        """Vectors of this memory as an array."""
        return V

    def multiply(self, V: Any) -> Any:
        """K V."""
        return self.K @ V

    def adjoint(self, U: Any) -> Any:
        """Kᵀ U."""
        return self.K.adjoint(U)

    def entries(self) -> Any:
        """All of K, in float64."""
        return np.asarray(self.K.dense(), dtype=np.float64)


def column_dots(U: Any, V: Any) -> np.ndarray:
    """u_jᵀ v_j of the columns of two arrays or two tensors, as an array."""
    if isinstance(U, np.ndarray):
        return np.einsum("ij,ij->j", U, V)
    return (U * V).sum(0).cpu().numpy()


def column_norms(V: Any) -> np.ndarray:
    """‖v_j‖ of the columns of an array or a tensor, as an array."""
    if isinstance(V, np.ndarray):
        return np.linalg.norm(V, axis=0)
    return V.norm(dim=0).cpu().numpy()


def times(V: Any, factors: np.ndarray) -> Any:
    """The columns of an array or a tensor, each times its factor."""
    if isinstance(V, np.ndarray):
        return V * factors
    return V * V.new_tensor(factors)


def picked(V: Any, columns: np.ndarray) -> Any:
    """Some columns of an array or a tensor; itself where they are all."""
    if len(columns) == V.shape[1]:
        return V
    return V[:, columns] if isinstance(V, np.ndarray) else V[:, columns.tolist()]


def put(V: Any, columns: np.ndarray, values: Any) -> None:
    """Overwrite some columns of an array or a tensor."""
    if len(columns) == V.shape[1]:
        V[...] = values
    else:
        V[:, columns if isinstance(V, np.ndarray) else columns.tolist()] = values


def add(V: Any, columns: np.ndarray, values: Any) -> None:
    """Add to some columns of an array or a tensor."""
    if len(columns) == V.shape[1]:
        V += values
    else:
        V[:, columns if isinstance(V, np.ndarray) else columns.tolist()] += values


def like(V: Any) -> Any:
    """A copy of an array or a tensor."""
    return V.copy() if isinstance(V, np.ndarray) else V.clone()
