"""How many kernels f may hold, and what happens to the one too many."""

from __future__ import annotations

import math
import numbers
from typing import Any

from mercer._params import Params, require_count, require_nonnegative
from mercer.online import loops


class Budget(Params):
    """A number of terms, and a rule.

    `policy` names the rule to the loop; `pairs` says whether it looks at kernel values between terms;
    `projects` that no term is given up, because f is written in coordinates of the terms' span.

    Examples
    --------
    >>> from mercer import OnlineKernelRegressor
    >>> from mercer.online import Budget, Oldest
    >>> machine = OnlineKernelRegressor("gaussian", budget=Oldest(2))
    >>> isinstance(machine.budget, Budget)
    True
    >>> machine.fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0]).function_.points.shape
    (2, 1)
    """

    policy = loops.NOBODY
    pairs = False
    projects = False
    threshold: Any = 0.0

    def __init__(self, n_terms=500):
        self.n_terms = n_terms

    def validate(self) -> None:
        """Refuse a number of terms that is none."""
        require_count(self.n_terms, f"{type(self).__name__}: n_terms")


class Unlimited(Budget):
    """All terms are kept: memory and the cost of a step grow with the number of examples that had a loss.

    >>> Unlimited()
    Unlimited()
    """

    def __init__(self):
        pass

    def validate(self):
        pass

    n_terms = 0


class Oldest(Budget):
    """Beyond `n_terms` terms the oldest goes: what NORMA does, whose weights shrink with age.

    References
    ----------
    J. Kivinen, A. Smola, R. Williamson, Online learning with kernels, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import OnlineKernelRegressor
    >>> machine = OnlineKernelRegressor(budget=Oldest(2)).fit([[0.0], [1.0], [2.0]], [1.0, 1.0, 1.0])
    >>> machine.function_.points.ravel()
    array([1., 2.])
    """

    policy = loops.OLDEST


class Smallest(Budget):
    """Beyond `n_terms` terms that of least norm |a| √k(z,z) goes: dropping it changes f least.

    >>> from mercer import OnlineKernelRegressor
    >>> machine = OnlineKernelRegressor(lam=0.0, budget=Smallest(2))
    >>> machine = machine.fit([[0.0], [9.0], [20.0]], [1.0, 0.1, 3.0])
    >>> machine.function_.points.ravel()
    array([ 0., 20.])
    """

    policy = loops.SMALLEST


class AtRandom(Budget):
    """Beyond `n_terms` terms any goes, each as likely as the others (the new one, too).

    This is the randomised budget perceptron. The draws depend on the machine's `random_state` and the number
    of the example only.

    References
    ----------
    G. Cavallanti, N. Cesa-Bianchi, C. Gentile, Tracking the best hyperplane with a simple budget perceptron,
    2007.

    Examples
    --------
    >>> from mercer import OnlineKernelRegressor
    >>> machine = OnlineKernelRegressor(budget=AtRandom(2), random_state=0)
    >>> len(machine.fit([[0.0], [9.0], [20.0]], [1.0, 0.1, 3.0]).function_.points)
    2
    """

    policy = loops.AT_RANDOM


class Window(Budget):
    """Only the last `n_terms` examples may be in f, whether they had a loss or not.

    >>> from mercer import OnlineKernelRegressor
    >>> machine = OnlineKernelRegressor(budget=Window(2)).fit([[0.0], [1.0], [2.0]], [1.0, 1.0, 1.0])
    >>> machine.function_.points.ravel()
    array([1., 2.])
    """

    policy = loops.WINDOW


