"""Why a matrix is no kernel matrix: a verdict, with a witness that can be checked by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

_SMALL_WITNESS = 64
# Decimals tried for the coefficients of a witness, and the share of cᵀKc/‖c‖² that rounding them may cost.
_DECIMALS, _COST = (0, 1, 2, 3), 0.5
_COORDINATES_SHOWN = 8


@dataclass(frozen=True, eq=False)
class Verdict:
    """The answer of `check`; true if no objection was found.

    Attributes
    ----------
    ok : bool
    by : "rule", "sampling" or "witness"
    reason : str
    points : the points of the witness (None unless by == "witness")
    c : coefficients with Σ c_i c_j k(x_i, x_j) < 0 (None where the objection is another one)
    value : that sum
    rows : which of the points given these are (None if none were given)

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Sigmoid, check
    >>> bool(check(Gaussian(1.0))), check(Gaussian(1.0)).by
    (True, 'rule')
    >>> found = check(Sigmoid(1.0, -1.0), [[0.0], [1.0], [2.0]])
    >>> bool(found), found.by, found.value < 0
    (False, 'witness', True)
    """

    ok: bool
    by: Literal["rule", "sampling", "witness"]
    reason: str
    points: Any = None
    c: np.ndarray | None = None
    value: float | None = None
    rows: np.ndarray | None = None

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        if self.by == "rule":
            return f"A kernel, by rule: {self.reason}."
        if self.by == "sampling":
            return f"No objection found ({self.reason}). This is evidence, not a proof."
        return "\n".join([f"Not a kernel: {self.reason}.", *self.witness()])

    def witness(self) -> list[str]:
        """The points, their coefficients, and what they give, in lines."""
        lines = []
        for i, p in enumerate(self.points if self.points is not None else ()):
            row = "" if self.rows is None else f"row {self.rows[i]}"
            # Points of a matrix are its rows, and have no coordinates.
            shown = row if row and isinstance(p, int) else ", ".join(filter(None, [row, _shown(p)]))
            weight = "" if self.c is None else f"   c{i} = {self.c[i]:+.6g}"
            lines.append(f"  x{i} = {shown}{weight}")
        if self.value is not None:
            lines.append(f"  Σ c_i c_j k(x_i, x_j) = {self.value:.6g} < 0")
        return lines


def _shown(point: Any) -> str:
    if hasattr(point, "toarray"):
        point = point.toarray().ravel()
    if not isinstance(point, np.ndarray):
        text = repr(point)
        return text if len(text) <= 80 else text[:77] + "…"
    short = [f"{v:.6g}" if isinstance(v, float) else repr(v) for v in point[:_COORDINATES_SHOWN].tolist()]
    rest = [f"… {len(point)} coordinates"] if len(point) > _COORDINATES_SHOWN else []
    return f"[{', '.join(short + rest)}]"


def objection(K: np.ndarray, points_at: Callable[[np.ndarray], list], noise: float) -> Verdict | None:
    """What speaks against this Gram matrix, with its witness; `noise` is rounding, relative to ‖K‖."""
    if not np.isfinite(K).all():
        i, j = np.argwhere(~np.isfinite(K))[0]
        index = np.array([i, j])
        return Verdict(False, "witness", f"k(x0, x1) is {K[i, j]}", points_at(index), rows=index)
    found = asymmetry(K)
    if found is not None:
        i, j = found
        reason = f"not symmetric: k(x0, x1) = {K[i, j]:.6g} but k(x1, x0) = {K[j, i]:.6g}"
        return Verdict(False, "witness", reason, points_at(np.array(found)), rows=np.array(found))
    negative = negative_direction(0.5 * (K + K.T).astype(float), noise)
    if negative is None:
        return None
    index, c, value = negative
    return Verdict(False, "witness", "not positive semidefinite", points_at(index), c, value, index)


def asymmetry(K: np.ndarray) -> tuple[int, int] | None:
    """Where a square matrix differs most from its transpose, if that is more than rounding."""
    if not K.size:
        return None
    gap = np.abs(K - K.T)
    i, j = np.unravel_index(np.argmax(gap), K.shape)
    return (int(i), int(j)) if gap[i, j] > np.sqrt(eps_of(K)) * np.abs(K).max() else None


def eps_of(K: np.ndarray) -> float:
    return float(np.finfo(np.float32 if K.dtype == np.float32 else np.float64).eps)


def negative_direction(K: np.ndarray, noise: float) -> tuple[np.ndarray, np.ndarray, float] | None:
    """Indices and c with cᵀKc < 0 beyond rounding: few points, and c of few digits."""
    index = np.arange(len(K))
    found = lowest(K, noise) if len(K) else None
    if found is None:
        return None
    # The largest coefficients usually say it all; a few eigenproblems of growing size find out.
    ranked, size = np.argsort(-np.abs(found[0])), 2
    while size < len(index):
        few = np.sort(ranked[:size])
        smaller = lowest(K[np.ix_(few, few)], noise)
        if smaller is not None:
            index, found = few, smaller
            break
        size *= 2
    while 1 < len(index) <= _SMALL_WITNESS:
        order = np.argsort(np.abs(found[0]))
        for drop in order[:5]:
            keep = np.delete(np.arange(len(index)), drop)
            smaller = lowest(K[np.ix_(index[keep], index[keep])], noise)
            if smaller is not None:
                index, found = index[keep], smaller
                break
        else:
            break
    c, value = _rounded(K[np.ix_(index, index)], *found)
    return index[c != 0], c[c != 0], value


def _rounded(K: np.ndarray, c: np.ndarray, value: float) -> tuple[np.ndarray, float]:
    """c with few decimals, as long as cᵀKc stays well below 0; the first coefficient is positive."""
    c = c / c[np.abs(c).argmax()]
    c = c if c[0] >= 0 else -c
    for decimals in _DECIMALS:
        short = np.round(c, decimals)
        form = float(short @ K @ short)
        # The eigenvector has length 1, so `value` is what it gives for each unit of ‖c‖².
        if form < _COST * value * float(short @ short):
            return short, form
    return c, float(c @ K @ c)


def lowest(K: np.ndarray, noise: float) -> tuple[np.ndarray, float] | None:
    """The eigenvector of the smallest eigenvalue and cᵀKc, if that is negative beyond rounding."""
    values, vectors = np.linalg.eigh(K)
    c = vectors[:, 0]
    value = float(c @ K @ c)
    floor = -noise * np.abs(values).max()
    return (c, value) if values[0] < floor and value < floor else None
