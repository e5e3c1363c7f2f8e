"""Ten data sets and eight kernels, each with its twin in scikit-learn, and formulas written out."""

import numpy as np
import sklearn.gaussian_process.kernels as sk
from sklearn import datasets
from sklearn.gaussian_process import GaussianProcessRegressor

from mercer.kernels import Constant, Gaussian, Linear, Matern, Periodic, RationalQuadratic

ROWS = 120


def _standard(X, y, rows=ROWS):
    """A few rows and columns, each of mean 0 and variance 1."""
    keep = np.random.default_rng(0).permutation(len(X))[:rows]
    X, y = np.asarray(X, float)[keep][:, :8], np.asarray(y, float)[keep]
    X = X[:, X.std(axis=0) > 0]
    return (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean(axis=0)) / y.std(axis=0)


def _waves():
    x = np.sort(np.random.default_rng(1).uniform(0, 10, 150))
    return x[:, None], np.sin(x) + 0.3 * np.sin(5 * x) + 0.1 * np.random.default_rng(2).standard_normal(150)


def _repeated():
    X = np.repeat(np.random.default_rng(3).standard_normal((40, 2)), 3, axis=0)
    return X, X[:, 0] - X[:, 1] ** 2 + 0.2 * np.random.default_rng(4).standard_normal(120)


DATA = {
    "diabetes": datasets.load_diabetes(return_X_y=True),
    "iris": (datasets.load_iris().data[:, :3], datasets.load_iris().data[:, 3]),
    "wine": (datasets.load_wine().data[:, 1:], datasets.load_wine().data[:, 0]),
    "cancer": datasets.load_breast_cancer(return_X_y=True),
    "linnerud": (datasets.load_linnerud().data, datasets.load_linnerud().target),
    "digits": (datasets.load_digits().data[:, 18:26], datasets.load_digits().target),
    "friedman": datasets.make_friedman1(200, random_state=0),
    "friedman2": datasets.make_friedman2(200, random_state=0),
    "waves": _waves(),
    "repeated": _repeated(),
}
DATA = {name: _standard(*pair) for name, pair in DATA.items()}

ARD = np.array([1.0, 2.0, 0.7, 3.0, 1.5, 4.0, 2.5, 1.2])
# name: (ours, theirs, our names of the values of their theta, in its order), for d features.
KERNELS = {
    "gaussian": lambda d: (Gaussian(1.7), sk.RBF(1.7), ["sigma"]),
    "matern12": lambda d: (Matern(0.5, 2.0), sk.Matern(2.0, nu=0.5), ["sigma"]),
    "matern32": lambda d: (
        Matern(1.5, 1.0).scaled(ARD[:d]),
        sk.Matern(ARD[:d], nu=1.5),
        [f"lengths[{i}]" for i in range(d)],
    ),
    "matern52": lambda d: (
        2.5 * Matern(2.5, 1.3),
        sk.ConstantKernel(2.5) * sk.Matern(1.3, nu=2.5),
        ["factor", "kernel__sigma"],
    ),
    "rational": lambda d: (
        RationalQuadratic(0.8, 1.5),
        sk.RationalQuadratic(length_scale=1.5, alpha=0.8),
        ["alpha", "sigma"],
    ),
    "periodic": lambda d: (
        Periodic(2.0, 1.4) + 0.5 * Gaussian(3.0),
        sk.ExpSineSquared(1.4, 2.0) + sk.ConstantKernel(0.5) * sk.RBF(3.0),
        ["left__sigma", "left__period", "right__factor", "right__kernel__sigma"],
    ),
    "linear": lambda d: (
        Linear() + Constant(0.49),
        sk.DotProduct(0.7),
        None,
    ),
    "composite": lambda d: (
        0.7 * Gaussian(1.0).scaled(ARD[:d]) * Matern(1.5, 4.0) + RationalQuadratic(1.1, 2.0),
        sk.ConstantKernel(0.7) * sk.RBF(ARD[:d]) * sk.Matern(4.0, nu=1.5) + sk.RationalQuadratic(2.0, 1.1),
        ["left__left__factor"]
        + [f"left__left__kernel__lengths[{i}]" for i in range(d)]
        + ["left__right__sigma", "right__alpha", "right__sigma"],
    ),
}


def pair(name, X):
    """(X, our kernel, theirs, names)."""
    # scikit-learn's periodic kernel looks at the distance between points, ours at each coordinate: one here.
    X = X[:, :1] if name == "periodic" else X
    return X, *KERNELS[name](X.shape[1])


def peer(kernel, noise, X, y):
    """scikit-learn's machine with that noise."""
    return GaussianProcessRegressor(kernel, alpha=noise, optimizer=None).fit(X, y)


# -- formulas written out -----------------------------------------------------------------------------


def dense_posterior(K, D, y, cross, prior, offset):
    """(mean, covariance, yᵀPy, log det and what the offset adds) for covariance K + diag(D) of y."""
    G = K + np.diag(D)
    inverse = np.linalg.inv(G)
    one = np.ones(len(G))
    P, log_det, b, extra = inverse, np.linalg.slogdet(G)[1], np.zeros(y.shape[1]), 0.0
    if offset:
        total = one @ inverse @ one
        P = inverse - np.outer(inverse @ one, one @ inverse) / total
        b = one @ inverse @ y / total
        left = 1 - cross @ inverse @ one
        extra = np.outer(left, left) / total
        log_det += np.log(total)
    mean = cross @ P @ y + b
    # P y = G⁻¹(y − b)
    return mean, prior - cross @ inverse @ cross.T + extra, np.einsum("ij,ij->j", y, P @ y), log_det


def differences(function, theta, h=1e-5):
    """Central differences."""
    steps = h * np.eye(len(theta))
    return np.array([(function(theta + e) - function(theta - e)) / (2 * h) for e in steps])
