"""Half-spaces among the features of a kernel: the sets {x : f(x) + b ≥ 0}, f in H_K."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._params import require_count, require_flag
from mercer._xp import take
from mercer.kernels import Finite, Kernel
from mercer.theory.learnability.classes import InSpace
from mercer.theory.learnability.exact import fraction, integer_rows, nonnegative, separate, widest
from mercer.theory.learnability.halfspaces import Monomial, PolynomialSets, random_points
from mercer.theory.learnability.inputs import as_points, show_number

# Up to so many monomials a polynomial kernel is taken by its features, exactly.
_MOST_MONOMIALS = 500
# In floating point: eigenvalues below this share of the largest are 0, and so are margins.
_ROUNDING = 1e-10


@dataclass(frozen=True, eq=False)
class KernelSet:
    """The points where f + b is at least 0, f = Σ c_i k(x_i,·).

    Sums are taken exactly of the kernel's values, which themselves are rounded.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> from mercer.theory.learnability import KernelHalfSpaces
    >>> h = KernelHalfSpaces(Gaussian(1.0)).consistent([[0.0], [1.0], [2.0]], "+-+")
    >>> print(h), h([[0.1], [1.1]]).tolist()
    f ≥ 0, f a sum of 3 × Gaussian(sigma=1.0)
    (None, [True, False])
    """

    kernel: Kernel
    points: Any
    coefficients: tuple[Any, ...]
    b: Any

    def __call__(self, X: Any) -> np.ndarray:
        K = np.asarray(self.kernel(X, self.points), dtype=float)
        values = np.c_[K, np.ones(len(K))]
        return nonnegative(
            values, (*self.coefficients, self.b), 0, lambda i: [fraction(v) for v in values[i]]
        )

    def __str__(self) -> str:
        offset = "" if self.b == 0 else f" {'+' if self.b > 0 else '−'} {show_number(abs(self.b))}"
        terms = sum(c != 0 for c in self.coefficients)
        return f"f{offset} ≥ 0, f a sum of {terms} × {self.kernel!r}"


class KernelHalfSpaces(InSpace):
    """The sets {x : f(x) + b ≥ 0}, f in the space of a kernel: half-spaces among its features.

    A labelling of points is realised if a vector of values of f and b on them has its signs, and those
    vectors are the range of the Gram matrix K and the constants.

    * **K positive definite** on any distinct points (Gaussian, Laplacian, Matérn, rational quadratic; sums,
      multiples, … of these): K c = y can be solved for every y, so all finite sets are shattered.
    * **Polynomial kernels**: half-spaces among finitely many monomials; answers are exact.
    * **Whole numbers in K** (words in common, finite domains, …): exact, singular K included.
    * **Other kernels**: by K in floating point; what is within rounding of the boundary is not separated.

    Parameters
    ----------
    kernel : Kernel
    offset : may b differ from 0? Without it a function such as the linear kernel's is 0, hence +, at 0
    d : coordinates of a point, which the VC dimension of a polynomial kernel depends on

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Polynomial
    >>> from mercer.theory.learnability import KernelHalfSpaces, shatters
    >>> xor = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> [bool(shatters(KernelHalfSpaces(Polynomial(degree)), xor)) for degree in (1, 2)]
    [False, True]
    >>> KernelHalfSpaces(Polynomial(2), d=2).vc_dimension, KernelHalfSpaces(Gaussian(1.0)).vc_dimension
    (6, inf)
    """

    def __init__(self, kernel, offset=True, d=None):
        self.kernel = kernel
        self.offset = offset
        self.d = d

    def validate(self):
        if not isinstance(self.kernel, Kernel):
            raise TypeError(
                f"kernel must be a Kernel such as mercer.kernels.Gaussian(1.0), got {self.kernel!r}; "
                f"a function of two points becomes one by FunctionKernel"
            )
        self.kernel.validate()
        self.kernel.require_resolved()
        require_flag(self.offset, "offset")
        super().validate()

    @property
    def vc_dimension(self):
        self.validate()
        if self.kernel.strictly():
            return math.inf
        if isinstance(self.kernel, Finite):
            K = self.kernel(self.kernel.domain())
            return int(np.linalg.matrix_rank(np.c_[K, np.ones(len(K))] if self.offset else K))
        polynomials = self._polynomials(self.d)
        return None if polynomials is None else polynomials.vc_dimension

    @property
    def why(self):
        reason = self.kernel.strictly()
        if reason:
            return (
                f"{reason}: K is positive definite on any distinct points, so K c = y can be solved for "
                "every labelling y = ±1"
            )
        constants = " and the constants" if self.offset else ""
        return (
            f"functions of the space{constants} form a vector space; if its dimension is D, some D points "
            "can be given any values, and the values on D + 1 points obey a linear relation, which "
            "forbids a labelling"
        )

    def growth(self, n):
        if self.kernel.strictly():
            return 2 ** require_count(n, "n", 0)
        polynomials = self._polynomials(self.d)
        return None if polynomials is None else polynomials.growth(n)

    def _polynomials(self, d: int | None) -> _Monomials | None:
        """The same class by its monomials, for a polynomial kernel with few of them."""
        if d is None or not self.kernel.vectors or self.kernel.expansion_size(d) > _MOST_MONOMIALS:
            return None
        terms = self.kernel.expansion(d)
        if terms is None:
            return None
        listed = {a for a, weight in terms.items() if weight > 0} | ({()} if self.offset else set())
        return _Monomials(tuple(sorted(listed, key=lambda a: (-len(a), a))), d)

    def points(self, X):
        if self.kernel.vectors:
            return as_points(X, self.d)
        X = self.kernel.points(X)
        if not len(X):
            raise ValueError("there must be at least one point")
        return X

    def candidates(self, n, rng):
        if isinstance(self.kernel, Finite):
            domain = self.kernel.domain()
            if n > len(domain):
                return
            while True:
                yield rng.choice(domain, n, replace=False)
        if not self.kernel.vectors:
            raise ValueError(f"{self.kernel!r} is not on vectors: pass points to vc_dimension")
        if self.d is None and not self.kernel.strictly():
            raise ValueError("say in how many coordinates: KernelHalfSpaces(kernel, d=2)")
        d = self.d or 2
        polynomials = self._polynomials(d)
        if polynomials is None and self.kernel.strictly():
            while True:
                yield rng.standard_normal((n, d))
        if polynomials is not None:
            yield from polynomials.special(n, d)
        yield from random_points(n, d, rng)

    def find(self, X, y):
        if self.kernel.vectors:
            polynomials = self._polynomials(X.shape[1])
            if polynomials is not None:
                return polynomials.find(X, y)
        kernel, points = self.kernel.bind(X.astype(float) if self.kernel.vectors else X)
        # Equal points are one point with one label.
        first, places = _distinct(points)
        if (y[first][places] != y).any():
            return None
        few, labels = take(points, first), y[first]
        K = np.asarray(kernel(few), dtype=float)
        if self.kernel.strictly():
            return self._by_solving(kernel, few, labels, K)
        if np.array_equal(K, np.rint(K)) and np.abs(K).max() < 2**53:
            return self._by_whole_numbers(kernel, few, labels, K)
        return self._by_range(kernel, few, labels, K)

    def _by_solving(self, kernel: Kernel, points: Any, y: np.ndarray, K: np.ndarray) -> KernelSet:
        """K c = ±1; exactly for the K of floating point, if that is nearly singular."""
        try:
            c = np.linalg.solve(K, np.where(y, 1.0, -1.0))
        except np.linalg.LinAlgError:
            c = np.full(len(K), np.nan)
        h = KernelSet(kernel, points, tuple(c.tolist()), 0)
        if np.isfinite(c).all() and np.array_equal(h(points), y):
            return h
        found = separate(integer_rows(K), y)
        if found.w is not None:
            h = KernelSet(kernel, points, found.w, 0)
            if np.array_equal(h(points), y):
                return h
        raise ValueError(
            "a hypothesis exists, because K is positive definite, but the points are so close for "
            f"{kernel!r} that floating point can't tell K from a singular matrix; take a narrower kernel"
        )

    def _by_whole_numbers(self, kernel: Kernel, points: Any, y: np.ndarray, K: np.ndarray) -> Any:
        rows = integer_rows(np.c_[K, np.ones(len(K))] if self.offset else K)
        w = separate(rows, y).w
        if w is None:
            return None
        return KernelSet(kernel, points, w[: len(K)], w[-1] if self.offset else 0)

    def _by_range(self, kernel: Kernel, points: Any, y: np.ndarray, K: np.ndarray) -> Any:
        """Values of f are combinations of the eigenvectors of K; the largest margin among those."""
        if y.all():
            return KernelSet(kernel, points, (0,) * len(K), 0)
        eigenvalues, vectors = np.linalg.eigh(K)
        kept = eigenvalues > _ROUNDING * len(K) * np.abs(eigenvalues).max()
        basis = vectors[:, kept]
        columns = np.c_[basis, np.ones(len(K))] if self.offset else basis
        found = widest(columns, y)
        if found.status != 0 or found.x[-1] <= math.sqrt(_ROUNDING):
            return None
        w, b = (found.x[:-2], found.x[-2]) if self.offset else (found.x[:-1], 0.0)
        c = basis @ (w / eigenvalues[kept])
        h = KernelSet(kernel, points, tuple(c.tolist()), float(b))
        return h if np.array_equal(h(points), y) else None


class _Monomials(PolynomialSets):
    """A polynomial kernel's features."""

    def __init__(self, listed: tuple[Monomial, ...], d: int):
        self.listed = listed
        self.d = d

    def monomials(self, d):
        return self.listed


def _distinct(points: Any) -> tuple[np.ndarray, np.ndarray]:
    """Where each distinct point occurs first, and which of those each point is."""
    if getattr(points, "dtype", None) is not None and points.dtype != object and points.ndim <= 2:
        _, first, places = np.unique(points, axis=0, return_index=True, return_inverse=True)
        return first, places.ravel()
    everyone = np.arange(len(points))
    return everyone, everyone
