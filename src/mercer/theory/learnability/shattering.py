"""Shattering: does a class realise every labelling of some points, and of how many at most?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Any

import numpy as np

from mercer._params import require_count
from mercer.theory.learnability.classes import Hypothesis, HypothesisClass, require_class
from mercer.theory.learnability.inputs import signs

# A set of so many points has 1,024 labellings; larger ones are tried only if asked for.
_LARGEST_SET = 10
# The most labellings that are kept.
_MOST = 1 << 16


@dataclass(frozen=True, eq=False)
class Shattering:
    """The answer of `shatters`; true if every labelling is realised.

    Attributes
    ----------
    shattered : bool
    hypotheses : dict
        By labelling, a string such as "+-+", a hypothesis that realises it. All 2ⁿ if the points are
        shattered; if not, what had been found.
    defeat : the labelling that no hypothesis realises
    H : the class
    points : array
    reason : str

    Examples
    --------
    >>> from mercer.theory.learnability import Intervals, shatters
    >>> answer = shatters(Intervals(), [1, 2])
    >>> print(answer)
    Intervals() shatters these 2 points:
      --  [3, 4]
      -+  [2, 2]
      +-  [1, 1]
      ++  [1, 2]
    """

    shattered: bool
    hypotheses: dict[str, Hypothesis]
    defeat: str | None
    H: HypothesisClass
    points: Any
    reason: str

    def __bool__(self) -> bool:
        return self.shattered

    def __str__(self) -> str:
        n = len(self.points)
        many = f"these {n} points" if n > 1 else "this point"
        if not self.shattered:
            return f"{self.H!r} does not shatter {many}: {self.reason}."
        shown = [f"  {labels}  {h}" for labels, h in list(self.hypotheses.items())[:64]]
        more = [f"  … {len(self.hypotheses) - 64:,} more"] if len(self.hypotheses) > 64 else []
        return "\n".join([f"{self.H!r} shatters {many}:", *shown, *more])


def shatters(H: HypothesisClass, points: Any) -> Shattering:
    """Does the class H shatter these points: is there, for every labelling, an h in H that gives it?

    Points are taken one after the other. As long as the first k are shattered, each of their labellings has a
    hypothesis, which decides point k + 1 one way; the class is asked for the other. If the points are not
    shattered, that shows long before 2ⁿ questions.

    Points have shape (n, d); for classes on the line numbers will do.

    Examples
    --------
    >>> from mercer.theory.learnability import HalfSpaces, shatters
    >>> triangle, square = [[0, 0], [2, 0], [0, 2]], [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> answer = shatters(HalfSpaces(2), triangle)
    >>> bool(answer), print(answer.hypotheses["+--"])
    −x₁ − x₂ + 1 ≥ 0
    (True, None)
    >>> shatters(HalfSpaces(2), square).defeat                    # exclusive or
    '-++-'
    """
    require_class(H)
    X = H.points(points)
    realised, failed = _grow(H, X, stop=True)
    n = len(X)
    if failed is None:
        kept = {signs(labels): h for labels, h in sorted(realised.items())}
        return Shattering(True, kept, None, H, X, H.why)
    # An extension of what can't be realised can't be either.
    defeat = signs(failed + (False,) * (n - len(failed)))
    k = len(failed)
    reason = f"no hypothesis labels {'them' if n > 1 else 'it'} {defeat}"
    if k < n:
        reason += f", nor the first {k} of them {signs(failed)}"
    if obstacle := H.obstacle(X[:k], np.array(failed)):
        reason += f", because {obstacle}"
    return Shattering(False, {signs(k): h for k, h in sorted(realised.items())}, defeat, H, X, reason)


def dichotomies(H: HypothesisClass, points: Any) -> np.ndarray:
    """All labellings of these points that H realises, one a row.

    Their number is at most H.growth(n), the largest over all sets of n points, and by Sauer's lemma at most
    `sauer_bound(n, d)` for a class of VC dimension d.

    Examples
    --------
    Lines in the plane, points in general position, and four on one line:

    >>> from mercer.theory.learnability import HalfSpaces, dichotomies
    >>> H = HalfSpaces(2)
    >>> len(dichotomies(H, [[0, 0], [0, 1], [1, 0], [1, 1]])), H.growth(4)
    (14, 14)
    >>> len(dichotomies(H, [[0, 0], [1, 1], [2, 2], [3, 3]]))
    8
    """
    require_class(H)
    X = H.points(points)
    realised, _ = _grow(H, X, stop=False)
    return np.array(sorted(realised), dtype=bool)


def _grow(
    H: HypothesisClass, X: Any, stop: bool
) -> tuple[dict[tuple[bool, ...], Hypothesis], tuple[bool, ...] | None]:
    """Labellings that are realised, each with a hypothesis; with `stop`, up to the first that is not."""
    realised: dict[tuple[bool, ...], Any] = {(): None}
    for k in range(1, len(X) + 1):
        if 2 * len(realised) > _MOST and (stop or len(realised) > _MOST):
            raise ValueError(
                f"the class realises all of {len(realised):,} labellings of {k - 1} points, which is where "
                "the search ends; ask about fewer points"
            )
        longer: dict[tuple[bool, ...], Any] = {}
        for labels, h in realised.items():
            # At the end the class is asked for each: hypotheses made for fewer points look arbitrary.
            known = None if h is None or k == len(X) else bool(np.asarray(h(X[k - 1 : k]))[0])
            for label in (False, True):
                extended = (*labels, label)
                found = h if label == known else H.find(X[:k], np.array(extended))
                if found is not None:
                    longer[extended] = found
                elif stop:
                    return realised, extended
        realised = longer
    return realised, None


# -- the VC dimension: what theorems say, and what a search can certify -------------------------------


@dataclass(frozen=True, eq=False)
class VCDimension:
    """What is known of a VC dimension.

    Attributes
    ----------
    lower : certified: `witness` is a shattered set of so many points
    upper : by a theorem; None if there is none
    witness : Shattering or None
    defeats : the sets of lower + 1 points that were tried, each with a labelling that defeats the class
    why : the idea of the proof
    value : the dimension, if theorem or bounds settle it; ``int`` and ``float`` give it, too

    Examples
    --------
    >>> from mercer.theory.learnability import HalfSpaces, vc_dimension
    >>> found = vc_dimension(HalfSpaces(2))
    >>> int(found), found.lower, found.witness.points.tolist()
    (3, 3, [[0, 0], [1, 0], [0, 1]])
    """

    lower: int
    upper: int | float | None
    witness: Shattering | None
    defeats: tuple[Shattering, ...]
    why: str
    value: int | float | None

    def __int__(self) -> int:
        if self.value is None or self.value == math.inf:
            raise ValueError(f"the VC dimension is no whole number that is known: {self}")
        return int(self.value)

    def __float__(self) -> float:
        if self.value is None:
            raise ValueError(f"the VC dimension is not known: {self}")
        return float(self.value)

    def __str__(self) -> str:
        if self.value is not None:
            said = "infinite" if self.value == math.inf else str(self.value)
        elif self.upper is not None:
            said = f"between {self.lower} and {self.upper}"
        else:
            said = f"at least {self.lower}"
        lines = [f"VC dimension {said}" + (f": {self.why}." if self.why else ".")]
        if self.witness is not None:
            many = f"{self.lower} points that are" if self.lower > 1 else "a point that is"
            lines.append(f"A search found {many} shattered.")
        if self.defeats:
            sets = f"{len(self.defeats)} sets" if len(self.defeats) > 1 else "the one set"
            lines.append(f"None of {sets} of {self.lower + 1} that it tried was.")
        return "\n".join(lines)


def vc_dimension(
    H: HypothesisClass,
    points: Any = None,
    *,
    largest: int | None = None,
    tries: int = 20,
    random_state: Any = 0,
) -> VCDimension:
    """The size of the largest set that H shatters: by theorem, and certified from below by a search.

    Parameters
    ----------
    points : look for shattered sets among these only; then the result is the VC dimension on this set of
        points, and exact: all subsets are tried whose parts are shattered
    largest : the most points to try; by default one more than the known value, but no more than 10
    tries : sets to try of each size: special ones (simplex, moment curve, …), then random ones
    random_state : int, Generator or None

    Examples
    --------
    >>> from mercer.theory.learnability import Rectangles, vc_dimension
    >>> print(vc_dimension(Rectangles(2)))
    VC dimension 4: the 2d points ±e_j are shattered, because ...
    A search found 4 points that are shattered.
    None of 20 sets of 5 that it tried was.

    On five points of which no four are placed well:

    >>> vc_dimension(Rectangles(2), [[0, 0], [1, 1], [2, 2], [3, 3], [4, 4]]).value
    2
    """
    require_class(H)
    tries = require_count(tries, "tries")
    known = H.vc_dimension
    upper = known if known is not None else None if H.size is None else H.size.bit_length() - 1
    if points is not None:
        return _among(H, H.points(points), largest)
    if largest is None:
        largest = _LARGEST_SET if upper is None else int(min(upper + 1, _LARGEST_SET))
    rng = np.random.default_rng(random_state)
    witness: Shattering | None = None
    defeats: tuple[Shattering, ...] = ()
    lower = 0
    for n in range(1, require_count(largest, "largest") + 1):
        tried: list[Shattering] = []
        for points in islice(H.candidates(n, rng), tries):
            tried.append(shatters(H, points))
            if tried[-1]:
                witness, lower = tried[-1], n
                break
        if lower < n:
            defeats = tuple(tried)
            break
    value = known if known is not None else lower if lower == upper else None
    why = H.why
    if known is None and upper is not None:
        why = f"of {H.size:,} hypotheses, 2^d must be different on d points that are shattered"
    return VCDimension(lower, upper, witness, defeats, why, value)


def _among(H: HypothesisClass, X: Any, largest: int | None) -> VCDimension:
    """The largest shattered subset of given points. Subsets of shattered sets are shattered."""
    most = len(X) if largest is None else min(require_count(largest, "largest"), len(X))
    witness: Shattering | None = None
    defeats: tuple[Shattering, ...] = ()
    shattered: set[tuple[int, ...]] = {()}
    for n in range(1, most + 1):
        singles = sorted({i for s in shattered for i in s}) if n > 1 else range(len(X))
        answers = {chosen: shatters(H, X[list(chosen)]) for chosen in _joined(shattered, singles, n)}
        longer = {chosen for chosen, answer in answers.items() if answer}
        if not longer:
            defeats = tuple(answers.values())
            break
        shattered, witness = longer, answers[max(longer)]
    lower = 0 if witness is None else len(witness.points)
    if lower == most < len(X):
        return VCDimension(lower, H.vc_dimension, witness, defeats, H.why, None)
    why = f"all subsets of these {len(X)} points were tried whose parts are shattered"
    return VCDimension(lower, lower, witness, defeats, why, lower)


def _joined(shattered: set[tuple[int, ...]], singles: Any, n: int) -> Iterator[tuple[int, ...]]:
    """Sets of n points, all of whose subsets of n − 1 are shattered."""
    for base in sorted(shattered):
        for i in singles:
            if not base or i > base[-1]:
                chosen = (*base, i)
                if all(part in shattered for part in combinations(chosen, n - 1)):
                    yield chosen
