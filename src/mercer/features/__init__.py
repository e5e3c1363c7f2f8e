"""Feature maps φ with φ(x)·φ(z) = k(x,z): exact for polynomials and for what is counted, random elsewhere."""

from mercer.features.counted import CountedFeatures
from mercer.features.explicit import ExplicitFeatures
from mercer.features.fourier import RandomFourierFeatures
from mercer.features.nystrom import NystromFeatures

__all__ = ["CountedFeatures", "ExplicitFeatures", "NystromFeatures", "RandomFourierFeatures"]
