"""The law kit: does a part of your own (kernel, loss, engine, solver, …) keep our laws?

Each function takes one object, tries it on a few small cases and returns nothing, or raises
`LawViolation` with a sentence that says which law is broken, where and by how much.

>>> from mercer.kernels import Gaussian
>>> check_kernel(Gaussian(1.0) + 1)
"""

from mercer.testing.common import LawViolation
from mercer.testing.engines import check_engine
from mercer.testing.formats import check_format
from mercer.testing.kernels import check_kernel
from mercer.testing.losses import check_loss
from mercer.testing.online import check_online
from mercer.testing.operators import check_operator
from mercer.testing.representations import check_representation
from mercer.testing.solvers import check_solver

__all__ = [
    "LawViolation",
    "check_engine",
    "check_format",
    "check_kernel",
    "check_loss",
    "check_online",
    "check_operator",
    "check_representation",
    "check_solver",
]
