"""The law kit: does your own kernel or loss keep the laws the library relies on?

Each function takes one object, tries it on a few points and returns nothing, or raises
`LawViolation` with a sentence that says which law is broken, where and by how much.

>>> from mercer.kernels import Gaussian
>>> check_kernel(Gaussian(1.0) + 1)
"""

from mercer._laws.common import LawViolation
from mercer._laws.kernels import check_kernel
from mercer._laws.losses import check_loss

__all__ = ["LawViolation", "check_kernel", "check_loss"]
