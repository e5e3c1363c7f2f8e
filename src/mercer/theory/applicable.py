"""Which bounds apply to a machine, and why the others do not."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from mercer.estimators.facts import Facts
from mercer.functions import KernelFunction
from mercer.kernels import Finite
from mercer.kernels.door import by_rule
from mercer.theory import stability
from mercer.theory.bounds import Bound, vc_bound
from mercer.theory.gibbs import pac_bayes_bound
from mercer.theory.rademacher import FIXED, capped_error_bound, exponent_above, margin_bound

# Kernel values that may be looked at for R² of the ξα estimate: a fraction of a second.
_PAIRS = 2e7

_TUNED = (
    "; here it was tuned on them, so this is the bound of a machine like this one, not a guarantee for it"
)
_LINK = "predictions are not the scores themselves, but a function of them"
_CENTRES = "the centres were drawn from the examples, and change with them"
_WEIGHTS = "examples have weights"
_NO_SPACE = "the function need not be a kernel, and without a feature space f has no norm"
_OUTPUTS = "there is more than one output"
_WIDTH = "; here its width was taken from the points, though not from the targets"


@dataclass(frozen=True)
class Promise:
    """Bounds that hold or fail together, each a function of delta. Do they need a share of it (`spends`)?"""

    bounds: tuple[Callable[..., Bound], ...]
    spends: bool = True


Absent = list[tuple[str, str]]
# A promise, the reason why there is none, or None where nobody would expect one.
Found = Promise | str | None


def promises(facts: Facts, tuned: bool) -> tuple[list[Promise], Absent]:
    """What can be promised of a machine, and (name, reason) of what can't."""
    words = _TUNED if tuned else _WIDTH if facts.tuned else ""
    found = {name: find(facts, words) for name, find in _FINDERS.items()}
    kernel = getattr(facts.function, "kernel", None)
    if kernel is not None and kernel.indefinite and not by_rule(kernel):
        found = {name: None if promise is None else _NO_SPACE for name, promise in found.items()}
    made = [promise for promise in found.values() if isinstance(promise, Promise)]
    return made, [(name, why) for name, why in found.items() if isinstance(why, str)]


def _with_constant(facts: Facts) -> tuple[float, np.ndarray, float | None]:
    """‖f + b‖, k(x_i,x_i) and its supremum in the space of k + 1, where there is an offset."""
    if not facts.has_offset:
        return facts.norm, facts.diagonal, facts.sup_diagonal
    norm = math.sqrt(facts.norm**2 + float(facts.offsets @ facts.offsets))
    return norm, facts.diagonal + 1, None if facts.sup_diagonal is None else facts.sup_diagonal + 1


def _margin(facts: Facts, words: str) -> Found:
    if not facts.classes:
        return None
    if facts.margins is None:
        return "classes are told apart by votes of pairs, which have no margin"
    norm, diagonal, sup = _with_constant(facts)
    known: Any = {"sup_diagonal": sup, "classes": facts.classes, "assumptions": FIXED + words}
    return Promise((partial(margin_bound, facts.margins, norm, float(diagonal.sum()), **known),))


def _errors(facts: Facts, words: str) -> Found:
    if facts.classes:
        return None
    if facts.scores.shape[1] != 1 or facts.targets.shape[1] != 1:
        return _OUTPUTS
    if facts.linked:
        return _LINK
    y, offset = facts.targets[:, 0], float(facts.offsets[0]) if facts.has_offset else 0.0
    numbers = y - facts.scores[:, 0], facts.norm, float(facts.diagonal.sum()), cap_of(y)
    known: Any = {"offset": offset, "sup_diagonal": facts.sup_diagonal, "assumptions": FIXED + words}
    return Promise((partial(capped_error_bound, *numbers, **known),))


def _pac_bayes(facts: Facts, words: str) -> Found:
    if not facts.classes:
        return None
    if facts.classes > 2 or facts.margins is None:
        return "there are more than two classes"
    norm, diagonal, _ = _with_constant(facts)
    bound = partial(pac_bayes_bound, facts.margins, norm, diagonal, assumptions=FIXED + words)
    # One event: the second is twice the first.
    return Promise((partial(bound, own=True), partial(bound, own=False)))


def _vc(facts: Facts, words: str) -> Found:
    if not facts.classes:
        return None
    if facts.classes > 2:
        return "there are more than two classes"
    if math.isinf(facts.width):
        return "half-spaces of this kernel have infinite VC dimension: only the norm of f bounds them"
    assert facts.wrong is not None
    dimension, error = facts.width + facts.has_offset, float(facts.wrong.mean())
    # Half-spaces of polynomials are the same whatever the kernel's parameters; those of random features not.
    said = words if facts.space == "features" else ""
    return Promise((lambda delta: _said(vc_bound(error, dimension, facts.n, delta), said),))


