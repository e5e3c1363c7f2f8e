"""strkernels: compiled, on all cores, pair by pair; what a string has is counted anew for every pair of it.

Its kernels are blended: they add up all lengths up to the one given. Weights of degrees are whole numbers.
"""

from benchmarks.peers import missing

name = "strkernels"


def available():
    return missing("strkernels")


def _blended_subsequence(X, length, decay):
    from strkernels import SubsequenceStringKernel

    kernel = SubsequenceStringKernel(normalizer=None, maxlen=length, ssk_lambda=decay)
    return lambda: kernel(X, X)


def _blended_spectrum(X, length):
    from strkernels import SpectrumStringKernel

    kernel = SpectrumStringKernel(normalizer=None, order=length)
    return lambda: kernel(X, X)


def _weighted_degree(X, degree):
    from strkernels import WeightedDegreeStringKernel

    kernel = WeightedDegreeStringKernel(normalizer=None, degree=degree)
    return lambda: kernel(X, X) / (degree * (degree + 1) / 2)


string_grams = {
    "blended subsequence": _blended_subsequence,
    "blended spectrum": _blended_spectrum,
    "weighted degree": _weighted_degree,
}
