"""What is added up over examples that live elsewhere, in one pass: losses, slopes, and Aᵀ times these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._threads import cpu_count, parallel_map
from mercer.losses import Loss
from mercer.operators import Operator, blas_single_threaded
from mercer.rows.base import Reservoir, Totals, added
from mercer.solvers.spans import EPS

# Up to so many outputs have examples near their kinks of their own; more of them share theirs.
OWN_WINDOWS = 4
# Rows of the blocks in which losses are computed on several cores.
_BLOCK = 1 << 16


class Slopes:
    """Sums over examples at scores s = A c + b, of V and, where V has kinks, of V_μ.

    They are Σ w V, Σ w V_μ, Σ w (V + V* + a s) ≥ 0 (what the smoothing costs), Aᵀ(w V'_μ) and Σ w V'_μ. A
    loss without kinks is its own V_μ; of one with kinks sums are those of each output, and there come numbers
    of some examples near a kink, too: of each output, if there are few, or of any.

    Parameters
    ----------
    loss : Loss
    near : int
        How many examples near a kink are wanted.
    """

    def __init__(self, loss: Loss, near: int = 0):
        self.loss, self.near = loss, near

    def __call__(
        self,
        A: Operator,
        y: Any,
        w: Any,
        first: int,
        coef: np.ndarray,
        b: np.ndarray,
        mu: Any,
        reach: Any,
        seed: int = 0,
    ) -> Totals:
        return self.sums(A, y, w, first, (coef, b, mu, reach), seed=seed)

    def sums(
        self,
        A: Operator,
        y: Any,
        w: Any,
        first: int,
        at: tuple,
        scores: np.ndarray | None = None,
        seed: int = 0,
    ) -> Totals:
        """The sums at a point (c, b, μ, reach); scores are written into an array that is given for them.

        Another `seed` draws other examples near a kink: what one draw has too few of, the next one has.
        """
        coef, b, mu, reach = at
        seen: dict[int, Totals] = {}

        def part(rows: slice, S: np.ndarray) -> np.ndarray:
            weights = None if w is None else w[rows]
            if scores is not None:
                scores[rows] = S
            values, smooth, young, slopes = self.at(y[rows], S, mu)
            if weights is not None:
                slopes = slopes * weights[:, None]
            parts = [_mean(part, weights, mu is not None) for part in (values, smooth, young)]
            sums: Totals = (*parts, slopes.sum(axis=0))
            if reach is not None:
                sums = (*sums, *self.close(y[rows], S, mu, reach, first + rows.start, seed))
            seen[rows.start] = sums
            return slopes

        def middle(rows: slice, S: np.ndarray) -> np.ndarray:
            # Engines that hand over many rows at once leave the cores to us.
            return in_blocks(part, rows, np.asarray(S, dtype=np.float64) + b)

        with blas_single_threaded(A):
            if coef.any():
                G = A.sandwich(coef, middle)
            else:
                G = A.adjoint(middle(slice(0, A.shape[0]), np.zeros((A.shape[0], coef.shape[1]))))
        # Threads come in any order; numbers are added up in that of the examples.
        value, smooth, young, slope, *near = added(seen[k] for k in sorted(seen))
        return value, smooth, young, np.asarray(G, dtype=np.float64), slope, *near

    def close(
        self, y: np.ndarray, s: np.ndarray, mu: Any, reach: Any, first: int, seed: int = 0
    ) -> tuple[Reservoir, ...]:
        """Some of the examples whose slope would be another if scores changed by no more than `reach`."""
        form = self.loss.dual(np.asarray(y, dtype=np.float64))
        r = form.centre - s
        moves = form.slope(r + reach, mu) > form.slope(r - reach, mu)
        columns = moves.T if moves.shape[1] <= OWN_WINDOWS else [moves.any(axis=1)]
        return tuple(Reservoir.of(first + np.flatnonzero(near), self.near, seed) for near in columns)

    def at(self, y: np.ndarray, s: np.ndarray, mu: Any) -> tuple[Any, Any, Any, np.ndarray]:
        """(V, V_μ, V + V* + a s, V'_μ) example by example."""
        if mu is None:
            values = self.loss.value(y, s)
            return values, values, 0.0, self.loss.grad(y, s)
        form = self.loss.dual(np.asarray(y, dtype=np.float64))
        r = form.centre - s
        a = form.slope(r, mu)
        values = form.value(s)
        # a r − κ|a| − ½ δ a² is V_μ but for the ½ μ a² taken off, and what V has more is the cost.
        line = a * (r - 0.5 * form.curvature * a)
        if form.kink:
            line = line - form.kink * np.abs(a)
        return values, line - 0.5 * mu * a * a, np.maximum(values - line, 0.0), -a


class Bends(Slopes):
    """Aᵀ(w V'' A d) and Σ w V'' (A d), for a quadratic loss, whose V'' is a number: its Hessian times d.

    Coefficients of centres are large and cancel. Differences of gradients would be lost in the rounding of
    kernel values; here it is relative to d.
    """

    def __call__(self, A: Operator, y: Any, w: Any, first: int, d: np.ndarray, b: np.ndarray) -> Totals:
        bend = float(self.loss.hess(np.zeros((1, 1)), np.zeros((1, 1)))[0, 0])
        seen: dict[int, Totals] = {}

        def part(rows: slice, S: np.ndarray) -> np.ndarray:
            slopes = bend * S if w is None else bend * S * w[rows, None]
            seen[rows.start] = (slopes.sum(axis=0),)
            return slopes

        def middle(rows: slice, S: np.ndarray) -> np.ndarray:
            return in_blocks(part, rows, np.asarray(S, dtype=np.float64) + b)

        with blas_single_threaded(A):
            G = A.sandwich(d, middle)
        return np.asarray(G, dtype=np.float64), added(seen[k] for k in sorted(seen))[0]


class FinalSums(Slopes):
    """The sums that a certificate needs, besides: what rounding may have done, and what another offset would.

    After those of `Slopes` come, for each of the `shifts` (k, t) of the scores, Σ w V'(y, s + shift) and
    Σ w |V'(y, s + shift) − V'(y, s)| √k(x,x); by how much Σ w V changes if scores are wrong by `errors`;
    Σ w|V'| √k(x,x) and Σ (w V')² k(x,x), and Σ w|V'|.
    """

    def __call__(
        self,
        A: Operator,
        y: Any,
        w: Any,
        first: int,
        coef: np.ndarray,
        b: np.ndarray,
        mu: Any,
        errors: np.ndarray,
        shifts: np.ndarray,
    ) -> Totals:
        scores = np.empty((A.shape[0], coef.shape[1]))
        sums = self.sums(A, y, w, first, (coef, b, mu, None), scores)
        values, _, _, slopes = self.at(y, scores, mu)
        norms = A.row_norms()
        x = np.sqrt(A.row_squares()) if norms is None else norms
        size = np.abs(slopes) if w is None else np.abs(slopes) * w[:, None]
        sized = size * x[:, None]
        turned, drawn = np.zeros_like(shifts), np.zeros_like(shifts)
        for i, shift in enumerate(shifts):
            with np.errstate(over="ignore", invalid="ignore"):
                moved = self.loss.grad(y, scores + shift)
                turned[i] = _mean(moved, w, outputs=True)
                drawn[i] = _mean(np.abs(moved - slopes) * x[:, None], w, outputs=True)
        shaken = np.zeros_like(values)
        with np.errstate(over="ignore", invalid="ignore"):
            for sign in (1, -1):
                off = scores + sign * (errors + EPS * np.abs(scores))
                shaken = np.maximum(shaken, np.abs(self.at(y, off, mu)[0] - values))
        lengths = (sized.sum(axis=0), np.square(sized).sum(axis=0), size.sum(axis=0))
        return (*sums, turned, drawn, _mean(shaken, w), *lengths)


def in_blocks(part: Callable[[slice, np.ndarray], np.ndarray], rows: slice, S: np.ndarray) -> np.ndarray:
    """part(rows, S), on all cores where there are many rows."""
    if len(S) < 2 * _BLOCK:
        return part(rows, S)
    blocks = [slice(i, min(i + _BLOCK, len(S))) for i in range(0, len(S), _BLOCK)]

    def some(block: slice) -> np.ndarray:
        return part(slice(rows.start + block.start, rows.start + block.stop), S[block])

    return np.concatenate(parallel_map(some, blocks, cpu_count()))


def _mean(values: Any, weights: np.ndarray | None, outputs: bool = False) -> Any:
    """Σ w v, over outputs, too, unless these are asked for; what has weight 0 is absent, were it infinite."""
    if np.ndim(values) == 0:
        return 0.0
    if weights is not None:
        weights = weights if values.ndim == 1 else weights[:, None]
        values = np.where(weights > 0, values, 0) * weights
    return values.sum(axis=0) if outputs else float(values.sum())
