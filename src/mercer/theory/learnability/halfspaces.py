"""Half-spaces, and the sets where a polynomial is nonnegative."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, groupby
from typing import Any

import numpy as np

from mercer._params import require_count, require_flag
from mercer.theory.learnability.classes import Hypothesis, InSpace
from mercer.theory.learnability.exact import Separation, fraction, nonnegative, separate, whole_multiples
from mercer.theory.learnability.inputs import as_points, count_of, show_number, show_point, subscript

Monomial = tuple[int, ...]

# Coefficients above this are shown relative to the largest.
_LONGEST = 10**6

_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class PolynomialSet:
    """The points where a polynomial is at least 0; of degree 1, a closed half-space.

    It is evaluated exactly: on the boundary is +, and no rounding moves a point off it.

    A monomial is a sorted tuple of coordinates, counted from 0: () is 1, (0, 1) is x₁x₂.

    Examples
    --------
    >>> disc = PolynomialSet(((), (0, 0), (1, 1)), (1, -1, -1))
    >>> print(disc), disc([[0, 1], [1, 1]]).tolist()
    −x₁² − x₂² + 1 ≥ 0
    (None, [True, False])
    """

    monomials: tuple[Monomial, ...]
    coefficients: tuple[Any, ...]

    def __call__(self, X: Any) -> np.ndarray:
        least = self._coordinates
        X = as_points(X, 1 if least == np.ndim(X) == 1 else None)
        if X.shape[1] < least:
            raise ValueError(f"{self} needs {least} coordinates, the points have {X.shape[1]}")
        floats = X.astype(float)
        features = np.stack([floats[:, list(m)].prod(axis=1) for m in self.monomials], axis=1)
        degree = max(map(len, self.monomials), default=0)
        return nonnegative(
            features, self.coefficients, 2 * degree, lambda i: exact_monomials(X[i], self.monomials)
        )

    @property
    def _coordinates(self) -> int:
        return 1 + max((max(m, default=-1) for m in self.monomials), default=-1)

    @property
    def w(self) -> tuple[Any, ...]:
        """The coefficients of x₁, x₂, … alone."""
        terms = dict(zip(self.monomials, self.coefficients, strict=True))
        return tuple(terms.get((j,), 0) for j in range(self._coordinates))

    @property
    def b(self) -> Any:
        """The constant term."""
        return dict(zip(self.monomials, self.coefficients, strict=True)).get((), 0)

    def __str__(self) -> str:
        text, values = "", self.coefficients
        if (largest := max(map(abs, values), default=0)) > _LONGEST:
            values = tuple(float(Fraction(v) / Fraction(largest)) for v in values)
        constant_last = sorted(zip(self.monomials, values, strict=True), key=lambda t: not t[0])
        for monomial, value in constant_last:
            if value == 0:
                continue
            size = show_number(abs(value))
            name = _name(monomial)
            term = size if not name else name if size == "1" else f"{size}·{name}"
            sign = "−" if value < 0 else "+"
            text += f" {sign} {term}" if text else ("−" if value < 0 else "") + term
        return f"{text or '0'} ≥ 0"


def _name(monomial: Monomial) -> str:
    """x₁²x₂ for (0, 0, 1); empty for the constant."""
    powers = [(j, len(list(group))) for j, group in groupby(monomial)]
    return "".join(f"x{subscript(j + 1)}" + str(p).translate(_SUPERSCRIPTS) * (p > 1) for j, p in powers)


def exact_monomials(x: Any, monomials: tuple[Monomial, ...]) -> list[Fraction]:
    """x^a for each monomial a, as fractions."""
    values = [fraction(v) for v in x]
    return [math.prod((values[j] for j in m), start=Fraction(1)) for m in monomials]


class PolynomialSets(InSpace):
    """Classes {x : Σ_a w_a x^a ≥ 0} for a fixed list of monomials: half-spaces among features."""

    def monomials(self, d: int) -> tuple[Monomial, ...]:
        """The monomials in d coordinates."""
        raise NotImplementedError

    def rows(self, X: np.ndarray) -> np.ndarray:
        """The features of the points, all times one positive number that makes them whole."""
        values, common = whole_multiples(X)
        monomials = self.monomials(X.shape[1])
        degree = max(map(len, monomials), default=0)
        columns = [values[:, list(m)].prod(axis=1) * common ** (degree - len(m)) for m in monomials]
        return np.stack(columns, axis=1)

    def separation(self, X: Any, y: np.ndarray) -> Separation:
        """Checked points: whole w, or the weights of a proof that there is none."""
        return separate(self.rows(X), y)

    def find(self, X: Any, y: np.ndarray) -> Hypothesis | None:
        monomials, rows = self.monomials(X.shape[1]), self.rows(X)
        if () not in monomials:
            w = separate(rows, y).w
            return None if w is None else PolynomialSet(monomials, w)
        constant = monomials.index(())
        scale = rows[0, constant]
        if y.all() == y.any():
            # All on one side of x₁ = a, for an a beyond them all.
            free = np.zeros(len(monomials), dtype=object)
            first = min((m for m in monomials if m), key=len, default=None)
            if first is not None:
                free[monomials.index(first)] = 1
            scores = rows.dot(free)
            free[constant] = 1 - min(scores) // scale if y[0] else (-max(scores)) // scale - 1
            return PolynomialSet(monomials, tuple(free))
        found = separate(rows, y).w
        if found is None:
            return None
        # The constant is moved so that both sides are equally far from 0: no point is on the boundary.
        v = np.array(found, dtype=object)
        scores = rows.dot(v)
        v *= 2 * scale
        v[constant] -= min(scores[y]) + max(scores[~y])
        return PolynomialSet(monomials, tuple(v // (math.gcd(*v) or 1)))

    def growth(self, n):
        # Cover's count for points in general position; without a constant, closed sets can do better.
        if self.d is None or () not in self.monomials(self.d):
            return None
        n, count = require_count(n, "n", 0), len(self.monomials(self.d))
        return 2 * sum(math.comb(n - 1, i) for i in range(count)) if n else 1

    @property
    def vc_dimension(self):
        return None if self.d is None else len(self.monomials(self.d))

    def candidates(self, n: int, rng: np.random.Generator) -> Iterator[Any]:
        yield from self.special(n, self.dimension())
        yield from random_points(n, self.dimension(), rng)

    def special(self, n: int, d: int) -> Iterator[np.ndarray]:
        """Points in general position that are easy to read."""
        if n <= d + 1:
            yield np.vstack([np.zeros((1, d), int), np.eye(d, dtype=int)])[:n]
        # On the moment curve any d + 1 points are in general position.
        yield np.array([[t**j for j in range(1, d + 1)] for t in range(n)])


def random_points(n: int, d: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Whole numbers, so that what is found can be read; larger ones from time to time."""
    side = 4
    while True:
        yield rng.integers(-side, side + 1, (n, d))
        side = side * 2 if side < 1000 else 4


