"""What a class of hypotheses is: which labellings of which points can it explain?"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any

import numpy as np

from mercer._params import Params, require_count
from mercer.theory.learnability.inputs import any_objects, as_labels, as_points, show_point, signs

Hypothesis = Callable[[Any], np.ndarray]


class Inconsistent(ValueError):
    """No hypothesis of the class explains the examples.

    `example` is the row of one that can't be explained together with others.

    Examples
    --------
    >>> from mercer.theory.learnability import Inconsistent, Intervals
    >>> try:
    ...     Intervals().learn([1, 2, 3], [1, 0, 1])
    ... except Inconsistent as error:
    ...     print(error.example, error)
    1 Intervals() can't explain example 1, which is 2, labelled −: it lies in [1, 3], which the positive
    examples span
    """

    def __init__(self, message: str, example: int):
        super().__init__(message)
        self.example = example


class HypothesisClass(Params):
    """A set H of functions from points to {−, +}.

    A subclass gives `find`, the consistency oracle; where theorems say more, it says so in the
    properties below. Shattering, the VC dimension and the game need no more than that.

    Examples
    --------
    >>> from mercer.theory.learnability import Rectangles
    >>> H = Rectangles(2)
    >>> h = H.consistent([[0, 0], [2, 1], [3, 3]], [1, 1, 0])
    >>> print(h)
    [0, 2] × [0, 1]
    >>> h([[1, 1], [1, 2]]).tolist()
    [True, False]
    >>> print(H.consistent([[0, 0], [1, 1], [2, 2]], [1, 0, 1]))
    None
    """

    def find(self, X: Any, y: np.ndarray) -> Hypothesis | None:
        """A hypothesis with h(X) = y for checked points and labels, or None: the one required method."""
        raise NotImplementedError(f"{type(self).__name__} must define find(X, y)")

    def candidates(self, n: int, rng: np.random.Generator) -> Iterator[Any]:
        """Sets of n points that are worth trying when looking for a set that is shattered."""
        raise NotImplementedError(f"{type(self).__name__} can't make points of its own")

    # -- what is known: attributes, or properties where they depend on parameters ----------------------

    # The VC dimension, where a theorem says what it is, and the idea of the proof, in words.
    vc_dimension: int | float | None = None
    why: str = ""
    # |H|, where it is finite and known.
    size: int | None = None
    # L, where the algorithm of the class errs in at most L independent ways, as in `sample_size`.
    parts: int | None = None
    # How many of them a coordinate has, where their number is still open.
    parts_each: int | None = None
    # Which numbers `from_numbers` takes, in words.
    numbers: str = ""

    def growth(self, n: int) -> int | None:
        """The most labellings of n points that H realises, where that is known exactly; else None."""
        return None

    # -- using it ---------------------------------------------------------------------------------

    def consistent(self, X: Any, y: Any) -> Hypothesis | None:
        """A hypothesis that labels the points X by y, or None if there is none.

        Labels are True/False, 1/0, 1/−1, or a string such as "+-+".
        """
        self.validate()
        X = self.points(X)
        return self.find(X, as_labels(y, len(X)))

    def learn(self, X: Any, y: Any) -> Hypothesis:
        """The same, but where there is none, `Inconsistent` names an example that can't be explained."""
        self.validate()
        X = self.points(X)
        y = as_labels(y, len(X))
        h = self.find(X, y)
        if h is None:
            example, reason = self.offender(X, y)
            point = X[example]
            shown = show_point(point) if np.size(point) <= 12 else f"row {example} of the points"
            sign = "+" if y[example] else "−"
            raise Inconsistent(
                f"{self!r} can't explain example {example}, which is {shown}, labelled {sign}: {reason}",
                example,
            )
        return h

    def offender(self, X: Any, y: np.ndarray) -> tuple[int, str]:
        """An example to blame, and why: here the first that contradicts those before it."""
        first = bisect_left(range(1, len(y)), True, key=lambda k: self.find(X[:k], y[:k]) is None)
        return first, f"no hypothesis of the class agrees with it and the {first} before it"

    def obstacle(self, X: Any, y: np.ndarray) -> str:
        """Why no hypothesis labels checked points so, if there is more to say than that."""
        return ""

    def points(self, X: Any) -> Any:
        """Points, checked, in the form `find` takes."""
        return as_points(X)

    def from_numbers(self, values: list[float]) -> Hypothesis:
        """The hypothesis that a person means by some numbers, for the game."""
        raise ValueError(f"a hypothesis of {self!r} can't be written as a few numbers")


class InSpace(HypothesisClass):
    """Classes of points with d coordinates; None takes their number from the points."""

    d: int | None

    def validate(self):
        if self.d is not None:
            require_count(self.d, "d")

    def points(self, X):
        return as_points(X, self.d)

    def dimension(self) -> int:
        """d, or an error that asks for it."""
        if self.d is None:
            raise ValueError(f"say in how many coordinates: {type(self).__name__}(d=2)")
        return self.d


