"""strkernel: written in Python. A trie for mismatches, features of a spectrum letter by letter.

It numbers the letters of each string for itself, so that mismatches are right only where all letters of the
alphabet are in every string, and cuts strings to the length of the shortest: both are nothing for random DNA.
"""

from benchmarks.peers import missing

name = "strkernel"


def available():
    return missing("strkernel", "Bio")


def _mismatch(X, length, mismatches):
    from strkernel.mismatch_kernel import MismatchKernel, preprocess

    numbers = preprocess(X)
    return lambda: MismatchKernel(l=4, k=length, m=mismatches).get_kernel(numbers, normalize=False).kernel


def _spectrum(X, length):
    from strkernel.gappy_kernel import gappypair_kernel

    def run():
        features = gappypair_kernel(X, length)
        return (features @ features.T).toarray()

    return run


string_grams = {"mismatch": _mismatch, "spectrum": _spectrum}
