"""parasail: the score of the best local alignment, compiled, one pair at a time, on one core."""

import numpy as np

from benchmarks.peers import missing

name = "parasail"


def available():
    return missing("parasail")


def _best_alignment(X, same, different, opening, extension):
    import parasail

    scores = parasail.matrix_create("ACGT", same, different)

    def run():
        K = np.zeros((len(X), len(X)))
        for i, x in enumerate(X):
            profile = parasail.profile_create_16(x, scores)
            for j in range(i + 1):
                found = parasail.sw_striped_profile_16(profile, X[j], opening, extension)
                K[i, j] = K[j, i] = found.score
        return K

    return run


string_grams = {"best alignment": _best_alignment}
