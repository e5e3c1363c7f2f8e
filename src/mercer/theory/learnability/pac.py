"""PAC learning: how many examples are enough, solved for any number; and the learner that is meant."""

from __future__ import annotations

import math
import numbers
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer._params import require_count
from mercer.theory.learnability.classes import HypothesisClass, require_class
from mercer.theory.learnability.inputs import as_labels
from mercer.theory.learnability.intervals import Rectangles

# Where rounding puts a whole number a little above itself, it is not rounded up to the next.
_ROUNDING = 1e-12
_RULES = ("parts", "size", "vc")
_RECTANGLES = Rectangles()


def sample_size(
    H: HypothesisClass | int | None = None,
    *,
    m: int | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    by: str | None = None,
) -> Any:
    """Examples m, error ε, confidence 1 − δ and the size of the class: give all but one, get that one.

    With probability at least 1 − δ over m independent examples, labelled by a hypothesis of the class, the
    one that is learned has error at most ε, if

        by="parts":   m ≥ (L/ε) (ln L + ln 1/δ)             conjunctions, rectangles, intervals
        by="size":    m ≥ (1/ε) (ln |H| + ln 1/δ)           any finite class, any consistent hypothesis
        by="vc":      m ≥ max((4/ε) log₂(2/δ), (8d/ε) log₂(13/ε))     any class of VC dimension d, likewise

    Parameters
    ----------
    H : HypothesisClass, int or None
        A class; or a number: |H|, with by="vc" the VC dimension. To solve for it, give all others and leave
        it out; a class that was given no size, such as `Conjunctions()` or `Rectangles()`, is solved for
        its own.
    m : int, optional
    epsilon, delta : float between 0 and 1, optional
    by : "parts", "size" or "vc"; by default the first that the class has

    Returns
    -------
    int or float
        The smallest m, ε or δ; or the largest n, d or |H| that the others are enough for. An ε or δ of 1 says
        that so few examples promise nothing.

    Notes
    -----
    **Parts.** What is learned is never + where the target is −, and it misses a point only if one of L
    things is wrong: a literal that should not be there is false, or the point lies in a strip along one side
    of the target. If each has probability at most ε/L, all together have ε. One that has more shows in an
    example with probability above ε/L, so it survives m of them with probability below (1 − ε/L)^m ≤
    e^{−mε/L}; and that one of L does has probability below L e^{−mε/L}, which is δ for the m above. (All this
    being strict, m may equal the right-hand side. For [0, a), + and − change roles.)

    The text has L = n for conjunctions, (n/ε)(ln n + ln 1/δ), "n: # literals". That is so without negations,
    `Conjunctions(n, negations=False)`. With them there are 2n literals to begin with, and it takes
    (2n/ε)(ln 2n + ln 1/δ). A rectangle has L = 2d sides: in the plane (4/ε) ln(4/δ).

    **Size.** A hypothesis of error above ε agrees with m examples with probability below (1 − ε)^m ≤ e^{−mε},
    and there are |H| of them. The sign before ln 1/δ is plus; one slide of the text has minus. For
    conjunctions, |H| = 3ⁿ + 1, this asks for (1/ε)(n ln 3 + ln 1/δ), far less than counting literals.

    **VC.** Blumer, Ehrenfeucht, Haussler, Warmuth, Learnability and the Vapnik–Chervonenkis dimension, 1989.

    Examples
    --------
    >>> from mercer.theory.learnability import Conjunctions, Rectangles, sample_size
    >>> sample_size(Rectangles(2), epsilon=0.1, delta=0.05)                   # 40 ln 80 = 175.28
    176
    >>> sample_size(Conjunctions(100, negations=False), epsilon=0.1, delta=0.05)
    7601
    >>> sample_size(Conjunctions(100), epsilon=0.1, delta=0.05)               # 200 literals
    16589
    >>> sample_size(Conjunctions(100), epsilon=0.1, delta=0.05, by="size")
    1129
    >>> round(sample_size(Rectangles(2), m=1000, delta=0.05), 4)              # ε
    0.0175
    >>> sample_size(Rectangles(), m=1000, epsilon=0.1, delta=0.05)            # the largest d
    8
    >>> sample_size(1000, epsilon=0.1, delta=0.05), sample_size(m=100, epsilon=0.1, delta=0.05)
    (100, 1101)
    """
    epsilon, delta = _share("epsilon", epsilon), _share("delta", delta)
    if m is not None:
        m = require_count(m, "m")
    if by is not None and by not in _RULES:
        raise ValueError(f"by must be 'parts', 'size' or 'vc', got {by!r}")
    if isinstance(H, HypothesisClass):
        H.validate()
    by, size, each = _rule(H, by)
    unknown = [name for name, v in (("m", m), ("epsilon", epsilon), ("delta", delta)) if v is None]
    if size is None:
        unknown.append("the class or its size")
    if len(unknown) != 1:
        missing = f"here {', '.join(unknown)} are missing" if unknown else "here nothing is missing"
        raise ValueError(f"give all but one of m, epsilon, delta and the class; {missing}")
    rule: Any = {"parts": _PARTS, "size": _SIZE, "vc": _VC}[by]
    if size is None and by == "size":
        return _most_hypotheses(m, epsilon, delta)
    if size is None:
        assert m is not None
        # Every part, and every dimension, takes an example at least.
        most = bisect_right(range(1, m + 1), m, key=lambda count: _up(rule.examples(count, epsilon, delta)))
        return most // each
    if m is None:
        return _up(rule.examples(size, epsilon, delta))
    if epsilon is None:
        return min(1.0, rule.error(size, m, delta))
    return min(1.0, rule.failure(size, m, epsilon))


