"""What leaving one example out can do, without fitting again: bounds on the leave-one-out error.

The leave-one-out error of n examples has the expectation of the risk of a machine fitted to n − 1: a bound on
it holds on average over samples, and says nothing of how far a single sample is from that average.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.theory.bounds import Bound, vectors

_RISK = "error rate, mean over samples of n − 1"
_ASSUMED = (
    "independent examples; kernel and C = 1/(2λn) fixed before they were seen, and kept when one is left out"
)


def left_out_scores(scores: Any, coef: Any, diagonal: Any) -> np.ndarray:
    """The end f(x_i) − c_i k(x_i,x_i) of the interval from there to f(x_i), in which f₋ᵢ(x_i) lies.

    For every convex loss, without an offset. f minimises Σ V_j + μ‖f‖² with μ = λn, and f₋ᵢ the same without
    V_i, whose gradient at f is 2μc_i k(x_i,·), c_i = −V'(y_i, f(x_i))/(2μ). It is 2μ-strongly monotone: c_i
    (f − f₋ᵢ)(x_i) ≥ ‖f − f₋ᵢ‖² ≥ (f − f₋ᵢ)(x_i)²/k(x_i,x_i). (Jaakkola and Haussler, 1999, for the SVM.)

    Parameters
    ----------
    scores : f(x_i)
    coef : c_i; for centres or features as well, where c_i is no coefficient but the formula above holds
    diagonal : k(x_i, x_i)

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

    Parameters
    ----------
    y : ±1
    scores, coef, diagonal : as in `left_out_scores`

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

    Parameters
    ----------
    y : targets
    scores, coef, diagonal : as in `left_out_scores`
    cap : M

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

    Parameters
    ----------
    margins : y_i (f(x_i) + b)
    alpha : |c_i|
    spread : R² ≥ k(x_i,x_i) − k(x_i,x_j) for all j, with an offset; k(x_i,x_i) without
    offset : bool

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
    assumed, said = f"{_ASSUMED}; {besides}", "error on the training examples"
    vacuous = bool(value >= trivial)
    return Bound(name, risk, float(value), measured, 0.0, assumed, vacuous, said, on_average=True)