class HalfSpaces(PolynomialSets):
    """Closed half-spaces {x : w·x + b ≥ 0} of R^d.

    On finitely many points it makes no difference whether half-spaces are closed or open: where one closed
    one separates them, b can be moved so that no point is on its boundary, and the one that is found is such.
    Without offset (b = 0) it does: 0 is always +, and x and −x are both + only on the boundary.

    Answers are exact, floats being fractions: collinear, coincident and nearly coincident points included.
    Many points are first separated by a linear programme in floating point (HiGHS), and the result, or the
    proof that there is none, is checked in whole numbers.

    Points have d coordinates; None takes their number from the points. With `offset`, b may differ from 0.

    Examples
    --------
    >>> from mercer.theory.learnability import HalfSpaces, shatters
    >>> H = HalfSpaces(2)
    >>> print(H.consistent([[0, 0], [1, 0], [0, 1]], "-++"))
    2·x₁ + 2·x₂ − 1 ≥ 0
    >>> H.consistent([[0, 0], [1, 1], [2, 2]], "+-+") is None            # on one line
    True
    >>> bool(shatters(H, [[0, 0], [1, 0], [0, 1]])), H.vc_dimension, H.growth(4)
    (True, 3, 14)
    """

    def __init__(self, d=None, offset=True):
        self.d = d
        self.offset = offset

    def validate(self):
        super().validate()
        require_flag(self.offset, "offset")

    def monomials(self, d):
        return tuple((j,) for j in range(d)) + (((),) if self.offset else ())

    @property
    def why(self):
        if not self.offset:
            return (
                "the unit vectors e_1, …, e_d are shattered by w = (±1, …, ±1); d + 1 points are linearly "
                "dependent, Σ a_i x_i = 0 with some a_i > 0: label − where a_i > 0 and + elsewhere, and Σ "
                "a_i w·x_i would be below 0"
            )
        return (
            "0, e_1, …, e_d are shattered, because d + 1 affinely independent points can be given any "
            "values by w·x + b; d + 2 points fall into two sets whose convex hulls meet (Radon), and no "
            "half-space separates those"
        )

    def obstacle(self, X, y):
        weights = self.separation(X, y).weights
        if weights is None or not self.offset:
            return ""
        common = [
            sum((u * fraction(x[j]) for u, x, label in zip(weights, X, y, strict=True) if label), Fraction(0))
            for j in range(X.shape[1])
        ]
        return f"{show_point(common)} lies in the convex hulls of both sides"

    def special(self, n, d):
        if not self.offset:
            if n <= d:
                yield np.eye(d, dtype=int)[:n]
            yield np.array([[t**j for j in range(d)] for t in range(1, n + 1)])
            return
        yield from super().special(n, d)

    def from_numbers(self, values):
        count = (self.d or len(values) - bool(self.offset)) + bool(self.offset)
        if len(values) != count or not values:
            raise ValueError(f"give {count} numbers, not {len(values)}")
        return PolynomialSet(self.monomials(count - bool(self.offset)), tuple(values))

    @property
    def numbers(self):
        return "w₁ w₂ … b, for w·x + b ≥ 0" if self.offset else "w₁ w₂ …, for w·x ≥ 0"


