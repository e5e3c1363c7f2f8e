"""scikit-learn: kernel matrices in blocks, Nyström features with linear machines, exact kernel ridge, SVC.

The spectrum kernel is made of its sparse counts of substrings.
"""

import numpy as np

from benchmarks.peers import missing

name = "scikit-learn"
_BLOCK = 1 << 24  # entries of a block of K: whole rows, about 64 MB in float32


def available():
    return missing("sklearn")


def product(X, Z, V, sigma):
    from sklearn.metrics.pairwise import rbf_kernel

    gamma, height = 0.5 / sigma**2, max(_BLOCK // len(Z), 1)
    out = np.empty((len(X), *V.shape[1:]), X.dtype)

    def run():
        for i in range(0, len(X), height):
            out[i : i + height] = rbf_kernel(X[i : i + height], Z, gamma=gamma) @ V
        return out

    return run


def exact_ridge(sigma, lam, n):
    from sklearn.kernel_ridge import KernelRidge

    return KernelRidge(alpha=lam * n, kernel="rbf", gamma=0.5 / sigma**2)


def nystrom_ridge(m, sigma, lam, n):
    from sklearn.linear_model import Ridge

    return _features(m, sigma, Ridge(alpha=lam * n, fit_intercept=False))


def nystrom_logistic(m, sigma, lam, n):
    from sklearn.linear_model import LogisticRegression

    return _features(m, sigma, LogisticRegression(C=1 / (2 * lam * n), max_iter=1000))


def svc(C, gamma, tol):
    """LIBSVM, with the cache of 200 MB that it has unless told otherwise."""
    from sklearn.svm import SVC

    return SVC(C=C, gamma=gamma, tol=tol)


def _spectrum(X, length, shortest=None):
    from sklearn.feature_extraction.text import CountVectorizer

    counting = CountVectorizer(
        analyzer="char", ngram_range=(shortest or length, length), lowercase=False, dtype=np.float64
    )

    def run():
        features = counting.fit_transform(X)
        return (features @ features.T).toarray()

    return run


string_grams = {"spectrum": _spectrum, "blended spectrum": lambda X, length: _spectrum(X, length, 1)}


def _features(m, sigma, machine):
    from sklearn.kernel_approximation import Nystroem
    from sklearn.pipeline import make_pipeline

    return make_pipeline(Nystroem(gamma=0.5 / sigma**2, n_components=m, random_state=0), machine)
