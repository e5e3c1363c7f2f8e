"""Kernels made from one kernel: multiples, powers, the exponential, the normalised one."""

from __future__ import annotations

import math

import numpy as np

from mercer._params import is_integer, is_number, show
from mercer.codegen.symbols import int_power
from mercer.kernels.base import Kernel
from mercer.kernels.composite import (
    PreparedParts,
    _Combined,
    _Composite,
    _CountsOfOne,
    multiply,
    prefixed,
    shown,
    times,
)
from mercer.kernels.dot import Linear
from mercer.kernels.points import inverse_root_of
from mercer.kernels.separation import of_normalised


class _OfOne(_Combined):
    """A growing function of one kernel."""

    kernel: Kernel

    def induced_order(self, view):
        order = self.kernel.induced_order(view)
        return order and order.of_falling()

    def strictly(self):
        return self.kernel.strictly()


class Scale(_CountsOfOne, _OfOne):
    """c·k for c ≥ 0, written ``c * k``; 0·k is the kernel of the space that holds nothing but the function 0.

    >>> from mercer.kernels import Linear
    >>> 2 * Linear() == Scale(Linear(), 2)
    True
    """

    made = "a nonnegative multiple of a kernel"
    log_params = ("factor",)
    binding = 2

    def __init__(self, kernel, factor=1.0):
        self.kernel = kernel
        self.factor = factor

    def __repr__(self):
        return f"{show(self.factor)} * {shown(self.kernel, 2)}"

    def validate(self):
        if not is_number(self.factor) or not 0 <= self.factor < math.inf:
            raise ValueError(f"Scale: factor must be a nonnegative number, got {self.factor!r}")
        super().validate()

    def combine(self, k, xp):
        return k * float(self.factor)

    def _outer_slopes(self, X, Z):
        return [float(self.factor)]

    def separation(self, X, Z, pairs):
        return self.kernel.separation(X, Z, pairs) * float(self.factor)

    def gradient_log_params(self, X, Z):
        return {"factor": self.pairwise(X, Z), **super().gradient_log_params(X, Z)}

    def vjp_log_params(self, X, W):
        return {"factor": float(np.vdot(W, self.pairwise(X, X))), **super().vjp_log_params(X, W)}

    def induced_order(self, view):
        return self.kernel.induced_order(view) if self.factor > 0 else None  # all distances are 0

    def frequencies(self, rng, count, d):
        return self.kernel.frequencies(rng, count, d)

    def density(self, W):
        return np.zeros(len(W)) if self.factor == 0 else self.factor * self.kernel.density(W)

    def raised(self, p):
        inner = self.kernel.raised(p)
        return None if inner is None else Scale(inner, float(self.factor) ** p)

    def expansion(self, d):
        if self.factor == 0:
            return {}
        inner = self.kernel.expansion(d)
        return None if inner is None else {a: self.factor * w for a, w in inner.items()}

    def expansion_size(self, d):
        return self.kernel.expansion_size(d)

    def strictly(self):
        return super().strictly() if self.factor > 0 else ""

    def recounted(self, X):
        return self.kernel.counts(X).times(np.full(X.shape[0], math.sqrt(self.factor)))


