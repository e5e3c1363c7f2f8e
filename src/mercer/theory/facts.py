"""What bounds need to know of a fitted machine: scores, ‖f‖, k(x_i,x_i), λ. Never an n × n matrix.

Estimators lie beside this room, not below it, so a machine is known by what it has: a function, a loss, a
coding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import _resolve
from mercer.functions import FeatureFunction, Function, KernelFunction
from mercer.kernels import Finite, Kernel, Precomputed
from mercer.losses import Loss
from mercer.losses.pairs import PairCoding
from mercer.theory.strata import exponent_above

# Kernel values that may be looked at for R² of the ξα estimate: a fraction of a second.
_PAIRS = 2e7


@dataclass(frozen=True, eq=False)
class Facts:
    """A machine and its training examples, in numbers.

    Attributes
    ----------
    classes : 2 or more; 0 for a regression
    scores, targets : (n, t)
    margins : of each example's own class above the best other; None for a regression, and for votes of pairs
    wrong : which examples are predicted wrongly; for a regression None
    norm : ‖f‖, without the offset
    diagonal : k(x_i, x_i)
    sup_diagonal : k(x,x) for all x, if the kernel is translation-invariant; else None
    offsets : (t,)
    has_offset, lam, loss : of the machine
    space : "full", "centres" or "features"
    width : number of features, if finitely many: the VC dimension of the signs of f
    coef : −V'(y_i, s_i)/(2λn), or the dual coefficients; None if not known
    support : number of support vectors, if f is exact and sparse
    penalised : is λ‖f‖² the penalty?
    weighted : were examples or classes weighted?
    tuned : did the kernel take parameters from the examples?
    """

    classes: int
    scores: np.ndarray
    targets: np.ndarray
    margins: np.ndarray | None
    wrong: np.ndarray | None
    norm: float
    diagonal: np.ndarray
    sup_diagonal: float | None
    offsets: np.ndarray
    has_offset: bool
    lam: float
    loss: Loss | None
    space: str
    width: float
    coef: np.ndarray | None
    support: int | None
    penalised: bool
    weighted: bool
    tuned: bool

    @property
    def n(self) -> int:
        """Number of examples."""
        return len(self.scores)

    @property
    def largest_diagonal(self) -> float:
        """κ²: for all x where that is known, for the examples otherwise."""
        return float(self.diagonal.max()) if self.sup_diagonal is None else self.sup_diagonal


def facts_of(machine: Any, X: Any, y: Any) -> Facts:
    """Look at a machine and the examples it was fitted to."""
    f, coding = machine.function_, machine.coding_
    kernel, points = machine.input_kernel_, machine.check_new(X)
    scores = np.asarray(machine.scores(X), dtype=np.float64)
    targets = np.asarray(coding.encode(y), dtype=np.float64)
    examples = getattr(getattr(machine, "plan_", None), "examples", len(scores))
    if len(targets) != len(scores) or examples != len(scores):
        raise ValueError(
            f"the machine was fitted to {examples:,} examples, and X and y hold {len(scores):,} and "
            f"{len(targets):,}: give those it was fitted to, and new ones as X_test and y_test"
        )
    solution = getattr(machine, "solution_", None)  # a perceptron solves nothing
    found = getattr(machine, "intercept_", 0.0) if solution is None else solution.intercept
    offsets = np.atleast_1d(np.asarray(found, dtype=np.float64))
    loss = getattr(machine, "loss_", None)
    lam = float(getattr(machine, "lam_", math.nan))
    labels = None if coding.classes is None else np.searchsorted(coding.classes, np.asarray(y))
    penalised = getattr(getattr(machine, "plan_", None), "representation", None)
    diagonal, sup, width = _diagonal(f, kernel, points)
    coef, weighted = _coefficients(machine, loss, lam, targets, scores, points)
    return Facts(
        classes=0 if labels is None else len(coding.classes),
        scores=scores,
        targets=targets,
        margins=_margins(coding, scores, labels),
        wrong=None if labels is None else np.asarray(coding.decode(scores)) != coding.classes[labels],
        norm=f.norm(),
        diagonal=diagonal,
        sup_diagonal=sup,
        offsets=offsets,
        has_offset=bool(getattr(machine, "offset", False)),
        lam=lam,
        loss=loss,
        space="features" if isinstance(f, FeatureFunction) else _space(machine, f),
        width=width,
        coef=coef,
        support=_support(solution),
        penalised=getattr(penalised, "penalty", "ridge") == "ridge" and lam > 0,
        weighted=weighted,
        tuned=_from_examples(machine, kernel),
    )


def _space(machine: Any, f: Function) -> str:
    name = getattr(getattr(getattr(machine, "plan_", None), "representation", None), "name", "full")
    return "full" if name == "full" else "centres"


def _from_examples(machine: Any, fitted: Kernel) -> bool:
    """Did the kernel take parameters from the examples, as far as the machine still says what it was?"""
    given = _resolve.kernel_of(machine.kernel)
    return bool(given.unresolved()) or given != fitted


def _diagonal(f: Function, kernel: Kernel, points: Any) -> tuple[np.ndarray, float | None, float]:
    """k(x_i,x_i) of the space f lives in, its supremum if known, and the dimension of that space."""
    if isinstance(f, FeatureFunction):
        parts = [_squares(Phi) for _, Phi in f.blocks(points)]
        return np.concatenate(parts), None, float(len(f))
    if isinstance(kernel, Precomputed):
        return np.asarray(np.diagonal(points), dtype=np.float64), None, math.inf
    assert isinstance(f, KernelFunction)
    diagonal = np.asarray(f.kernel.diag(points), dtype=np.float64)
    width = f.kernel.expansion_size(points.shape[1]) if f.kernel.vectors else math.inf
    try:
        return diagonal, float(f.kernel.amplitude()), width
    except NotImplementedError:
        return diagonal, None, width


def _squares(Phi: Any) -> np.ndarray:
    if hasattr(Phi, "multiply"):
        return np.asarray(Phi.multiply(Phi).sum(axis=1), dtype=np.float64).ravel()
    return np.einsum("ij,ij->i", Phi, Phi, dtype=np.float64)


def _margins(coding: Any, scores: np.ndarray, labels: np.ndarray | None) -> np.ndarray | None:
    if labels is None or isinstance(coding, PairCoding):
        return None
    if len(coding.classes) == 2:
        return np.where(labels == 1, 1.0, -1.0) * np.asarray(coding.decision(scores), dtype=np.float64)
    own = scores[np.arange(len(labels)), labels]
    others = scores.copy()
    others[np.arange(len(labels)), labels] = -np.inf
    return own - others.max(axis=1)


def _coefficients(machine, loss, lam, targets, scores, points) -> tuple[np.ndarray | None, bool]:
    """c_i of one output, and whether examples were weighted, as far as that can be told.

    The representer theorem's equations −2λn c_i ∈ ∂V(y_i, s_i) hold with equal weights only.
    """
    weighted = bool(getattr(machine, "weighted_", False))
    if loss is None or loss.joint or scores.shape[1] != 1 or not lam > 0:
        return None, weighted
    dual = machine.solution_.dual_coef
    if dual is not None:
        coef = np.asarray(dual[:, 0], dtype=np.float64)
        return coef, weighted or _unequal(loss, targets, scores, -2 * lam * len(scores) * coef)
    if not (loss.smooth and loss.convex):
        return None, weighted
    coef = -np.asarray(loss.grad(targets, scores), dtype=np.float64)[:, 0] / (2 * lam * len(scores))
    f, own = machine.function_, np.asarray(machine.solution_.coef[:, 0], dtype=np.float64)
    if isinstance(f, FeatureFunction):
        meant = sum(Phi.T @ coef[rows] for rows, Phi in f.blocks(points))
        weighted |= _differ(own.ravel(), np.asarray(meant, dtype=np.float64).ravel())
    elif _space(machine, f) == "full" and own.shape == coef.shape:
        weighted |= _differ(own, coef)
    return coef, weighted


def _differ(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.abs(a - b).max() > 0.01 * max(np.abs(a).max(), np.abs(b).max(), 1e-300))


def _unequal(loss: Loss, targets: np.ndarray, scores: np.ndarray, slopes: np.ndarray) -> bool:
    """Are some slopes none of the loss's? A kink has all between those on its two sides."""
    # A solver's tolerance puts scores beside a kink.
    near = 0.0 if loss.smooth else 0.01 * np.maximum(np.abs(scores), 1)
    low, high = (np.asarray(loss.grad(targets, scores + h), dtype=np.float64)[:, 0] for h in (-near, near))
    outside = np.maximum(low - slopes, slopes - high).clip(0)
    return bool(outside.sum() > 0.01 * np.abs(slopes).sum())


def _support(solution: Any) -> int | None:
    dual = getattr(solution, "dual_coef", None)
    return None if dual is None or dual.shape[1] != 1 else int(np.count_nonzero(dual[:, 0]))


def spread_of(machine: Any, X: Any, facts: Facts) -> float:
    """R² ≥ k(x_i,x_i) − k(x_i,x_j) for support vectors i and all examples j."""
    f = machine.function_
    most = float(facts.diagonal.max())
    if not isinstance(f, KernelFunction) or len(f) * facts.n > _PAIRS or isinstance(f.kernel, Finite):
        return 2 * most  # |k(x,z)| ≤ κ²
    points = machine.check_X(X, f.kernel, reset=False)
    rows = max(int(_PAIRS / 10 // max(facts.n, 1)), 1)
    least = math.inf
    for i in range(0, len(f), rows):
        least = min(least, float(f.kernel(f.points[i : i + rows], points).min()))
    return most - least


def cap_of(y: np.ndarray) -> float:
    """Where errors are capped: the power of two at or above the standard deviation of y."""
    return 2.0 ** exponent_above(float(np.std(y)) or 1.0)
