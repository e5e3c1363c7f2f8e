"""Rademacher complexity of balls in H_K, and the bounds it gives: for Lipschitz losses, margins, errors.

Balls ‖f‖ ≤ B have E_σ sup (1/n) Σ σ_i f(x_i) = (B/n) E‖Σ σ_i k(x_i,·)‖ = (B/n) E√(σᵀKσ) ≤ B√(tr K)/n, so ‖f‖
and tr K = Σ k(x_i,x_i) are all one needs to know of a machine.

A bound for a ball of radius B holds for one B, fixed beforehand. Holding for all B = 2^j at once costs a
share of δ each, and the shares add up to at most δ. Then the j that suits may be taken once the data are
there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from mercer.theory.bounds import Bound, Terms, bound_of, hoeffding, require_delta, sum_of, vectors

# All signs of so many examples are looked at; of more, some are drawn.
_EXACT = 12
# The exponent that stands for 0, which no power of two is: radius 2^−60.
_NOTHING = -60
FIXED = "independent examples, and a kernel fixed before they were seen"


def share(j: int) -> float:
    """1/(2(|j|+1)(|j|+2)): the part of δ of stratum j. All of them together, j = …, −1, 0, 1, …, take 3/4.

    >>> share(0), share(-2)
    (0.25, 0.041666666666666664)
    """
    return 1 / (2 * (abs(j) + 1) * (abs(j) + 2))


def exponent_above(value: float) -> int:
    """The least j with 2^j ≥ value, at least −60.

    >>> exponent_above(5.0), exponent_above(0.25), exponent_above(0.0)
    (3, -2, -60)
    """
    if not 0 <= value < math.inf:
        raise ValueError(f"a finite number from 0 on is needed, got {value!r}")
    if value == 0:
        return _NOTHING
    mantissa, exponent = math.frexp(value)  # exact, where a logarithm might round down
    return max(exponent - 1 if mantissa == 0.5 else exponent, _NOTHING)


@dataclass(frozen=True)
class Complexity:
    """The empirical Rademacher complexity of a ball.

    `value` is (B/n) E√(σᵀKσ), with standard error `error`, 0 if all signs were looked at. It lies between
    `low`, B√(tr K/2)/n, and `high`, B√(tr K)/n.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.theory import rademacher_complexity
    >>> found = rademacher_complexity(np.eye(4))
    >>> found.value, round(found.low, 4) <= found.value <= found.high
    (0.5, True)
    """

    value: float
    error: float
    low: float
    high: float


def rademacher_complexity(
    K: Any, radius: float = 1.0, *, draws: int = 400, random_state: int = 0
) -> Complexity:
    """(B/n) E√(σᵀKσ) over random signs σ: the empirical Rademacher complexity of the ball ‖f‖ ≤ B.

    Jensen gives B√(tr K)/n from above, Khinchin's inequality (with Latała and Oleszkiewicz' constant 1/√2) a
    bound from below that is at most √2 away: the trace tells nearly all.

    K is an (n, n) array, or an operator such as `mercer.operators.KernelOperator`, B the `radius`. So many
    signs are drawn (`draws`) where there are too many to look at all of them.

    Examples
    --------
    >>> import numpy as np
    >>> c = rademacher_complexity(np.eye(9))            # orthonormal: ‖Σ σ_i k_i‖ = 3 for all signs
    >>> round(c.value, 4), round(c.high, 4), c.error
    (0.3333, 0.3333, 0.0)
    """
    K = K if hasattr(K, "shape") else np.asarray(K, dtype=float)
    if len(K.shape) != 2 or K.shape[0] != K.shape[1] or not K.shape[0]:
        raise ValueError(f"K must be a square matrix, got shape {K.shape}")
    n = K.shape[0]
    if not 0 <= radius < math.inf or draws < 2:
        raise ValueError("radius must not be negative, and at least two signs must be drawn")
    diagonal = np.diagonal(K) if isinstance(K, np.ndarray) else K.diag()
    high = radius * math.sqrt(max(float(np.sum(diagonal, dtype=np.float64)), 0.0)) / n
    if n <= _EXACT:  # σ and −σ give the same: half of them is enough
        signs = np.array([(1.0, *rest) for rest in product((-1.0, 1.0), repeat=n - 1)]).T
    else:
        signs = np.random.default_rng(random_state).choice((-1.0, 1.0), (n, draws))
    sizes = radius / n * np.sqrt(np.maximum(np.sum(signs * (K @ signs), axis=0), 0))
    error = 0.0 if n <= _EXACT else float(sizes.std(ddof=1) / math.sqrt(draws))
    return Complexity(float(sizes.mean()), error, high / math.sqrt(2), high)


def _terms(radius: float, trace: float, n: float, sup: float | None, delta: float) -> Terms:
    """2R and what it costs to be sure of it: with the sample's own complexity, or with the expected one."""
    if sup is None:
        return ("complexity", 2 * radius * math.sqrt(trace) / n), ("confidence", 3 * hoeffding(n, delta / 2))
    return ("complexity", 2 * radius * math.sqrt(sup / n)), ("confidence", hoeffding(n, delta))