class Power(_OfOne):
    """k^p, written ``k ** p``: p a positive integer, or any p > 0 if k is infinitely divisible.

    Infinitely divisible are `Gaussian`, `Laplacian`, `Matern`, `RationalQuadratic`, `Periodic`, `ChiSquared`,
    `SkewedChiSquared`, `White`, ``k.exp()``, constants, and what products, powers, multiples, transformations
    and normalising make of such; a sum is not, in general.

    >>> from mercer.kernels import Gaussian, Linear
    >>> (Linear() ** 3)([[2.0]])
    array([[64.]])
    >>> Linear() ** 0.5
    Traceback (most recent call last):
    ...
    ValueError: k ** 0.5 is not a kernel in general: the exponent must be a positive integer, for Linear() ...
    """

    binding = 3

    def __init__(self, kernel, exponent=1):
        self.kernel = kernel
        self.exponent = exponent

    def __repr__(self):
        return f"{shown(self.kernel, 3)} ** {show(self.exponent)}"

    def validate(self):
        super().validate()
        p = self.exponent
        if not is_number(p) or not 0 < p < math.inf:
            raise ValueError(f"k ** {p!r} is not a kernel: the exponent must be a positive integer")
        if not is_integer(p) and not self.kernel.infinitely_divisible:
            raise ValueError(
                f"k ** {p!r} is not a kernel in general: the exponent must be a positive integer, for "
                f"{_undivided(self.kernel)!r} is not infinitely divisible, as Gaussian, Matern, ChiSquared, "
                f"k.exp() and products of such are"
            )

    def combine(self, k, xp):
        return int_power(k, int(self.exponent)) if is_integer(self.exponent) else k ** float(self.exponent)

    def _outer_slopes(self, X, Z):
        if is_integer(self.exponent):
            return super()._outer_slopes(X, Z)
        # Where k underflowed to 0 so did its slope, whatever the factor.
        K, p = self.kernel.pairwise(X, Z), float(self.exponent)
        return [p * np.where(K > 0, K, 1) ** (p - 1)]

    def frequencies(self, rng, count, d):
        same = None if is_integer(self.exponent) else self.kernel.raised(float(self.exponent))
        if same is not None:
            return same.frequencies(rng, count, d)
        if not is_integer(self.exponent):
            return super().frequencies(rng, count, d)
        return sum(self.kernel.frequencies(rng, count, d) for _ in range(int(self.exponent)))

    def expansion(self, d):
        inner = self.kernel.expansion(d)
        if inner is None or not is_integer(self.exponent):
            return None
        out = inner
        for _ in range(int(self.exponent) - 1):
            out = multiply(out, inner)
        return out

    def expansion_size(self, d):
        size = self.kernel.expansion_size(d)
        # Multisets of size p from `size` monomials.
        return math.inf if math.isinf(size) else math.comb(int(size + self.exponent - 1), int(self.exponent))

    def density(self, W):
        same = self.raised(1.0)
        return super().density(W) if same is None else same.density(W)

    def raised(self, p):
        return self.kernel.raised(float(self.exponent) * p)

    @property
    def made(self):  # type: ignore[override]
        if is_integer(self.exponent):
            return "an integer power of a kernel"
        return "a positive power of an infinitely divisible kernel"

    def strictly(self):
        return super().strictly() if is_integer(self.exponent) else ""


def _undivided(kernel: Kernel) -> Kernel:
    """The part of a kernel because of which it is not infinitely divisible."""
    parts = [part for part in kernel.children().values() if not part.infinitely_divisible]
    alone = type(kernel).infinitely_divisible is False  # whatever its parts are
    return kernel if alone or not parts else _undivided(parts[0])


class Exp(_OfOne):
    """exp(k), written ``k.exp()``.

    >>> from mercer.kernels import Linear
    >>> Linear().exp()([[0.0]])
    array([[1.]])
    """

    made = "the exponential of a kernel"

    def __init__(self, kernel):
        self.kernel = kernel

    # exp(k)^p = exp(pk).
    infinitely_divisible = True

    def combine(self, k, xp):
        return xp.exp(k)

    def frequencies(self, rng, count, d):
        # exp(k) = Σ k^j/j!, and k^j has sums of j frequencies: j is Poisson with mean k(0).
        terms = rng.poisson(self.kernel.amplitude(), count)
        out = np.zeros((count, d))
        for j in range(terms.max(initial=0)):
            out += self.kernel.frequencies(rng, count, d) * (terms > j)[:, None]
        return out

    def raised(self, p):
        return Exp(p * self.kernel)

    def strictly(self):
        every = "exp(x·z) has a power series with no term missing"
        return every if isinstance(self.kernel, Linear) else super().strictly()


class _WithNorms(PreparedParts):
    """Points, and what a kernel's cosines need to know of each: computed once, whoever they meet."""


