"""Feature maps φ with φ(x)·φ(z) = k(x,z): exact for polynomials and for what is counted, random elsewhere.

`FOR_SOME` are maps for kernels of their own: ``map.suits(kernel)`` says for which.
"""

from mercer.features.counted import CountedFeatures
from mercer.features.explicit import ExplicitFeatures
from mercer.features.fourier import RandomFourierFeatures
from mercer.features.histograms import AdditiveChiSquaredFeatures, SkewedChiSquaredFeatures
from mercer.features.nystrom import NystromFeatures
from mercer.features.sketch import PolynomialSketch

FOR_SOME = (AdditiveChiSquaredFeatures, SkewedChiSquaredFeatures, PolynomialSketch)

__all__ = [
    "AdditiveChiSquaredFeatures",
    "CountedFeatures",
    "ExplicitFeatures",
    "NystromFeatures",
    "PolynomialSketch",
    "RandomFourierFeatures",
    "SkewedChiSquaredFeatures",
]
