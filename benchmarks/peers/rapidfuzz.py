"""RapidFuzz: edits of all pairs, compiled, on all cores, 64 letters at a time as bits of a number."""

import numpy as np

from benchmarks.peers import missing

name = "RapidFuzz"


def available():
    return missing("rapidfuzz")


def _edits(X, width):
    from rapidfuzz import process
    from rapidfuzz.distance import Levenshtein

    def run():
        edits = process.cdist(X, X, scorer=Levenshtein.distance, dtype=np.float64, workers=-1)
        return np.exp(edits / -width)

    return run


string_grams = {"edits": _edits}
