"""Elements of a reproducing kernel Hilbert space H_K, as objects one can call and compute with."""

from mercer.functions.base import Function
from mercer.functions.feature import FeatureFunction
from mercer.functions.kernel import KernelFunction, section, zero
from mercer.functions.outer_product import gradient_outer_product
from mercer.functions.weights import feature_weights

__all__ = [
    "FeatureFunction",
    "Function",
    "KernelFunction",
    "feature_weights",
    "gradient_outer_product",
    "section",
    "zero",
]
