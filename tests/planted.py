"""Problems of which it is known what finds them best: turned features, features of their own, steps."""

import numpy as np

NOISE = 0.05
D = 6
# Where the function looks, across all coordinates.
DIRECTION = np.array([3.0, -2.0, 2.0, 1.0, -3.0, 2.0]) / np.sqrt(31)


def rotated(n, seed):
    """g(uᵀx): a wave along one direction."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, D))
    return X, (np.sin(1.7 * X @ DIRECTION) + NOISE * rng.standard_normal(n))[:, None]


def straight(n, seed):
    """One coordinate matters much, another a little, and the others are of no use."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, D))
    return X, (np.sin(3 * X[:, 0]) + 0.5 * X[:, 1] + NOISE * rng.standard_normal(n))[:, None]


def steps(n, seed):
    """Steps, of coordinates with long tails."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, D))
    f = 2.0 * (X[:, 0] > 0.3) * (X[:, 1] > -0.5) + (X[:, 2] > 0.7) * (X[:, 0] < 0.3) - 1.5 * (X[:, 1] < -1)
    return X**3, (f + NOISE * rng.standard_normal(n))[:, None]
