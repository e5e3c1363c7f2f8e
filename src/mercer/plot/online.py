"""Figures of learning one example at a time: bumps, learning curves, regret, what a budget holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from mercer.online import OnlineKernelClassifier, Regret, progressive
from mercer.online.machine import OnlineMachine
from mercer.online.record import begin, function_after, occupancy
from mercer.plot.curves import terms_of
from mercer.plot.style import BLUE, COLOURS, INK, dressed, legend, log_ticks, panels
from mercer.plot.text import caption

_GRID = 400
# More panels than this can't be told apart.
_MOST_UPDATES = 8


def bumps(
    machine: OnlineMachine, X: Any, y: Any, axes: Axes | Sequence[Axes] | None = None, *, grid: Any = None
) -> np.ndarray:
    """The function after each of a few examples: the kernels it is the sum of, in colour, and their sum.

    Parameters
    ----------
    machine : OnlineKernelRegressor or OnlineKernelClassifier of one function; a clone of it learns
    X : at most eight examples
    y : targets, or labels of two classes
    axes : one Axes, for what there is in the end, or a sequence of n; None: a new figure with n panels
    grid : where to draw f, optional

    Examples
    --------
    >>> from mercer import OnlineKernelClassifier, plot
    >>> from mercer.kernels import Gaussian
    >>> machine = OnlineKernelClassifier(Gaussian(0.5), "hinge", lam=0.1, step=1.0, budget=None)
    >>> (ax,) = plot.bumps(machine, [[0.0], [1.0], [2.5]], [1, -1, 1], plot.axes())
    >>> ax.get_title()
    'after 3 examples'
    """
    run, points, targets = begin(machine, X, y)
    n = len(targets)
    if np.ndim(points) != 2 or points.shape[1] != 1 or targets.shape[1] != 1 or n > _MOST_UPDATES:
        raise ValueError(
            f"bumps are drawn for one function of one variable and up to {_MOST_UPDATES} examples, got X of "
            f"shape {np.shape(points)} and {targets.shape[1]} outputs"
        )
    row = panels(axes, (1, n), f"{n} examples need {n} Axes, or one for the last", (3.2, 3.0), sharey=True)
    x = points[:, 0].astype(float)
    if grid is None:
        margin = 0.6 * (np.ptp(x) if n > 1 else 0) + 0.5
        grid = np.linspace(x.min() - margin, x.max() + margin, _GRID)
    grid = np.asarray(grid, dtype=float)
    first = n - len(row)  # panels are those of the last examples
    for t in range(n):
        before = run.function_
        after = function_after(run, points, targets, t)
        if t >= first:
            _bumps(row[t - first], after, None if t == first else before, grid, x, targets[:, 0], t)
    low, high = (f(ax.get_ylim()[i] for ax in row) for i, f in enumerate((min, max)))
    for ax in row:
        ax.set_ylim(low, high)
    return row


def _bumps(ax: Axes, f: Any, before: Any, grid: np.ndarray, x: np.ndarray, y: np.ndarray, t: int) -> None:
    ax = dressed(ax, "x")
    ax.axhline(0, color=INK, linewidth=0.8)
    for z, bump in terms_of(f, grid):
        colour = COLOURS[int(np.flatnonzero(x == z[0])[0]) % len(COLOURS)]
        ax.fill_between(grid, bump, color=colour, alpha=0.15, linewidth=0)
        ax.plot(grid, bump, color=colour, linewidth=1.3)
    if before is not None:
        earlier = np.ravel(before(grid[:, None]))
        ax.plot(grid, earlier, color=INK, linewidth=1.1, dashes=(4, 3), label="f before")
    ax.plot(grid, np.ravel(f(grid[:, None])), color=INK, linewidth=2.4, label="f")
    for i in range(t + 1):
        ax.plot(x[i], y[i], "o", color=COLOURS[i % len(COLOURS)], markersize=7 if i == t else 4.5)
    ax.set_title(f"after {t + 1} example{'s' * (t > 0)}", fontsize=10)
    legend(ax)


def learning_curve(
    machine: OnlineMachine,
    X: Any,
    y: Any,
    ax: Axes | None = None,
    *,
    window: int | None = None,
    label: str | None = None,
    colour: str = BLUE,
) -> Axes:
    """The error of predictions made before each example was learned, over the last few of them.

    Labels: the share that was wrong; numbers: the root of the mean square.

    A clone of the machine learns the stream X, y. `window`: so many examples; None: a twentieth of them.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import OnlineKernelRegressor, plot
    >>> X = np.random.default_rng(0).uniform(0, 6, (500, 1))
    >>> ax = plot.learning_curve(OnlineKernelRegressor(), X, np.sin(X[:, 0]), plot.axes())
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('examples', 'error (root mean square) over 25 examples')
    """
    labels = isinstance(machine, OnlineKernelClassifier)
    predicted = progressive(machine, X, y)
    truth = np.asarray(y)
    if labels:
        errors = (predicted != truth).astype(float)
    else:
        errors = np.square(predicted - truth.astype(float)).reshape(len(truth), -1).sum(axis=1)
    n = len(errors)
    window = max(n // 20, 1) if window is None else int(window)
    if not 1 <= window <= n:
        raise ValueError(f"window must lie between 1 and the {n} examples of the stream, got {window}")
    sums = np.concatenate([[0.0], np.cumsum(errors)])
    ends = np.arange(window, n + 1)
    mean = np.maximum(sums[ends] - sums[ends - window], 0) / window
    kind = "wrong labels" if labels else "error (root mean square)"
    ax = dressed(ax, "examples", f"{kind} over {window} examples")
    ax.plot(ends, mean if labels else np.sqrt(mean), color=colour, linewidth=1.8, label=caption(label))
    ax.set_xlim(0, n)
    ax.set_ylim(bottom=0, auto=True)  # others may come, and be higher
    return legend(ax)


def regret_curve(found: Regret, ax: Axes | None = None, *, label: str = "regret", colour: str = BLUE) -> Axes:
    """Regret against the number of examples, its bound, and ‖∇‖·‖f*‖·√T beside them.

    The last is no bound for this machine, unless it has the constant step `Regret.best_step`.

    Logarithmic axes, on which √T is a line of slope ½; if the regret is negative anywhere, as it can be where
    a machine follows what no fixed function can, ordinary ones.

    `found` is ``mercer.online.regret(machine, X, y)``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import OnlineKernelRegressor, plot
    >>> from mercer.online import InverseRootStep, regret
    >>> X = np.random.default_rng(0).uniform(0, 6, (200, 1))
    >>> machine = OnlineKernelRegressor(lam=0.01, step=InverseRootStep(0.5), budget=None)
    >>> ax = plot.regret_curve(regret(machine, X, np.sin(X[:, 0])), plot.axes())
    >>> len(ax.lines)
    3
    """
    against = "" if found.radius is None else f" against ‖f‖ ≤ {found.radius:g}"
    ax = dressed(ax, "examples T", f"regret{against}")
    values, T = found.regret, found.times
    power = found.exponent
    name = caption(label) if np.isnan(power) else f"{caption(label)}, as T^{power:.2f}"
    ax.plot(T, values, "o-", color=colour, linewidth=2, markersize=3.5, label=name)
    if np.isfinite(found.bound).any():
        what = "bound, with the budget's price" if found.budgeted else "bound"
        ax.plot(T, found.bound, color=colour, linewidth=1.5, dashes=(5, 2), label=what)
    if np.isfinite(found.text_bound).any():
        ax.plot(T, found.text_bound, color=INK, linewidth=1.2, linestyle=":", label="‖∇‖·‖f*‖·√T (best η)")
    if (values > 0).all():
        log_ticks(ax, "xy")
    else:
        ax.axhline(0, color=INK, linewidth=0.8)
    return legend(ax)


def budget_use(machine: OnlineMachine, X: Any, y: Any, ax: Axes | None = None, *, colour: str = BLUE) -> Axes:
    """Which examples are in f as time goes by: a term is a horizontal line that begins where it was met.

    A clone of the machine, which must not have features, learns the stream X, y.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import OnlineKernelRegressor, plot
    >>> from mercer.online import Oldest
    >>> X = np.random.default_rng(0).uniform(0, 6, (200, 1))
    >>> ax = plot.budget_use(OnlineKernelRegressor(budget=Oldest(20)), X, np.sin(X[:, 0]), plot.axes())
    >>> ax.get_title()
    '20 terms after 200 examples'
    """
    seen, held = occupancy(machine, X, y)
    ax = dressed(ax, "examples seen", "examples in f, by their number")
    ax.plot([0, seen[-1]], [0, seen[-1]], color=INK, linewidth=0.8)
    when = np.repeat(seen, [len(h) for h in held])
    ax.plot(when, np.concatenate(held), ".", color=colour, markersize=1.6, markeredgewidth=0)
    ax.set_xlim(0, seen[-1])
    ax.set_ylim(0, seen[-1])
    last = len(held[-1])
    ax.set_title(f"{last:,} term{'s' * (last != 1)} after {seen[-1]:,} examples", fontsize=10)
    return ax
