"""A loss as source code: V and V' for one example, traced from the formulas that work on arrays."""

from __future__ import annotations

from mercer.codegen.rows import row_source
from mercer.losses.base import Loss


def loss_source(loss: Loss, what: str) -> tuple[str, int]:
    """(source, rows of scratch) of ``fill(y, s, g, w, t)``, which fills g with V' or, of one number, with V.

    Parameters
    ----------
    loss : Loss
    what : "grad" or "value"
        The value is summed over the outputs.

    Examples
    --------
    >>> from mercer.losses import Hinge
    >>> print(loss_source(Hinge(), "value")[0])
    def fill(y: "f64[:]", s: "f64[:]", g: "f64[:]", w: "f64[:,:]", t: int):
        v7 = 0.0
        for j in range(t):
            v2 = y[j] * s[j]
            v4 = 1.0 - v2
            v6 = max(v4, 0.0)
            v7 = v7 + v6
        g[0] = v7
    """
    return row_source(loss.grad if what == "grad" else loss.value, total=what == "value")
