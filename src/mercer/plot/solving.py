"""Figures of solving: how a solver approached its minimum."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from mercer.plot.style import COLOURS, dressed, legend, log_ticks, whole_ticks
from mercer.solvers import Solution


def convergence(
    solution: Solution, ax: Axes | None = None, *, label: str | None = None, colour: str = COLOURS[0]
) -> Axes:
    """Relative gradient norm (or residual) after each iteration.

    Call it again on the same Axes, with other labels and colours, to compare solvers.

    Parameters
    ----------
    solution : Solution
        ``machine.solution_``.
    ax : Axes, optional
    label : str, optional
        For the legend; the solver's name by default.
    colour : str

    Examples
    --------
    >>> from mercer import KernelLogistic
    >>> from mercer.plot import axes
    >>> machine = KernelLogistic(lam=0.1).fit([[0.0], [1.0], [2.0]], ["a", "b", "b"])
    >>> convergence(machine.solution_, axes()).get_xlabel()
    'iteration'
    """
    ax = dressed(ax, "iteration", "gradient, relative to the start")
    history = np.array(solution.history or (solution.certificate.relative_gradient,), dtype=float)
    steps = np.arange(len(history)) + (solution.iterations - len(history) + 1)
    ax.plot(
        steps,
        # An exact zero has no place on a logarithmic axis, and says no more than that rounding is reached.
        np.maximum(history, np.finfo(float).eps),
        "o-",
        color=colour,
        linewidth=2,
        markersize=5 if len(history) <= 60 else 0,
        label=solution.solver if label is None else label,
    )
    log_ticks(ax, "y")
    whole_ticks(ax.xaxis)
    return legend(ax)
