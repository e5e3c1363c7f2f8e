"""Feature maps φ with φ(x)·φ(z) = k(x,z): exact for polynomials, random for translation-invariant kernels."""

from mercer.features.explicit import ExplicitFeatures
from mercer.features.fourier import RandomFourierFeatures
from mercer.features.nystrom import NystromFeatures

__all__ = ["ExplicitFeatures", "NystromFeatures", "RandomFourierFeatures"]
