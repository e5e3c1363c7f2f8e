"""Regret: what an online machine lost beyond the best fixed function, and what it can lose at most.

With C_t(f) = V(y_t, f(x_t)) + λ‖f‖² a step is f_{t+1} = f_t − η_t g_t, g_t = ∇C_t(f_t) = V' k(x_t,·) + 2λf_t.
(The text leaves 2λf out of g where it treats the hinge loss; it belongs there.) For any f*, and with
d_t = ‖f_t − f*‖²:

1.  d_{t+1} = d_t − 2η_t ⟨g_t, f_t − f*⟩ + η_t² ‖g_t‖², from the step alone.
2.  C_t(f_t) − C_t(f*) ≤ ⟨g_t, f_t − f*⟩ − λ d_t, because V is convex and λ‖f‖² is 2λ-strongly convex.
3.  Put 1 into 2 and sum; f_1 = 0, and −d_{T+1}/(2η_T) is left out:

        R_T ≤ ‖f*‖² (1/(2η_1) − λ) + Σ_{t=2…T} d_t [1/(2η_t) − 1/(2η_{t−1}) − λ]₊ + ½ Σ η_t ‖g_t‖²

    Constant η:         R_T ≤ ‖f*‖²/(2η) + (η/2) Σ ‖g_t‖²; for η = ‖f*‖/(G√T) that is G ‖f*‖ √T, the text's
    η_t = η/√t:         R_T ≤ (D²/(2η) + η G²) √T
    η_t = 1/(2λt):      R_T ≤ G²/(4λ) (1 + ln T), the middle sum being empty (Pegasos)

with G ≥ ‖g_t‖ and D ≥ √d_t. Where |V'| ≤ L and k(x,x) ≤ κ², f_{t+1} is a mean of f_t and −V' k(x_t,·)/(2λ),
and f* one of such kernels, so ‖f_t‖, ‖f*‖ ≤ Lκ/(2λ), G ≤ 2Lκ and D ≤ Lκ/λ: all of it is known beforehand.

What that rests on is looked at: V must lie above its tangent at every f_t, as far as f* shows it, and k must
be a kernel, by rule; else norms may be no norms.

A budget changes f after the step, from u_t to f_{t+1}. That adds (‖f_{t+1} − f*‖² − ‖u_t − f*‖²)/(2η_t), at
most (‖f_{t+1}‖² − ‖u_t‖² + 2 ‖f_{t+1} − u_t‖ ‖f*‖)/(2η_t), which can be measured and is not known beforehand.
"""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._params import require_positive
from mercer.online.algorithms import PerceptronLoss
from mercer.online.machine import OnlineMachine
from mercer.online.record import Best, Record, Seen, record

