"""Evidence from sums, against the density of a Gaussian of all rows."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from mercer.network.evidence import likeliest_lam, log_evidence

rng = np.random.default_rng(0)
PSI = rng.standard_normal((40, 6))
Y = PSI @ rng.standard_normal((6, 2)) + 0.5 * rng.standard_normal((40, 2))


def test_against_the_density():
    noise = np.array([0.01, 0.3, 2.0])
    found = log_evidence(PSI.T @ PSI, PSI.T @ Y, np.square(Y).sum(axis=0), 40.0, noise)
    wanted = []
    for nu in noise:
        S = PSI @ PSI.T + nu * np.eye(40)
        total = 0.0
        for y in Y.T:
            s = y @ np.linalg.solve(S, y) / 40
            total += multivariate_normal(np.zeros(40), s * S).logpdf(y)
        wanted.append(total)
    assert np.allclose(np.diff(found), np.diff(wanted))  # up to a constant


def test_the_offset_is_taken_out_and_penalties_count():
    weights = np.array([1.0, 4.0, 0.25, 1.0, 1.0, 9.0, 0.0])
    with_ones = np.column_stack([PSI, np.ones(40)])
    y = Y + 100.0
    sums = with_ones.T @ with_ones, with_ones.T @ y, np.square(y).sum(axis=0), 40.0
    found = likeliest_lam(*sums, weights)
    scaled = (PSI - PSI.mean(axis=0)) / np.sqrt(weights[:-1])
    centred = y - y.mean(axis=0)
    plain = scaled.T @ scaled, scaled.T @ centred, np.square(centred).sum(axis=0), 40.0
    assert found == pytest.approx(likeliest_lam(*plain, np.ones(6)), rel=1e-6)
    size = np.trace(plain[0]) / 40
    ratio = np.log10(found * 40 / size) * 4  # a step of the grid, and no neighbour is likelier
    assert ratio == pytest.approx(round(ratio), abs=1e-6)
    step = 10**0.25
    here, below, above = log_evidence(*plain, found * 40 * np.array([1, 1 / step, step]))
    assert here > max(below, above)


@pytest.mark.parametrize("y", [np.zeros((3, 1)), np.ones((3, 1))])
def test_targets_without_spread_choose_some_number(y):
    ones = np.ones((3, 1))
    sums = ones.T @ ones, ones.T @ y, np.square(y).sum(axis=0), 3.0
    assert 0 < likeliest_lam(*sums, np.zeros(1)) < np.inf
