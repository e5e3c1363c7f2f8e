"""What can be said of errors on data not seen: bounds, each with what it assumes; rates and spectra.

What can be learned at all (classes of hypotheses, shattering, the game) is in `mercer.theory.learnability`.
"""

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
from mercer.theory.divergence import binary_kl, kl_inverse
from mercer.theory.experiments import BiasVariance, RiskCurve, bias_variance, risk_curve
from mercer.theory.gibbs import gibbs_bound, pac_bayes_bound
from mercer.theory.leave_one_out import (
    left_out_bound,
    left_out_error_bound,
    left_out_scores,
    support_vector_bound,
    xi_alpha_bound,
)
from mercer.theory.points import Coverage, PointsProblem, coverage
from mercer.theory.rademacher import (
    Complexity,
    capped_error_bound,
    margin_bound,
    rademacher_bound,
    rademacher_complexity,
)
from mercer.theory.rates import Rate, fit_rate
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

__all__ = [
    "BiasVariance",
    "Bound",
    "Coverage",
    "CircleProblem",
    "CircleSpline",
    "Complexity",
    "Decay",
    "EffectiveDimension",
    "PointsProblem",
    "Rate",
    "RiskCertificate",
    "RiskCurve",
    "Smoothness",
    "GramSpectrum",
    "bias_variance",
    "binary_kl",
    "binomial_bound",
    "capped_error_bound",
    "certificate",
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
    "smoothness",
    "spectrum",
    "stability_bound",
    "support_vector_bound",
    "uniform_stability",
    "vc_bound",
    "vc_examples",
    "xi_alpha_bound",
]
