"""Sums, products, powers, exponentials, multiples and normalisation of kernels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mercer.kernels.base import Kernel, _is_number, as_objects, int_power, is_integer


class Constant(Kernel):
    """k(x,z) = value, for value ≥ 0.

    >>> Constant(2.0)([[1.0], [5.0]])
    array([[2., 2.],
           [2., 2.]])
    """

    sparse = True
    log_params = ("value",)

    def __init__(self, value=1.0):
        self.value = value

    def validate(self):
        if not _is_number(self.value) or not (0 <= self.value < math.inf):
            raise ValueError(f"Constant: value must be a nonnegative number, got {self.value!r}")

    def points(self, X):
        return as_objects(X)  # a constant looks at nothing; whatever it is combined with decides

    @staticmethod
    def _dtype(*points):
        # Points may be integers or objects; the value is a real number all the same.
        return np.float32 if all(p.dtype == np.float32 for p in points) else np.float64

    def pairwise(self, X, Z):
        return np.full((X.shape[0], Z.shape[0]), self.value, self._dtype(X, Z))

    def diagonal(self, X):
        return np.full(X.shape[0], self.value, self._dtype(X))

    def slope_x(self, X, Z):
        return np.zeros((X.shape[0], Z.shape[0], X.shape[1]), self._dtype(X, Z))

    def slope_log_params(self, X, Z):
        return {"value": self.pairwise(X, Z)}

    def amplitude(self):
        return float(self.value)

    def frequencies(self, rng, count, d):
        return np.zeros((count, d))

    def expansion(self, d):
        return {(): float(self.value)} if self.value > 0 else {}

    def expansion_size(self, d):
        return 1

    def rule(self):
        return "a nonnegative constant"


class _Composite(Kernel):
    """A kernel made of kernels; points, sparsity and the like are what the parts agree on."""

    def points(self, X):
        for k in self.children().values():
            X = k.points(X)
        return X

    @property
    def sparse(self):  # type: ignore[override]
        return all(k.sparse for k in self.children().values())

    @property
    def vectors(self):
        return all(k.vectors for k in self.children().values())

    def _rules(self, text: str) -> str | None:
        reasons = [k.rule() for k in self.children().values()]
        if any(r is None for r in reasons):
            return None
        return text + " (" + "; ".join(str(r) for r in reasons) + ")"


class _Pair(_Composite):
    def __init__(self, left, right):
        self.left = left
        self.right = right

    def validate(self):
        for name in ("left", "right"):
            if not isinstance(getattr(self, name), Kernel):
                raise TypeError(f"{type(self).__name__}: {name} must be a kernel, got {getattr(self, name)!r}")
        super().validate()

    def _both(self, method: str, *args: Any) -> tuple[Any, Any]:
        return getattr(self.left, method)(*args), getattr(self.right, method)(*args)


class Sum(_Pair):
    """k₁ + k₂, written ``a + b``.

    >>> from mercer.kernels import Gaussian, Linear
    >>> (Gaussian(1.0) + Linear())([[0.0], [1.0]]).round(3)
    array([[1.   , 0.607],
           [0.607, 2.   ]])
    """

    def pairwise(self, X, Z):
        a, b = self._both("pairwise", X, Z)
        return a + b

    def diagonal(self, X):
        a, b = self._both("diagonal", X)
        return a + b

    def slope_x(self, X, Z):
        a, b = self._both("slope_x", X, Z)
        return a + b

    def slope_log_params(self, X, Z):
        a, b = self._both("slope_log_params", X, Z)
        return {**_prefixed("left", a), **_prefixed("right", b)}

    def amplitude(self):
        a, b = self._both("amplitude")
        return a + b

    def frequencies(self, rng, count, d):
        # The spectral density of a sum is the mixture of the two, in proportion to k(0).
        a, b = self._both("amplitude")
        from_left = rng.random(count) < a / (a + b)
        left, right = self._both("frequencies", rng, count, d)
        return np.where(from_left[:, None], left, right)

    def expansion(self, d):
        a, b = self._both("expansion", d)
        return None if a is None or b is None else _merge(list(a.items()) + list(b.items()))

    def expansion_size(self, d):
        a, b = self._both("expansion_size", d)
        return a + b

    def rule(self):
        return self._rules("a sum of kernels")


class Product(_Pair):
    """k₁·k₂, written ``a * b`` (Schur's product theorem).

    >>> from mercer.kernels import Linear
    >>> (Linear() * Linear())([[2.0]], [[3.0]])
    array([[36.]])
    """

    @property
    def infinitely_divisible(self):  # type: ignore[override]
        return self.left.infinitely_divisible and self.right.infinitely_divisible

    def pairwise(self, X, Z):
        a, b = self._both("pairwise", X, Z)
        return a * b

    def diagonal(self, X):
        a, b = self._both("diagonal", X)
        return a * b

    def slope_x(self, X, Z):
        (a, b), (da, db) = self._both("pairwise", X, Z), self._both("slope_x", X, Z)
        return da * b[:, :, None] + a[:, :, None] * db

    def slope_log_params(self, X, Z):
        (a, b), (da, db) = self._both("pairwise", X, Z), self._both("slope_log_params", X, Z)
        return {
            **_prefixed("left", {k: _times(v, b) for k, v in da.items()}),
            **_prefixed("right", {k: _times(v, a) for k, v in db.items()}),
        }

    def amplitude(self):
        a, b = self._both("amplitude")
        return a * b

    def frequencies(self, rng, count, d):
        # A product of functions is a convolution of spectra: frequencies add.
        a, b = self._both("frequencies", rng, count, d)
        return a + b

    def expansion(self, d):
        a, b = self._both("expansion", d)
        return None if a is None or b is None else _multiply(a, b)

    def expansion_size(self, d):
        a, b = self._both("expansion_size", d)
        return a * b

    def rule(self):
        return self._rules("a product of kernels")


class _Wrapper(_Composite):
    kernel: Kernel

    def validate(self):
        if not isinstance(self.kernel, Kernel):
            raise TypeError(f"{type(self).__name__}: kernel must be a kernel, got {self.kernel!r}")
        super().validate()

    def _outer_slope(self, K: np.ndarray) -> np.ndarray:
        """dg/dK for kernels of the form g(k)."""
        raise NotImplementedError

    def slope_x(self, X, Z):
        outer = self._outer_slope(self.kernel.pairwise(X, Z))
        return outer[:, :, None] * self.kernel.slope_x(X, Z)

    def slope_log_params(self, X, Z):
        outer = self._outer_slope(self.kernel.pairwise(X, Z))
        inner = self.kernel.slope_log_params(X, Z)
        return _prefixed("kernel", {k: _times(v, outer) for k, v in inner.items()})


class Scale(_Wrapper):
    """c·k for c > 0, written ``c * k``.

    >>> from mercer.kernels import Linear
    >>> 2 * Linear() == Scale(Linear(), 2)
    True
    """

    positive = ("factor",)

    def __init__(self, kernel, factor=1.0):
        self.kernel = kernel
        self.factor = factor

    @property
    def infinitely_divisible(self):  # type: ignore[override]
        return self.kernel.infinitely_divisible

    def validate(self):
        if self.factor is None:
            raise ValueError("Scale: factor must be a positive number, got None")
        super().validate()

    def pairwise(self, X, Z):
        K = self.kernel.pairwise(X, Z)
        return K * K.dtype.type(self.factor)

    def diagonal(self, X):
        return self.kernel.diagonal(X) * float(self.factor)

    def _outer_slope(self, K):
        return np.full_like(K, self.factor)

    def slope_log_params(self, X, Z):
        return {"factor": self.pairwise(X, Z), **super().slope_log_params(X, Z)}

    def amplitude(self):
        return self.factor * self.kernel.amplitude()

    def frequencies(self, rng, count, d):
        return self.kernel.frequencies(rng, count, d)

    def expansion(self, d):
        inner = self.kernel.expansion(d)
        return None if inner is None else {a: self.factor * w for a, w in inner.items()}

    def expansion_size(self, d):
        return self.kernel.expansion_size(d)

    def rule(self):
        return self._rules("a positive multiple of a kernel")


class Power(_Wrapper):
    """k^p, written ``k ** p``: p a positive integer, or any p > 0 if k is infinitely divisible.

    >>> from mercer.kernels import Gaussian, Linear
    >>> (Linear() ** 3)([[2.0]])
    array([[64.]])
    >>> Linear() ** 0.5
    Traceback (most recent call last):
    ...
    ValueError: k ** 0.5 is not a kernel in general: the exponent must be a positive integer
    """

    def __init__(self, kernel, exponent=1):
        self.kernel = kernel
        self.exponent = exponent

    @property
    def infinitely_divisible(self):  # type: ignore[override]
        return self.kernel.infinitely_divisible

    def validate(self):
        super().validate()
        p = self.exponent
        if not _is_number(p) or not 0 < p < math.inf:
            raise ValueError(f"k ** {p!r} is not a kernel: the exponent must be a positive integer")
        if not is_integer(p) and not self.kernel.infinitely_divisible:
            raise ValueError(f"k ** {p!r} is not a kernel in general: the exponent must be a positive integer")

    def _raise(self, K):
        return int_power(K, int(self.exponent)) if is_integer(self.exponent) else K ** float(self.exponent)

    def pairwise(self, X, Z):
        return self._raise(self.kernel.pairwise(X, Z))

    def diagonal(self, X):
        return self._raise(self.kernel.diagonal(X))

    def _outer_slope(self, K):
        if is_integer(self.exponent):
            p = int(self.exponent)
            return p * K ** (p - 1)
        # Where k underflowed to 0 so did its slope, whatever the factor.
        p = float(self.exponent)
        return p * np.where(K > 0, K, 1) ** (p - 1)

    def amplitude(self):
        return self.kernel.amplitude() ** self.exponent

    def frequencies(self, rng, count, d):
        if not is_integer(self.exponent):
            return super().frequencies(rng, count, d)
        return sum(self.kernel.frequencies(rng, count, d) for _ in range(int(self.exponent)))

    def expansion(self, d):
        inner = self.kernel.expansion(d)
        if inner is None or not is_integer(self.exponent):
            return None
        out = inner
        for _ in range(int(self.exponent) - 1):
            out = _multiply(out, inner)
        return out

    def expansion_size(self, d):
        size = self.kernel.expansion_size(d)
        # Multisets of size p from `size` monomials.
        return math.inf if math.isinf(size) else math.comb(int(size + self.exponent - 1), int(self.exponent))

    def rule(self):
        if not is_integer(self.exponent):
            return self._rules("a positive power of an infinitely divisible kernel")
        return self._rules("an integer power of a kernel")


class Exp(_Wrapper):
    """exp(k), written ``k.exp()``.

    >>> from mercer.kernels import Linear
    >>> Linear().exp()([[0.0]])
    array([[1.]])
    """

    def __init__(self, kernel):
        self.kernel = kernel

    # exp(k)^p = exp(pk).
    infinitely_divisible = True

    def pairwise(self, X, Z):
        return np.exp(self.kernel.pairwise(X, Z))

    def diagonal(self, X):
        return np.exp(self.kernel.diagonal(X))

    def _outer_slope(self, K):
        return np.exp(K)

    def amplitude(self):
        return math.exp(self.kernel.amplitude())

    def frequencies(self, rng, count, d):
        # exp(k) = Σ k^j/j!, and k^j has sums of j frequencies: j is Poisson with mean k(0).
        terms = rng.poisson(self.kernel.amplitude(), count)
        out = np.zeros((count, d))
        for j in range(terms.max(initial=0)):
            out += self.kernel.frequencies(rng, count, d) * (terms > j)[:, None]
        return out

    def rule(self):
        return self._rules("the exponential of a kernel")


class Normalized(_Wrapper):
    """k(x,z)/√(k(x,x)k(z,z)), written ``k.normalize()``; 0 where k(x,x) = 0.

    >>> from mercer.kernels import Linear
    >>> Linear().normalize()([[3.0, 4.0]], [[1.0, 0.0]])
    array([[0.6]])
    """

    def __init__(self, kernel):
        self.kernel = kernel

    def _inverse_root(self, X):
        diagonal = self.kernel.diagonal(X)
        return np.where(diagonal > 0, 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1)), 0)

    def pairwise(self, X, Z):
        return self._inverse_root(X)[:, None] * self.kernel.pairwise(X, Z) * self._inverse_root(Z)[None, :]

    def diagonal(self, X):
        diagonal = self.kernel.diagonal(X)
        return (diagonal > 0).astype(diagonal.dtype)

    def slope_x(self, X, Z):
        a, b = self._inverse_root(X)[:, None], self._inverse_root(Z)[None, :]
        K = self.kernel.pairwise(X, Z)
        dK = self.kernel.slope_x(X, Z)
        # d/dx k(x,x) is twice the slope in the first argument, taken at z = x.
        own = np.stack([self.kernel.slope_x(X[i : i + 1], X[i : i + 1])[0, 0] for i in range(len(X))])
        # a³bK would overflow where k(x,x) is tiny; in this order every factor is of moderate size.
        relative = own * a**2
        return (a * b)[:, :, None] * dK - (a * K * b)[:, :, None] * relative[:, None, :]

    def slope_log_params(self, X, Z):
        a, b = self._inverse_root(X)[:, None], self._inverse_root(Z)[None, :]
        K = a * self.kernel.pairwise(X, Z) * b
        out = {}
        dx, dz = self._diagonal_slopes(X), self._diagonal_slopes(Z)
        for name, slope in self.kernel.slope_log_params(X, Z).items():
            relative = _times(dx[name], a[:, 0] ** 2)[:, None] + _times(dz[name], b[0] ** 2)[None, :]
            out[name] = _times(slope, a * b) - 0.5 * _times(relative, K)
        return _prefixed("kernel", out)

    def _diagonal_slopes(self, X):
        rows = [self.kernel.slope_log_params(X[i : i + 1], X[i : i + 1]) for i in range(len(X))]
        return {name: np.stack([r[name][0, 0] for r in rows]) for name in rows[0]}

    def amplitude(self):
        self.kernel.amplitude()  # refuses kernels that are not translation-invariant
        return 1.0

    def frequencies(self, rng, count, d):
        return self.kernel.frequencies(rng, count, d)

    def rule(self):
        return self._rules("a kernel, normalised")


def _prefixed(prefix: str, slopes: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {f"{prefix}__{name}": value for name, value in slopes.items()}


def _times(slope: np.ndarray, factor: np.ndarray) -> np.ndarray:
    """slope·factor, where slope may have a trailing axis of features."""
    return slope * (factor[..., None] if slope.ndim > factor.ndim else factor)


def _merge(items: list[tuple[tuple[int, ...], float]]) -> dict[tuple[int, ...], float]:
    out: dict[tuple[int, ...], float] = {}
    for monomial, weight in items:
        out[monomial] = out.get(monomial, 0.0) + weight
    return out


def _multiply(a: dict, b: dict) -> dict:
    return _merge([(tuple(sorted(m + n)), v * w) for m, v in a.items() for n, w in b.items()])
