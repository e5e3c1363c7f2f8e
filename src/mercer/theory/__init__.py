"""What can be learned, and what can be said of errors on data not seen: bounds, each with what it assumes."""

from mercer.theory.bounds import (
    Bound,
    binomial_bound,
    finite_class_bound,
    finite_class_examples,
    mean_bound,
    vc_bound,
    vc_examples,
)
from mercer.theory.certificate import RiskCertificate, certificate
from mercer.theory.circle import CircleProblem, CircleSpline
from mercer.theory.classes import HypothesisClass, Inconsistent, UserClass
from mercer.theory.conjunctions import Conjunction, Conjunctions
from mercer.theory.divergence import binary_kl, kl_inverse
from mercer.theory.experiments import BiasVariance, RiskCurve, bias_variance, risk_curve
from mercer.theory.game import Game, WrongMove
from mercer.theory.gibbs import gibbs_bound, pac_bayes_bound
from mercer.theory.halfspaces import HalfSpaces, PolynomialHalfSpaces, PolynomialSet
from mercer.theory.intervals import Interval, Intervals, IntervalUnion, LeftIntervals, UnionsOfIntervals
from mercer.theory.kernel_halfspaces import KernelHalfSpaces, KernelSet
from mercer.theory.learner import ConsistentLearner
from mercer.theory.leave_one_out import (
    left_out_bound,
    left_out_error_bound,
    left_out_scores,
    support_vector_bound,
    xi_alpha_bound,
)
from mercer.theory.pac import sample_size
from mercer.theory.points import Coverage, PointsProblem, coverage
from mercer.theory.rademacher import (
    Complexity,
    capped_error_bound,
    margin_bound,
    rademacher_bound,
    rademacher_complexity,
)
from mercer.theory.rates import Rate, fit_rate
from mercer.theory.rectangles import Box, Rectangles
from mercer.theory.shattering import Shattering, dichotomies, shatters
from mercer.theory.simulation import BooleanCube, Sampled, Simulation, UniformBox, simulate
from mercer.theory.spectra import (
    Decay,
    EffectiveDimension,
    GramSpectrum,
    Smoothness,
    effective_dimension,
    fit_decay,
    minimax_exponent,
    smoothness,
    spectrum,
)
from mercer.theory.stability import ridge_slope, ridge_stability, stability_bound, uniform_stability
from mercer.theory.vc import VCDimension, sauer_bound, vc_dimension

__all__ = [
    "BiasVariance",
    "BooleanCube",
    "Bound",
    "Box",
    "Coverage",
    "CircleProblem",
    "CircleSpline",
    "Complexity",
    "Conjunction",
    "Conjunctions",
    "ConsistentLearner",
    "Decay",
    "EffectiveDimension",
    "Game",
    "HalfSpaces",
    "HypothesisClass",
    "Inconsistent",
    "Interval",
    "IntervalUnion",
    "Intervals",
    "KernelHalfSpaces",
    "KernelSet",
    "LeftIntervals",
    "PolynomialHalfSpaces",
    "PolynomialSet",
    "PointsProblem",
    "Rate",
    "Rectangles",
    "RiskCertificate",
    "RiskCurve",
    "Sampled",
    "Shattering",
    "Simulation",
    "Smoothness",
    "GramSpectrum",
    "UniformBox",
    "UnionsOfIntervals",
    "UserClass",
    "VCDimension",
    "WrongMove",
    "bias_variance",
    "binary_kl",
    "binomial_bound",
    "capped_error_bound",
    "certificate",
    "dichotomies",
    "coverage",
    "effective_dimension",
    "finite_class_bound",
    "finite_class_examples",
    "fit_decay",
    "fit_rate",
    "gibbs_bound",
    "kl_inverse",
    "left_out_bound",
    "left_out_error_bound",
    "left_out_scores",
    "margin_bound",
    "mean_bound",
    "minimax_exponent",
    "pac_bayes_bound",
    "rademacher_bound",
    "rademacher_complexity",
    "ridge_slope",
    "ridge_stability",
    "risk_curve",
    "sample_size",
    "sauer_bound",
    "shatters",
    "simulate",
    "smoothness",
    "spectrum",
    "stability_bound",
    "support_vector_bound",
    "uniform_stability",
    "vc_bound",
    "vc_dimension",
    "vc_examples",
    "xi_alpha_bound",
]
