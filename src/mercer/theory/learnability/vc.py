"""The VC dimension: what theorems say, and what a search can certify."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Any

import numpy as np

from mercer._params import require_count
from mercer.theory.learnability.classes import HypothesisClass, require_class
from mercer.theory.learnability.shattering import Shattering, shatters

# A set of so many points has 1,024 labellings; larger ones are tried only if asked for.
_LARGEST_SET = 10


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