class TightestFit(HypothesisClass):
    """Classes with a smallest hypothesis around some points: that of the positive examples is consistent, or
    nothing is."""

    def tightest(self, X: np.ndarray) -> Hypothesis:
        """The smallest hypothesis that holds these points, which may be none."""
        raise NotImplementedError

    def elsewhere(self, X: np.ndarray) -> Hypothesis:
        """A hypothesis that holds none of these points."""
        return self.tightest(X[:0])

    def find(self, X, y):
        h = self.tightest(X[y]) if y.any() else self.elsewhere(X)
        return None if h(X)[~y].any() else h

    def offender(self, X, y):
        h = self.tightest(X[y])
        return int(np.flatnonzero(h(X) & ~y)[0]), self.blame(h)

    def blame(self, h: Any) -> str:
        """Why a negative example in the tightest fit can't be explained."""
        return f"it lies in {h}, which the positive examples span"


def sauer_bound(n: int, d: int) -> int:
    """Σ_{i ≤ d} C(n, i): the most labellings of n points by a class of VC dimension d (Sauer's lemma).

    That is 2ⁿ for n ≤ d, and for n ≥ d ≥ 1 at most (en/d)^d: a polynomial in n. Intervals attain it.

    Examples
    --------
    >>> from mercer.theory.learnability import Intervals, sauer_bound
    >>> sauer_bound(3, 5), sauer_bound(10, 2), Intervals().growth(10)
    (8, 56, 56)
    >>> sauer_bound(100, 3) <= (2.718282 * 100 / 3) ** 3
    True
    """
    n, d = require_count(n, "n", 0), require_count(d, "d", 0)
    return sum(math.comb(n, i) for i in range(min(n, d) + 1))


def require_class(H: Any) -> None:
    """Raise unless H is a class of hypotheses whose parameters are right."""
    if not isinstance(H, HypothesisClass):
        raise TypeError(f"H must be a class of hypotheses such as Rectangles(2), got {H!r}")
    H.validate()


class UserClass(HypothesisClass):
    """A class of your own, given by a consistency oracle.

    Parameters
    ----------
    oracle : function of (X, y)
        Returns a hypothesis, a function from points to booleans, that labels the points X by the boolean
        array y, or None if there is none. What it returns is checked.
    sample : function of (n, rng), a NumPy Generator, that draws n points in the search of a shattered set
    dimension : the VC dimension, if you know it
    cardinality : |H|, if it is finite; then the VC dimension is at most log₂|H|

    Examples
    --------
    Circles around the origin, or their outside, of points in the plane:

    >>> import numpy as np
    >>> from mercer.theory.learnability import UserClass, shatters, vc_dimension
    >>> def circle(X, y):
    ...     r = np.hypot(*np.asarray(X, float).T)
    ...     for sign in (1, -1):                           # inside, outside
    ...         for radius in (*r, -1.0):
    ...             h = lambda Z, s=sign, q=radius: (np.hypot(*np.asarray(Z, float).T) <= q) == (s > 0)
    ...             if (h(X) == y).all():
    ...                 return h
    >>> H = UserClass(circle, sample=lambda n, rng: rng.normal(size=(n, 2)))
    >>> bool(shatters(H, [[1, 0], [2, 0]])), bool(shatters(H, [[1, 0], [2, 0], [3, 0]]))
    (True, False)
    >>> vc_dimension(H).lower
    2
    """

    def __init__(self, oracle, sample=None, dimension=None, cardinality=None):
        self.oracle = oracle
        self.sample = sample
        self.dimension = dimension
        self.cardinality = cardinality

    def validate(self) -> None:
        if not callable(self.oracle):
            raise TypeError(f"UserClass: oracle must be a function of (X, y), got {self.oracle!r}")
        if self.dimension is not None and self.dimension != math.inf:
            require_count(self.dimension, "dimension", 0)
        if self.cardinality is not None:
            require_count(self.cardinality, "cardinality")

    vc_dimension = property(attrgetter("dimension"))
    size = property(attrgetter("cardinality"))

    @property
    def why(self):
        return "as you said" if self.dimension is not None else ""

    def points(self, X):
        X = X if isinstance(X, np.ndarray) else any_objects(X)
        if not len(X):
            raise ValueError("there must be at least one point")
        return X

    def candidates(self, n, rng):
        if self.sample is None:
            raise ValueError(
                "UserClass has no way to make points: pass sample=lambda n, rng: …, which draws n of them"
            )
        while True:
            yield self.sample(n, rng)

    def find(self, X, y):
        h = self.oracle(X, y)
        if h is not None:
            given = np.asarray(h(X)).astype(bool).ravel()
            if not np.array_equal(given, y):
                raise ValueError(
                    f"the oracle's hypothesis {h!r} labels the points {signs(given)}, not {signs(y)} as "
                    "asked; it must return None where it finds none"
                )
        return h
