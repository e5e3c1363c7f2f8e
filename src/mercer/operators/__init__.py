"""Operators: linear maps that can multiply without being matrices; all that solvers see of a problem."""

from mercer.operators.base import Operator, Transpose, squares_of
from mercer.operators.composed import Composed, FeatureOperator, Shifted, WithOnes
from mercer.operators.dense import L1, STORED_SHARE, Identity, Matrix, blas_single_threaded, in_memory
from mercer.operators.elsewhere import Elsewhere, FacingColumns, FacingFeatures, FacingShifted
from mercer.operators.factor import Factor, NotPositiveDefinite
from mercer.operators.kernel import KernelOperator, result_dtype
from mercer.operators.resident import Resident
from mercer.operators.spectrum import Eigenbasis

__all__ = [
    "STORED_SHARE",
    "Composed",
    "Eigenbasis",
    "Elsewhere",
    "FacingColumns",
    "FacingFeatures",
    "FacingShifted",
    "Factor",
    "FeatureOperator",
    "Identity",
    "KernelOperator",
    "L1",
    "Matrix",
    "NotPositiveDefinite",
    "Operator",
    "Resident",
    "Shifted",
    "Transpose",
    "WithOnes",
    "blas_single_threaded",
    "in_memory",
    "result_dtype",
    "squares_of",
]
