"""How long one prediction takes: a row, or a hundred, asked for again and again."""

from __future__ import annotations

from benchmarks.harness import measure
from benchmarks.table import count, number, ratio, text, times

TITLE = "Predicting a few rows at a time: milliseconds a call, d = 10"
NOTE = (
    "Medians of 400 calls of `predict` on float64 rows, Mercer's and scikit-learn's taking turns in one "
    "process after 20 calls each; “function” is the fitted function alone, without the machine's checks of "
    "its input. Both ridges have the same terms, both SVCs are fitted to the same rows, with C = 1."
)
COLUMNS = (
    text("machine", "who"),
    count("terms", "terms"),
    count("rows", "rows"),
    number("Mercer, ms", "ours", ".3f"),
    number("function, ms", "function", ".3f"),
    number("scikit-learn, ms", "theirs", ".3f"),
    times("Mercer is faster"),
)
RIDGE = """
import numpy as np
from benchmarks.data import ridge
from mercer import KernelRidge
from mercer.kernels import Gaussian
from sklearn.kernel_ridge import KernelRidge as Theirs
X, y = ridge({n}, 10)[:2]
ours = KernelRidge(Gaussian(10**0.5), lam=1e-4).fit(X, y)
theirs = Theirs(alpha=1e-4 * {n}, kernel="rbf", gamma=0.05).fit(X[:200], y[:200])
theirs.X_fit_, theirs.dual_coef_ = X, np.asarray(ours.function_.coef)
terms = len(ours.function_)
"""
SVC = """
import numpy as np
from benchmarks.data import labels
from mercer import KernelSVC
from mercer.kernels import Gaussian
from sklearn.svm import SVC as Theirs
X, y = labels({n}, d=10)[:2]
ours = KernelSVC(Gaussian(10**0.5), lam=1 / (2 * {n})).fit(X, y)
theirs = Theirs(C=1.0, kernel="rbf", gamma=0.05).fit(X, y)
terms = len(ours.function_)
"""
ASK = """
import time
few = np.random.default_rng(5).standard_normal((400, {rows}, 10))
def median(*calls):
    found = [[] for _ in calls]
    for turn in range(-20, {repeat}):
        for call, seconds in zip(calls, found):
            row = few[turn]
            start = time.perf_counter()
            call(row)
            if turn >= 0:
                seconds.append(time.perf_counter() - start)
    return [float(1e3 * np.median(s)) for s in found]
"""
STATEMENT = "ms = median(ours.predict, ours.function_, theirs.predict)"
REPORT = "extra.update(ours=ms[0], function=ms[1], theirs=ms[2], terms=terms)"
# what, examples, rows at a time
CASES = (
    ("ridge", RIDGE, 1_000, 1),
    ("ridge", RIDGE, 10_000, 1),
    ("ridge", RIDGE, 1_000, 100),
    ("ridge", RIDGE, 10_000, 100),
    ("SVC", SVC, 1_000, 1),
    ("SVC", SVC, 10_000, 1),
    ("SVC", SVC, 10_000, 100),
)


def run(quick: bool, limits: dict):
    for who, setup, n, rows in CASES:
        n = n // 10 if quick else n
        script = setup.format(n=n) + ASK.format(rows=rows, repeat=40 if quick else 400)
        record = {"who": who, "rows": rows, **measure(script, STATEMENT, report=REPORT).record()}
        if "ours" in record:
            record["ratio"] = ratio(record["theirs"], record["ours"])
        yield record
