"""λ said in the words of other libraries: C, alpha."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from mercer._params import Params, require_positive


class FromC(Params):
    """λ = 1/(2 C Σw): what a machine minimising ½‖f‖² + C Σ w_i V_i would call C > 0.

    Σw is the number of examples where they have no weights, and is known at fit.

    >>> FromC(1.0).value(500)
    0.001
    """

    def __init__(self, C=1.0):
        self.C = C

    def validate(self) -> None:
        require_positive(self.C, "C")

    def value(self, total: float) -> float:
        """λ for examples whose weights add up to `total`."""
        self.validate()
        return 1 / (2 * float(self.C) * float(total))


class FromAlpha(Params):
    """λ = α/Σw: what a machine minimising Σ w_i V_i + α‖f‖² would call alpha > 0; Σw as in `FromC`.

    >>> FromAlpha(1.0).value(500)
    0.002
    """

    def __init__(self, alpha=1.0):
        self.alpha = alpha

    def validate(self) -> None:
        require_positive(self.alpha, "alpha")

    def value(self, total: float) -> float:
        """λ for examples whose weights add up to `total`."""
        self.validate()
        return float(self.alpha) / float(total)


class OtherWords:
    """Constructors of machines with a parameter `lam`, for those who know C or alpha."""

    @classmethod
    def from_C(cls, C: float = 1.0, **parameters: Any) -> Self:
        """The machine that minimises ½‖f‖² + C Σ w_i V_i: λ = 1/(2 C Σw).

        >>> from mercer import KernelLogistic
        >>> KernelLogistic.from_C(10.0).lam
        FromC(C=10.0)
        """
        return cls(lam=FromC(C), **parameters)  # type: ignore[call-arg]

    @classmethod
    def from_alpha(cls, alpha: float = 1.0, **parameters: Any) -> Self:
        """The machine that minimises Σ w_i V_i + α‖f‖²: λ = α/Σw.

        >>> from mercer import KernelRidge
        >>> KernelRidge.from_alpha(0.5).lam
        FromAlpha(alpha=0.5)
        """
        return cls(lam=FromAlpha(alpha), **parameters)  # type: ignore[call-arg]


def is_auto(lam: Any) -> bool:
    """Is λ to be chosen at fit?"""
    return isinstance(lam, str) and lam == "auto"


def check_lam(lam: Any) -> None:
    """Raise ValueError unless lam is "auto", a positive number, a `FromC` or a `FromAlpha`."""
    if is_auto(lam):
        return
    if isinstance(lam, (FromC, FromAlpha)):
        lam.validate()
    elif isinstance(lam, bool) or not isinstance(lam, (int, float, np.number)) or not 0 < lam < np.inf:
        raise ValueError(
            f"lam must be a positive number, got {lam!r}: λ > 0 is what makes the solution unique "
            "(lam='auto' chooses it)"
        )
