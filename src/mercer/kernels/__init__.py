"""Kernels: what k(x, x') is. See `Kernel` for the contract and `check` for "is it a kernel?"."""

from mercer.kernels.algebra import Constant, Product, Sum
from mercer.kernels.angular import ArcCosine, Cosine
from mercer.kernels.base import Kernel
from mercer.kernels.declared import Declared, believed, bounded, fixed
from mercer.kernels.dot import Dot, Linear, Polynomial, Sigmoid
from mercer.kernels.finite import Finite, Precomputed
from mercer.kernels.forest import Forest
from mercer.kernels.function import FunctionKernel
from mercer.kernels.graphs.histograms import EdgeHistogram, VertexHistogram
from mercer.kernels.graphs.random_walk import RandomWalk
from mercer.kernels.graphs.shortest_path import ShortestPath
from mercer.kernels.graphs.weisfeiler_lehman import WeisfeilerLehman
from mercer.kernels.histogram import (
    AdditiveChiSquared,
    ChiSquared,
    HistogramIntersection,
    SkewedChiSquared,
)
from mercer.kernels.matern import Matern
from mercer.kernels.named import NamedColumns, columns
from mercer.kernels.overlap import Overlap
from mercer.kernels.periodic import Periodic
from mercer.kernels.profiled import Profiled
from mercer.kernels.psd import check
from mercer.kernels.radial import Gaussian, Laplacian, Radial, RationalQuadratic
from mercer.kernels.sets import MeanEmbedding
from mercer.kernels.spectral import spectral_density
from mercer.kernels.strings.alignment import LocalAlignment
from mercer.kernels.strings.edit import EditDistance
from mercer.kernels.strings.mismatch import Mismatch
from mercer.kernels.strings.spectrum import Spectrum
from mercer.kernels.strings.subsequence import Subsequence
from mercer.kernels.strings.substitution import Substitution
from mercer.kernels.strings.weighted_degree import WeightedDegree
from mercer.kernels.strings.words import BagOfWords
from mercer.kernels.transforms import LengthScales, Mahalanobis, OnColumns, PullBack
from mercer.kernels.unary import Exp, Normalized, Power, Scale
from mercer.kernels.white import White
from mercer.kernels.witness import Verdict

__all__ = [
    "AdditiveChiSquared",
    "ArcCosine",
    "BagOfWords",
    "ChiSquared",
    "OnColumns",
    "Constant",
    "Cosine",
    "Declared",
    "Dot",
    "EdgeHistogram",
    "EditDistance",
    "Exp",
    "Finite",
    "Forest",
    "FunctionKernel",
    "Gaussian",
    "HistogramIntersection",
    "Kernel",
    "Laplacian",
    "LengthScales",
    "Linear",
    "LocalAlignment",
    "Mahalanobis",
    "Matern",
    "MeanEmbedding",
    "Mismatch",
    "NamedColumns",
    "Normalized",
    "Overlap",
    "Periodic",
    "Polynomial",
    "Power",
    "Precomputed",
    "Product",
    "Profiled",
    "PullBack",
    "Radial",
    "RandomWalk",
    "RationalQuadratic",
    "Scale",
    "ShortestPath",
    "Sigmoid",
    "SkewedChiSquared",
    "Spectrum",
    "Subsequence",
    "Substitution",
    "Sum",
    "Verdict",
    "VertexHistogram",
    "WeightedDegree",
    "WeisfeilerLehman",
    "White",
    "believed",
    "bounded",
    "check",
    "columns",
    "fixed",
    "spectral_density",
]
