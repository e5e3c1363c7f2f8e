"""Figures of tuning: the objective over one parameter or two, as the trials show it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from mercer._params import show
from mercer.estimators import KernelRidge
from mercer.kernels import Matern
from mercer.plot.style import BLUE, COLOURS, INK, dressed, legend_above, log_ticks, number
from mercer.selection import Choice, Real, Tuning, TuningTrial, path
from mercer.selection.dimensions import Dimension

# Widths to interpolate with, in units of a parameter's range: the one with the least error is taken.
_WIDTHS = (0.15, 0.3, 0.6, 1.2)
# Fewer trials make no surface.
_FEWEST = 6
# Shares of the plane that contours enclose.
_SHARES = (0.03, 0.08, 0.17, 0.3, 0.5, 0.75)


def surface(
    tuning: Tuning,
    x: str,
    y: str | None = None,
    ax: Axes | None = None,
    *,
    colour: str = BLUE,
    resolution: int = 80,
) -> Axes:
    """The objective over one parameter, or contours over two: trials as points, the best one marked.

    Between the trials the objective is interpolated by kernel ridge regression, the other parameters being
    those of the best trial. Where λ was optimised within each trial its whole path is known, and used.

    The tuning is from `mercer.selection.tune`; x is a parameter, as in ``tuning.best_params``, y a second
    one, and both must be numbers then.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge, plot
    >>> from mercer.selection import tune
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> tuning = tune(KernelRidge(), X, np.sin(X[:, 0]), trials=12)
    >>> ax = plot.surface(tuning, "kernel__sigma", "lam", plot.axes())
    >>> ax.get_xlabel(), ax.get_ylabel(), ax.get_xscale()
    ('kernel__sigma', 'λ', 'log')
    """
    names = [x] if y is None else [x, y]
    chart = Chart(tuning)
    scales = [chart.scale(name) for name in names]
    if y is not None and not all(scale.ordered for scale in scales):
        choice = next(name for name, scale in zip(names, scales, strict=True) if not scale.ordered)
        raise ValueError(f"contours need numbers, and {choice!r} is a choice: draw it alone, without y")
    ax = dressed(ax, grid=y is None)
    for axis, name, scale in zip("xy", names, scales, strict=False):
        getattr(ax, f"set_{axis}label")("λ" if name.split("__")[-1] == "lam" else name)
        if scale.log:
            log_ticks(ax, axis)
    if y is None:
        _curve(ax, chart, x, scales[0], colour, resolution)
    else:
        _contours(ax, chart, names, scales, colour, resolution)
    return legend_above(ax, columns=3)


class Chart:
    """The trials that can be drawn together: those with one number of rows."""

    def __init__(self, tuning: Tuning):
        self.tuning, self.best = tuning, tuning.best_trial
        counts = Counter(t.rows for t in tuning.trials if t.ok)
        # That of the best trial, unless there are too few of it to see anything.
        enough = counts[self.best.rows] >= _FEWEST
        self.rows = self.best.rows if enough else counts.most_common(1)[0][0]
        self.trials = [t for t in tuning.trials if t.rows == self.rows and t.ok]
        self.failed = [t for t in tuning.trials if t.rows == self.rows and not t.ok]

    def scale(self, name: str) -> Dimension:
        """A parameter's values: as the best trial has them, or as any has."""
        for t in (self.best, *self.tuning.trials):
            j = self.tuning.space.position(name, t.point)
            if j is not None:
                return self.tuning.space.axes[j].dimension
        paths = [t.lams for t in self.tuning.trials if t.lams is not None]
        if name == "lam" and paths:
            return Real(min(p.min() for p in paths), max(p.max() for p in paths), log=True)
        known = sorted({name for t in self.tuning.trials for name in t.params})
        raise ValueError(f"{name!r} was not tuned; what was: {', '.join(known)}")

    def place(self, name: str, trial: TuningTrial) -> float:
        """Where in a parameter's range a trial lies."""
        j = self.tuning.space.position(name, trial.point)
        assert j is not None  # it is one of the trial's parameters
        return trial.point[j]

    def height(self, scores: Any) -> np.ndarray:
        """What is interpolated: an error's logarithm, or a score with a minus. The best are the lowest."""
        scores = np.asarray(scores, dtype=float)
        return np.log10(np.maximum(-scores, 1e-300)) if self.tuning.minimised else -scores

    def value(self, height: Any) -> Any:
        """The objective at a height."""
        return 10.0**height if self.tuning.minimised else -height

    def heights(self, grid: Mapping[str, np.ndarray], lams: np.ndarray | None = None) -> np.ndarray | None:
        """Heights where some parameters take these values and the others are the best trial's.

        Values are given in units of their range. With values of λ there is a column for each of them, from
        the paths of the trials. None if the trials do not tell.
        """
        space, trials = self.tuning.space, self.trials
        if len(trials) < _FEWEST or not set(grid) <= set(self.best.params):
            return None
        at = np.tile(self.best.point, (len(next(iter(grid.values()))), 1))
        for name, values in grid.items():
            at[:, space.position(name, self.best.point)] = values
        if lams is None:
            z = self.height([t.score for t in trials])
        else:
            z = np.array([self._along(t, lams) for t in trials])
        return _interpolated(space.features(np.array([t.point for t in trials]))[0], z, space.features(at)[0])

    def _along(self, trial: TuningTrial, lams: np.ndarray) -> np.ndarray:
        assert trial.lams is not None and trial.lam_scores is not None
        return np.interp(np.log(lams), np.log(trial.lams), self.height(trial.lam_scores))


