"""What one example can do: stability, and bounds on the leave-one-out error.

One example more or less hardly moves the minimiser, so its training error can't be far off.

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

The leave-one-out error of n examples has the expectation of the risk of a machine fitted to n − 1: a bound on
it holds on average over samples, and says nothing of how far a single sample is from that average.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from mercer.theory.bounds import Bound, Terms, bound_of, hoeffding, require_delta, vectors

_ASSUMED = "independent examples of equal weight, a kernel and a λ fixed before they were seen, no offset"
_RISK = "error rate, mean over samples of n − 1"
_LEFT_OUT = (
    "independent examples; kernel and C = 1/(2λn) fixed before they were seen, and kept when one is left out"
)


def uniform_stability(
    slope: float, lam: float, n: float, sup_diagonal: float, judged: float | None = None
) -> float:
    """β = M L κ²/(λn): by how much a loss can change if one of n examples is replaced.

    L (`slope`) is the largest |V'| of the loss that is minimised, at scores that occur; M (`judged`) the same
    of the loss the machine is judged by, None if that is V itself; κ² (`sup_diagonal`) at least k(x,x) for
    all x.

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

    Y is `largest`, κ² `sup_diagonal`.

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

    κ² (`sup_diagonal`) must be at least k(x,x), Y (`largest`) at least |y|, for new examples too.

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


# -- leaving one out, without fitting again -------------------------------------------------------------


def left_out_scores(scores: Any, coef: Any, diagonal: Any) -> np.ndarray:
    """The end f(x_i) − c_i k(x_i,x_i) of the interval from there to f(x_i), in which f₋ᵢ(x_i) lies.

    For every convex loss, without an offset. f minimises Σ V_j + μ‖f‖² with μ = λn, and f₋ᵢ the same without
    V_i, whose gradient at f is 2μc_i k(x_i,·), c_i = −V'(y_i, f(x_i))/(2μ). It is 2μ-strongly monotone: c_i
    (f − f₋ᵢ)(x_i) ≥ ‖f − f₋ᵢ‖² ≥ (f − f₋ᵢ)(x_i)²/k(x_i,x_i). (Jaakkola and Haussler, 1999, for the SVM.)

    Scores are f(x_i), the diagonal k(x_i, x_i), and `coef` c_i: for centres or features as well, where c_i is
    no coefficient but the formula above holds.

    Examples
    --------
    >>> left_out_scores([0.9, -0.2], [0.5, -1.0], [1.0, 1.0]).tolist()
    [0.4, 0.8]
    """
    s, c, k = vectors("scores, coef and diagonal", scores, coef, diagonal)
    if (k < 0).any():
        raise ValueError("the diagonal must be nonnegative")
    return s - c * k


def left_out_bound(y: Any, scores: Any, coef: Any, diagonal: Any) -> Bound:
    """Share of examples that may be wrong when left out: y_i (f(x_i) − c_i k(x_i,x_i)) ≤ 0.

    y is ±1; `scores`, `coef` and `diagonal` are as in `left_out_scores`.

    Examples
    --------
    >>> left_out_bound([1, -1], [0.9, -0.2], [0.5, -1.0], [1.0, 1.0]).value
    0.5
    """
    y, s, ends = vectors("y and scores", y, scores, left_out_scores(scores, coef, diagonal))
    if not np.isin(y, (-1, 1)).all():
        raise ValueError("y must be −1 or 1, one for each score")
    wrong, measured = y * ends <= 0, float((y * s <= 0).mean())
    return _on_average("Leave-one-out bound", wrong.mean(), measured, "no offset")


def left_out_error_bound(y: Any, scores: Any, coef: Any, diagonal: Any, cap: float) -> Bound:
    """Mean of min(|y_i − f₋ᵢ(x_i)|, M), at the worse end of the interval that f₋ᵢ(x_i) lies in.

    For least squares the end is (y_i − f(x_i))(1 + k(x_i,x_i)/(λn)) away.

    `scores`, `coef` and `diagonal` are as in `left_out_scores`, M is `cap`.

    Examples
    --------
    >>> left_out_error_bound([1.0, 0.0], [0.5, 0.25], [0.25, -0.125], [1.0, 1.0], cap=4.0).value
    0.5625
    """
    y, s, end = vectors("targets and scores", y, scores, left_out_scores(scores, coef, diagonal))
    if not cap > 0:
        raise ValueError(f"the cap must be positive, got {cap!r}")
    worst = np.minimum(np.maximum(np.abs(y - s), np.abs(y - end)), cap)
    measured = float(np.minimum(np.abs(y - s), cap).mean())
    risk = f"mean error, capped at {cap:g}, mean over samples of n − 1"
    return _on_average("Leave-one-out bound", worst.mean(), measured, "no offset", risk, cap)


def support_vector_bound(support: int, n: int, errors: int = 0) -> Bound:
    """E risk(n − 1) ≤ E [number of support vectors]/n: other examples can be left out and nothing changes.

    `errors` of the n examples are wrong.

    Examples
    --------
    >>> support_vector_bound(30, 1000).value
    0.03
    """
    if not 0 <= support <= n or n < 1:
        raise ValueError(f"support must lie between 0 and n > 0, got {support!r} of {n!r}")
    return _on_average("Support vectors", support / n, errors / n, "the solution is exact")


def xi_alpha_bound(margins: Any, alpha: Any, spread: Any, *, offset: bool = True) -> Bound:
    """Joachims' ξα: share of examples with ρ α_i R² + ξ_i ≥ 1, the others being right when left out.

    ξ_i = max(0, 1 − y_i f(x_i)), over the support vectors. ρ = 2 with an offset; without one ρ = 1 and
    R² = k(x_i,x_i), which is `left_out_bound` again.

    Margins are y_i (f(x_i) + b), `alpha` |c_i|, and `spread` R² ≥ k(x_i,x_i) − k(x_i,x_j) for all j with an
    offset, k(x_i,x_i) without.

    Examples
    --------
    >>> xi_alpha_bound([1.0, 1.0, 2.0, 0.1], [0.2, 0.6, 0.0, 1.0], 1.0).value
    0.5
    """
    m, a = vectors("margins and alpha", margins, alpha)
    if (a < 0).any():
        raise ValueError("alpha must be nonnegative")
    slack = np.maximum(1 - m, 0)
    wrong = (a > 0) & ((2 if offset else 1) * a * np.asarray(spread, dtype=float) + slack >= 1)
    return _on_average("ξα estimate", wrong.mean(), float((m <= 0).mean()), "the solution is exact")


def _on_average(
    name: str, value: Any, measured: float, besides: str, risk: str = _RISK, trivial: float = 1.0
) -> Bound:
    assumed, said = f"{_LEFT_OUT}; {besides}", "error on the training examples"
    vacuous = bool(value >= trivial)
    return Bound(name, risk, float(value), measured, 0.0, assumed, vacuous, said, on_average=True)
