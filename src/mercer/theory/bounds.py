"""Upper bounds on the risk that hold with a stated probability."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.stats import beta


@dataclass(frozen=True)
class Bound:
    """An upper bound on a risk.

    Attributes
    ----------
    name : str
    risk : what is bounded, in words
    value : the bound
    measured : the same quantity on the sample it was computed from
    delta : the probability with which it may fail
    assumptions : what must be true for it to hold
    vacuous : does it say nothing, the risk being below it anyway?
    """

    name: str
    risk: str
    value: float
    measured: float
    delta: float
    assumptions: str
    vacuous: bool

    def __str__(self) -> str:
        verdict = " (vacuous: it says nothing)" if self.vacuous else ""
        return f"{self.name}: {self.risk} ≤ {self.value:.3g} with probability {1 - self.delta:.0%}{verdict}"


def binomial_bound(errors: int, n: int, delta: float = 0.05, risk: str = "error rate") -> Bound:
    """The largest error rate under which so few errors on n fresh examples have probability δ.

    Clopper and Pearson's upper limit: exact, for any function chosen without those examples.

    Examples
    --------
    >>> round(binomial_bound(0, 100).value, 4)          # 1 − 0.05^(1/100)
    0.0295
    """
    if not 0 <= errors <= n or n == 0:
        raise ValueError(f"errors must lie between 0 and n > 0, got {errors!r} of {n!r}")
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie between 0 and 1, got {delta!r}")
    value = 1.0 if errors == n else float(beta.ppf(1 - delta, errors + 1, n - errors))
    return Bound(
        "Test-set bound",
        risk,
        value,
        errors / n,
        delta,
        f"the {n:,} examples are independent draws, like new ones; what was tested was fitted without them",
        value >= 1,
    )


def rademacher_bound(
    empirical: float,
    norm: float,
    trace: float,
    n: int,
    slope: float,
    delta: float = 0.05,
    risk: str = "expected loss",
) -> Bound:
    """E V ≤ (1/n) Σ V_i + 2 L B √(tr K)/n + 3 √(ln(2/δ_B)/2n) for losses in [0, 1] and all ‖f‖ ≤ B.

    The first B = 2^j ≥ ‖f‖ is taken, and δ_B = δ/((|j|+1)(|j|+2)·2) pays for its having been looked up.

    Parameters
    ----------
    empirical : mean loss on the n examples f was fitted to, each between 0 and 1
    norm : ‖f‖
    trace : Σ k(x_i, x_i)
    n : int
    slope : L, the Lipschitz constant of the loss
    delta : float
    risk : the name of what is bounded

    Examples
    --------
    >>> b = rademacher_bound(0.1, norm=1.0, trace=10_000, n=10_000, slope=1.0)
    >>> round(b.value, 3), b.vacuous
    (0.168, False)
    """
    if min(norm, trace, slope) < 0 or n < 1 or not 0 < delta < 1:
        raise ValueError("norm, trace and slope must be nonnegative, n positive and delta between 0 and 1")
    j = math.ceil(math.log2(norm)) if norm > 0 else -60
    share = delta / (2 * (abs(j) + 1) * (abs(j) + 2))
    complexity = 2 * slope * 2.0**j * math.sqrt(trace) / n
    value = empirical + complexity + 3 * math.sqrt(math.log(2 / share) / (2 * n))
    return Bound(
        "Rademacher bound",
        risk,
        value,
        empirical,
        delta,
        "independent examples, and a kernel fixed before they were seen: here it was tuned on them, so this "
        "is the bound of a machine like this one, not a guarantee for it",
        value >= 1,
    )
