"""Upper bounds on the risk that hold with a stated probability: what a bound is, and those that count."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, SupportsFloat

import numpy as np
from scipy.special import rel_entr
from scipy.stats import beta

# Beyond so many examples nobody will go.
_MOST = 2**60
# Halvings of [q, 1]: what is left is below the spacing of doubles.
_HALVINGS = 60
_FRESH = "the {:,} examples are independent draws, like new ones; what was tested was fitted without them"

# What a bound is the sum of, by name.
Terms = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Bound:
    """An upper bound on a risk.

    Attributes
    ----------
    risk : what is bounded, in words
    value : the bound
    measured : what was measured on the examples it was computed from
    delta : the probability with which it may fail; 0 if it holds on average over samples
    assumptions : what must be true for it to hold
    vacuous : does it say nothing, the risk being below it anyway?
    measured_as : what `measured` is, in words
    terms : what it is the sum of, by name; empty if it is no sum
    needed : so many examples would make it say something, all else being equal; None if it says something, or
        no number would
    on_average : is it about the mean over samples, not about the sample at hand?

    Examples
    --------
    >>> from mercer.theory import binomial_bound
    >>> bound = binomial_bound(10, 200)         # ten errors among 200 test examples
    >>> bound.measured, round(bound.value, 3), bound.delta, bound.vacuous
    (0.05, 0.083, 0.05, False)
    """

    name: str
    risk: str
    value: float
    measured: float
    delta: float
    assumptions: str
    vacuous: bool
    measured_as: str = ""
    terms: Terms = ()
    needed: int | None = None
    on_average: bool = False

    def __str__(self) -> str:
        verdict = " (vacuous: it says nothing)" if self.vacuous else ""
        sure = "on average" if self.on_average else f"with probability {100 * (1 - self.delta):.4g}%"
        return f"{self.name}: {self.risk} ≤ {self.value:.3g} {sure}{verdict}"

    @property
    def slack(self) -> float:
        """By how much it is above what was measured."""
        return self.value - self.measured

    @property
    def largest_term(self) -> tuple[str, float] | None:
        """The term most of it is made of."""
        return max(self.terms, key=lambda term: term[1], default=None)


def bound_of(
    name: str,
    risk: str,
    terms: Callable[[int], Terms],
    n: int,
    delta: float,
    assumptions: str,
    *,
    trivial: float = 1.0,
    measured: float | None = None,
    measured_as: str = "error rate on the training examples",
) -> Bound:
    """A bound that is a sum: `terms` gives it for any number of examples, beginning with what was measured.

    `trivial` is what is known anyway: from there on it says nothing.
    """
    here, needed = terms(n), examples_needed(lambda m: sum_of(terms(m)), n, trivial)
    total = sum_of(here)
    seen = here[0][1] if measured is None else measured
    return Bound(name, risk, total, seen, delta, assumptions, total >= trivial, measured_as, here, needed)


def sum_of(terms: Terms) -> float:
    """What the terms add up to."""
    return sum(size for _, size in terms)


def require_delta(delta: float) -> None:
    """Raise ValueError unless 0 < δ < 1."""
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie between 0 and 1, got {delta!r}")


def vectors(names: str, *values: Any) -> list[np.ndarray]:
    """These as vectors of one length, or a ValueError.

    NaN is refused: comparisons with it are false, and would count it as no error.
    """
    arrays = [np.asarray(v, dtype=float) for v in values]
    first = arrays[0].shape
    if len(first) != 1 or not first[0] or any(a.shape != first for a in arrays):
        raise ValueError(f"{names} must be vectors of one length, got {[a.shape for a in arrays]}")
    if any(np.isnan(a).any() for a in arrays):
        raise ValueError(f"{names} contain NaN")
    return arrays


def examples_needed(value: Callable[[int], float], n: int, trivial: float = 1.0) -> int | None:
    """The least number of examples from n on at which a falling bound is below what is known anyway.

    None if it is below at n, or never.

    >>> examples_needed(lambda n: 10 / n**0.5, 25)
    101
    """
    if value(n) < trivial:
        return None
    low, high = n, 2 * n
    while value(high) >= trivial:
        low, high = high, 2 * high
        if high > _MOST:
            return None
    return low + bisect_left(range(low, high), True, key=lambda m: value(m) < trivial)


def hoeffding(n: float, delta: float) -> float:
    """√(ln(1/δ)/2n): by how much a mean of n numbers in [0, 1] may fall short of its expectation.

    >>> round(hoeffding(200, 0.05), 4)
    0.0865
    """
    return math.sqrt(math.log(1 / delta) / (2 * n))


# -- how far apart two coins are, and which coins are no farther -----------------------------------


def binary_kl(q: Any, p: Any) -> Any:
    """kl(q‖p) = q ln(q/p) + (1−q) ln((1−q)/(1−p)), of coins that show heads with probability q and p.

    Either may be an array.

    Examples
    --------
    >>> round(binary_kl(0.0, 0.5), 4), binary_kl(0.3, 0.3)          # ln 2
    (0.6931, 0.0)
    """
    q, p = np.asarray(q, dtype=float), np.asarray(p, dtype=float)
    if not (((q >= 0) & (q <= 1)).all() and ((p >= 0) & (p <= 1)).all()):
        raise ValueError("q and p are probabilities, between 0 and 1")
    value = np.maximum(rel_entr(q, p) + rel_entr(1 - q, 1 - p), 0)
    return float(value) if value.ndim == 0 else value


def kl_inverse(q: Any, c: Any) -> Any:
    """The largest p with kl(q‖p) ≤ c: if q was seen, p is the worst that is still near enough.

    kl(q‖·) rises from 0 at q to infinity at 1, so the interval is halved. The upper end is returned: a
    bound may be too large by a rounding error, but not too small. Either may be an array.

    Examples
    --------
    >>> round(kl_inverse(0.0, 0.1), 4)                              # 1 − exp(−0.1)
    0.0952
    """
    q, c = np.broadcast_arrays(np.asarray(q, dtype=float), np.asarray(c, dtype=float))
    if not (((q >= 0) & (q <= 1)).all() and (c >= 0).all()):
        raise ValueError("q must lie between 0 and 1, and c must not be negative")
    low, high = q.copy(), np.ones_like(q)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        near = binary_kl(q, middle) <= c
        low, high = np.where(near, middle, low), np.where(near, high, middle)
    return float(high) if high.ndim == 0 else high


# -- examples that took no part ---------------------------------------------------------------------


def largest_rate(count: Any, n: int, delta: float) -> np.ndarray:
    """The largest probability under which no more than so many of n have probability δ (Clopper, Pearson)."""
    count = np.asarray(count)
    return np.where(count == n, 1.0, beta.ppf(1 - delta, count + 1, np.maximum(n - count, 1)))


def binomial_bound(errors: int, n: int, delta: float = 0.05, risk: str = "error rate") -> Bound:
    """The largest error rate under which so few errors on n fresh examples have probability δ.

    Clopper and Pearson's upper limit: exact, for any function chosen without those examples.

    Examples
    --------
    >>> round(binomial_bound(0, 100).value, 4)          # 1 − 0.05^(1/100)
    0.0295
    """
    if n < 1 or not 0 <= errors <= n or errors != int(errors):
        raise ValueError(f"errors must be a whole number from 0 to n > 0, got {errors!r} of {n!r}")
    require_delta(delta)
    value, assumed = float(largest_rate(errors, n, delta)), _FRESH.format(n)
    said = "share of the test examples"
    return Bound("Test-set bound", risk, value, errors / n, delta, assumed, value >= 1, said)


def mean_bound(
    mean: float, n: int, delta: float = 0.05, largest: float = 1.0, risk: str = "mean loss"
) -> Bound:
    """Chernoff's bound on the expectation of a loss in [0, M], from its mean on n fresh examples.

    E V ≤ M kl⁻¹(mean/M, ln(1/δ)/n): never worse than Hoeffding's mean + M√(ln(1/δ)/2n), and far better for
    small means.

    The mean lies between 0 and M, the `largest` loss.

    Examples
    --------
    >>> round(mean_bound(0.0, 100).value, 4), round(mean_bound(0.2, 100).value, 4)
    (0.0295, 0.3086)
    """
    require_delta(delta)
    if n < 1:
        raise ValueError(f"there must be an example at least, got n = {n!r}")
    if not largest > 0 or not 0 <= mean <= largest:
        raise ValueError(f"the mean must lie between 0 and the largest loss, got {mean!r} and {largest!r}")
    value = largest * kl_inverse(mean / largest, math.log(1 / delta) / n)
    said, assumed = "mean over the test examples", _FRESH.format(n)
    terms = ("test loss", mean), ("confidence", value - mean)
    return Bound("Test-set bound", risk, value, mean, delta, assumed, value >= largest, said, terms)


# -- all functions of a class at once ---------------------------------------------------------------


def finite_class_bound(empirical: float, size: int, n: int, delta: float = 0.05) -> Bound:
    """err_D ≤ err_S + √((ln|H| + ln(1/δ))/2n) for all of finitely many hypotheses at once.

    Hoeffding's inequality for each, and the union of what may go wrong. (A hypothesis without errors does
    better: see the sample sizes for consistent learners.)

    err_S is the `empirical` error rate, and |H| counts the hypotheses there were to choose from (`size`)
    before the examples were seen.

    Examples
    --------
    >>> round(finite_class_bound(0.1, 1000, 2000).value, 4)
    0.1498
    """
    _require_rate(empirical, n, delta)

    def terms(m: int) -> Terms:
        return ("training error", empirical), ("size of the class", finite_class_excess(size, m, delta))

    assumed = "independent examples; the hypotheses were listed before they were seen"
    return bound_of("Finite class", "error rate", terms, n, delta, assumed)


def finite_class_excess(size: int, n: float, delta: float) -> float:
    """√((ln|H| + ln(1/δ))/2n)."""
    if size < 1:
        raise ValueError(f"a class holds at least one hypothesis, got {size!r}")
    return math.sqrt((math.log(size) + math.log(1 / delta)) / (2 * n))


def finite_class_examples(size: int, epsilon: float, delta: float = 0.05) -> int:
    """How many examples make training and true error differ by at most ε for all of |H| hypotheses?

    n ≥ (ln|H| + ln(1/δ))/(2ε²), the inverse of `finite_class_bound`.

    Examples
    --------
    >>> finite_class_examples(3**10, 0.05)              # conjunctions of ten variables
    2797
    """
    require_delta(delta)
    return _least(lambda m: finite_class_excess(size, m, delta), 1, epsilon)


def vc_bound(empirical: float, dimension: SupportsFloat, n: int, delta: float = 0.05) -> Bound:
    """err_D ≤ err_S + √((d(ln(2n/d)+1) + ln(4/δ))/n) for all hypotheses of a class of VC dimension d.

    err_S is the `empirical` error rate, d a number from 0 on, or what `vc_dimension` found.

    Notes
    -----
    Vapnik's statement has 1/n more; the lecture texts leave it out. Symmetrisation and Serfling's inequality
    give 2 Π(2n) exp(−(ε − 1/n)² n²/(n+1)), with Sauer's Π(2n) ≤ (2en/d)^d, and the factor 2 between that and
    ln(4/δ) pays for 1/n wherever ε² + 2ε ≤ ln 2, that is for ε ≤ 0.3. For d > 2n there is no bound below 1,
    and d = 2n is used.

    Examples
    --------
    >>> round(vc_bound(0.05, 3, 5000).value, 4)         # half-planes
    0.1296
    """
    _require_rate(empirical, n, delta)
    d = _dimension(dimension)

    def terms(m: int) -> Terms:
        return ("training error", empirical), ("VC dimension", vc_excess(d, m, delta))

    known = f", and a class of VC dimension {d:,.0f} fixed before they were seen" if math.isfinite(d) else ""
    return bound_of("VC bound", "error rate", terms, n, delta, f"independent examples{known}")


def vc_excess(dimension: float, n: float, delta: float) -> float:
    """√((d(ln(2n/d)+1) + ln(4/δ))/n).

    >>> round(vc_excess(3, 5000, 0.05), 4)
    0.0796
    """
    d = min(dimension, 2 * n)
    capacity = d * (math.log(2 * n) - math.log(d) + 1) if d > 0 else 0.0
    return math.sqrt((capacity + math.log(4 / delta)) / n)


def vc_examples(dimension: SupportsFloat, epsilon: float, delta: float = 0.05) -> int:
    """How many examples make err_D ≤ err_S + ε for all hypotheses of a class of VC dimension d?

    The inverse of `vc_bound`: its excess falls with n from n = d/2 on, so the least n is found by halving.

    d is a finite number, or what `vc_dimension` found.

    Examples
    --------
    >>> n = vc_examples(3, 0.1)
    >>> n, round(vc_excess(3, n, 0.05), 4)
    (3021, 0.1)
    """
    require_delta(delta)
    d = _dimension(dimension)
    if d == math.inf:
        raise ValueError(
            f"no number of examples will do for a class of VC dimension {d!r}: bounds by the norm of "
            "f (margin_bound) do not need it"
        )
    # Up to n = d/2 the formula stays above 1; there is nothing to be found there.
    return _least(lambda m: vc_excess(d, m, delta), max(math.ceil(d / 2), 1), epsilon)


def _least(excess: Callable[[int], float], first: int, epsilon: float) -> int:
    """The least number of examples from `first` on that makes a falling excess at most ε."""
    if not 0 < epsilon < math.inf:
        raise ValueError(f"epsilon must be positive, got {epsilon!r}")
    if excess(first) <= epsilon:
        return first
    found = examples_needed(excess, first, math.nextafter(epsilon, math.inf))
    if found is None:
        raise ValueError(f"an excess of {epsilon!r} needs more than {_MOST:.0e} examples")
    return found


def _dimension(d: SupportsFloat) -> float:
    if isinstance(d, str) or not hasattr(d, "__float__"):
        raise TypeError(f"a VC dimension is a number, or what vc_dimension found, got {d!r}")
    if not float(d) >= 0:
        raise ValueError(f"a VC dimension is at least 0, got {d!r}")
    return float(d)


def _require_rate(rate: float, n: int, delta: float) -> None:
    require_delta(delta)
    if not 0 <= rate <= 1 or n < 1:
        raise ValueError(f"an error rate between 0 and 1 on n > 0 examples is needed, got {rate!r}, {n!r}")
