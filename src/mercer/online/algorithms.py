"""Algorithms that have names: each a loss, a step and a budget put together."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.losses import EpsilonInsensitive
from mercer.losses.base import aligned
from mercer.losses.margin import MarginLoss
from mercer.online.budgets import Forgetron, Oldest, Projection
from mercer.online.classification import OnlineKernelClassifier
from mercer.online.regression import OnlineKernelRegressor
from mercer.online.steps import PassiveAggressiveStep, PegasosStep, RecursiveStep


def perceptron(kernel: Any = "gaussian", budget: Any = None, **options: Any) -> OnlineKernelClassifier:
    """The kernel perceptron: f ← f + y k(x,·) at every mistake.

    >>> from mercer.online import perceptron
    >>> machine = perceptron("linear").fit([[1.0], [-2.0], [3.0]], [1, 0, 1])
    >>> machine.n_mistakes_, machine.predict([[5.0]])
    (1, array([1]))
    """
    return OnlineKernelClassifier(kernel, PerceptronLoss(), lam=0.0, step=1.0, budget=budget, **options)


def forgetron(kernel: Any = "gaussian", n_terms: int = 500, **options: Any) -> OnlineKernelClassifier:
    """The self-tuned Forgetron: a perceptron with a budget and a bound on its mistakes (for k(x,x) ≤ 1).

    >>> from mercer.online import forgetron
    >>> forgetron(n_terms=100).budget
    Forgetron(n_terms=100)
    """
    return perceptron(kernel, Forgetron(n_terms), **options)


def projectron(
    kernel: Any = "gaussian", n_terms: int = 500, threshold: float = 0.1, **options: Any
) -> OnlineKernelClassifier:
    """The Projectron: a perceptron whose mistakes are projected on what it holds, where that is near enough.

    >>> from mercer.online import projectron
    >>> projectron(threshold=0.2).budget
    Projection(threshold=0.2)
    """
    return perceptron(kernel, Projection(n_terms, threshold), **options)


def norma(
    kernel: Any = "gaussian", lam: float = 1e-3, eta: float = 0.5, n_terms: int = 500, **options: Any
) -> OnlineKernelClassifier:
    """NORMA: stochastic gradient descent in H_K on the hinge loss, the oldest terms dropped.

    >>> from mercer.online import norma
    >>> norma(n_terms=100).budget
    Oldest(n_terms=100)
    """
    return OnlineKernelClassifier(kernel, "hinge", lam=lam, step=eta, budget=Oldest(n_terms), **options)


def pegasos(
    kernel: Any = "gaussian", lam: float = 1e-3, budget: Any = None, **options: Any
) -> OnlineKernelClassifier:
    """Pegasos: the hinge loss with steps 1/(2λt).

    >>> from mercer.online import pegasos
    >>> pegasos(lam=0.01).step
    PegasosStep()
    """
    return OnlineKernelClassifier(kernel, "hinge", lam=lam, step=PegasosStep(), budget=budget, **options)


def passive_aggressive(
    kernel: Any = "gaussian",
    C: float = 1.0,
    variant: int = 1,
    budget: Any = 500,
    *,
    regression: bool = False,
    epsilon: float = 0.1,
    **options: Any,
) -> OnlineKernelClassifier | OnlineKernelRegressor:
    """Passive-aggressive learning: of all f that make no loss on the example, the nearest (within C).

    >>> from mercer.online import passive_aggressive
    >>> passive_aggressive(regression=True, epsilon=0.2).loss
    EpsilonInsensitive(epsilon=0.2)
    """
    step = PassiveAggressiveStep(C, variant)
    if regression:
        return OnlineKernelRegressor(
            kernel, EpsilonInsensitive(epsilon), lam=0.0, step=step, budget=budget, **options
        )
    return OnlineKernelClassifier(kernel, "hinge", lam=0.0, step=step, budget=budget, **options)


def krls(
    kernel: Any = "gaussian",
    n_terms: int = 500,
    threshold: float = 0.01,
    penalty: float = 1e-2,
    forgetting: float = 1.0,
    **options: Any,
) -> OnlineKernelRegressor:
    """Kernel recursive least squares with approximate linear dependence and a forgetting factor.

    >>> from mercer.online import krls
    >>> krls(forgetting=0.999).step
    RecursiveStep(penalty=0.01, forgetting=0.999)
    """
    return OnlineKernelRegressor(
        kernel,
        "squared",
        lam=0.0,
        step=RecursiveStep(penalty, forgetting),
        budget=Projection(n_terms, threshold),
        **options,
    )


class PerceptronLoss(MarginLoss):
    """V(y, s) = max(0, −y s), y = ±1, with slope −y wherever y s ≤ 0: a perceptron's step at every mistake.

    At 0, where it has a kink, the slope is −y and not 0: a perceptron that begins with f = 0 has to err to
    begin. Minimised as it stands it leads to f = 0, so it is of use to online machines only.

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
