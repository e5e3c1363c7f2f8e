"""Figures of probabilities: θ(f) on a line and in the plane, class by class, and as classes come apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from sklearn.base import clone

from mercer._params import require_count
from mercer.estimators import KernelLogistic
from mercer.kernels import Linear
from mercer.plot.plane import (
    answers,
    asked,
    between,
    class_points,
    classes_of,
    corners_around,
    examples,
    named,
    same_classes,
    shares,
    tinted,
    told_apart,
    two_classes,
    view,
)
from mercer.plot.style import (
    COLOURS,
    INK,
    MANY_COLOURS,
    dressed,
    legend,
    legend_above,
    linear,
    panels,
    pictured,
)
from mercer.plot.text import plain

_STYLES = ("-", "--", "-.", ":")


def probability_1d(
    machines: Any, X: Any, y: Any, ax: Axes | None = None, *, margin: float = 0.1, resolution: int = 400
) -> Axes:
    """P(second class | x) = θ(f(x)) on a line, for one machine or several, and the examples at 0 and at 1.

    Parameters
    ----------
    machines : {label: fitted classifier}, a sequence of them, or one
        Of two classes, with ``predict_proba``. Without labels the legend has ‖f‖: the larger it is, the
        sharper the step.
    margin : how far to look beyond the examples, a share of their extent

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelLogistic, plot
    >>> X, y = np.arange(6.0)[:, None], ["no", "no", "yes", "no", "yes", "yes"]
    >>> soft, sharp = (KernelLogistic("linear", lam=lam, offset=True).fit(X, y) for lam in (1, 0.01))
    >>> ax = plot.probability_1d({"λ = 1": soft, "λ = 0.01": sharp}, X, y, plot.axes())
    >>> ax.get_ylabel(), [text.get_text() for text in ax.get_legend().get_texts()]
    ('P(yes | x)', ['λ = 1', 'λ = 0.01', 'no', 'yes'])
    """
    curves = named(machines)
    (points, y), *_ = (two_classes(machine, X, y, 1, "a probability on a line") for _, machine in curves)
    same_classes(curves)
    classes = curves[0][1].classes_
    second = y == classes[1]
    room = margin * (float(np.ptp(points)) or 1.0)
    grid = between(points.min() - room, points.max() + room, resolution)
    ax = linear(dressed(ax, "x", f"P({plain(classes[1]).strip()} | x)"))
    ax.axhline(0.5, color=INK, linewidth=0.8, dashes=(4, 3))
    for j, (name, machine) in enumerate(curves):
        p = np.asarray(asked(machine.predict_proba, grid[:, None]))[:, 1]
        turn, colour = divmod(j, len(COLOURS))
        style = _STYLES[turn % len(_STYLES)]
        ax.plot(grid, p, style, color=COLOURS[colour], linewidth=2, label=name)
    for here, height, marker in ((~second, 0.0, "o"), (second, 1.0, "s")):
        look: Any = {"color": INK, "markersize": 5, "alpha": 0.7, "markeredgewidth": 0}
        label = plain(classes[int(height)])
        ax.plot(points[here, 0], np.full(here.sum(), height), marker, **look, label=label)
    ax.set_ylim(-0.06, 1.06)
    return legend_above(ax, columns=4)


def probability_fields(
    machines: Any, X: Any, y: Any, axes: Any = None, *, resolution: int = 120
) -> np.ndarray:
    """P(second class | x) over the plane, a panel a machine: the closer the lines, the sharper the border.

    The lines are where the probability is 0.1, 0.25, 0.5 (solid), 0.75 and 0.9; colours fade to nothing at
    0.5. Machines are as in `probability_1d`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from mercer import KernelLogistic, plot
    >>> X, y = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [0, 0, 1, 1]
    >>> soft, sharp = (KernelLogistic("linear", lam=lam, offset=True).fit(X, y) for lam in (1, 0.01))
    >>> drawn = plot.probability_fields([soft, sharp], X, y, Figure().subplots(1, 2), resolution=20)
    >>> [ax.get_title() for ax in drawn]
    ['‖f‖ = 0.121', '‖f‖ = 3.58']
    """
    found = named(machines)
    (points, y), *_ = (two_classes(machine, X, y, 2, "a field of probabilities") for _, machine in found)
    same_classes(found)
    corners = corners_around(points, 0.08, alone=1.0)
    fields = [answers(machine.predict_proba, corners, resolution) for _, machine in found]
    row = panels(axes, (len(found),), f"{len(found)} machines need as many Axes", (3.6, 3.4))
    for ax, (name, machine), field in zip(row, found, fields, strict=True):
        _field(ax, field, points, y, machine.classes_, corners)
        ax.set_title(name, fontsize=10)
    legend(row[-1], loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return row


def _field(
    ax: Axes,
    field: tuple[np.ndarray, np.ndarray, np.ndarray],
    X: np.ndarray,
    y: np.ndarray,
    classes: Any,
    corners: np.ndarray,
) -> None:
    """P(second class | x), as `answers` found it between these corners, and the examples."""
    ax = pictured(ax)
    view(ax, corners)
    U, V, P = field
    p = P[:, :, 1]
    strength = 0.75 * np.abs(2 * p - 1)
    image = np.where((p < 0.5)[..., None], tinted(strength, COLOURS[0]), tinted(strength, COLOURS[1]))
    _show(ax, image, corners)
    for level in (0.1, 0.25, 0.5, 0.75, 0.9):
        if p.min() < level < p.max():
            style: Any = {"linewidths": 1.6} if level == 0.5 else {"linewidths": 0.8, "linestyles": "dashed"}
            ax.contour(U, V, p, levels=[level], colors=[INK], **style)
    class_points(ax, X, y, classes, size=4.5)


def _show(ax: Axes, image: np.ndarray, corners: np.ndarray) -> None:
    """An image of a grid whose first and last points are the corners."""
    (left, bottom), (right, top) = corners.tolist()
    half_x, half_y = (right - left) / (image.shape[1] - 1) / 2, (top - bottom) / (image.shape[0] - 1) / 2
    sides = (left - half_x, right + half_x, bottom - half_y, top + half_y)
    limits = ax.get_xlim(), ax.get_ylim()
    ax.imshow(image, origin="lower", extent=sides, aspect="auto", interpolation="nearest")
    ax.set(xlim=limits[0], ylim=limits[1])


def class_probabilities(
    machine: Any, X: Any, y: Any, axes: Any = None, *, mixed: bool = True, resolution: int = 80
) -> np.ndarray:
    """The probability of every class over the plane, a panel each, and one in which their colours mix.

    The machine is a fitted classifier with ``predict_proba`` and at most twelve classes. In the panel of a
    class the colour is as strong as its probability h_ℓ(x), so that over all panels they add up to 1; in the
    last panel each place has the colour Σ_ℓ h_ℓ(x) colour_ℓ.

    Parameters
    ----------
    axes : as many Axes as classes, and one more if `mixed`
    mixed : draw the last panel

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from mercer import KernelLogistic, plot
    >>> X, y = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], ["a", "b", "c"]
    >>> machine = KernelLogistic(lam=0.01).fit(X, y)
    >>> drawn = plot.class_probabilities(machine, X, y, Figure().subplots(2, 2), resolution=20)
    >>> [ax.get_title() for ax in drawn]
    ['a', 'b', 'c', 'all']
    """
    if not hasattr(machine, "predict_proba"):
        raise TypeError(
            f"probabilities are drawn of machines that have predict_proba, and {machine!r} has none"
        )
    classes = told_apart(classes_of(machine, 2, "probabilities"))
    points, y = examples(X, y, 2, "probabilities", machine)
    corners = corners_around(points, 0.08, alone=1.0)
    P = answers(lambda grid: shares(machine, grid), corners, resolution)[2]
    count = len(classes) + bool(mixed)
    columns = min(count, 6 if count > 8 else 4)
    needed = f"{len(classes)} classes{' and the mixture' if mixed else ''} need {count} Axes"
    given = axes is not None
    row = _spare_hidden(
        panels(axes, _enough(count, columns, given), needed, (2.1, 2.1), columns=columns), count
    )
    for j, ax in enumerate(row):
        pictured(ax).set(xticks=[], yticks=[])
        view(ax, corners)
        last = j == len(classes)
        _show(ax, _mixture(P) if last else tinted(P[:, :, j], MANY_COLOURS[j]), corners)
        here = np.ones(len(y), dtype=bool) if last else y == classes[j]
        look: Any = {"markersize": 1.5, "markeredgewidth": 0, "alpha": 0.5, "color": INK}
        if not last:
            ax.plot(*points[here].T, "o", **look)
        ax.set_title("all" if last else plain(classes[j]), fontsize=10)
    return row


def _enough(count: int, columns: int, given: bool) -> tuple[int, ...]:
    """How many Axes may be there: of a new figure, all of its rows."""
    return (count,) if given else (-(-count // columns) * columns,)


def _spare_hidden(row: np.ndarray, count: int) -> np.ndarray:
    for ax in row[count:]:
        ax.set_visible(False)
    return row[:count]


def _mixture(P: np.ndarray) -> np.ndarray:
    """Σ_ℓ h_ℓ colour_ℓ at every place."""
    colours = np.array([to_rgb(colour) for colour in MANY_COLOURS[: P.shape[2]]])
    return np.clip(P @ colours, 0, 1)


def class_separation(
    offsets: Sequence[float] = (0.5, 1.5, 4.0),
    axes: Any = None,
    *,
    machine: Any = None,
    n: int = 200,
    random_state: Any = 0,
    resolution: int = 120,
) -> np.ndarray:
    """How the distance ω between two classes shapes the probabilities that are learned, a panel an offset.

    Examples are a mixture of two Gaussian clouds of deviation 1 in the plane, whose centres are ω apart; the
    same noise is used for all ω. Far apart, hardly anything lies between the classes, and the border may be
    sharp; close together it must be soft.

    Parameters
    ----------
    offsets : distances ω ≥ 0 between the two centres
    machine : classifier with ``predict_proba``, a clone of which learns each mixture
        By default linear logistic regression, ``KernelLogistic(Linear(), lam=1e-3, offset=True)``.
    n : number of examples of a mixture, half of them of each class

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from mercer import plot
    >>> drawn = plot.class_separation((0.5, 4.0), Figure().subplots(1, 2), n=60, resolution=20)
    >>> [ax.get_title() for ax in drawn]
    ['ω = 0.5: 67 % right', 'ω = 4: 100 % right']
    """
    offsets = [float(offset) for offset in offsets]
    if not offsets or not all(np.isfinite(offset) and offset >= 0 for offset in offsets):
        raise ValueError(f"offsets must be distances, finite and not negative, at least one; got {offsets}")
    require_count(n, "n", 4, ", two of each class")
    machine = KernelLogistic(Linear(), lam=1e-3, offset=True) if machine is None else machine
    y = np.arange(n) % 2
    noise = np.random.default_rng(random_state).standard_normal((n, 2))
    # All panels show the same window, so that strips can be compared.
    mixtures = [noise + np.outer(y - 0.5, [offset, 0.0]) for offset in offsets]
    corners, learned = corners_around(np.vstack(mixtures), 0.08), []
    for X in mixtures:
        fitted = clone(machine).fit(X, y)
        two_classes(fitted, X, y, 2, "a separation of classes")
        learned.append((fitted, answers(fitted.predict_proba, corners, resolution)))
    row = panels(axes, (len(offsets),), f"{len(offsets)} offsets need as many Axes", (3.6, 3.4))
    for ax, offset, X, (fitted, field) in zip(row, offsets, mixtures, learned, strict=True):
        _field(ax, field, X, y, fitted.classes_, corners)
        ax.set_aspect("equal")
        ax.set_title(f"ω = {offset:g}: {fitted.score(X, y):.0%} right".replace("%", " %"), fontsize=10)
    return row
