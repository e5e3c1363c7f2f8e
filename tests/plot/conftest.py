"""Examples that many figures are drawn from."""

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")


@pytest.fixture
def line():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 6, (40, 1))
    return X, np.sin(X[:, 0]) + 0.1 * rng.standard_normal(40)


@pytest.fixture
def plane():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(c, 0.4, (20, 2)) for c in ((0, 0), (2, 0), (0, 2))])
    return X, np.repeat(["a", "b", "c"], 20)
