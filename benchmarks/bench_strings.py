"""Kernels on strings: Gram matrices of random DNA, beside packages that have the same ones."""

from __future__ import annotations

from typing import NamedTuple

from benchmarks import peers
from benchmarks.harness import Measured, measure
from benchmarks.table import count, megabytes, number, ratio, seconds, text, times

TITLE = "Kernels on strings: Gram matrices of DNA, 60 letters each"
NOTE = (
    "Letters drawn uniformly from ACGT, the same for all. Code was compiled before; times are the best of "
    "three, of peers the best of two. “Strings” is how many were timed: where it is less than n, a programme "
    "goes pair by pair, and its seconds are those of n strings, in proportion to the pairs. “Plain NumPy” "
    "fills the same tables a row at a time. The check is the largest difference from Mercer's values on the "
    "first 10 strings, relative to the largest of them. It is missing where definitions differ: parasail has "
    "the score of the best alignment, LocalAlignment(log=True) a smooth maximum over all of them. strkernels "
    "adds up all lengths up to the one given, and so it stands beside blended kernels. Peers that aren't "
    "installed are left out."
)
COLUMNS = (
    text("kernel", "kernel"),
    count("n", "n"),
    text("", "who"),
    count("strings", "strings"),
    seconds(),
    times("Mercer is faster"),
    number("µs a pair", "pair", ".3g", 1e6),
    megabytes(),
    number("check", "check", ".0e"),
)
SETUP = """
import numpy as np
from benchmarks import peers
from mercer.kernels import EditDistance, LocalAlignment, Mismatch, Spectrum, Subsequence, WeightedDegree
rng = np.random.default_rng(0)
X = ["".join(rng.choice(list("ACGT"), 60)) for _ in range({n})]
scores = 3.0 * np.eye(4) - 1.0
kernel = {kernel}
"""
CHECK = """
wanted = kernel(X[:10])
extra["check"] = float(np.abs(K[:10, :10] - wanted).max() / wanted.max())
"""


class Case(NamedTuple):
    key: str  # what peers call it
    kernel: str
    parameters: tuple  # as peers take them
    n: int


CASES = (
    Case("subsequence", "Subsequence(4, 0.5)", (4, 0.5), 1_000),
    Case("blended subsequence", "Subsequence(4, 0.5, blended=True)", (4, 0.5), 1_000),
    Case("normalised subsequence", "Subsequence(4, 0.5).normalize()", (4, 0.5), 1_000),
    Case("spectrum", "Spectrum(3)", (3,), 5_000),
    Case("spectrum", "Spectrum(6)", (6,), 5_000),
    Case("blended spectrum", "Spectrum(5, blended=True)", (5,), 5_000),
    Case("mismatch", 'Mismatch(5, 1, alphabet="ACGT")', (5, 1), 500),
    Case("weighted degree", "WeightedDegree(8)", (8,), 1_000),
    Case("edits", "EditDistance(5.0)", (5.0,), 1_000),
    Case("alignment", 'LocalAlignment(scores, "ACGT", 3.0, 1.0)', (), 1_000),
    Case("best alignment", 'LocalAlignment(scores, "ACGT", 3.0, 1.0, log=True)', (2, -1, 3, 1), 1_000),
)
# (peer, kernel): how many strings are enough for those that go pair by pair, and would take an hour
FEW = {("plain", "subsequence"): 60, ("strkernels", "blended spectrum"): 100}
DIFFERENT = {"best alignment"}


def run(quick: bool, limits: dict):
    for case in CASES:
        n = case.n // 10 if quick else case.n
        setup = SETUP.format(n=n, kernel=case.kernel) + "kernel(X[:20])\n"
        ours = measure(setup, "K = kernel(X)", repeat=3)
        yield _record(case, n, n, ours) | {"who": "Mercer", "key": "ours"}
        for key in peers.with_objective("string_grams"):
            peer = peers.load(key)
            if case.key in peer.string_grams and peer.available() is None:
                strings = min(n, FEW.get((key, case.key), n))
                record = _record(case, n, strings, _theirs(key, case, strings))
                record["ratio"] = ratio(record.get("seconds"), ours.seconds)
                yield record | {"who": peer.name, "key": key}


def _theirs(key: str, case: Case, strings: int) -> Measured:
    gram = f"gram = peers.load({key!r}).string_grams[{case.key!r}](X, *{case.parameters!r})\n"
    return measure(
        SETUP.format(n=strings, kernel=case.kernel) + gram,
        "K = gram()",
        repeat=1 if (key, case.key) in FEW else 2,
        report="" if case.key in DIFFERENT else CHECK,
        timeout=1800,
    )


def _record(case: Case, n: int, strings: int, found: Measured) -> dict:
    record = {"kernel": case.kernel, "n": n, "strings": strings, **found.record()}
    if "seconds" in record:
        record["seconds"] *= n * (n + 1) / (strings * (strings + 1))
        record["pair"] = record["seconds"] * 2 / (n * (n + 1))
    return record
