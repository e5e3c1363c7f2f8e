"""Can examples be told apart? Linear programmes say so for certain."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

# Entries of a programme that is solved in a minute or so.
LARGEST = 2e7
# Examples are told apart by at least this much of the largest margin a row could have.
_APART = 1e-7


def separable(rows: np.ndarray) -> bool:
    """Is there a v with rows·v ≥ 0 in all rows, and above 0 in some?

    Where rows are independent there is; else it is a linear programme: maximise Σ rows·v over −1 ≤ v ≤ 1.

    Examples
    --------
    >>> import numpy as np
    >>> x, one = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.ones((4, 1))
    >>> y = np.array([[-1.0], [-1.0], [1.0], [1.0]])
    >>> separable(y * np.hstack([x, one])), separable(y[[0, 2, 1, 3]] * np.hstack([x, one]))
    (True, False)
    """
    n, p = rows.shape
    if n <= p and np.linalg.matrix_rank(rows) == n:
        return True
    rows = _scaled(rows)
    bounds = [(-1, 1)] * p
    found = linprog(-rows.sum(axis=0), A_ub=-rows, b_ub=np.zeros(len(rows)), bounds=bounds, method="highs")
    return bool(found.status == 0 and -found.fun > _APART * max(len(rows), 1))


def strictly_separable(rows: np.ndarray) -> bool | None:
    """Is there a v with rows·v > 0 in all rows? None where the programme does not say.

    It asks for the largest margin, up to 1, with −1 ≤ v ≤ 1.

    Examples
    --------
    >>> import numpy as np
    >>> strictly_separable(np.array([[1.0, 2.0], [1.0, -1.0]])), strictly_separable(np.array([[1.0], [-1.0]]))
    (True, False)
    """
    if (np.linalg.norm(rows, axis=1) == 0).any():
        return False
    rows = np.hstack([-_scaled(rows), np.ones((len(rows), 1))])
    p = rows.shape[1] - 1
    bounds = [(-1, 1)] * p + [(0, 1)]
    found = linprog(
        np.append(np.zeros(p), -1.0), A_ub=rows, b_ub=np.zeros(len(rows)), bounds=bounds, method="highs"
    )
    if found.status != 0:
        return None
    # In between no tolerance of the programme's can tell.
    return True if -found.fun > _APART else (False if -found.fun <= 0 else None)


def _scaled(rows: np.ndarray) -> np.ndarray:
    """The rows that are not 0, each of length 1."""
    sizes = np.linalg.norm(rows, axis=1)
    return rows[sizes > 0] / sizes[sizes > 0, None]
