"""Which bounds apply to a machine, and why the others do not."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mercer.estimators.facts import Facts
from mercer.functions import KernelFunction
from mercer.kernels import Finite
from mercer.theory.bounds import Bound, vc_bound
from mercer.theory.gibbs import pac_bayes_bound
from mercer.theory.leave_one_out import (
    left_out_bound,
    left_out_error_bound,
    support_vector_bound,
    xi_alpha_bound,
)
from mercer.theory.rademacher import FIXED, capped_error_bound, margin_bound
from mercer.theory.stability import ridge_slope, stability_bound, uniform_stability
from mercer.theory.strata import exponent_above

# Kernel values that may be looked at for R² of the ξα estimate: a fraction of a second.
_PAIRS = 2e7

_TUNED = (
    "; here it was tuned on them, so this is the bound of a machine like this one, not a guarantee for it"
)
_LINK = "predictions are not the scores themselves, but a function of them"
_CENTRES = "the centres were drawn from the examples, and change with them"
_WIDTH = "; here its width was taken from the points, though not from the targets"


@dataclass(frozen=True)
class Promise:
    """Bounds that hold or fail together.

    Attributes
    ----------
    make : from δ to the bounds
    spends : do they need a share of δ?
    """

    make: Callable[[float], list[Bound]]
    spends: bool = True


Absent = list[tuple[str, str]]


def promises(facts: Facts, tuned: bool) -> tuple[list[Promise], Absent]:
    """What can be promised of a machine, and (name, reason) of what can't."""
    words = _TUNED if tuned else _WIDTH if facts.tuned else ""
    made: list[Promise] = []
    absent: Absent = []
    for find in (_margin, _errors, _pac_bayes, _vc, _stability, _left_out):
        found = find(facts, words)
        if isinstance(found, tuple):
            absent.append(found)
        elif found is not None:
            made.append(found)
    return made, absent


def _with_constant(facts: Facts) -> tuple[float, np.ndarray, float | None]:
    """‖f + b‖, k(x_i,x_i) and its supremum in the space of k + 1, where there is an offset."""
    if not facts.has_offset:
        return facts.norm, facts.diagonal, facts.sup_diagonal
    norm = math.sqrt(facts.norm**2 + float(facts.offsets @ facts.offsets))
    return norm, facts.diagonal + 1, None if facts.sup_diagonal is None else facts.sup_diagonal + 1


def _margin(facts: Facts, words: str):
    if not facts.classes:
        return None
    if facts.margins is None:
        return "Margin bound", "classes are told apart by votes of pairs, which have no margin"
    norm, diagonal, sup = _with_constant(facts)
    margins, trace = facts.margins, float(diagonal.sum())
    return Promise(
        lambda delta: [
            margin_bound(
                margins,
                norm,
                trace,
                delta,
                sup_diagonal=sup,
                classes=facts.classes,
                assumptions=FIXED + words,
            )
        ]
    )


def _errors(facts: Facts, words: str):
    if facts.classes:
        return None
    if facts.scores.shape[1] != 1 or facts.targets.shape[1] != 1:
        return "Rademacher bound", "there is more than one output"
    y = facts.targets[:, 0]
    if facts.linked:
        return "Rademacher bound", _LINK
    residuals, trace = y - facts.scores[:, 0], float(facts.diagonal.sum())
    return Promise(
        lambda delta: [
            capped_error_bound(
                residuals,
                facts.norm,
                trace,
                cap_of(y),
                delta,
                offset=float(facts.offsets[0]) if facts.has_offset else 0.0,
                sup_diagonal=facts.sup_diagonal,
                assumptions=FIXED + words,
            )
        ]
    )


def _pac_bayes(facts: Facts, words: str):
    if not facts.classes:
        return None
    if facts.classes > 2 or facts.margins is None:
        return "PAC–Bayes bound", "there are more than two classes"
    norm, diagonal, _ = _with_constant(facts)
    margins = facts.margins

    def make(delta: float) -> list[Bound]:
        # One event: the second is twice the first.
        return [
            pac_bayes_bound(margins, norm, diagonal, delta, own=own, assumptions=FIXED + words)
            for own in (True, False)
        ]

    return Promise(make)


def _vc(facts: Facts, words: str):
    if not facts.classes:
        return None
    if facts.classes > 2:
        return "VC bound", "there are more than two classes"
    if math.isinf(facts.width):
        return (
            "VC bound",
            "half-spaces of this kernel have infinite VC dimension: only the norm of f bounds them",
        )
    assert facts.wrong is not None
    dimension, error = facts.width + facts.has_offset, float(facts.wrong.mean())
    # Half-spaces of polynomials are the same whatever the kernel's parameters; those of random features not.
    said = words if facts.space == "features" else ""

    def make(delta: float) -> list[Bound]:
        bound = vc_bound(error, dimension, facts.n, delta)
        return [replace(bound, assumptions=bound.assumptions + said)]

    return Promise(make)


