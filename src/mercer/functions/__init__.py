"""Elements of a reproducing kernel Hilbert space H_K, as objects one can call and compute with.

`KernelFunction` is f = Σ α_i k(x_i,·); `FeatureFunction` is f = ⟨c, φ(·)⟩ for a feature map φ. Both
can be called, added, scaled, compared (inner product, norm, distance), and both may hold t functions
at once, as the columns of their coefficients.
"""

from mercer.functions.base import Function
from mercer.functions.feature import FeatureFunction
from mercer.functions.kernel import KernelFunction, section, zero

__all__ = ["FeatureFunction", "Function", "KernelFunction", "section", "zero"]
