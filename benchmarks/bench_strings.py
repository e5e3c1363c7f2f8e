"""Kernels on strings: Gram matrices of random DNA, beside a plain dynamic programme in NumPy."""

from __future__ import annotations

from benchmarks.harness import measure
from benchmarks.table import count, megabytes, number, ratio, seconds, text, times

TITLE = "Kernels on strings: Gram matrices of DNA, 60 letters each"
NOTE = (
    "Letters drawn uniformly from ACGT. The subsequence kernel has length 4 and decay 0.5. “Plain NumPy” "
    "fills the same tables pair by pair, a row of one at a time, for half of the pairs; it is timed on 60 "
    "strings, and its seconds are those of all, in proportion to the pairs. “Faster” is Mercer against it. "
    "The check is the largest difference between both on 10 strings, relative to the largest value; that of "
    "the spectrum kernel is against counting substrings in Python. Code was compiled before."
)
COLUMNS = (
    text("kernel", "kernel"),
    count("n", "n"),
    text("", "who"),
    seconds(),
    times("Mercer is faster"),
    number("µs a pair", "pair", ".3g", 1e6),
    megabytes(),
    number("check", "check", ".0e"),
)
SETUP = """
import numpy as np
from collections import Counter
from mercer.kernels import EditDistance, Spectrum, Subsequence
rng = np.random.default_rng(0)
X = ["".join(rng.choice(list("ACGT"), 60)) for _ in range({n})]

def plain(strings, length, decay):
    codes = [np.frombuffer(s.encode(), np.uint8) for s in strings]
    K = np.zeros((len(codes), len(codes)))
    for i, x in enumerate(codes):
        for j, z in enumerate(codes[: i + 1]):
            K[i, j] = K[j, i] = plain_pair(x, z, length, decay)
    return K

def plain_pair(x, z, length, decay):
    powers = decay ** np.arange(len(z))
    same = x[:, None] == z[None, :]
    M = same * decay**2
    for _ in range(length - 1):
        D, out = np.zeros(len(z)), np.zeros(M.shape)
        for i in range(len(x)):
            out[i, 1:] = np.where(same[i, 1:], D[:-1] * decay**2, 0)
            D = decay * D + np.cumsum(M[i] / powers) * powers
        M = out
    return M.sum()

def counted(strings, length):
    C = [Counter(s[i : i + length] for i in range(len(s) - length + 1)) for s in strings]
    return np.array([[sum(a[u] * b[u] for u in a) for b in C] for a in C], float)
"""
CHECK = """
wanted = {reference}
extra["check"] = float(np.abs(kernel(X[:10]) - wanted).max() / wanted.max())
"""
# kernel, strings, what its values are compared with
CASES = (
    ("Subsequence(4, 0.5)", 1_000, "plain(X[:10], 4, 0.5)"),
    ("Subsequence(4, 0.5).normalize()", 1_000, None),
    ("EditDistance(5.0)", 1_000, None),
    ("Spectrum(3)", 5_000, "counted(X[:10], 3)"),
    ("Spectrum(6)", 5_000, "counted(X[:10], 6)"),
)


def run(quick: bool, limits: dict):
    for name, strings, reference in CASES:
        n = strings // 10 if quick else strings
        setup = SETUP.format(n=n) + f"kernel = {name}\nkernel(X[:20])\n"
        report = CHECK.format(reference=reference) if reference else ""
        ours = measure(setup, "K = kernel(X)", repeat=3, report=report)
        yield _record(name, n, "Mercer", ours)
        if name == CASES[0][0]:
            few = min(n, 60)
            found = measure(SETUP.format(n=few), "K = plain(X, 4, 0.5)", timeout=1800)
            record = _record(name, n, "plain NumPy", found, n * (n + 1) / (few * (few + 1)))
            yield record | {"ratio": ratio(record.get("seconds"), ours.seconds)}


def _record(name: str, n: int, who: str, found, scale: float = 1.0) -> dict:
    record = {"kernel": name, "n": n, "who": who, **found.record()}
    if "seconds" in record:
        record["seconds"] *= scale
        record["pair"] = record["seconds"] * 2 / (n * (n + 1))
    return record
