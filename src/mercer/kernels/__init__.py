"""Kernels: what k(x, x') is. See `Kernel` for the contract and `check` for "is it a kernel?"."""

from mercer.kernels.algebra import Constant, Product, Sum
from mercer.kernels.angular import ArcCosine, Cosine
from mercer.kernels.base import Kernel
from mercer.kernels.dot import Dot, Linear, Polynomial, Sigmoid
from mercer.kernels.finite import Finite, Precomputed
from mercer.kernels.function import FunctionKernel
from mercer.kernels.histogram import ChiSquared, HistogramIntersection
from mercer.kernels.periodic import Periodic
from mercer.kernels.profiled import Profiled
from mercer.kernels.psd import check
from mercer.kernels.radial import Gaussian, Laplacian, Matern, Radial, RationalQuadratic
from mercer.kernels.sets import MeanEmbedding
from mercer.kernels.strings.spectrum import Spectrum
from mercer.kernels.transforms import LengthScales, Mahalanobis, OnColumns, PullBack
from mercer.kernels.unary import Exp, Normalized, Power, Scale
from mercer.kernels.witness import Verdict

__all__ = [
    "ArcCosine",
    "ChiSquared",
    "OnColumns",
    "Constant",
    "Cosine",
    "Dot",
    "Exp",
    "Finite",
    "FunctionKernel",
    "Gaussian",
    "HistogramIntersection",
    "Kernel",
    "Laplacian",
    "LengthScales",
    "Linear",
    "Mahalanobis",
    "Matern",
    "MeanEmbedding",
    "Normalized",
    "Periodic",
    "Polynomial",
    "Power",
    "Precomputed",
    "Product",
    "Profiled",
    "PullBack",
    "Radial",
    "RationalQuadratic",
    "Scale",
    "Sigmoid",
    "Spectrum",
    "Sum",
    "Verdict",
    "check",
]