def rademacher_bound(
    empirical: float,
    norm: float,
    trace: float,
    n: int,
    slope: float,
    delta: float = 0.05,
    risk: str = "expected loss",
    *,
    sup_diagonal: float | None = None,
    assumptions: str = FIXED,
) -> Bound:
    """E V ≤ (1/n) Σ V_i + 2 L B √(tr K)/n + 3 √(ln(2/δ_B)/2n) for losses in [0, 1] and all ‖f‖ ≤ B.

    The first B = 2^j ≥ ‖f‖ is taken, and δ_B = δ/((|j|+1)(|j|+2)·2) pays for its having been looked up. Where
    k(x,x) ≤ κ² is known for all x, not only for those seen, the expected complexity B κ/√n does, and the last
    term is √(ln(1/δ_B)/2n).

    Parameters
    ----------
    empirical : mean loss on the n examples f was fitted to, each between 0 and 1
    norm : ‖f‖
    trace : Σ k(x_i, x_i)
    slope : L, the Lipschitz constant of the loss
    sup_diagonal : κ², if known: the value of k(x,x) of a translation-invariant kernel

    Examples
    --------
    >>> b = rademacher_bound(0.1, norm=1.0, trace=10_000, n=10_000, slope=1.0)
    >>> round(b.value, 3), b.vacuous
    (0.168, False)
    >>> round(rademacher_bound(0.1, 1.0, 10_000, 10_000, 1.0, sup_diagonal=1.0).value, 3)
    0.135
    """
    if not _sizes(norm, trace, slope) or n < 1 or not 0 < delta < 1:
        raise ValueError("norm, trace and slope must be nonnegative, n positive and delta between 0 and 1")
    if not 0 <= empirical <= 1:
        raise ValueError(f"losses must lie between 0 and 1, and so must their mean, got {empirical!r}")
    j = exponent_above(norm)

    def terms(m: int) -> Terms:
        parts = _terms(slope * 2.0**j, trace * m / n, m, sup_diagonal, delta * share(j))
        return (("training loss", empirical), *parts)

    said = "mean loss on the training examples"
    return bound_of("Rademacher bound", risk, terms, n, delta, assumptions, measured_as=said)


