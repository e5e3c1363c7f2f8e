"""What can be said of errors on data not seen: bounds, each with what it assumes; rates and spectra.

In every bound `n` is the number of examples, and `delta` (δ) the probability with which it may fail; `risk`
is what it says it bounds, `assumptions` what it says it assumes. `random_state` is a seed.

Whether two samples differ, and whether two measurements depend on each other, is tested by `mmd_test` and
`hsic_test`.

What can be learned at all (classes of hypotheses, shattering, the game) is in `mercer.theory.learnability`.
"""

from mercer.theory.bounds import (
    Bound,
    binary_kl,
    binomial_bound,
    finite_class_bound,
    finite_class_examples,
    kl_inverse,
    mean_bound,
    vc_bound,
    vc_examples,
)
from mercer.theory.certificate import RiskCertificate, certificate
from mercer.theory.experiments import BiasVariance, Rate, RiskCurve, bias_variance, fit_rate, risk_curve
from mercer.theory.gibbs import gibbs_bound, pac_bayes_bound
from mercer.theory.problems import CircleProblem, CircleSpline, Coverage, PointsProblem, coverage
from mercer.theory.rademacher import (
    Complexity,
    capped_error_bound,
    margin_bound,
    rademacher_bound,
    rademacher_complexity,
)
from mercer.theory.samples import HSICTest, MMDTest, hsic_test, mmd_test
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
from mercer.theory.stability import (
    left_out_bound,
    left_out_error_bound,
    left_out_scores,
    ridge_slope,
    ridge_stability,
    stability_bound,
    support_vector_bound,
    uniform_stability,
    xi_alpha_bound,
)

__all__ = [
    "BiasVariance",
    "Bound",
    "Coverage",
    "CircleProblem",
    "CircleSpline",
    "Complexity",
    "Decay",
    "EffectiveDimension",
    "HSICTest",
    "MMDTest",
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
    "hsic_test",
    "kl_inverse",
    "left_out_bound",
    "left_out_error_bound",
    "left_out_scores",
    "margin_bound",
    "mean_bound",
    "minimax_exponent",
    "mmd_test",
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
