"""Figures of a model of a table: how good it is beside others, what it goes by, how far to trust it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, MultipleLocator, NullLocator

from mercer.plot.curves import predicted_vs_true
from mercer.plot.plane import tinted
from mercer.plot.style import ABOVE, COLOURS, INK, bare, dressed, legend, log_ticks, number
from mercer.plot.text import plain

if TYPE_CHECKING:
    from mercer.tables.model.evidence import Importance, Score

_MOST_POINTS = 2000


def contenders(names: Sequence[str], scores: Sequence[Score], ax: Axes | None = None) -> Axes:
    """One measure of several models on one scale: dots with their 95 % intervals, the first one in colour.

    One score a name, all of the same measure.

    Examples
    --------
    >>> from mercer.tables.model.evidence import Score
    >>> from mercer import plot
    >>> two = [Score("RMSE", 1.0, 0.9, 1.1, False), Score("RMSE", 2.0, 1.7, 2.2, False)]
    >>> ax = plot.contenders(["this model", "the mean"], two, plot.axes())
    >>> [t.get_text() for t in ax.get_yticklabels()]
    ['this model', 'the mean']
    """
    ax = dressed(ax)
    share = scores[0].name in ("error rate", "accuracy")
    for i, s in enumerate(scores):
        colour = COLOURS[0] if i == 0 else INK
        ax.plot([s.low, s.high], [i, i], color=colour, linewidth=3 if i == 0 else 2, solid_capstyle="round")
        ax.plot(s.value, i, "o", color=colour, markersize=9 if i == 0 else 7)
        small = 1e-3 <= abs(s.value) < 99.9
        text = f"{100 * s.value:.1f} %" if share else f"{s.value:#.3g}" if small else number(s.value)
        look: Any = {"fontsize": 9, "color": colour, "weight": "bold" if i == 0 else "normal"}
        ax.annotate(text, (s.value, i), (0, 8), textcoords="offset points", ha="center", va="bottom", **look)
    _rows(ax, names)
    ax.set_ylim(len(names) - 0.5, -0.75)
    if share:
        ax.set_xlim(left=-0.03 * ax.get_xlim()[1])  # room for a dot at zero
        _percent(ax, "x")
    ax.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    better = "larger" if scores[0].larger_is_better else "smaller"
    ax.set_xlabel(f"{scores[0].name} ({better} is better)")
    return ax


def prediction_band(y: Any, predicted: Any, half_width: float | None = None, ax: Axes | None = None) -> Axes:
    """Predictions against the truth, with the band that lies at most `half_width` off.

    Of more than 2,000 points some are drawn.

    Examples
    --------
    >>> from mercer import plot
    >>> len(plot.prediction_band([1.0, 2.0, 3.0], [1.1, 1.8, 3.3], 0.25, plot.axes()).collections)
    1
    """
    y, predicted = np.asarray(y, dtype=float), np.asarray(predicted, dtype=float)
    rows = np.arange(len(y))
    if len(y) > _MOST_POINTS:
        rows = np.sort(np.random.default_rng(0).choice(len(y), _MOST_POINTS, replace=False))
    ax = predicted_vs_true(y[rows], predicted[rows], ax)
    for line in ax.lines[1:]:
        line.set(markersize=4 if len(rows) < 800 else 3, alpha=0.6 if len(rows) < 800 else 0.45)
    if half_width is not None and np.isfinite(half_width):
        ends = np.array(ax.get_xlim())
        low, high = ax.get_ylim()
        ax.fill_between(ends, ends - half_width, ends + half_width, color=COLOURS[0], alpha=0.12, linewidth=0)
        ax.set_xlim(*ends)
        ax.set_ylim(low, high)
    return ax


def error_histogram(errors: Any, half_width: float | None = None, ax: Axes | None = None) -> Axes:
    """How often errors of which size occur; the outermost bars hold what lies beyond.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import plot
    >>> plot.error_histogram(np.linspace(-1, 1, 50), 0.9, plot.axes()).get_ylabel()
    'test rows'
    """
    errors = np.asarray(errors, dtype=float)
    ax = dressed(ax, "true − predicted", "test rows")
    reach = 1.15 * float(np.quantile(np.abs(errors), 0.99)) or 1.0
    bins = int(np.clip(np.sqrt(len(errors)), 7, 31)) | 1  # an odd number: one bar sits at zero
    edges = np.linspace(-reach, reach, bins + 1).tolist()
    ax.hist(np.clip(errors, -reach, reach), edges, color=COLOURS[0], alpha=0.8)
    if half_width is not None and np.isfinite(half_width):
        ax.axvspan(-half_width, half_width, color=COLOURS[0], alpha=0.12, linewidth=0, zorder=0)
    ax.axvline(0, color=INK, linewidth=1, dashes=(4, 3))
    ax.grid(False, axis="x")
    ax.yaxis.set_major_locator(MaxNLocator(5, integer=True, steps=[1, 2, 5, 10]))
    return ax


def reliability(bins: Sequence[tuple[float, float, int]], ax: Axes | None = None) -> Axes:
    """How often the prediction was right against how sure the model was; larger dots stand for more rows.

    Bins are (mean probability of the predicted class, share that was right, rows): `Evidence.reliability`.

    Examples
    --------
    >>> from mercer import plot
    >>> plot.reliability([(0.6, 0.5, 12), (0.95, 0.97, 300)], plot.axes()).get_xlabel()
    'how sure it was'
    """
    ax = dressed(ax, "how sure it was", "how often it was right")
    sure, right, count = (np.array(column, dtype=float) for column in zip(*bins, strict=True))
    half = 1.96 * np.sqrt(np.maximum(right * (1 - right), 0.25 / (count + 4)) / count)
    ax.axline((0, 0), (1, 1), color=INK, linewidth=1, dashes=(4, 3))
    ax.vlines(sure, np.maximum(right - half, 0), np.minimum(right + half, 1), color=COLOURS[0], alpha=0.45)
    ax.scatter(sure, right, s=20 + 160 * np.sqrt(count / count.max()), color=COLOURS[0], linewidths=0)
    ax.set_xlim(max(0.0, float(sure.min()) - 0.08), 1.03)
    ax.set_ylim(max(0.0, min(float((right - half).min()), float(sure.min())) - 0.08), 1.06)
    _percent(ax, "xy")
    return ax


def importance(items: Sequence[Importance], ax: Axes | None = None, *, unit: str = "RMSE") -> Axes:
    """By how much the test error grows if a column's values are shuffled, and the spread of several shuffles.

    Examples
    --------
    >>> from mercer.tables.model.evidence import Importance
    >>> from mercer import plot
    >>> two = [Importance("age", 2.0, 0.1, 1.5), Importance("sex", 0.5, 0.2, 4.0)]
    >>> ax = plot.importance(two, plot.axes())
    >>> [t.get_text() for t in ax.get_yticklabels()]
    ['age', 'sex']
    """
    ax = dressed(ax)
    growth, spread = [i.increase for i in items], [i.spread for i in items]
    whiskers = {"ecolor": INK, "elinewidth": 1.2}
    ax.barh(range(len(items)), growth, 0.62, xerr=spread, color=COLOURS[0], error_kw=whiskers)
    _rows(ax, [i.column for i in items])
    ax.axvline(0, color=INK, linewidth=0.8)
    if unit in ("error rate", "accuracy"):
        _percent(ax, "x")
    ax.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    ax.set_xlabel(f"growth of the {unit}")
    return ax


def length_scales(items: Sequence[Importance], ax: Axes | None = None) -> Axes:
    """The length scale of each column: the shorter, the faster the prediction may change along it.

    Examples
    --------
    >>> from mercer.tables.model.evidence import Importance
    >>> from mercer import plot
    >>> plot.length_scales([Importance("age", 2.0, 0.1, 1.5)], plot.axes()).get_xscale()
    'log'
    """
    ax = dressed(ax, "length scale ℓ")
    lengths = np.array([np.nan if i.length is None else i.length for i in items])
    place = np.arange(len(items))
    _rows(ax, [i.column for i in items])
    log_ticks(ax, "x")
    known = np.isfinite(lengths)
    if known.any():
        low, high = float(lengths[known].min()), float(lengths[known].max())
        ax.set_xlim(low / 1.6, max(high * 1.6, 4 * low))
        if high < 50 * low:
            ax.xaxis.set_major_locator(LogLocator(10, (1.0, 2.0, 5.0)))
        ax.hlines(place[known], lengths[known], ax.get_xlim()[1], color=COLOURS[2], linewidth=2, alpha=0.35)
        ax.plot(lengths[known], place[known], "o", color=COLOURS[2], markersize=7)
    return ax


def metric(M: Any, names: Sequence[str], ax: Axes | None = None) -> Axes:
    """A symmetric matrix as shades: which names count together, and which against each other.

    Examples
    --------
    >>> from mercer import plot
    >>> ax = plot.metric([[1.0, -0.5], [-0.5, 1.0]], ["height", "width"], plot.axes())
    >>> [t.get_text() for t in ax.get_yticklabels()], ax.images[0].get_array().shape
    (['height', 'width'], (2, 2, 4))
    """
    M = np.asarray(M, dtype=float)
    strength = np.abs(M) / (np.abs(M).max() or 1.0)
    shades = [tinted(strength, colour) for colour in (COLOURS[0], COLOURS[1])]
    ax = bare(ax)
    ax.imshow(np.where((M >= 0)[..., None], *shades), origin="upper", interpolation="nearest", aspect="auto")
    small: Any = {"fontsize": 8 if len(M) <= 12 else 6}
    ax.set_yticks(range(len(names)), [plain(name, 16) for name in names], **small)
    ax.set_xticks(range(len(names)), [plain(name, 10) for name in names], rotation=90, **small)
    ax.tick_params(length=0)
    if (M < 0).any():
        for colour, name in zip(COLOURS, ("together", "against"), strict=False):
            ax.plot([], [], "s", color=colour, label=name)
        legend(ax, **ABOVE, ncols=2)
    return ax


def error_by_rows(curve: Sequence[tuple[int, float]], ax: Axes | None = None, *, unit: str = "RMSE") -> Axes:
    """An error against the number of rows that were learned from: (rows, error), as in ``Evidence.curve``.

    Examples
    --------
    >>> from mercer import plot
    >>> ax = plot.error_by_rows([(100, 0.5), (200, 0.4), (400, 0.35)], plot.axes())
    >>> ax.get_xscale(), ax.get_ylabel()
    ('log', 'RMSE')
    """
    ax = dressed(ax, "rows learned from", unit)
    rows, errors = (np.array(column, dtype=float) for column in zip(*curve, strict=True))
    ax.plot(rows, errors, "o-", color=COLOURS[0], linewidth=2, markersize=7)
    ax.set_xscale("log")
    ax.set_xticks(rows, [f"{int(count):,}" for count in rows])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_ylim(0, 1.12 * float(errors.max()) or 1.0)
    if unit in ("error rate", "accuracy"):
        _percent(ax, "y")
    return ax


def loo_curve(lams: Any, loo: Any, chosen: float | None = None, ax: Axes | None = None) -> Axes:
    """Leave-one-out error against λ as a share of the variance of the target, the chosen λ marked.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import plot
    >>> plot.loo_curve(np.logspace(-4, 4, 9), (np.arange(9.0) - 4) ** 2 + 0.3, 1.0, plot.axes()).get_xlabel()
    'λ'
    """
    lams, loo = np.asarray(lams, dtype=float), np.asarray(loo, dtype=float)
    order = np.argsort(lams)[np.isfinite(loo[np.argsort(lams)])]
    lams, loo = lams[order], loo[order]
    ax = dressed(ax, "λ", "leave-one-out error / variance")
    ax.plot(lams, loo, color=COLOURS[0], linewidth=2)
    log_ticks(ax, "x")
    if chosen is not None:
        there = float(np.interp(np.log(chosen), np.log(lams), loo))
        ax.axvline(chosen, color=INK, linewidth=1, dashes=(4, 3))
        ax.plot(chosen, there, "o", color=COLOURS[1], markersize=8, label=f"chosen: λ = {number(chosen)}")
    low, high = float(np.min(loo)), float(np.max(loo))
    # Far above both the minimum and the variance nothing is worth seeing.
    top = min(high, max(3 * low, 1.1))
    # And what is flat shall look flat.
    span = max(top - low, 0.25 * low) or 1.0
    ax.set_ylim(low - 0.06 * span, low + 1.06 * span)
    return legend(ax, **ABOVE)


def coverage(pairs: Sequence[tuple[float, float]], rows: int, ax: Axes | None = None) -> Axes:
    """Share of rows inside intervals against what the intervals promise; the band is what chance allows.

    `pairs`: (nominal, measured), as in ``Evidence.coverage``, measured on so many `rows`.

    Examples
    --------
    >>> from mercer import plot
    >>> plot.coverage([(0.5, 0.52), (0.9, 0.91)], 400, plot.axes()).get_xlabel()
    'promised'
    """
    ax = dressed(ax, "promised", "held on test rows")
    nominal, measured = (np.array(column, dtype=float) for column in zip(*pairs, strict=True))
    line = np.linspace(max(0.0, nominal.min() - 0.05), min(1.0, nominal.max() + 0.04), 60)
    # Two standard deviations; twice the variance, as the intervals come from as many rows again.
    half = 2 * np.sqrt(2 * line * (1 - line) / rows)
    ax.fill_between(line, line - half, np.minimum(line + half, 1), color=INK, alpha=0.15, linewidth=0)
    ax.plot(line, line, color=INK, linewidth=1, dashes=(4, 3))
    ax.plot(nominal, measured, "o-", color=COLOURS[0], linewidth=2, markersize=7)
    _percent(ax, "xy")
    for scale in (ax.xaxis, ax.yaxis):
        scale.set_major_locator(MultipleLocator(0.1))
    return ax


def dependence(
    values: np.ndarray,
    curves: np.ndarray,
    labels: Sequence[str] = (),
    ax: Axes | None = None,
    *,
    band: np.ndarray | None = None,
    share: bool = False,
) -> Axes:
    """Predictions along one column: curves over numbers and dates, a dot for each word.

    Parameters
    ----------
    values : (m,) numbers, dates or words
    curves : (m, t)
    labels : t names; a legend tells them apart if there are several
    band : (m, 2) prediction intervals, optional
    share : are the curves probabilities?

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import plot
    >>> words = np.array(["red", "blue"], dtype=object)
    >>> ax = plot.dependence(words, np.array([[1.0], [2.0]]), ax=plot.axes())
    >>> [t.get_text() for t in ax.get_yticklabels()]
    ['red', 'blue']
    """
    ax = dressed(ax)
    words = values.dtype.kind == "O"
    several = curves.shape[1] > 1
    place = np.arange(len(values)) if words else values
    for j, colour in zip(range(curves.shape[1]), COLOURS, strict=False):
        label = plain(labels[j], 16) if several else None
        if words:
            ax.plot(curves[:, j], place, "o", color=colour, markersize=7, label=label)
        else:
            ax.plot(place, curves[:, j], color=colour, linewidth=2, label=label)
    if band is not None:
        if words:
            ax.hlines(place, band[:, 0], band[:, 1], color=COLOURS[0], linewidth=5, alpha=0.25)
        else:
            ax.fill_between(place, band[:, 0], band[:, 1], color=COLOURS[0], alpha=0.15, linewidth=0)
    if words:
        _rows(ax, [str(v) for v in values], 14)
    elif values.dtype.kind == "M":
        locator = AutoDateLocator(minticks=3, maxticks=6)
        ax.xaxis.set_major_locator(locator)
        ax.xaxis.set_major_formatter(ConciseDateFormatter(locator, show_offset=False))
    else:
        ax.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    if share:
        along = "x" if words else "y"
        getattr(ax, f"set_{along}lim")(-0.03, 1.03)
        _percent(ax, along)
    # Above the axes, where constrained layout makes room; long names get a line each.
    columns = 2 if all(len(label) <= 8 for label in labels) else 1
    return legend(ax, **ABOVE, ncols=columns, handlelength=1.2)


def _rows(ax: Axes, names: Sequence[str], most: int = 24) -> None:
    """Names down the left side, the first one on top."""
    ax.set_yticks(range(len(names)), [plain(name, most) for name in names])
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.grid(False, axis="y")
    ax.spines["left"].set_visible(False)


def _percent(ax: Axes, which: str) -> None:
    for axis in which:
        scale = getattr(ax, f"{axis}axis")
        scale.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
        scale.set_major_formatter(
            FuncFormatter(lambda value, _: f"{round(100 * value, 6) + 0.0:.3g} %".replace("-", "−"))
        )