def _stability(facts: Facts, words: str):
    why = _LINK if facts.linked else _unstable(facts)
    if why is not None:
        return "Stability bound", why
    loss, kappa2, n = facts.loss, facts.largest_diagonal, facts.n
    assert loss is not None
    known = (
        ""
        if facts.sup_diagonal is not None
        else f"; k(x,x) ≤ {kappa2:.3g}, the largest seen, for new points too"
    )
    assumed = f"independent examples of equal weight, kernel and λ fixed before they were seen{words}{known}"
    if facts.classes:
        assert facts.margins is not None
        empirical = float(np.clip(1 - facts.margins, 0, 1).mean())
        beta = uniform_stability(largest_slope(facts), facts.lam, n, kappa2, judged=1.0)
        return Promise(
            lambda delta: [stability_bound(empirical, beta, n, delta, risk="error rate", assumptions=assumed)]
        )
    top = float(np.abs(facts.targets).max())
    assumed += f"; |y| ≤ {top:.3g}, the largest seen, for new targets too"
    y, clipped = facts.targets[:, 0], np.clip(facts.scores[:, 0], -top, top)
    # Squared errors for least squares, absolute ones otherwise, both of clipped predictions.
    if loss.quadratic:
        name, errors, judged, most = "mean squared error, clipped", (y - clipped) ** 2, 4 * top, 4 * top**2
    else:
        name, errors, judged, most = "mean error, clipped", np.abs(y - clipped), 1.0, 2 * top
    beta = uniform_stability(largest_slope(facts), facts.lam, n, kappa2, judged=judged)
    return Promise(
        lambda delta: [
            stability_bound(
                float(errors.mean()), beta, n, delta, largest_loss=most, risk=name, assumptions=assumed
            )
        ]
    )


def _unstable(facts: Facts) -> str | None:
    if facts.loss is None or not facts.penalised:
        return "the machine does not minimise a mean loss + λ‖f‖²"
    if facts.has_offset:
        return "the offset has no penalty, and one example may move it far (offset=False)"
    if facts.space == "centres":
        return _CENTRES
    if facts.weighted:
        return "examples have weights"
    if facts.scores.shape[1] != 1 or facts.loss.joint:
        return "there is more than one output"
    if not facts.loss.convex:
        return "the loss is not convex"
    if facts.n < 2:
        return "there is one example only"
    if not facts.classes and not np.any(facts.targets):
        return "all targets are 0"
    return None


def largest_slope(facts: Facts) -> float:
    """L: the largest |V'| at scores the minimiser can have.

    V is convex in s, so that lies at an end of their range. λ‖f‖² ≤ C(0) ≤ max V(y, 0), so |f(x)| ≤ κ√(max
    V(y,0)/λ). Least squares knows better: `ridge_slope`.
    """
    loss, targets = facts.loss, facts.targets
    assert loss is not None
    if loss.quadratic:
        return ridge_slope(float(np.abs(targets).max()), facts.lam, facts.largest_diagonal)
    ends = np.array([[targets.min()], [targets.max()]])
    at_zero = float(np.max(loss.value(ends, np.zeros((2, 1)))))
    reach = math.sqrt(facts.largest_diagonal * max(at_zero, 0.0) / facts.lam)
    slopes = [np.abs(loss.grad(ends, np.full((2, 1), s))).max() for s in (-reach, reach)]
    return float(max(slopes))


def _left_out(facts: Facts, words: str):
    if facts.scores.shape[1] != 1 or (facts.classes and facts.margins is None):
        return "Leave-one-out bound", "there is more than one output"
    if facts.weighted:
        return "Leave-one-out bound", "examples have weights"
    if facts.coef is None or not facts.penalised:
        return "Leave-one-out bound", "the coefficients of the examples are not known"
    if facts.space == "centres":
        return "Leave-one-out bound", _CENTRES
    y, coef, n = facts.targets[:, 0], facts.coef, facts.n
    if not facts.classes:
        if facts.has_offset:
            return (
                "Leave-one-out bound",
                "an offset without a penalty may move far",
            )
        if facts.linked:
            return "Leave-one-out bound", _LINK
        error = left_out_error_bound(y, facts.scores[:, 0], coef, facts.diagonal, cap_of(y))
        return _said([error], words)
    assert facts.wrong is not None and facts.margins is not None
    sparse = facts.support is not None and facts.support < n
    made: list[Bound] = []
    if not facts.has_offset:
        made.append(left_out_bound(y, facts.scores[:, 0], coef, facts.diagonal))
    elif facts.support is not None:
        made.append(xi_alpha_bound(facts.margins, np.abs(coef), spread_of(facts)))
    if sparse and facts.support is not None:
        made.append(support_vector_bound(facts.support, n, int(facts.wrong.sum())))
    if not made:
        return "Leave-one-out bound", "with an offset it is known for support vector machines only"
    return _said(made, words)


def _said(made: list[Bound], words: str) -> Promise:
    """Bounds on average, with what is to be added to their assumptions."""
    told = [replace(b, assumptions=b.assumptions + words) for b in made]
    return Promise(lambda delta: told, spends=False)


def spread_of(facts: Facts) -> float:
    """R² ≥ k(x_i,x_i) − k(x_i,x_j) for support vectors i and all examples j."""
    f = facts.function
    most = float(facts.diagonal.max())
    if not isinstance(f, KernelFunction) or len(f) * facts.n > _PAIRS or isinstance(f.kernel, Finite):
        return 2 * most  # |k(x,z)| ≤ κ²
    rows = max(int(_PAIRS / 10 // max(facts.n, 1)), 1)
    least = math.inf
    for i in range(0, len(f), rows):
        least = min(least, float(f.kernel(f.points[i : i + rows], facts.points).min()))
    return most - least


def cap_of(y: np.ndarray) -> float:
    """Where errors are capped: the power of two at or above the standard deviation of y."""
    return 2.0 ** exponent_above(float(np.std(y)) or 1.0)