def _interpolated(F: np.ndarray, z: np.ndarray, G: np.ndarray) -> np.ndarray:
    """Kernel ridge regression through (F, z), at G; width and λ by the least leave-one-out error."""
    # A few hopeless settings, orders of magnitude off, would make all the rest wave.
    z = np.minimum(z, z.min() + 3 * (np.quantile(z, 0.75) - z.min()))
    machines = [KernelRidge(Matern(2.5, sigma=width), offset=True) for width in _WIDTHS]
    paths = [path(machine, F, z, np.logspace(-9, 0, 20)) for machine in machines]
    machine, found = min(zip(machines, paths, strict=True), key=lambda pair: pair[1].loo_mse.min())
    return machine.set_params(lam=found.best_lam).fit(F, z).predict(G)


def _curve(ax: Axes, chart: Chart, x: str, scale: Dimension, colour: str, resolution: int) -> None:
    tuning, best = chart.tuning, chart.best
    ax.set_ylabel(tuning.objective)
    shown = [t for t in chart.trials if x in t.params]
    values = [tuning.value(t.score) for t in shown]
    if isinstance(scale, Choice) and not scale.ordered:
        where: list[Any] = [scale.index(chart.place(x, t)) for t in shown]
        names = [o if isinstance(o, str) else show(o) for o in scale.options]
        ax.set_xticks(range(len(names)), names)
        ax.set_xlim(-0.5, len(scale.options) - 0.5)
        mark = where[shown.index(best)] if best in shown else None
    else:
        where, mark = [t.params[x] for t in shown], best.params.get(x)
        u = np.linspace(0, 1, resolution)
        look: Any = {"color": colour, "linewidth": 2}
        if x == "lam" and best.lams is not None and best.lam_scores is not None:
            ax.plot(best.lams, tuning.value(best.lam_scores), **look, label="the best trial")
        elif (z := chart.heights({x: u})) is not None:
            ax.plot([scale.value(v) for v in u], chart.value(z), **look, label="interpolated")
    ax.plot(where, values, "o", color=INK, markersize=4, alpha=0.6, markeredgewidth=0, label="trials")
    if mark is not None and best in shown:
        label = f"best: {number(tuning.best_value)}"
        ax.plot([mark], [tuning.best_value], "o", color=COLOURS[1], markersize=7, label=label)
    elif mark is not None:
        label = f"best, with {best.rows:,} rows"
        ax.axvline(mark, color=COLOURS[1], linewidth=1.2, dashes=(4, 3), label=label)
    if tuning.minimised and min(values) > 0 and max(values) > 20 * min(values):
        log_ticks(ax, "y")


def _contours(
    ax: Axes, chart: Chart, names: list[str], scales: list[Dimension], colour: str, resolution: int
) -> None:
    u = np.linspace(0, 1, resolution)
    grid = [np.array([scale.value(v) for v in u]) for scale in scales]
    Z = _plane(chart, names, u, grid)
    if Z is not None:
        levels = np.unique(np.quantile(Z, _SHARES))
        # Areas lie on top of each other, so that the colour grows towards the best, without seams.
        for level in levels[(levels > Z.min()) & (levels < Z.max())]:
            ax.contourf(*grid, Z, levels=[Z.min() - 1, level], colors=[colour], alpha=0.11)
        lines = ax.contour(*grid, Z, levels=levels, colors=[INK], linewidths=0.7, linestyles="solid")
        ax.clabel(lines, fmt=lambda height: number(float(chart.value(height))), fontsize=8)
    for trials, marker, label in ((chart.trials, "o", "trials"), (chart.failed, "x", "failed")):
        shown = [[t.params[name] for name in names] for t in trials if set(names) <= set(t.params)]
        if shown:
            ax.plot(*zip(*shown, strict=True), marker, color=INK, markersize=4, alpha=0.6, label=label)
    if set(names) <= set(chart.best.params):
        best = [[chart.best.params[name]] for name in names]
        label = f"best: {chart.tuning.objective} {number(chart.tuning.best_value)}"
        ax.plot(*best, "o", color=COLOURS[1], markersize=7, label=label)


def _plane(chart: Chart, names: list[str], u: np.ndarray, grid: list[np.ndarray]) -> np.ndarray | None:
    """Heights over the grid, a row for each value of the second parameter."""
    if "lam" in names and chart.best.lams is not None:
        other = 1 - names.index("lam")
        Z = chart.heights({names[other]: u}, grid[1 - other])
        return Z if Z is None or other else Z.T
    U, V = np.meshgrid(u, u)
    z = chart.heights(dict(zip(names, (U.ravel(), V.ravel()), strict=True)))
    return None if z is None else z.reshape(U.shape)
