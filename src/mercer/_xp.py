"""Array namespaces, and forward-mode dual numbers in array form.

A kernel's profile is written once, against a namespace ``xp`` with NumPy's names. Called with
arrays it computes; called with `DualNumber` numbers it differentiates; engines may call it with symbols.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np


class DualNumber:
    """value + ε·slope with ε² = 0; arithmetic on it is differentiation."""

    __array_ufunc__ = None  # let ndarray (op) DualNumber reach the reflected methods below
    __slots__ = ("slope", "value")

    def __init__(self, value: Any, slope: Any = 1.0):
        self.value, self.slope = value, slope

    @staticmethod
    def of(x: Any) -> DualNumber:
        return x if isinstance(x, DualNumber) else DualNumber(x, 0.0)

    def __add__(self, o):
        o = DualNumber.of(o)
        return DualNumber(self.value + o.value, self.slope + o.slope)

    def __neg__(self):
        return DualNumber(-self.value, -self.slope)

    def __sub__(self, o):
        return self + (-DualNumber.of(o))

    def __rsub__(self, o):
        return DualNumber.of(o) - self

    def __mul__(self, o):
        o = DualNumber.of(o)
        return DualNumber(self.value * o.value, self.slope * o.value + self.value * o.slope)

    def __truediv__(self, o):
        o = DualNumber.of(o)
        q = self.value / o.value
        return DualNumber(q, (self.slope - q * o.slope) / o.value)

    def __rtruediv__(self, o):
        return DualNumber.of(o) / self

    def __pow__(self, p):
        if isinstance(p, DualNumber):
            return dual.exp(p * dual.log(self))
        return DualNumber(self.value**p, p * self.value ** (p - 1) * self.slope)

    def __rpow__(self, o):
        # math's logarithm of a number, since NumPy's would turn float32 into float64
        return dual.exp(self * (math.log(o) if isinstance(o, (int, float)) else np.log(o)))

    __radd__, __rmul__ = __add__, __mul__


def _rule(function: Any, slope: Any) -> Any:
    """A function of dual numbers; its slope is given x and the value there."""

    def apply(x):
        x = DualNumber.of(x)
        value = function(x.value)
        with np.errstate(divide="ignore", invalid="ignore"):
            return DualNumber(value, slope(x.value, value) * x.slope)

    return staticmethod(apply)


class _DualNamespace:
    """NumPy's names, for dual numbers."""

    pi = np.pi
    exp = _rule(np.exp, lambda x, y: y)
    log = _rule(np.log, lambda x, y: 1 / x)
    sin = _rule(np.sin, lambda x, y: np.cos(x))
    cos = _rule(np.cos, lambda x, y: -np.sin(x))
    tanh = _rule(np.tanh, lambda x, y: 1 - y * y)
    # The square root of a squared distance has no slope at 0; zero is the symmetric choice there. So it is
    # for the angle of parallel vectors.
    sqrt = _rule(np.sqrt, lambda x, y: np.where(y > 0, 0.5 / y, 0.0))
    arccos = _rule(np.arccos, lambda x, y: np.where(abs(x) < 1, -1 / np.sqrt(np.maximum(1 - x**2, 0)), 0.0))

    @staticmethod
    def clip(x, lo, hi):
        x = DualNumber.of(x)
        inside = (x.value > lo) & (x.value < hi)
        return DualNumber(np.clip(x.value, lo, hi), np.where(inside, x.slope, 0.0))

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        raise NotImplementedError(f"no derivative rule for xp.{name}")


dual = _DualNamespace()


def take(X, index):
    """Rows of an array, a sparse matrix or a sequence of objects."""
    return X[index]


def issparse(X) -> bool:
    """Is X a SciPy sparse container? Answered without importing SciPy."""
    return hasattr(X, "tocsr")


def require_sound(X) -> None:
    """Refuse arrays whose numbers are hidden by a mask, and sparse matrices whose indices lead elsewhere.

    SciPy follows indices without looking, and a wrong one ends the process.
    """
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise ValueError(
            "masked entries are no numbers: fill them in (a.filled(value)), or leave their rows out"
        )
    if getattr(X, "format", None) in ("csr", "csc", "bsr") and hasattr(X, "check_format"):
        try:
            X.check_format(full_check=True)
        except ValueError as error:
            raise ValueError(f"the sparse matrix is damaged ({error}): build it anew") from None


def as_csr(X):
    """A sparse matrix as a csr_array, which, unlike csr_matrix, never makes an np.matrix; other points as
    they are."""
    if not issparse(X):
        return X
    from scipy.sparse import csr_array

    require_sound(X)
    return X if isinstance(X, csr_array) else csr_array(X)


def shaped_like(X, Z):
    """Points X as an array if the points Z are one, and sparse if those are."""
    if issparse(X) == issparse(Z):
        return X
    if issparse(X):
        return X.toarray()
    from scipy.sparse import csr_array

    return csr_array(X)


def frozen(X):
    """Points nobody else can write to: a private copy, or X itself where it is one.

    An array is made read-only, so that it is known as private next time, and engines need not look whether it
    has changed. SciPy tidies sparse matrices up in place when it likes, so they stay writeable. Objects
    themselves (strings, graphs) are shared, the list of them is not.
    """
    if issparse(X):
        return X.copy()
    if not isinstance(X, np.ndarray) or _is_private(X):
        return X
    X = np.array(X)
    X.flags.writeable = False
    return X


def given_up(X):
    """An array whose memory the caller hands over, made read-only where it lies: `frozen` without a copy."""
    part = X
    while isinstance(part, np.ndarray):
        part.flags.writeable = False
        part = part.base
    return X


def _is_private(part) -> bool:
    """Can nobody write to this memory, not even through the array of which it is a part?"""
    while isinstance(part, np.ndarray):
        if part.flags.writeable:
            return False
        part = part.base
    return part is None


def features_by(transform, X):
    """What a feature map makes of points, as an array or sparse matrix: `transform` is a method of it.

    People may have asked scikit-learn for data frames (`set_config(transform_output="pandas")`), which is
    about what they see, not about what is computed with; sparse features it then refuses.
    """
    from sklearn import config_context  # kernels and engines need NumPy only

    with config_context(transform_output="default"):
        Phi = transform(X)
    return Phi.to_numpy() if hasattr(Phi, "to_numpy") else Phi


def n_points(X) -> int:
    return X.shape[0]
