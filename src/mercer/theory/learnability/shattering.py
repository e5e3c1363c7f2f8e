"""Shattering: does a class realise every labelling of some points?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.theory.learnability.classes import Hypothesis, HypothesisClass, require_class
from mercer.theory.learnability.inputs import signs

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

    Parameters
    ----------
    points : shape (n, d); for classes on the line numbers will do

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
    `sauer_bound`(n, d) for a class of VC dimension d.

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