@dataclass(frozen=True)
class _Bound:
    """m ≥ … for a class of some size, solved for each of its numbers."""

    examples: Callable[[Any, float, float], float]  # of size, ε, δ
    error: Callable[[Any, int, float], float]  # of size, m, δ
    failure: Callable[[Any, int, float], float]  # of size, m, ε


def _most_hypotheses(m: Any, epsilon: Any, delta: Any) -> Any:
    found = _exp(m * epsilon + math.log(delta))
    return math.floor(found * (1 + _ROUNDING)) if found < 2**53 else found


def _vc_examples(d: Any, epsilon: float, delta: float) -> float:
    return max(4 * math.log2(2 / delta), 8 * d * math.log2(13 / epsilon)) / epsilon


def _vc_error(d: Any, m: int, delta: float) -> float:
    from scipy.optimize import brentq

    if _vc_examples(d, 1.0, delta) > m:
        return 1.0
    tiny = 4 * math.log2(2 / delta) / m / 2  # the first of the two alone asks for twice this
    return brentq(lambda e: _vc_examples(d, e, delta) - m, tiny, 1.0, xtol=1e-300, rtol=1e-14)


def _vc_failure(d: Any, m: int, epsilon: float) -> float:
    enough = 8 * d * math.log2(13 / epsilon) / epsilon <= m * (1 + _ROUNDING)
    return 2.0 * 2.0 ** (-m * epsilon / 4) if enough else 1.0


_PARTS = _Bound(
    examples=lambda L, epsilon, delta: L * (math.log(L) - math.log(delta)) / epsilon,
    error=lambda L, m, delta: L * (math.log(L) - math.log(delta)) / m,
    failure=lambda L, m, epsilon: _exp(math.log(L) - m * epsilon / L),
)
_SIZE = _Bound(
    examples=lambda size, epsilon, delta: max(1.0, (math.log(size) - math.log(delta)) / epsilon),
    error=lambda size, m, delta: (math.log(size) - math.log(delta)) / m,
    failure=lambda size, m, epsilon: _exp(math.log(size) - m * epsilon),
)
_VC = _Bound(_vc_examples, _vc_error, _vc_failure)