def margin_bound(
    margins: Any,
    norm: float,
    trace: float,
    delta: float = 0.05,
    *,
    sup_diagonal: float | None = None,
    classes: int = 2,
    assumptions: str = FIXED,
) -> Bound:
    """P(error) ≤ (1/n) Σ ramp(m_i/γ) + 2 (‖f‖/γ) √(tr K)/n + 3 √(ln(2/δ_γ)/2n), γ chosen afterwards.

    ramp(u) = 1 − u between 0 and 1, constant outside: at least 1 for an error, and of slope 1/γ in f. Only
    the ratio ‖f‖/γ counts, so ratios 2^j are paid for with δ_j = δ/((|j|+1)(|j|+2)·2), and the best is taken.

    For k classes m_i = f_y − max of the others, which is √2-Lipschitz in the k scores; Maurer's contraction
    for vectors makes the complexity 2·2·(‖f‖/γ)√(k tr K)/n, with ‖f‖² = Σ‖f_l‖².

    Parameters
    ----------
    margins : y_i f(x_i), one an example
    norm : ‖f‖; with an offset √(‖f‖² + b²), the norm in the space of k + 1
    trace : Σ k(x_i, x_i); with an offset n more
    sup_diagonal : κ², if k(x,x) ≤ κ² is known for all x; with an offset 1 more
    classes : how many

    Examples
    --------
    >>> import numpy as np
    >>> b = margin_bound(np.full(10_000, 1.0), norm=2.0, trace=10_000)
    >>> round(b.value, 3), b.terms[0]
    (0.093, ('margin loss at γ = 1', 0.0))
    """
    require_delta(delta)
    (m,) = vectors("margins", margins)
    if not _sizes(norm, trace) or classes < 2:
        raise ValueError("norm and trace must be nonnegative, and classes at least two")
    n = len(m)
    wide = 1.0 if classes == 2 else 2 * math.sqrt(classes)

    def terms(j: int, examples: int) -> Terms:
        ratio = 2.0**j
        gamma = norm / ratio
        ramp = float(np.clip(1 - m / gamma, 0, 1).mean()) if gamma > 0 else float((m <= 0).mean())
        parts = _terms(ratio * wide, trace * examples / n, examples, sup_diagonal, delta * share(j))
        return ((f"margin loss at γ = {gamma:.3g}", ramp), *parts)

    def best(examples: int) -> Terms:
        # Ratios at which the complexity alone is above 1 can't be the best, unless all are.
        size = _terms(wide, trace * examples / n, examples, sup_diagonal, delta)[0][1]
        top = max(exponent_above(1 / size), exponent_above(norm)) if size > 0 else 40
        found = [terms(j, examples) for j in range(top - 40, top + 1)]
        least = min(found, key=sum_of)
        if sum_of(least) < 1:
            return least
        # Of bounds that say nothing, one with a margin that examples have tells more about the reason.
        return min((t for t in found if t[0][1] <= 0.5), key=sum_of, default=least)

    wrong = float((m <= 0).mean())
    return bound_of("Margin bound", "error rate", best, n, delta, assumptions, measured=wrong)


def _sizes(*values: float) -> bool:
    return all(0 <= v < math.inf for v in values)


def capped_error_bound(
    residuals: Any,
    norm: float,
    trace: float,
    cap: float,
    delta: float = 0.05,
    *,
    offset: float = 0.0,
    sup_diagonal: float | None = None,
    assumptions: str = FIXED,
) -> Bound:
    """A bound on E min(|y − f(x) − b|, M), a mean error with a cap M, in the units of y.

    min(|r|, M)/M lies in [0, 1] and is 1/M-Lipschitz, so the complexity is (2/M)(B√(tr K)/n + M/(2√n)). M,
    the ratio B/M ≥ ‖f‖/M and the multiple of M nearest to b are looked up: M = 2^i, B/M = 2^j, and each is
    paid for.

    Parameters
    ----------
    residuals : y_i − f(x_i) − b, one an example
    norm : ‖f‖, without the offset
    trace : Σ k(x_i, x_i)
    cap : M > 0; the next power of two is taken
    offset : b
    sup_diagonal : κ², if k(x,x) ≤ κ² is known for all x

    Examples
    --------
    >>> import numpy as np
    >>> b = capped_error_bound(np.full(10_000, 0.1), norm=2.0, trace=10_000, cap=2.0)
    >>> b.risk, round(b.value, 3), b.vacuous
    ('mean error, capped at 2', 0.257, False)
    """
    require_delta(delta)
    (r,) = vectors("residuals", residuals)
    if not _sizes(norm, trace) or not 0 < cap < math.inf:
        raise ValueError("norm and trace must be nonnegative, and the cap positive")
    n, i = len(r), exponent_above(cap)
    most = 2.0**i
    j, centre = exponent_above(norm / most), round(offset / most)
    empirical = float(np.minimum(np.abs(r), most).mean())
    # Without an offset there is no centre to be looked up.
    cost = share(i) * share(j) * (share(centre) if offset else 1.0)

    def terms(m: int) -> Terms:
        (_, complexity), (_, confidence) = _terms(2.0**j, trace * m / n, m, sup_diagonal, delta * cost)
        constant = 1 / math.sqrt(m) if offset else 0.0
        return (
            ("training error", empirical),
            ("complexity", most * (complexity + constant)),
            ("confidence", most * confidence),
        )

    risk, said = f"mean error, capped at {most:g}", "mean error on the training examples, capped"
    return bound_of("Rademacher bound", risk, terms, n, delta, assumptions, trivial=most, measured_as=said)
