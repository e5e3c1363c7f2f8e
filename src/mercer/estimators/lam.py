"""λ said in the words of other libraries: C, alpha."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from mercer._params import Params, is_number, require_nonnegative, require_positive


def _several(value: Any) -> bool:
    """Is it a list, one for each output?"""
    return isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim > 0)


def _require_positive(value: Any, name: str) -> None:
    for each in value if _several(value) else [value]:
        require_positive(each.item() if isinstance(each, np.generic) else each, name)


def _floats(value: Any) -> Any:
    return np.array(value, dtype=np.float64) if _several(value) else float(value)


class FromC(Params):
    """λ = 1/(2 C Σw): what a machine minimising ½‖f‖² + C Σ w_i V_i would call C > 0.

    Σw is the number of examples where they have no weights, and is known at fit. C = ∞ is λ = 0.

    >>> FromC(1.0).value(500)
    0.001
    """

    def __init__(self, C=1.0):
        self.C = C

    def validate(self) -> None:
        if not (is_number(self.C) and math.inf == self.C):
            _require_positive(self.C, "C")

    def value(self, total: float) -> Any:
        """λ for examples whose weights add up to `total`."""
        self.validate()
        return 1 / (2 * _floats(self.C) * float(total))


class FromAlpha(Params):
    """λ = α/Σw: what a machine minimising Σ w_i V_i + α‖f‖² would call alpha ≥ 0; Σw as in `FromC`.

    >>> FromAlpha(1.0).value(500)
    0.002
    """

    def __init__(self, alpha=1.0):
        self.alpha = alpha

    def validate(self) -> None:
        if _several(self.alpha):
            _require_positive(self.alpha, "alpha")
        else:
            require_nonnegative(self.alpha, "alpha")

    def value(self, total: float) -> Any:
        """λ for examples whose weights add up to `total`."""
        self.validate()
        return _floats(self.alpha) / float(total)


class OtherWords:
    """Constructors of machines with a parameter `lam`, for those who know C or alpha."""

    lam: Any

    def set_params(self, **params: Any) -> Self:
        """Set parameters; `lam__C` and `lam__alpha` say λ in those words, whatever it was said in before.

        >>> from mercer import KernelSVC
        >>> KernelSVC().set_params(lam__C=10.0)
        KernelSVC(lam=FromC(C=10.0))
        """
        for key, words in (("lam__C", FromC), ("lam__alpha", FromAlpha)):
            if key in params and "lam" not in params and not isinstance(self.lam, words):
                params = {**params, "lam": words(params[key])}
                del params[key]
        return super().set_params(**params)  # type: ignore[misc]

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


def is_zero(lam: Any) -> bool:
    """Is there to be no penalty?"""
    if isinstance(lam, (FromC, FromAlpha)):
        value = lam.value(1.0)
        return not np.ndim(value) and bool(value == 0)
    return is_number(lam) and lam == 0


def check_lam(lam: Any) -> None:
    """Raise ValueError unless lam is "auto", a positive number, a `FromC` or a `FromAlpha`."""
    if is_auto(lam):
        return
    if isinstance(lam, (FromC, FromAlpha)) and not is_zero(lam):
        lam.validate()
    elif _several(lam) and len(lam):
        for each in lam:
            if is_auto(each) or _several(each):
                raise ValueError(f'lam has one positive number for each output, or is "auto", got {lam!r}')
            check_lam(each)
    elif isinstance(lam, bool) or not isinstance(lam, (int, float, np.number)) or not 0 < lam < np.inf:
        raise ValueError(
            f"lam must be a positive number, got {lam!r}: λ > 0 is what makes the solution unique "
            "(lam='auto' chooses it; squared, logistic and hinge loss know what λ = 0 means)"
        )


def value_of(lam: Any, total: float, outputs: int) -> Any:
    """λ as a number, or as one for each output, for examples whose weights add up to `total`."""
    value = lam.value(total) if hasattr(lam, "value") else _floats(lam)
    if np.ndim(value) and len(value) != outputs:
        raise ValueError(f"lam has {len(value)} values, one for each output, and there are {outputs} outputs")
    return value if np.ndim(value) else float(value)
