"""The law kit: does your own kernel, loss, operator, engine, solver or online machine keep our laws?

Each function takes one object, tries it on a few small cases and returns nothing, or raises
`LawViolation` with a sentence that says which law is broken, where and by how much.

>>> from mercer.kernels import Gaussian
>>> check_kernel(Gaussian(1.0) + 1)
"""

from mercer._laws.common import LawViolation
from mercer._laws.engines import check_engine
from mercer._laws.kernels import check_kernel
from mercer._laws.losses import check_loss
from mercer._laws.online import check_online
from mercer._laws.operators import check_operator
from mercer._laws.solvers import check_solver

__all__ = [
    "LawViolation",
    "check_engine",
    "check_kernel",
    "check_loss",
    "check_online",
    "check_operator",
    "check_solver",
]