class PolynomialHalfSpaces(PolynomialSets):
    """Sets {x : p(x) ≥ 0} for polynomials p of a degree, in d coordinates.

    They are half-spaces among all monomials up to that degree, C(d + degree, degree) of them; the half-spaces
    of the kernel (x·z + c)^degree, c > 0, are the same sets.

    Points have d coordinates; None takes their number from the points.

    Examples
    --------
    >>> from mercer.theory.learnability import PolynomialHalfSpaces, shatters
    >>> H = PolynomialHalfSpaces(d=1, degree=2)
    >>> print(H.consistent([-1, 0, 1], "+-+"))
    4·x₁² − 2·x₁ − 1 ≥ 0
    >>> H.vc_dimension, bool(shatters(H, [-1, 0, 1])), bool(shatters(H, [-1, 0, 1, 2]))
    (3, True, False)
    """

    def __init__(self, d=None, degree=2):
        self.d = d
        self.degree = degree

    def validate(self):
        super().validate()
        require_count(self.degree, "degree")

    def monomials(self, d):
        return tuple(
            m for p in range(self.degree, -1, -1) for m in combinations_with_replacement(range(d), p)
        )

    why = (
        "polynomials of that degree have C(d + degree, degree) coefficients; so many points in "
        "general position can be given any values (shattered), and values on one more point obey a "
        "linear relation, which forbids a labelling"
    )

    def from_numbers(self, values):
        monomials = self.monomials(self.dimension())
        return PolynomialSet(monomials, tuple(count_of(values, len(monomials))))

    @property
    def numbers(self):
        if self.d is None:
            return ""
        return f"the coefficients of {', '.join(_name(m) or '1' for m in self.monomials(self.d))}"
