"""Symmetric matrices by their eigenvectors: one decomposition serves all shifts."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mercer._threads import interruptible, stopping_point

# Entries of Q that are worked on together.
_ENTRIES = 1 << 22


class Eigenbasis:
    """A = Q diag(values) Qᵀ, and what (A + μI)⁻¹ is for many μ. NumPy in, NumPy out, wherever Q lives.

    Parameters
    ----------
    values : (n,) eigenvalues; negative ones, which are rounding, count as 0
    Q : (n, n) eigenvectors, one a column

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.operators import Matrix
    >>> spectrum = Matrix(np.array([[2.0, 1.0], [1.0, 2.0]])).spectrum()
    >>> spectrum.values, spectrum.diagonals(np.array([0.0, 1.0]))
    (array([1., 3.]), array([[0.66666667, 0.66666667],
           [0.375     , 0.375     ]]))
    """

    entries = _ENTRIES

    def __init__(self, values: Any, Q: Any):
        self.values: np.ndarray = np.maximum(self._give(values), 0)
        self.Q, self.n = Q, len(self.values)

    def rotated(self, V: np.ndarray) -> np.ndarray:
        """QᵀV: V in the coordinates of the eigenvectors."""
        return self._give(self.Q.T @ self._take(V))

    def solutions(self, rotated: np.ndarray, shifts: np.ndarray) -> np.ndarray:
        """(A + μI)⁻¹ V for every μ of `shifts`, given QᵀV: (shifts, n, columns), as one product."""
        scaled = rotated[:, None, :] / (self.values[:, None, None] + shifts[None, :, None])
        found = self._give(self.Q @ self._take(scaled.reshape(self.n, -1)))
        return found.reshape(self.n, len(shifts), -1).transpose(1, 0, 2)

    def diagonals(self, shifts: np.ndarray) -> np.ndarray:
        """diag((A + μI)⁻¹) for every μ of `shifts`: (shifts, n)."""
        inverse = self._take(1 / (self.values[:, None] + shifts[None, :]))
        out = np.empty((self.n, len(shifts)))
        for rows in self._parts():
            part = self.Q[rows]
            out[rows] = self._give((part * part) @ inverse)
        return out.T

    def with_own_shifts(self, rotated: np.ndarray, shifts: np.ndarray) -> tuple[np.ndarray, ...]:
        """Row i with the i-th of n shifts: ((A + μ_i I)⁻¹V)_i, ((A + μ_i I)⁻¹)_ii and VᵀV's like.

        The third is Vᵀ(A + μ_i I)⁻¹V, (n, columns, columns).
        """
        columns = rotated.shape[1]
        Qr = self._take(rotated)
        pairs = self._take((rotated[:, :, None] * rotated[:, None, :]).reshape(self.n, -1))
        values, all_shifts = self._take(self.values), self._take(shifts)
        z, diagonal = np.empty((self.n, columns)), np.empty(self.n)
        forms = np.empty((self.n, columns * columns))
        for rows in self._parts():
            D = 1 / (values[None, :] + all_shifts[rows][:, None])
            part = self.Q[rows]
            forms[rows] = self._give(D @ pairs)
            D *= part
            z[rows] = self._give(D @ Qr)
            D *= part
            diagonal[rows] = self._give(D.sum(1))
        return z, diagonal, forms.reshape(self.n, columns, columns)

    def rows(self, index: np.ndarray) -> np.ndarray:
        """Q[index]."""
        return self.Q[index]

    def _parts(self):
        step = max(self.entries // max(self.n, 1), 1)
        for i in range(0, self.n, step):
            stopping_point()
            yield slice(i, min(i + step, self.n))

    def _take(self, array: np.ndarray) -> Any:
        """An array, where Q lives."""
        return array

    def _give(self, found: Any) -> np.ndarray:
        """What was found there, as an array."""
        return found


def spectrum_of(A: np.ndarray, scale: np.ndarray | None) -> Eigenbasis:
    """The spectrum of S A S, in float64; A is overwritten."""
    from scipy.linalg import eigh

    if scale is not None:
        A *= scale[:, None]
        A *= scale[None, :]
    return Eigenbasis(*interruptible(partial(eigh, A, overwrite_a=True, check_finite=False, driver="evd")))
