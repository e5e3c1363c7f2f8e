"""The loss of a perceptron."""

from __future__ import annotations

import numpy as np

from mercer.losses.base import aligned
from mercer.losses.margin import MarginLoss


class PerceptronLoss(MarginLoss):
    """V(y, s) = max(0, −y s), y = ±1, with slope −y wherever y s ≤ 0: a perceptron's step at every mistake.

    At 0, where it has a kink, the slope is −y and not 0: a perceptron that begins with f = 0 has to err to
    begin. Minimised as it stands it leads to f = 0, so it is of use to online machines only.

    Examples
    --------
    >>> import numpy as np
    >>> PerceptronLoss().grad(np.array([[1.0, -1.0, 1.0]]), np.array([[0.0, 2.0, 3.0]]))
    array([[-1.,  1.,  0.]])
    """

    smooth = False

    def profile(self, m):
        return np.maximum(-m, 0)

    def profile_grad(self, m):
        return np.where(m <= 0, -np.ones_like(m), np.zeros_like(m))

    def conjugate(self, y, u):
        y, u = aligned(y, u)
        return np.where((y * u >= -1) & (y * u <= 0), np.zeros_like(u), np.inf)
