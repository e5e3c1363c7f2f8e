"""scikit-learn-intelex: its SVC, its kernel matrix, its linear machines on scikit-learn's Nyström features.

It has no kernel ridge and no Nyström features of its own. Its neighbours have no counterpart in Mercer yet.
"""

import numpy as np

from benchmarks.peers import missing
from benchmarks.peers.scikit_learn import _BLOCK, _features

name = "scikit-learn-intelex"


def available():
    return missing("sklearnex")


def _threads():
    """oneDAL has threads of its own, which know nothing of OMP_NUM_THREADS."""
    from daal4py import daalinit

    from mercer._threads import cpu_count

    daalinit(cpu_count())


def product(X, Z, V, sigma):
    _threads()
    from onedal.primitives import rbf_kernel

    gamma, height = 0.5 / sigma**2, max(_BLOCK // len(Z), 1)
    out = np.empty((len(X), *V.shape[1:]), X.dtype)

    def run():
        for i in range(0, len(X), height):
            out[i : i + height] = rbf_kernel(X[i : i + height], Z, gamma=gamma) @ V
        return out

    return run


def nystrom_ridge(m, sigma, lam, n):
    _threads()
    from sklearnex.linear_model import Ridge

    return _features(m, sigma, Ridge(alpha=lam * n, fit_intercept=False))


def nystrom_logistic(m, sigma, lam, n):
    _threads()
    from sklearnex.linear_model import LogisticRegression

    return _features(m, sigma, LogisticRegression(C=1 / (2 * lam * n), max_iter=1000))


def svc(C, gamma, tol):
    _threads()
    from sklearnex.svm import SVC

    return SVC(C=C, gamma=gamma, tol=tol)