_TIMES = 24
# Where an exponent is read off, the first few examples say little.
_EARLY = 10
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Regret:
    """The regret of an online machine along a stream. All arrays but `losses` have an entry a time.

    Attributes
    ----------
    times : T, numbers of examples
    cumulative_loss : Σ over the first T examples, of V(y_t, f_t(x_t)) + λ‖f_t‖²; with a radius, of V alone
    best_loss : the same sum for f*, the best fixed function for these T examples
    norms : ‖f*‖
    gaps : what the least possible sum may be below `best_loss` (the certificate of the batch solver); nan
        where f* is only the best of an approximation
    regret : cumulative_loss − best_loss
    bound : what the regret can't exceed, by the lengths of the steps that were taken; with a budget that
        includes `price`; nan for PassiveAggressiveStep and RecursiveStep, and for losses that are not convex,
        by their own word or as the stream shows
    price : what the budget added to the bound, as measured; nothing bounds it beforehand
    gradients : G, the largest ‖∇C_t(f_t)‖ so far
    radius : U, or None for penalised losses
    lam, step : λ and the step of the machine
    budgeted : was anything given up?
    doubt : what the bound takes for granted, where no rule says so; empty if nothing
    losses : V(y_t, f_t(x_t)) for every example of the stream

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import OnlineKernelRegressor
    >>> from mercer.kernels import Gaussian
    >>> from mercer.online import regret
    >>> X = np.random.default_rng(0).uniform(-3, 3, (60, 1))
    >>> machine = OnlineKernelRegressor(Gaussian(1.0), lam=0.01, step=0.2, budget=None)
    >>> found = regret(machine, X, np.sin(X[:, 0]), times=[30, 60])
    >>> found.times.tolist(), bool((found.regret > 0).all())
    ([30, 60], True)
    """

    times: np.ndarray
    cumulative_loss: np.ndarray
    best_loss: np.ndarray
    norms: np.ndarray
    gaps: np.ndarray
    bound: np.ndarray
    price: np.ndarray
    gradients: np.ndarray
    radius: float | None
    lam: float
    step: Any
    budgeted: bool
    doubt: str
    losses: np.ndarray

    @property
    def regret(self) -> np.ndarray:
        """Σ C_t(f_t) − Σ C_t(f*)"""
        return self.cumulative_loss - self.best_loss

    @property
    def text_bound(self) -> np.ndarray:
        """G ‖f*‖ √T: promised to a machine with the constant step `best_step`, were G known beforehand.

        No bound for any other step, which may lose more than this.
        """
        return self.gradients * self.norms * np.sqrt(self.times)

    @property
    def best_step(self) -> float:
        """‖f*‖/(G√T), the constant step for which the bound is least at the end of the stream."""
        below = self.gradients[-1] * math.sqrt(self.times[-1])
        return float(self.norms[-1] / below) if below > 0 else math.nan

    @property
    def exponent(self) -> float:
        """p of regret ∝ T^p: the slope of log regret against log T, from ten examples on; nan below 0."""
        seen = self.times >= min(_EARLY, self.times[-1] / 10)
        if seen.sum() < 3 or (self.regret[seen] <= 0).any():
            return math.nan
        return float(np.polyfit(np.log(self.times[seen]), np.log(self.regret[seen]), 1)[0])

    @property
    def promise(self) -> str:
        """What the bound is worth, in a sentence."""
        if np.isnan(self.bound).all():
            why = f"of this kind for {self.step!r}" if np.isnan(self.gradients).all() else "without convexity"
            return f"there is no bound {why}"
        if self.budgeted:
            return (
                f"the bound includes {self.price[-1]:.4g} for what the budget gave up, as measured; nothing "
                "promised that beforehand"
            )
        return f"the bound is a theorem for these steps{self.doubt}"

    def __repr__(self) -> str:
        bound = "" if np.isnan(self.bound[-1]) else f", at most {self.bound[-1]:.4g}"
        slope = "" if math.isnan(self.exponent) else f"; grows as T^{self.exponent:.2f}"
        n = int(self.times[-1])
        return f"<regret {self.regret[-1]:.4g} after {n:,} example{'s' * (n > 1)}{bound}{slope}>"

    def __str__(self) -> str:
        against = "V + λ‖f‖²" if self.radius is None else f"V, against ‖f‖ ≤ {self.radius:g}"
        head = f"{'T':>8}  {'machine':>10}  {'best f':>10}  {'regret':>10}  {'bound':>10}"
        rows = zip(self.times, self.cumulative_loss, self.best_loss, self.regret, self.bound)
        lines = [f"{t:>8,}  " + "  ".join(f"{v:>10.4g}" for v in values) for t, *values in rows]
        lines = [f"Losses {against}; {self.promise}.", head, *lines]
        if self.best_step > 0 and not np.isnan(self.bound[-1]):
            lines.append(
                f"‖∇‖‖f*‖√T = {self.text_bound[-1]:.4g} is the bound for the constant step "
                f"{self.best_step:.3g}, not for others."
            )
        return "\n".join([*lines, repr(self)])


