"""Claims about rows that live elsewhere against minima found without the library, in long double."""

from dataclasses import replace

import numpy as np
import pytest

import certified
from mercer.rows import ArrayRows

pytestmark = pytest.mark.usefixtures("small_samples")


def fitted(machine, X, y, w):
    return machine.fit(ArrayRows(X, y, w, rows=max(len(X) // 3, 1)))


def drawn(seed):
    """A case at random, to be solved where its rows are."""
    rng = np.random.default_rng(seed)
    while True:
        case = certified.draw(rng)
        if case.representation in ("nystrom", "explicit", "random"):
            return replace(case, solver="passes", lam=max(case.lam, 1e-6), n=case.n + 40 * (case.n > 30))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("block", range(4))
def test_random_problems(block):
    # The first ones: the problem of a window is solved before it begins, or its objective is negative.
    for seed in ([121], [238], [], [])[block] + [*range(8 * block, 8 * block + 8)]:
        case = drawn(seed)
        assert certified.check(case, fitted) == [], case
