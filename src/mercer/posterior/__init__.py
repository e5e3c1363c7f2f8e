"""The Gaussian-process view of least squares: posteriors, samples, marginal likelihoods."""

from collections.abc import Callable
from typing import Any

from mercer.posterior.base import Posterior, Prior
from mercer.posterior.exact import PAIR_BYTES, ExactPosterior
from mercer.posterior.lanczos import LanczosPosterior
from mercer.posterior.observations import Observations
from mercer.posterior.pathwise import PathwisePosterior
from mercer.posterior.projected import IndependentPosterior, ProjectedPosterior

# What makes a posterior, by the name of its method: called with (observations, scale, random_state).
_MAKERS: dict[str, Callable[..., Posterior]] = {
    "exact": ExactPosterior,
    "dtc": ProjectedPosterior,
    "fitc": IndependentPosterior,
    "pathwise": PathwisePosterior,
    "lanczos": LanczosPosterior,
}


def make_posterior(
    seen: Observations, method: str, scale: Any = "likelihood", random_state: Any = None, **options: Any
) -> Posterior:
    """The posterior by the name of its method, for what was observed; `options` are those of its class.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> machine = KernelRidge(lam=0.1).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0])
    >>> machine.posterior("exact").method                           # which calls this
    'exact'
    """
    if method not in _MAKERS:
        known = ", ".join(map(repr, ("auto", *_MAKERS)))
        raise ValueError(f"method must be one of {known}, got {method!r}")
    if method in ("dtc", "fitc") and seen.full:
        raise ValueError(
            f"method={method!r} is for machines with centres: this one has a term an example, 'exact'"
        )
    if method not in ("dtc", "fitc") and not seen.full:
        raise ValueError(
            f"method={method!r} needs representation='full': with centres or features it is 'dtc'"
        )
    if options and method not in ("pathwise", "lanczos"):
        raise TypeError(f"method={method!r} takes no {', '.join(sorted(options))}")
    return _MAKERS[method](seen, scale, random_state, **options)


__all__ = [
    "PAIR_BYTES",
    "ExactPosterior",
    "IndependentPosterior",
    "LanczosPosterior",
    "Observations",
    "PathwisePosterior",
    "Posterior",
    "Prior",
    "ProjectedPosterior",
    "make_posterior",
]
