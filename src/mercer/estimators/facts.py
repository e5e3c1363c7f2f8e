"""A fitted machine and its training examples, in numbers: what bounds on the risk go by.

Scores, ‖f‖, k(x_i,x_i) and λ are all it takes; an n × n matrix is never made.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import _resolve
from mercer.estimators.base import KernelMachine
from mercer.estimators.inputs import KernelInputs
from mercer.functions import FeatureFunction, Function, KernelFunction
from mercer.kernels import Kernel, Precomputed
from mercer.losses import Loss
from mercer.losses.pairs import PairCoding
from mercer.losses.several import SeveralLabels
from mercer.operators import squares_of

# Of the sizes of its terms, what a sum has to be to have enough digits.
_SURE = 1e-4


@dataclass(frozen=True, eq=False)
class Facts:
    """A machine and its training examples, in numbers."""

    function: Function
    points: Any  # the examples as f takes them
    classes: int  # 2 or more; 0 for a regression
    scores: np.ndarray  # (n, t)
    targets: np.ndarray  # (n, t)
    predicted: np.ndarray  # what `predict` makes of the scores
    linked: bool  # are predictions another function of the scores than the scores themselves?
    margins: np.ndarray | None  # own class above the best other; not of a regression, or votes of pairs
    wrong: np.ndarray | None  # which examples are predicted wrongly; not of a regression
    norm: float  # ‖f‖, without the offset
    diagonal: np.ndarray  # k(x_i, x_i)
    sup_diagonal: float | None  # k(x,x) for all x, if the kernel is translation-invariant
    offsets: np.ndarray  # (t,)
    has_offset: bool
    lam: float  # nan where it minimises nothing
    loss: Loss | None  # None where it minimises nothing
    space: str  # "full", "centres" or "features"
    width: float  # number of features, if finitely many: the VC dimension of the signs of f
    coef: np.ndarray | None  # −V'(y_i, s_i)/(2λn), or the dual coefficients; None if not known
    support: int | None  # number of support vectors, if f is exact and sparse
    penalised: bool  # is λ‖f‖² the penalty?
    weighted: bool  # were examples or classes weighted?
    tuned: bool  # did the kernel take parameters from the examples?

    @property
    def n(self) -> int:
        """Number of examples."""
        return len(self.scores)

    @property
    def largest_diagonal(self) -> float:
        """κ²: for all x where that is known, for the examples otherwise."""
        return float(self.diagonal.max()) if self.sup_diagonal is None else self.sup_diagonal


def facts_of(machine: Any, X: Any, y: Any) -> Facts | None:
    """Look at a machine and the examples it was fitted to.

    None if its predictions are not those of one function in H_K: neighbours have none, and a perceptron may
    take votes of many.

    >>> from mercer import KernelRidge
    >>> facts = facts_of(KernelRidge(lam=0.5).fit([[0.0], [4.0]], [1.0, 3.0]), [[0.0], [4.0]], [1.0, 3.0])
    >>> facts.n, facts.lam, facts.space, facts.diagonal.tolist()
    (2, 0.5, 'full', [1.0, 1.0])
    """
    known = (
        isinstance(machine, KernelInputs) and hasattr(machine, "function_") and hasattr(machine, "coding_")
    )
    several = known and isinstance(machine.coding_, SeveralLabels)
    if not known or several or getattr(machine, "votes_", None) is not None:
        return None
    f, coding, points = machine.function_, machine.coding_, machine.check_new(X)
    scores = np.asarray(machine.scores(X), dtype=np.float64)
    targets = np.asarray(coding.encode(y), dtype=np.float64)
    solved = isinstance(machine, KernelMachine)  # a perceptron solves nothing
    examples = machine.plan_.examples if solved else len(scores)
    if len(targets) != len(scores) or examples != len(scores):
        raise ValueError(
            f"the machine was fitted to {examples:,} examples, and X and y hold {len(scores):,} and "
            f"{len(targets):,}: give those it was fitted to, and new ones as X_test and y_test"
        )
    labels = None if coding.classes is None else np.searchsorted(coding.classes, np.asarray(y))
    offsets = machine.solution_.intercept if solved else getattr(machine, "intercept_", 0.0)
    lam = float(machine.lam_) if solved else math.nan
    diagonal, sup, width = _diagonal(f, machine.input_kernel_, points)
    coef, weighted = _coefficients(machine, targets, scores, points) if solved else (None, False)
    predicted = np.asarray(coding.decode(scores))
    given, dual = _resolve.kernel_of(machine.kernel), machine.solution_.dual_coef if solved else None
    return Facts(
        function=f,
        points=points,
        classes=0 if labels is None else len(coding.classes),
        scores=scores,
        targets=targets,
        predicted=predicted,
        linked=labels is None and not np.array_equal(coding.loss.link(scores), scores),
        margins=_margins(coding, scores, labels),
        wrong=None if labels is None else predicted != coding.classes[labels],
        norm=_norm(f, points, scores, offsets),
        diagonal=diagonal,
        sup_diagonal=sup,
        offsets=np.atleast_1d(np.asarray(offsets, dtype=np.float64)),
        has_offset=bool(getattr(machine, "offset", False)),
        lam=lam,
        loss=machine.loss_ if solved else None,
        space=_space(machine, f),
        width=width,
        coef=coef,
        support=None if dual is None or dual.shape[1] != 1 else int(np.count_nonzero(dual[:, 0])),
        penalised=solved and machine.plan_.representation.penalty == "ridge" and lam > 0,
        weighted=weighted,
        # As far as the machine still says what its kernel was.
        tuned=bool(given.unresolved()) or given != machine.input_kernel_,
    )


def _norm(f: Function, points: Any, scores: np.ndarray, offsets: Any) -> float:
    """‖f‖; where f = Σ_i c_i k(x_i, ·) over all examples, from its scores: ‖f‖² = Σ_i c_i f(x_i)."""
    places = _places(f.points, points) if isinstance(f, KernelFunction) else None
    if places is not None:
        c = np.asarray(f.coef, dtype=np.float64).reshape(len(scores), -1)
        values = scores.reshape(len(scores), -1)[places] - offsets
        if c.shape == values.shape:
            terms = c * values
            # Of terms that cancel the sum is rounding, and `norm` finds out what is no kernel.
            if (found := float(terms.sum())) > _SURE * np.abs(terms).sum():
                return math.sqrt(found)
    return f.norm()


def _places(wanted: Any, points: Any) -> np.ndarray | None:
    """Where among the points, each taken once, those wanted are; None if they are not the same.

    >>> _places(np.array([[2.0], [1.0], [1.0]]), np.array([[1.0], [2.0], [1.0]])).tolist()
    [1, 0, 2]
    """
    given = isinstance(wanted, np.ndarray) and isinstance(points, np.ndarray)
    if not given or wanted.dtype != points.dtype or wanted.shape != points.shape or wanted.dtype.kind != "f":
        return None
    a, b = (
        np.ascontiguousarray(Z).view(f"V{Z.dtype.itemsize * Z.shape[1]}").ravel() for Z in (wanted, points)
    )
    by_a, by_b = np.argsort(a, kind="stable"), np.argsort(b, kind="stable")
    if not np.array_equal(wanted[by_a], points[by_b]):
        return None
    places = np.empty(len(a), dtype=np.intp)
    places[by_a] = by_b
    return places


def _space(machine: Any, f: Function) -> str:
    if isinstance(f, FeatureFunction):
        return "features"
    whole = not isinstance(machine, KernelMachine) or machine.plan_.representation.name == "full"
    return "full" if whole else "centres"


def _diagonal(f: Function, kernel: Kernel, points: Any) -> tuple[np.ndarray, float | None, float]:
    """k(x_i,x_i) of the space f lives in, its supremum if known, and the dimension of that space."""
    if isinstance(f, FeatureFunction):
        parts = [squares_of(Phi) for _, Phi in f.blocks(points)]
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


def _margins(coding: Any, scores: np.ndarray, labels: np.ndarray | None) -> np.ndarray | None:
    if labels is None or isinstance(coding, PairCoding):
        return None
    if len(coding.classes) == 2:
        return np.where(labels == 1, 1.0, -1.0) * np.asarray(coding.decision(scores), dtype=np.float64)
    own = scores[np.arange(len(labels)), labels]
    others = scores.copy()
    others[np.arange(len(labels)), labels] = -np.inf
    return own - others.max(axis=1)


def _coefficients(
    machine: KernelMachine, targets: np.ndarray, scores: np.ndarray, points: Any
) -> tuple[np.ndarray | None, bool]:
    """c_i of one output, and whether examples were weighted, as far as that can be told.

    The representer theorem's equations −2λn c_i ∈ ∂V(y_i, s_i) hold with equal weights only.
    """
    loss, weighted, scale = machine.loss_, machine.weighted_, 2 * machine.lam_ * len(scores)
    if loss.joint or scores.shape[1] != 1 or not scale > 0:
        return None, weighted
    dual = machine.solution_.dual_coef
    if dual is not None:
        coef = np.asarray(dual[:, 0], dtype=np.float64)
        return coef, weighted or _unequal(loss, targets, scores, -scale * coef)
    if not (loss.smooth and loss.convex):
        return None, weighted
    coef = -np.asarray(loss.grad(targets, scores), dtype=np.float64)[:, 0] / scale
    f, own = machine.function_, np.asarray(machine.solution_.coef[:, 0], dtype=np.float64)
    if isinstance(f, FeatureFunction):
        weighted |= _differ(own.ravel(), f.combination(points, coef).coef.ravel())
    elif _space(machine, f) == "full" and own.shape == coef.shape:
        weighted |= _differ(own, coef)
    return coef, weighted


def _differ(a: np.ndarray, b: np.ndarray) -> bool:
    size = max(np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0), 1e-300)
    return bool(np.abs(a - b).max(initial=0.0) > 0.01 * size)


def _unequal(loss: Loss, targets: np.ndarray, scores: np.ndarray, slopes: np.ndarray) -> bool:
    """Are some slopes none of the loss's? A kink has all between those on its two sides."""
    # A solver's tolerance puts scores beside a kink.
    near = 0.0 if loss.smooth else 0.01 * np.maximum(np.abs(scores), 1)
    low, high = (np.asarray(loss.grad(targets, scores + h), dtype=np.float64)[:, 0] for h in (-near, near))
    outside = np.maximum(low - slopes, slopes - high).clip(0)
    return bool(outside.sum() > 0.01 * np.abs(slopes).sum())
