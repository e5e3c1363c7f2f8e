"""Stability: one example more or less hardly moves the minimiser, so its training error can't be far off.

Let f minimise C_S(f) = (1/n) Σ V(y_i, f(x_i)) + λ‖f‖² and g the same with one example replaced. C is
2λ-strongly convex, so C_S(g) − C_S(f) ≥ λ‖f − g‖², and likewise with the roles exchanged. In the sum of the
two all terms cancel but those of the example in question:

    2λ‖f − g‖² ≤ (1/n)(|V(z, g) − V(z, f)| + |V(z', f) − V(z', g)|) ≤ (2Lκ/n) ‖f − g‖,

L being the largest slope of V at scores that occur and κ² = sup k(x,x). So ‖f − g‖ ≤ Lκ/(λn), and a loss ℓ of
slope M by which the machine is judged changes by at most

    β = M L κ²/(λn).

The same holds for leaving the example out with λ kept: then C_S − C_{S∖i} = (1/n)(V_i − mean of the others).
Bousquet and Elisseeff (2002) have half of it, σ²κ²/(2λn), for an example removed and not replaced, which is a
half of a replacement; their bound doubles it again, so that both give the same numbers.
"""

from __future__ import annotations

import math
from typing import Any, Literal

from mercer.theory.bounds import Bound, Terms, bound_of, hoeffding, require_delta

_ASSUMED = "independent examples of equal weight, a kernel and a λ fixed before they were seen, no offset"


def uniform_stability(
    slope: float, lam: float, n: float, sup_diagonal: float, judged: float | None = None
) -> float:
    """β = M L κ²/(λn): by how much a loss can change if one of n examples is replaced.

    Parameters
    ----------
    slope : L, the largest |V'| of the loss that is minimised, at scores that occur
    lam : λ
    sup_diagonal : κ² ≥ k(x,x) for all x
    judged : M, the same of the loss the machine is judged by; None if that is V itself

    Examples
    --------
    >>> round(uniform_stability(1.0, lam=0.1, n=1000, sup_diagonal=1.0), 6)         # hinge
    0.01
    """
    if not (lam > 0 and n > 0 and min(slope, sup_diagonal) >= 0):
        raise ValueError("lam and n must be positive, slope and sup_diagonal nonnegative")
    return (slope if judged is None else judged) * slope * sup_diagonal / (lam * n)


def ridge_slope(largest: float, lam: float, sup_diagonal: float) -> float:
    """L = 2Y(1 + κ/(2√λ)), the largest slope of (y − f(x))² where |y| ≤ Y and f minimises C.

    λ‖f‖² = (1/n) Σ f(x_i)(y_i − f(x_i)) at the minimum, and a(y − a) ≤ y²/4: so ‖f‖ ≤ Y/(2√λ), half of what
    C(f) ≤ C(0) gives, and |f(x)| ≤ κY/(2√λ).

    Parameters
    ----------
    largest : Y
    lam : λ
    sup_diagonal : κ²

    Examples
    --------
    >>> ridge_slope(1.0, lam=0.25, sup_diagonal=1.0)
    4.0
    """
    if not (lam > 0 and min(largest, sup_diagonal) >= 0):
        raise ValueError("lam must be positive, largest and sup_diagonal nonnegative")
    return 2 * largest * (1 + math.sqrt(sup_diagonal / lam) / 2)


def ridge_stability(lam: float, n: float, sup_diagonal: float, largest: float) -> float:
    """β = 8Y²κ²(1 + κ/(2√λ))/(λn) for ridge regression judged by the squared error of clipped predictions.

    With |y| ≤ Y nothing is lost by clipping predictions to [−Y, Y]; the squared error is then at most 4Y² and
    has slope 4Y at most.

    Parameters
    ----------
    lam : λ
    sup_diagonal : κ² ≥ k(x,x) for all x
    largest : Y ≥ |y| for all targets, new ones too

    Examples
    --------
    >>> ridge_stability(0.25, 1000, 1.0, 1.0)               # 8·2/250
    0.064
    """
    return uniform_stability(ridge_slope(largest, lam, sup_diagonal), lam, n, sup_diagonal, 4 * largest)


def stability_bound(
    empirical: float,
    beta: float,
    n: int,
    delta: float = 0.05,
    *,
    largest_loss: float = 1.0,
    estimate: Literal["training", "leave-one-out"] = "training",
    risk: str = "expected loss",
    assumptions: str = _ASSUMED,
) -> Bound:
    """E ℓ ≤ (1/n) Σ ℓ_i + β + (2nβ + M) √(ln(1/δ)/2n) for a machine of uniform stability β, losses in [0, M].

    McDiarmid's inequality: replacing an example moves risk minus training error by at most 2β + M/n, and its
    expectation is at most β. With leave-one-out errors in place of training errors 2nβ becomes
    nβ + nβ·n/(n−1), the others being fitted to n − 1.

    Parameters
    ----------
    empirical : mean of ℓ over the training examples, or leaving one out
    beta : β, as `uniform_stability` or `ridge_stability` gives it for n examples
    largest_loss : M
    estimate : "training" or "leave-one-out"

    Examples
    --------
    >>> b = stability_bound(0.1, uniform_stability(1.0, 0.5, 10_000, 1.0), 10_000)
    >>> round(b.value, 4), [name for name, _ in b.terms]
    (0.1614, ['training loss', 'stability', 'confidence'])
    """
    require_delta(delta)
    if estimate not in ("training", "leave-one-out"):
        raise ValueError(f"estimate must be 'training' or 'leave-one-out', got {estimate!r}")
    if not (n > 1 and beta >= 0 and largest_loss > 0 and 0 <= empirical <= largest_loss):
        raise ValueError("two examples, beta ≥ 0 and a mean loss between 0 and largest_loss are needed")

    def terms(m: int) -> Terms:
        moved = beta * n / m  # λ being kept, β falls like 1/n
        both = moved * (2 if estimate == "training" else 1 + m / (m - 1))
        sure = hoeffding(m, delta)
        return (
            (f"{estimate} loss", empirical),
            ("stability", moved + m * both * sure),
            ("confidence", largest_loss * sure),
        )

    known: Any = {"trivial": largest_loss, "measured_as": f"mean {estimate} loss"}
    return bound_of("Stability bound", risk, terms, n, delta, assumptions, **known)
