"""λ said in the words of support vector machines."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from mercer._params import Params


class FromC(Params):
    """λ = 1/(2 C Σw): what a machine minimising ½‖f‖² + C Σ w_i V_i would call C.

    Σw is the number of examples where they have no weights, and is known at fit.

    Parameters
    ----------
    C : float > 0

    Examples
    --------
    >>> FromC(1.0).value(500)
    0.001
    """

    def __init__(self, C=1.0):
        self.C = C

    def validate(self) -> None:
        if isinstance(self.C, bool) or not isinstance(self.C, numbers.Real) or not 0 < float(self.C) < np.inf:
            raise ValueError(f"C must be a positive number, got {self.C!r}")

    def value(self, total: float) -> float:
        """λ for examples whose weights add up to `total`."""
        self.validate()
        return 1 / (2 * float(self.C) * float(total))


def is_auto(lam: Any) -> bool:
    """Is λ to be chosen at fit?"""
    return isinstance(lam, str) and lam == "auto"


def check_lam(lam: Any) -> None:
    """Raise ValueError unless lam is "auto", a positive number or a `FromC`."""
    if is_auto(lam):
        return
    if isinstance(lam, FromC):
        lam.validate()
    elif isinstance(lam, bool) or not isinstance(lam, (int, float, np.number)) or not 0 < lam < np.inf:
        raise ValueError(
            f"lam must be a positive number, got {lam!r}: λ > 0 is what makes the solution unique "
            "(lam='auto' chooses it)"
        )
