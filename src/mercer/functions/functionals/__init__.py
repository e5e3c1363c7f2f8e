"""Functionals E[f] of functions in H_K, and their gradients, which are functions in H_K again.

∇E[f] is defined by E[f + εg] = E[f] + ε⟨∇E[f], g⟩ + O(ε²). Evaluation, E_x[f] = f(x), has the gradient
k(x,·), because k reproduces; ‖f‖² has 2f; sums, products and the chain rule do the rest.

Regularised least squares at one example, and a step of functional gradient descent:

>>> from mercer.functions import zero
>>> from mercer.kernels import Gaussian
>>> k, x, y, lam, eta = Gaussian(1.0), [0.5], 1.0, 0.1, 0.25
>>> E = (Evaluation(k, x) - y) ** 2 + lam * SquaredNorm()
>>> E
(f([0.5]) - 1)² + 0.1·‖f‖²
>>> f = zero(k)
>>> f = f - eta * E.gradient(f)
>>> f.at([0.5])
0.5

That step is f ← (1 − 2ηλ) f + 2η (y − f(x)) k(x,·): shrink all weights, add one kernel. One of the
texts behind this library leaves the regulariser's 2λf out of the gradient of the hinge loss (its
equation 9); it belongs there for every loss, and weights shrink whether or not there was an error:

>>> from mercer.losses import Hinge
>>> C = Risk(k, [x], [1.0], Hinge()) + lam * SquaredNorm()
>>> big = 5.0 * Evaluation(k, x).gradient(f)
>>> C.gradient(big).distance(2 * lam * big)
0.0
"""

from mercer.functions.functionals.algebra import Combination, Composition, Functional, compose, constant
from mercer.functions.functionals.atoms import Evaluation, InnerProduct, Risk, SquaredNorm

__all__ = [
    "Combination",
    "Composition",
    "Evaluation",
    "Functional",
    "InnerProduct",
    "Risk",
    "SquaredNorm",
    "compose",
    "constant",
]
