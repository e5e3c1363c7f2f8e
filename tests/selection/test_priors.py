"""Priors of positive parameters: against SciPy's densities, and differences."""

import math

import numpy as np
import pytest
from scipy.stats import gamma, lognorm

from mercer.selection import Gamma, LogNormal


@pytest.mark.parametrize(
    "prior, density",
    [
        (LogNormal(2.0, 0.7), lognorm(0.7, scale=2.0)),
        (Gamma(3.0, 2.0), gamma(3.0, scale=0.5)),
    ],
)
def test_densities_are_scipys(prior, density):
    for value in (0.3, 1.0, 4.0):
        at = math.log(value)
        found, slope = prior.log_density(at)
        assert found == pytest.approx(density.logpdf(value) + at)  # of log θ: times θ
        h = 1e-6
        differences = (prior.log_density(at + h)[0] - prior.log_density(at - h)[0]) / (2 * h)
        assert slope == pytest.approx(differences, abs=1e-7)
    draws = np.exp([prior.draw(np.random.default_rng(i)) for i in range(2000)])
    assert np.median(draws) == pytest.approx(density.median(), rel=0.1)


def test_what_is_no_prior():
    for prior, words in ((lambda: LogNormal(0.0), "median"), (lambda: Gamma(1.0, -1.0), "rate")):
        with pytest.raises(ValueError, match=words):
            prior()
