"""PAC–Bayes: a machine that draws its function at random, near f, and what its errors can be.

The prior is a Gaussian process with mean 0 and covariance k; the posterior has mean f/s and the same
covariance. Then KL(posterior‖prior) = ‖f‖²/(2s²), by Cameron and Martin's formula, and at x the drawn score
is Gaussian around f(x)/s with variance k(x,x), so it has the wrong sign with probability Φ(−y
f(x)/(s√k(x,x))): no sampling is needed.

The bound holds for all posteriors at once. Changing s only changes the posterior, since the sign does not
care for scale; so the best s may be taken after looking, and there is nothing to pay for it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import ndtr

from mercer.theory.bounds import Bound, Terms, bound_of, kl_inverse, require_delta, vectors
from mercer.theory.rademacher import FIXED

# ‖f‖/s that are tried, in standard deviations of the prior: from hardly anything to all but certain.
_RATIOS = np.geomspace(1e-2, 1e4, 121)


def gibbs_bound(error: float, divergence: float, n: int, delta: float = 0.05) -> float:
    """kl⁻¹(error, (KL + ln(2√n/δ))/n): Seeger's and Langford's bound, with Maurer's constant.

    `error` is the mean error of the posterior's draws on the n examples, `divergence` KL(posterior‖prior).

    Examples
    --------
    >>> round(gibbs_bound(0.05, 10.0, 1000), 4)
    0.1008
    """
    require_delta(delta)
    if not 0 <= error <= 1 or divergence < 0 or n < 1:
        raise ValueError("error must lie between 0 and 1, divergence must be nonnegative and n positive")
    return kl_inverse(error, _budget(divergence, n, delta))


def _budget(divergence: Any, n: int, delta: float) -> Any:
    """(KL + ln(2√n/δ))/n."""
    # 2√n bounds E exp(n kl) from eight examples on, n + 1 always.
    moment = 2 * math.sqrt(n) if n >= 8 else n + 1
    return (divergence + math.log(moment / delta)) / n


def pac_bayes_bound(
    margins: Any,
    norm: float,
    diagonal: Any,
    delta: float = 0.05,
    *,
    own: bool = True,
    assumptions: str = FIXED,
) -> Bound:
    """The error of the Gaussian posterior around f, and (twice that) of f itself, by the best scale s.

    Where f is wrong, more than half of the draws are: P(f wrong) ≤ 2 P(draw wrong).

    Parameters
    ----------
    margins : y_i f(x_i), one an example
    norm : ‖f‖; with an offset √(‖f‖² + b²/v), the norm in the space of k + v
    diagonal : k(x_i, x_i); with an offset v more
    own : bound the error of f itself (True), or that of the machine that draws afresh for every prediction

    Examples
    --------
    >>> import numpy as np
    >>> b = pac_bayes_bound(np.full(5000, 1.0), norm=2.0, diagonal=np.ones(5000), own=False)
    >>> round(b.value, 3), b.vacuous
    (0.008, False)
    """
    require_delta(delta)
    m, k = vectors("margins and diagonal", margins, diagonal)
    if not 0 <= norm < math.inf or (k < 0).any():
        raise ValueError("norm and diagonal must be nonnegative")
    n = len(m)
    # In units of its own norm f is at most 1 times √k(x,x).
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.where(k > 0, m / (norm * np.sqrt(k)), 0.0) if norm > 0 else np.zeros(n)
    errors = np.array([float(ndtr(-ratio * size).mean()) for ratio in _RATIOS])
    factor = 2.0 if own else 1.0

    def terms(examples: int) -> Terms:
        found = factor * kl_inverse(errors, _budget(_RATIOS**2 / 2, examples, delta))
        best = int(found.argmin())
        drawn = factor * float(errors[best])
        return ("errors of draws", drawn), ("divergence and confidence", float(found[best]) - drawn)

    if own:
        assumed, wrong = f"{assumptions}; twice the error of random draws around f", float((m <= 0).mean())
        return bound_of("PAC–Bayes bound", "error rate", terms, n, delta, assumed, measured=wrong)
    assumed = f"{assumptions}; f is drawn anew for every prediction"
    said = "mean error of draws on the training examples"
    risk = "error rate of a random draw"
    return bound_of("PAC–Bayes of draws", risk, terms, n, delta, assumed, measured_as=said)
