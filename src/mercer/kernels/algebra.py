"""Sums and products of kernels, and the constant one."""

from __future__ import annotations

import math

import numpy as np

from mercer._params import is_number
from mercer.kernels.base import Kernel
from mercer.kernels.composite import _Combined, merge, multiply, shown
from mercer.kernels.counts import Counts, on_side
from mercer.kernels.points import as_objects


class Constant(Kernel):
    """k(x,z) = value, for value ≥ 0.

    >>> Constant(2.0)([[1.0], [5.0]])
    array([[2., 2.],
           [2., 2.]])
    """

    sparse = True
    log_params = ("value",)
    infinitely_divisible = True

    def __init__(self, value=1.0):
        self.value = value

    def validate(self):
        if not is_number(self.value) or not (0 <= self.value < math.inf):
            raise ValueError(f"Constant: value must be a nonnegative number, got {self.value!r}")

    def points(self, X):
        return as_objects(X)  # a constant looks at nothing; whatever it is combined with decides

    @staticmethod
    def _dtype(*points):
        # Points may be integers or objects; the value is a real number all the same.
        return np.float32 if all(p.dtype == np.float32 for p in points) else np.float64

    def formula(self, tracer, view):
        return tracer.number(self.value)

    def pairwise(self, X, Z):
        return np.full((X.shape[0], Z.shape[0]), self.value, self._dtype(X, Z))

    def diagonal(self, X):
        return np.full(X.shape[0], self.value, self._dtype(X))

    def separation(self, X, Z, pairs):
        return 0 * pairs.plainly(self, X, Z)

    def gradient_x(self, X, Z):
        return np.zeros((X.shape[0], Z.shape[0], X.shape[1]), self._dtype(X, Z))

    def gradient_log_params(self, X, Z):
        return {"value": self.pairwise(X, Z)}

    def amplitude(self):
        return float(self.value)

    def frequencies(self, rng, count, d):
        return np.zeros((count, d))

    def density(self, W):
        raise NotImplementedError("the spectrum of a constant lies at ω = 0, and has no density")

    def raised(self, p):
        return Constant(float(self.value) ** p)

    def expansion(self, d):
        return {(): float(self.value)} if self.value > 0 else {}

    def expansion_size(self, d):
        return 1

    def rule(self):
        return "a nonnegative constant"


class _Pair(_Combined):
    parts = ("left", "right")

    def __init__(self, left, right):
        self.left = left
        self.right = right


class Sum(_Pair):
    """k₁ + k₂, written ``a + b``.

    >>> from mercer.kernels import Gaussian, Linear
    >>> (Gaussian(1.0) + Linear())([[0.0], [1.0]]).round(3)
    array([[1.   , 0.607],
           [0.607, 2.   ]])
    """

    made = "a sum of kernels"
    infinitely_divisible = False
    binding = 1

    def __repr__(self):
        return f"{shown(self.left, 0)} + {shown(self.right, 1)}"

    def combine(self, a, b, xp):
        return a + b

    def _outer_slopes(self, X, Z):
        return [1.0, 1.0]

    def separation(self, X, Z, pairs):
        a, b = self._values("separation", X, Z, pairs)
        return a + b

    def frequencies(self, rng, count, d):
        # The spectral density of a sum is the mixture of the two, in proportion to k(0).
        a, b = self._values("amplitude")
        from_left = rng.random(count) * (a + b) < a
        left, right = self._values("frequencies", rng, count, d)
        return np.where(from_left[:, None], left, right)

    def density(self, W):
        a, b = self._values("density", W)
        return a + b

    def induced_order(self, view):
        a, b = self._values("induced_order", view)
        if type(self.left) is Constant or type(self.right) is Constant:
            return a or b  # a constant changes no distance
        return a and a.with_other(b)

    def expansion(self, d):
        a, b = self._values("expansion", d)
        return None if a is None or b is None else merge(list(a.items()) + list(b.items()))

    def expansion_size(self, d):
        a, b = self._values("expansion_size", d)
        return a + b

    def strictly(self):
        return next(filter(None, self._values("strictly")), "")  # definite + semidefinite

    @property
    def has_counts(self):  # type: ignore[override]
        return self.left.has_counts and self.right.has_counts

    def counts(self, X):
        if isinstance(X, Counts):
            return X
        return self.left.counts(X).beside(self.right.counts(X))

    def spelled(self, X):
        out: dict[int, str] = {}
        for side, words in enumerate(self._values("spelled", X)):
            numbers = on_side(np.fromiter(words, np.uint64, len(words)), side).tolist()
            out |= zip(numbers, words.values(), strict=True)
        return out


class Product(_Pair):
    """k₁·k₂, written ``a * b`` (Schur's product theorem).

    >>> from mercer.kernels import Linear
    >>> (Linear() * Linear())([[2.0]], [[3.0]])
    array([[36.]])
    """

    made = "a product of kernels"

    binding = 2

    def __repr__(self):
        return f"{shown(self.left, 1)} * {shown(self.right, 2)}"

    def combine(self, a, b, xp):
        return a * b

    def frequencies(self, rng, count, d):
        # A product of functions is a convolution of spectra: frequencies add.
        a, b = self._values("frequencies", rng, count, d)
        return a + b

    def density(self, W):
        parts = (self.left, self.right)
        for constant, other in (parts, parts[::-1]):
            if isinstance(constant, Constant):
                return constant.value * other.density(W)
        return super().density(W)

    def raised(self, p):
        a, b = self._values("raised", p)
        return None if a is None or b is None else a * b

    def induced_order(self, view):
        a, b = self._values("induced_order", view)
        if a is None or b is None or not (a.falling and b.falling):
            return None  # of a factor that is not nonnegative and falling nothing is known
        return a.with_other(b)

    def expansion(self, d):
        a, b = self._values("expansion", d)
        return None if a is None or b is None else multiply(a, b)

    def expansion_size(self, d):
        a, b = self._values("expansion_size", d)
        return a * b

    def strictly(self):
        reasons = self._values("strictly")  # Schur
        return reasons[0] if all(reasons) else ""