class Forgetron(Budget):
    """All terms are shrunk before the oldest goes, by so much that its loss is paid for.

    With `PerceptronLoss()`, λ = 0, η = 1 and k(x,x) ≤ 1 this is the self-tuned Forgetron: against every g
    with ‖g‖ ≤ U = ¼ √((B+1)/ln(B+1)) and B ≥ 83 it makes at most 2‖g‖² + 4 Σ hinge(y_t g(x_t)) mistakes
    (`mistake_bound`). With other losses the same rule is applied to weights in units of η, and there is no
    such bound. B is `n_terms`.

    References
    ----------
    O. Dekel, S. Shalev-Shwartz, Y. Singer, The Forgetron: a kernel-based perceptron on a budget, 2008.

    Examples
    --------
    >>> round(Forgetron(1000).largest_norm, 3)
    3.009
    >>> Forgetron(1000).mistake_bound(norm=2.0, hinge=10.0)
    48.0
    """

    policy = loops.FORGETRON
    pairs = True

    @property
    def largest_norm(self) -> float:
        """U: against functions of larger norm nothing is promised."""
        return math.sqrt((self.n_terms + 1) / math.log(self.n_terms + 1)) / 4

    def mistake_bound(self, norm: float, hinge: float) -> float:
        """At most so many mistakes, where some g of this norm has this sum of hinge losses; else inf."""
        if norm < 0 or hinge < 0:
            raise ValueError("a norm and a sum of losses are not negative")
        promised = self.n_terms >= 83 and norm <= self.largest_norm
        return 2 * norm**2 + 4 * hinge if promised else math.inf


class Merge(Budget):
    """Beyond `n_terms` terms that which another can best stand in for is put onto it, by projection.

    Of all pairs (i, j) the one is taken that changes f least, ‖a_i k(z_i,·)‖² (1 − cos²) with cos the cosine
    of the angle between the two kernels. It works with any kernel on any objects: no new points are made.

    >>> from mercer import OnlineKernelRegressor
    >>> machine = OnlineKernelRegressor(budget=Merge(2)).fit([[0.0], [9.0], [0.1]], [1.0, 1.0, 2.0])
    >>> machine.function_.points.shape
    (2, 1)
    """

    policy = loops.MERGE
    pairs = True


class Projection(Budget):
    """Nothing is given up: what has no place of its own is projected on the span of the others.

    An example farther than `threshold` from that span, √(k(x,x) − ‖Px‖²), becomes a term while there is room
    for it. With `PerceptronLoss()` as loss, λ = 0 and η = 1 this is the Projectron: with k(x,x) ≤ 1, θ the
    threshold, a budget that is never reached, and any g with θ‖g‖ < 1 and sum of hinge losses D, the number M
    of mistakes satisfies M (1 − θ‖g‖) ≤ ‖g‖ √M + D (`mistake_bound`).

    Parameters
    ----------
    n_terms : int
    threshold : float ≥ 0
        A distance in H_K; 0 takes every example that is not in the span already.

    References
    ----------
    F. Orabona, J. Keshet, B. Caputo, The Projectron: a bounded kernel-based perceptron, 2008.

    Examples
    --------
    >>> from mercer import OnlineKernelRegressor
    >>> from mercer.kernels import Linear
    >>> machine = OnlineKernelRegressor(Linear(), step=0.01, budget=Projection(10))
    >>> machine.fit([[1.0], [2.0], [3.0]], [1.0, 2.0, 3.0]).function_.points.shape      # one direction is all
    (1, 1)
    >>> round(Projection(10, 0.1).mistake_bound(norm=2.0, hinge=0.0), 2)                # (2/(1 − 0.2))²
    6.25
    """

    projects = True

    def __init__(self, n_terms=500, threshold=0.1):
        self.n_terms = n_terms
        self.threshold = threshold

    def validate(self):
        super().validate()
        require_nonnegative(self.threshold, "threshold")

    def mistake_bound(self, norm: float, hinge: float) -> float:
        """At most so many mistakes, where some g of this norm has this sum of hinge losses; inf if θ‖g‖ ≥ 1.

        M (1 − θ‖g‖) − ‖g‖ √M − D ≤ 0, solved for √M.
        """
        if norm < 0 or hinge < 0:
            raise ValueError("a norm and a sum of losses are not negative")
        left = 1 - float(self.threshold) * norm
        return ((norm + math.sqrt(norm**2 + 4 * left * hinge)) / (2 * left)) ** 2 if left > 0 else math.inf


def budget_of(value: Any) -> Budget:
    """A Budget, a number of terms (which are merged), or None: no limit."""
    if value is None:
        return Unlimited()
    if isinstance(value, Budget):
        return value
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return Merge(int(value))
    raise TypeError(
        "budget must be None, a number of terms or one of mercer.online's budgets, such as Oldest(500); "
        f"got {value!r}"
    )