def regret(
    machine: OnlineMachine, X: Any, y: Any, *, radius: float | None = None, times: Any = _TIMES
) -> Regret:
    """How much more an online machine loses on a stream than the best fixed function in hindsight.

    R_T = Σ_{t≤T} C_t(f_t) − min_f Σ_{t≤T} C_t(f), where f_t predicts before example t is learned, and

    * C_t(f) = V(y_t, f(x_t)) + λ‖f‖², the penalty in the loss, with the machine's λ (the minimiser is that of
      the batch machine with the same kernel, loss and λ); or
    * with a radius U, C_t(f) = V(y_t, f(x_t)), against all f with ‖f‖ ≤ U.

    The bound beside it is a theorem for convex losses, kernels and machines without a budget; all three are
    looked at, and `Regret.promise` says what was found.

    Parameters
    ----------
    machine : OnlineKernelRegressor or OnlineKernelClassifier
        A clone of it learns; it stays as it is. Without an offset: `kernel + 1` has a constant instead.
    X, y : the stream, in its order
    radius : float > 0, optional
        U. Needed where λ = 0.
    times : int or array of int
        At so many times, spaced geometrically, or at these, f* is found for the examples until then.

    Notes
    -----
    f* comes from the batch machinery: exactly up to 10,000 examples for least squares, 5,000 for other smooth
    losses and 50,000 for those with kinks, as `gaps` certify; beyond, it is the best function on Nyström
    centres. The bound holds against any function, that one too. With features or Nyström centres the machine
    competes with the functions of its own coordinates.

    References
    ----------
    M. Zinkevich, Online convex programming and generalized infinitesimal gradient ascent, 2003.
    E. Hazan, A. Agarwal, S. Kale, Logarithmic regret algorithms for online convex optimization, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import OnlineKernelClassifier
    >>> from mercer.kernels import Gaussian
    >>> from mercer.online import PegasosStep, regret
    >>> X = np.random.default_rng(0).standard_normal((400, 2))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> machine = OnlineKernelClassifier(Gaussian(1.0), "hinge", lam=0.01, step=PegasosStep(), budget=None)
    >>> found = regret(machine, X, y, times=[100, 200, 400])
    >>> found.promise
    'the bound is a theorem for these steps'
    >>> bool((found.regret <= found.bound).all())
    True
    """
    if getattr(machine, "offset", False):
        raise ValueError(
            "regret is measured in H_K, and an offset is outside of it: use a kernel that has the "
            "constants, machine.set_params(kernel=kernel + 1.0, offset=False)"
        )
    if isinstance(getattr(machine, "loss", None), PerceptronLoss):
        raise ValueError(
            "no function costs less than f = 0 by PerceptronLoss(): for regret take loss='hinge'"
        )
    if radius is not None:
        radius = require_positive(radius, "radius")
    run = record(machine, X, y)
    if radius is None and run.lam == 0:
        raise ValueError(
            "with lam = 0 nothing keeps the best function small: give radius=U, to compare with ‖f‖ ≤ U"
        )
    when = _times(times, len(run.losses))
    found = _in_hindsight(run, when, radius)
    lam = run.lam
    losses = np.cumsum(run.losses)[when - 1]
    best = np.array([b.loss for b in found])
    norms = np.array([b.norm for b in found])
    bound, price, gradients = (np.full(len(when), np.nan) for _ in range(3))
    if run.squared_norms is not None:
        own = lam * np.cumsum(run.squared_norms)[when - 1]
        if radius is None:
            losses, best = losses + own, best + lam * when * norms**2
        gradients = np.sqrt(np.maximum.accumulate(run.squared_gradients))[when - 1]
        price = np.array([_price(run, int(T), b) for T, b in zip(when, found)])
        if run.machine.rule_.loss.convex and all(_above_tangents(run, b) for b in found):
            bound = np.array([_bound(run, int(T), b) for T, b in zip(when, found)]) + price
            if radius is not None:
                # Without the penalty on either side.
                bound += lam * when * norms**2 - own
    doubt = "" if run.kernel.rule() else f", provided that {run.kernel!r} is a kernel, which no rule says"
    return Regret(
        *(when, losses, best, norms, np.array([b.gap for b in found]), bound, price, gradients),
        *(radius, lam, run.machine.rule_.step, run.lost is not None, doubt, run.losses),
    )


