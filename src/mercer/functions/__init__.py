"""Elements of a reproducing kernel Hilbert space H_K, as objects one can call and compute with."""

from mercer.functions.base import Function
from mercer.functions.feature import FeatureFunction
from mercer.functions.kernel import KernelFunction, section, zero

__all__ = ["FeatureFunction", "Function", "KernelFunction", "section", "zero"]