class Normalized(_CountsOfOne, _Composite):
    """k(x,z)/√(k(x,x)k(z,z)), written ``k.normalize()``; 0 where k(x,x) = 0.

    >>> from mercer.kernels import Linear
    >>> Linear().normalize()([[3.0, 4.0]], [[1.0, 0.0]])
    array([[0.6]])
    """

    made = "a kernel, normalised"
    kernel: Kernel

    def __init__(self, kernel):
        self.kernel = kernel

    def prepared(self, X):
        if self.vectors or self.has_counts or isinstance(X, _WithNorms):
            return super().prepared(X)
        points = self.kernel.prepared(X)
        return _WithNorms([points, self.kernel.norms(points)])

    def _known(self, X):
        """(points as the inner kernel takes them, what it needs to know of each by itself)"""
        return X.parts if isinstance(X, _WithNorms) else (X, self.kernel.norms(X))

    def _inverse_root(self, X):
        # Of this kernel's own, so that whoever traces it can give k(x,x) by its formula.
        return inverse_root_of(self.kernel.diagonal(X))

    def formula(self, tracer, view):
        row, column = tracer.both(("1/√k(x,x)", self.kernel), view, self._inverse_root)
        return self.kernel.formula(tracer, view) * (row * column)

    def pairwise(self, X, Z):
        A, a = self._known(X)
        B, b = (A, a) if Z is X else self._known(Z)
        return self.kernel.cosines(A, B, a, b)

    def diagonal(self, X):
        return self.kernel.nonzero(X.parts[0] if isinstance(X, _WithNorms) else X)

    def recounted(self, X):
        inner = self.kernel.counts(X)
        return inner.times(inverse_root_of(inner.squares()))

    def separation(self, X, Z, pairs):
        return of_normalised(self.kernel.separation(X, Z, pairs), *pairs.diagonals(self.kernel, X, Z))

    def gradient_x(self, X, Z):
        a, b = self.kernel.inverse_root(X)[:, None], self.kernel.inverse_root(Z)[None, :]
        K = self.kernel.pairwise(X, Z)
        dK = self.kernel.gradient_x(X, Z)
        # d/dx k(x,x) is twice the slope in the first argument, taken at z = x.
        own = np.stack([self.kernel.gradient_x(X[i : i + 1], X[i : i + 1])[0, 0] for i in range(len(X))])
        # a³bK would overflow where k(x,x) is tiny; in this order every factor is of moderate size.
        relative = own * a**2
        return (a * b)[:, :, None] * dK - (a * K * b)[:, :, None] * relative[:, None, :]

    def gradient_log_params(self, X, Z):
        a, b = self.kernel.inverse_root(X)[:, None], self.kernel.inverse_root(Z)[None, :]
        K = a * self.kernel.pairwise(X, Z) * b
        out = {}
        dx, dz = self._diagonal_slopes(X), self._diagonal_slopes(Z)
        for name, slope in self.kernel.gradient_log_params(X, Z).items():
            relative = times(dx[name], a[:, 0] ** 2)[:, None] + times(dz[name], b[0] ** 2)[None, :]
            out[name] = times(slope, a * b) - 0.5 * times(relative, K)
        return prefixed("kernel", out)

    def _diagonal_slopes(self, X):
        rows = [self.kernel.gradient_log_params(X[i : i + 1], X[i : i + 1]) for i in range(len(X))]
        return {name: np.stack([r[name][0, 0] for r in rows]) for name in rows[0]}

    def amplitude(self):
        # Asked even so: it refuses kernels that are not translation-invariant.
        return 1.0 if self.kernel.amplitude() > 0 else 0.0

    def induced_order(self, view):
        order = self.kernel.induced_order(view)
        return order and order.of_falling()  # k(x,x) is then a constant

    def density(self, W):
        return self.kernel.density(W) / self.kernel.amplitude()

    def raised(self, p):
        inner = self.kernel.raised(p)
        return None if inner is None else Normalized(inner)

    def frequencies(self, rng, count, d):
        return self.kernel.frequencies(rng, count, d)

    def strictly(self):
        return self.kernel.strictly()