def _times(times: Any, n: int) -> np.ndarray:
    if isinstance(times, numbers.Integral) and not isinstance(times, bool) and int(times) >= 1:
        return np.unique(np.geomspace(min(2, n), n, int(times)).round().astype(np.int64))
    when = np.unique(np.atleast_1d(times))
    if isinstance(times, bool) or when.dtype.kind not in "iu" or not len(when) or when[0] < 1 or when[-1] > n:
        raise ValueError(f"times must be a number of them, or whole numbers from 1 to {n}; got {times!r}")
    return when.astype(np.int64)


def _in_hindsight(run: Record, when: np.ndarray, radius: float | None) -> list[Best]:
    loss, points = run.machine.rule_.loss, run.points
    if getattr(points, "dtype", None) == np.float32:
        points = points.astype(np.float64)
    found: list[Best] = []
    for T in when:
        seen = Seen(run.kernel, points[:T], run.targets[:T], loss)
        if radius is None:
            found.append(seen.penalised(run.lam)[0])
        else:
            found.append(seen.in_ball(radius, 4 * found[-1].multiplier if found else 1.0))
    return found


def _above_tangents(run: Record, best: Best) -> bool:
    """Does V, at the scores of f*, lie above its tangents at those of f_t? All that convexity is used for."""
    T = len(best.scores)
    values = run.machine.rule_.loss.value(run.targets[:T], best.scores)
    values = values if values.ndim == 1 else values.sum(axis=1)
    rise = np.einsum("ij,ij->i", run.slopes[:T], best.scores - run.scores[:T])
    rounding = _ROUNDING * (np.abs(values) + np.abs(run.losses[:T]) + np.abs(rise) + 1)
    return bool((values >= run.losses[:T] + rise - rounding).all())


def _bound(run: Record, T: int, best: Best) -> float:
    """The sum of the module's docstring."""
    assert run.eta is not None
    eta, squared = run.eta[:T], best.norm**2
    growth = np.maximum(np.diff(1 / (2 * eta)) - run.lam, 0)
    # Of Pegasos nothing but rounding is left here.
    growth[growth <= 1e-9 / (2 * eta[1:])] = 0
    far = _distances(run, T, best)[1:] if growth.any() else np.zeros(T - 1)
    start = squared * (1 / (2 * eta[0]) - run.lam)
    return float(start + growth @ far + eta @ run.squared_gradients[:T] / 2)


def _distances(run: Record, T: int, best: Best) -> np.ndarray:
    """‖f_t − f*‖², t ≤ T; with a budget, what they are at most."""
    assert run.eta is not None and run.squared_norms is not None
    norms = run.squared_norms[:T]
    if run.lost is not None:
        return (np.sqrt(norms) + best.norm) ** 2
    # ⟨f_t, f*⟩ follows the steps: every kernel that is added meets f* in its value there.
    moves = run.eta[:T] * np.einsum("ij,ij->i", run.slopes[:T], best.scores)
    inner, now = np.empty(T), 0.0
    for t, (shrink, move) in enumerate(zip((1 - 2 * run.lam * run.eta[:T]).tolist(), moves.tolist())):
        inner[t] = now
        now = shrink * now - move
    return np.maximum(norms - 2 * inner + best.norm**2, 0)


def _price(run: Record, T: int, best: Best) -> float:
    """What the budget adds to the bound."""
    if run.lost is None or run.left is None or run.eta is None:
        return 0.0
    return float(((run.left[:T] + 2 * best.norm * run.lost[:T]) / (2 * run.eta[:T])).sum())