def _stability(facts: Facts, words: str) -> Found:
    why = _LINK if facts.linked else _unstable(facts)
    if why is not None:
        return why
    loss, kappa2, n = facts.loss, facts.largest_diagonal, facts.n
    assert loss is not None
    assumed = f"independent examples of equal weight, kernel and λ fixed before they were seen{words}"
    if facts.sup_diagonal is None:
        assumed += f"; k(x,x) ≤ {kappa2:.3g}, the largest seen, for new points too"
    if facts.classes:
        assert facts.margins is not None
        name, errors, judged, most = "error rate", np.clip(1 - facts.margins, 0, 1), 1.0, 1.0
    else:
        top = float(np.abs(facts.targets).max())
        assumed += f"; |y| ≤ {top:.3g}, the largest seen, for new targets too"
        errors = facts.targets[:, 0] - np.clip(facts.scores[:, 0], -top, top)
        # Squared errors for least squares, absolute ones otherwise, both of clipped predictions.
        if loss.quadratic:
            name, errors, judged, most = "mean squared error, clipped", errors**2, 4 * top, 4 * top**2
        else:
            name, errors, judged, most = "mean error, clipped", np.abs(errors), 1.0, 2 * top
    beta = stability.uniform_stability(largest_slope(facts), facts.lam, n, kappa2, judged=judged)
    said: Any = {"largest_loss": most, "risk": name, "assumptions": assumed}
    return Promise((partial(stability.stability_bound, float(errors.mean()), beta, n, **said),))


def _unstable(facts: Facts) -> str | None:
    if facts.loss is None or not facts.penalised:
        return "the machine does not minimise a mean loss + λ‖f‖²"
    reasons = (
        (facts.has_offset, "the offset has no penalty, and one example may move it far (offset=False)"),
        (facts.space == "centres", _CENTRES),
        (facts.weighted, _WEIGHTS),
        (facts.scores.shape[1] != 1 or facts.loss.joint, _OUTPUTS),
        (not facts.loss.convex, "the loss is not convex"),
        (facts.n < 2, "there is one example only"),
        (not facts.classes and not np.any(facts.targets), "all targets are 0"),
    )
    return next((why for true, why in reasons if true), None)


def largest_slope(facts: Facts) -> float:
    """L: the largest |V'| at scores the minimiser can have.

    V is convex in s, so that lies at an end of their range. λ‖f‖² ≤ C(0) ≤ max V(y, 0), so |f(x)| ≤ κ√(max
    V(y,0)/λ). Least squares knows better: `ridge_slope`.
    """
    loss, targets = facts.loss, facts.targets
    assert loss is not None
    if loss.quadratic:
        return stability.ridge_slope(float(np.abs(targets).max()), facts.lam, facts.largest_diagonal)
    ends = np.array([[targets.min()], [targets.max()]])
    at_zero = float(np.max(loss.value(ends, np.zeros((2, 1)))))
    reach = math.sqrt(facts.largest_diagonal * max(at_zero, 0.0) / facts.lam)
    slopes = [np.abs(loss.grad(ends, np.full((2, 1), s))).max() for s in (-reach, reach)]
    return float(max(slopes))


def _left_out(facts: Facts, words: str) -> Found:
    if facts.scores.shape[1] != 1 or (facts.classes and facts.margins is None):
        return _OUTPUTS
    if facts.weighted:
        return _WEIGHTS
    if facts.coef is None or not facts.penalised:
        return "the coefficients of the examples are not known"
    if facts.space == "centres":
        return _CENTRES
    if not facts.classes and facts.has_offset:
        return "an offset without a penalty may move far"
    if not facts.classes and facts.linked:
        return _LINK
    y, scores, coef = facts.targets[:, 0], facts.scores[:, 0], facts.coef
    if facts.classes:
        made = _left_out_labels(facts, y, scores, coef)
    else:
        made = [stability.left_out_error_bound(y, scores, coef, facts.diagonal, cap_of(y))]
    if not made:
        return "with an offset it is known for support vector machines only"
    # They hold on average, whatever δ is.
    told = [_said(bound, words) for bound in made]
    return Promise(tuple(lambda delta, bound=bound: bound for bound in told), spends=False)


def _left_out_labels(facts: Facts, y: np.ndarray, scores: np.ndarray, coef: np.ndarray) -> list[Bound]:
    assert facts.wrong is not None and facts.margins is not None
    made: list[Bound] = []
    if not facts.has_offset:
        made.append(stability.left_out_bound(y, scores, coef, facts.diagonal))
    elif facts.support is not None:
        made.append(stability.xi_alpha_bound(facts.margins, np.abs(coef), spread_of(facts)))
    if facts.support is not None and facts.support < facts.n:
        made.append(stability.support_vector_bound(facts.support, facts.n, int(facts.wrong.sum())))
    return made


def _said(bound: Bound, words: str) -> Bound:
    """A bound with more assumptions."""
    return replace(bound, assumptions=bound.assumptions + words)


_FINDERS: dict[str, Callable[[Facts, str], Found]] = {
    "Margin bound": _margin,
    "Rademacher bound": _errors,
    "PAC–Bayes bound": _pac_bayes,
    "VC bound": _vc,
    "Stability bound": _stability,
    "Leave-one-out bound": _left_out,
}


def spread_of(facts: Facts) -> float:
    """R² ≥ k(x_i,x_i) − k(x_i,x_j) for support vectors i and all examples j."""
    f = facts.function
    most = float(facts.diagonal.max())
    if not isinstance(f, KernelFunction) or len(f) * facts.n > _PAIRS or isinstance(f.kernel, Finite):
        return 2 * most  # |k(x,z)| ≤ κ²
    rows = max(int(_PAIRS / 10 // max(facts.n, 1)), 1)
    blocks = (f.points[i : i + rows] for i in range(0, len(f), rows))
    return most - min((float(f.kernel(block, facts.points).min()) for block in blocks), default=math.inf)


def cap_of(y: np.ndarray) -> float:
    """Where errors are capped: the power of two at or above the standard deviation of y."""
    return 2.0 ** exponent_above(float(np.std(y)) or 1.0)