def _rule(H: Any, by: str | None) -> tuple[str, Any, int]:
    """Which bound, what it counts (None: to be solved for), and how many of those a variable has."""
    if H is None or isinstance(H, numbers.Integral):
        by = by or "size"
        if by == "parts":
            raise ValueError("by='parts' needs a class, such as Conjunctions() or Rectangles(2)")
        return by, None if H is None else require_count(H, "H"), 1
    if not isinstance(H, HypothesisClass):
        raise TypeError(f"H must be a class of hypotheses or a whole number, got {H!r}")
    if H.parts is None and H.parts_each is not None:
        if by not in (None, "parts"):
            raise ValueError(f"{H!r} is solved for its size by='parts' only; give its size, or leave H out")
        return "parts", None, H.parts_each
    counts = {"parts": H.parts, "size": H.size, "vc": H.vc_dimension}
    for rule in _RULES if by is None else (by,):
        if counts[rule] == math.inf:
            raise ValueError(f"{H!r} has an infinite VC dimension: no number of examples is enough for it")
        if counts[rule] is not None:
            return rule, counts[rule], 1
    what = {"parts": "parts", "size": "number of hypotheses", "vc": "VC dimension"}
    lacking = f"{what[by]} is" if by else "parts, size and VC dimension are"
    raise ValueError(f"the {lacking} not known for {H!r}; give its d or n, or a number and by='vc'")


def _share(name: str, value: Any) -> float | None:
    if value is None:
        return None
    if not isinstance(value, numbers.Real) or not 0 < float(value) < 1:
        raise ValueError(f"{name} must lie between 0 and 1, got {value!r}")
    return float(value)


def _up(value: float) -> int:
    return math.ceil(value * (1 - _ROUNDING))


def _exp(value: float) -> float:
    return math.exp(value) if value < 709 else math.inf


class ConsistentLearner(ClassifierMixin, BaseEstimator):
    """A hypothesis of a class that explains all examples: elimination, tightest fit, separation.

    If none does, there is noise, or the class is the wrong one; `fit` raises `Inconsistent`, which names
    an example that can't be explained. How far such a hypothesis can be trusted says `sample_size`.

    H is a class: `Conjunctions`, `Rectangles`, `Intervals`, `HalfSpaces`, …

    Attributes
    ----------
    hypothesis_ : what was learned
    classes_ : the labels, negative first
        Of two labels the larger is the positive one. If there is only one, it must be 0, −1 or False
        (negative) or 1 or True (positive).

    Examples
    --------
    >>> from mercer.theory.learnability import ConsistentLearner, Conjunctions
    >>> X = [[1, 1, 0], [1, 0, 0], [0, 1, 0]]
    >>> machine = ConsistentLearner(Conjunctions()).fit(X, ["yes", "yes", "no"])
    >>> print(machine.hypothesis_), machine.predict([[1, 1, 1]]).tolist()
    x₁ ∧ ¬x₃
    (None, ['no'])
    """

    def __init__(self, H=_RECTANGLES):
        self.H = H

    def fit(self, X: Any, y: Any) -> ConsistentLearner:
        """Learn from labelled examples, or raise `Inconsistent`."""
        require_class(self.H)
        y = column_or_1d(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) == 2:
            labels = codes == 1
        elif len(self.classes_) == 1:
            labels = as_labels(y, len(y))
            low = self.classes_.dtype.type(-1 if -1 in self.classes_ else 0)
            self.classes_ = np.array([low, low.dtype.type(1)])
        else:
            raise ValueError(f"a hypothesis tells two classes apart, got {len(self.classes_)}")
        self.hypothesis_ = self.H.learn(X, labels)
        self.n_features_in_ = np.shape(X)[1] if np.ndim(X) > 1 else 1
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The label of each point."""
        check_is_fitted(self, "hypothesis_")
        return self.classes_[self.hypothesis_(X).astype(int)]
