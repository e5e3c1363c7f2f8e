"""Support vector classification: Mercer beside LIBSVM (scikit-learn) and oneDAL (scikit-learn-intelex)."""

from __future__ import annotations

from statistics import median

from benchmarks import peers, real
from benchmarks.harness import Measured, measure
from benchmarks.table import count, megabytes, number, ratio, seconds, text, times

TITLE = "SVM: Gaussian kernel, C = 1, gamma = 1/(d Var X), tol 1e-3, one machine a pair of classes"
NOTE = (
    "All have the same rows, C, gamma and tolerance (LIBSVM's: the largest violation of the optimality "
    "conditions), and were fitted on 2,500 rows before, so that compiling and loading isn't in the times. "
    "“Faster” is against the faster of Mercer's float64 rows. scikit-learn has its usual cache of 200 MB "
    "and one thread, which is all LIBSVM has. a9a is given to each in the format that suits it, to Mercer "
    "in both. Extra MB is of the fit. The last rows are medians of the ratios over the data sets."
)
COLUMNS = (
    text("data", "case"),
    count("n", "n"),
    count("d", "d"),
    text("", "who"),
    text("given", "form"),
    seconds("fit s"),
    times("Mercer is faster"),
    number("predict s", "predict", ".3g"),
    times("Mercer predicts faster", "predict_ratio"),
    number("test accuracy", "accuracy", ".4f"),
    count("support vectors", "support"),
    megabytes(),
)
# name, training rows, test rows, how often a fit is timed (peers need minutes for the last two)
CASES = (
    ("noisy", 10_000, 5_000, 3),
    ("noisy", 20_000, 5_000, 2),
    ("a9a", 32_561, 16_281, 1),
    ("letter", 15_000, 5_000, 2),
    ("covtype", 50_000, 10_000, 1),
    ("MNIST", 20_000, 10_000, 1),
)
# What each is given: dtype, and whether zeros are left out.
FORMS = {
    "ours": (("float64", False), ("float32", False)),
    "scikit_learn": (("float64", False),),
    "intelex": (("float64", False),),
}
SPARSE_FORMS = {
    "ours": (("float64", True), ("float64", False), ("float32", False)),
    "scikit_learn": (("float64", True),),
    "intelex": (("float64", True),),
}
TIMEOUT = 3600
SETUP = """
import numpy as np
from benchmarks import peers, real
X, y, T, u = real.classes({case!r}, {n}, {test}, {dtype!r})
gamma = real.scale(X)
if not {sparse} and hasattr(X, "toarray"):
    X, T = X.toarray(), T.toarray()
machine = peers.load({key!r}).svc(1.0, gamma, 1e-3)
machine.fit(X[:2500], y[:2500]).predict(T[:500])  # small fits may take another way, and compile less
"""
REPORT = """
start = time.perf_counter()
labels = machine.predict(T)
extra["predict"] = time.perf_counter() - start
extra["median"] = sorted(times)[len(times) // 2]
extra["accuracy"] = float(np.mean(labels == u))
extra["support"] = len(machine.support_)
extra["d"] = X.shape[1]
"""


def run(quick: bool, limits: dict):
    ratios: dict[str, list[tuple[float | None, float | None]]] = {}
    for case, n, test, repeat in CASES:
        if quick:
            n, test, repeat = n // 20, test // 20, 1
        if reason := real.missing(case):
            yield {"case": case, "n": n, "failure": reason}
            continue
        best = Measured()  # the fastest of Mercer's float64 fits
        forms = SPARSE_FORMS if case == "a9a" else FORMS
        for key in peers.with_objective("svc"):
            peer = peers.load(key)
            for dtype, sparse in forms[key]:
                given = f"{dtype}, {'CSR' if sparse else 'dense'}"
                record = {"case": case, "n": n, "who": peer.name, "key": key, "form": given}
                if reason := peer.available():
                    yield record | {"failure": reason}
                    break
                setup = SETUP.format(case=case, n=n, test=test, dtype=dtype, sparse=sparse, key=key)
                found = measure(setup, "machine.fit(X, y)", repeat=repeat, report=REPORT, timeout=TIMEOUT)
                record |= found.record()
                if key != "ours":
                    pair = ratio(found.seconds, best.seconds), _predict_ratio(found, best)
                    record["ratio"], record["predict_ratio"] = pair
                    ratios.setdefault(key, []).append(pair)
                elif dtype == "float64" and not (found.failure or found.seconds >= best.seconds):
                    best = found
                yield record
    for key, pairs in ratios.items():
        record = {"case": "median", "who": peers.load(key).name, "key": key}
        for name, values in zip(("ratio", "predict_ratio"), zip(*pairs)):
            known = [value for value in values if value is not None]
            record[name] = median(known) if known else None
        yield record


def _predict_ratio(found: Measured, best: Measured) -> float | None:
    return ratio(found.extra.get("predict"), best.extra.get("predict"))
