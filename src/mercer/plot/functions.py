"""Figures of functions in H_K."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from mercer.functions import Function, KernelFunction
from mercer.plot.style import COLOURS, INK, dressed, legend


def function_1d(
    f: Function,
    grid: Any,
    ax: Axes | None = None,
    *,
    terms: bool = False,
    label: str | None = "f",
    colour: str = COLOURS[0],
) -> Axes:
    """A function of one variable and, if wanted, the bumps α_i k(x_i,·) it is the sum of.

    Parameters
    ----------
    f : Function of one variable
    grid : array, shape (m,)
        Where to draw it.
    ax : Axes, optional
    terms : bool
        Draw each term of a `KernelFunction` as a shaded bump.
    label : str, optional
    colour : str

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.functions import section
    >>> from mercer.kernels import Gaussian
    >>> from mercer.plot import axes
    >>> k = Gaussian(1.0)
    >>> f = section(k, [0.0]) - 0.5 * section(k, [2.0])
    >>> ax = function_1d(f, np.linspace(-3, 5, 50), axes(), terms=True)
    >>> len(ax.lines)  # two bumps, the axis and f
    4
    """
    grid = np.asarray(grid, dtype=float)
    ax = dressed(ax, "x")
    ax.axhline(0, color=INK, linewidth=0.8)
    if terms:
        if not isinstance(f, KernelFunction):
            raise TypeError(f"only a sum of kernels has bumps to draw, and this is {f!r}")
        for i, value in enumerate(np.atleast_1d(f.coef)):
            bump = value * f.kernel(grid[:, None], f.points[i : i + 1])[:, 0]
            ax.fill_between(grid, bump, color=colour, alpha=0.12, linewidth=0)
            ax.plot(grid, bump, color=colour, alpha=0.5, linewidth=1)
    ax.plot(grid, f(grid[:, None]), color=colour, linewidth=2.2, label=label)
    return legend(ax)
