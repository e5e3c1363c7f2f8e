"""Kernel k-means: seconds and memory beside plain NumPy, and clusters beside the classes of real data."""

from __future__ import annotations

import numpy as np

from benchmarks import real
from benchmarks.harness import measure
from benchmarks.table import count, megabytes, number, ratio, seconds, text, times

TITLE = "Kernel k-means, ten clusters"
NOTE = (
    "Mixtures: ten overlapping normal clouds in ten dimensions, Gaussian kernel with σ = √10, one start at "
    "the same ten points, until no point moves. “NumPy” keeps K and multiplies it with the memberships in "
    "every iteration. Extra MB is of the fit. Digits (scikit-learn's) and USPS (training rows): all start "
    "ten times and keep the run of least energy; the adjusted Rand index compares clusters with the true "
    "classes, and is the mean over three seeds. σ is the median distance, or half of it. Neighbours: the "
    "graph that joins each point to its ten nearest, as a precomputed matrix; making it isn't in the time."
)
COLUMNS = (
    text("data", "case"),
    count("n", "n"),
    count("d", "d"),
    text("", "who"),
    text("given", "form"),
    seconds("fit s"),
    times("Mercer is faster"),
    count("iterations", "iterations"),
    number("energy", "energy", ".6g"),
    number("adjusted Rand index", "index", ".3f"),
    megabytes(),
)
# rows, who, dtype, representation, how often the fit is timed
MIXTURES = (
    (10_000, "ours", "float64", "full", 3),
    (10_000, "ours", "float32", "full", 3),
    (10_000, "plain", "float64", "full", 2),
    (10_000, "plain", "float32", "full", 2),
    (100_000, "ours", "float32", "full", 1),
    (100_000, "ours", "float64", "full", 1),
    (100_000, "ours", "float32", "nystrom", 1),
    (1_000_000, "ours", "float32", "nystrom", 1),
    (1_000_000, "ours", "float32", "linear", 1),
    (1_000_000, "scikit_learn", "float32", "linear", 1),
)
NAMES = {"ours": "Mercer", "plain": "NumPy", "scikit_learn": "scikit-learn KMeans"}
MIXTURE = """
from benchmarks.bench_clustering import machine_of, mixture
X = mixture({n}).astype({dtype!r})
make = lambda n: machine_of({who!r}, {representation!r}, n)
few = X[:3000]
make(len(few)).fit(few)  # compiles
"""
SEEDS = 3
MACHINES = {
    "k-means": "scikit-learn KMeans",
    "linear": "Mercer, linear kernel",
    "gaussian": "Mercer, Gaussian kernel",
    "half": "Mercer, Gaussian kernel, σ/2",
    "normalized": "Mercer, Gaussian kernel, σ/2, normalised cut",
    "neighbours": "Mercer, neighbours, normalised cut",
}
REAL = """
from benchmarks.bench_clustering import index, points, prepared
X, y = points({case!r}, {rows}, {key!r})
fit = prepared({key!r}, X)
few = X[:300, :300] if len(X) == X.shape[1] else X[:300]
fit(few, 0)  # compiles
"""


def run(quick: bool, limits: dict):
    found: dict[tuple[int, str], float] = {}
    for n, who, dtype, representation, repeat in MIXTURES:
        n = n // 50 if quick else n
        setup = MIXTURE.format(n=n, who=who, dtype=dtype, representation=representation)
        report = "extra.update(iterations=machine.n_iter_, energy=float(machine.inertia_), d=X.shape[1])"
        one = measure(setup, f"machine = make({n}).fit(X)", repeat=repeat, report=report, timeout=1800)
        form = f"{dtype}, {representation}"
        record = {"case": "mixture", "n": n, "who": NAMES[who], "key": who, "form": form} | one.record()
        if who == "ours":
            found[n, form] = one.seconds
        elif (n, form) in found:
            record["ratio"] = ratio(one.seconds, found[n, form])
        yield record
    for case in ("digits", "USPS"):
        if reason := real.missing(case):
            yield {"case": case, "failure": reason}
            continue
        for key, name in MACHINES.items():
            setup = REAL.format(case=case, rows=500 if quick else 10_000, key=key)
            seeds = 1 if quick else SEEDS
            report = f"extra.update(index=index(fit, X, y, {seeds}), n=len(y), d=X.shape[1])"
            one = measure(setup, "fit(X, 0)", report=report, timeout=1800)
            yield {"case": case, "who": name, "key": key} | one.record()


# -- in the process that is measured ---------------------------------------------------------------------


def mixture(n: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    centres = 1.5 * rng.standard_normal((10, 10))
    return centres[rng.integers(10, size=n)] + rng.standard_normal((n, 10))


def machine_of(who: str, representation: str, n: int):
    """An unfitted machine that starts at ten of n points, the same ones for all."""
    start = np.random.default_rng(1).choice(n, 10, replace=False)
    if who == "plain":
        return Plain(start, 10**0.5)
    if who == "scikit_learn":
        return FromPoints(start)
    from mercer import KernelKMeans
    from mercer.kernels import Gaussian, Linear

    kernel = Linear() if representation == "linear" else Gaussian(10**0.5)
    return KernelKMeans(
        kernel,
        10,
        init=start,
        tol=0,
        representation="auto" if representation == "linear" else representation,
        random_state=0,
    )


class Plain:
    """Kernel k-means as one would write it in NumPy."""

    def __init__(self, start: np.ndarray, sigma: float):
        self.start, self.sigma = start, sigma

    def fit(self, X: np.ndarray) -> Plain:
        n, k = len(X), len(self.start)
        squares = np.square(X).sum(axis=1)
        K = X @ X.T
        K *= 2
        K -= squares[:, None]
        K -= squares
        K /= 2 * self.sigma**2
        np.exp(K, out=K)
        labels = K[:, self.start].argmax(axis=1)
        for self.n_iter_ in range(1, 301):
            W = np.zeros((n, k), K.dtype)
            W[np.arange(n), labels] = 1
            W /= W.sum(axis=0)
            S = K @ W
            D = 1 - 2 * S + (W * S).sum(axis=0)
            fresh = D.argmin(axis=1)
            if (fresh == labels).all():
                break
            labels = fresh
        self.inertia_ = D.min(axis=1).sum()
        return self


class FromPoints:
    """scikit-learn's k-means, from ten of the points."""

    def __init__(self, start: np.ndarray):
        self.start = start

    def fit(self, X: np.ndarray) -> FromPoints:
        from sklearn.cluster import KMeans

        machine = KMeans(10, init=X[self.start], n_init=1, tol=0, max_iter=300).fit(X)
        self.n_iter_, self.inertia_ = machine.n_iter_, machine.inertia_
        return self


def points(case: str, rows: int, key: str) -> tuple[np.ndarray, np.ndarray]:
    """Points or, for neighbours, the graph; and the classes."""
    from sklearn.datasets import load_digits
    from sklearn.neighbors import kneighbors_graph

    if case == "USPS":
        X, y, _, _ = real.classes(case, rows, 1)
    else:
        X, y = load_digits(return_X_y=True)
        X, y = X[:rows] / 16, y[:rows]
    if key == "neighbours":
        graph = kneighbors_graph(X, 10, include_self=True).toarray()
        X = (graph + graph.T) / 2
    return X, y


def prepared(key: str, X: np.ndarray):
    """fit(X, seed) → a fitted machine"""
    from sklearn.cluster import KMeans

    from mercer import KernelKMeans
    from mercer.kernels import Gaussian, Linear, Precomputed

    if key == "k-means":
        return lambda X, seed: KMeans(10, n_init=10, random_state=seed).fit(X)
    sigma = Gaussian().resolve(X).sigma
    known = {"linear": Linear(), "gaussian": Gaussian(sigma), "neighbours": Precomputed()}
    kernel = known.get(key, Gaussian(sigma / 2))
    cut = key in ("normalized", "neighbours")
    return lambda X, seed: KernelKMeans(kernel, 10, n_init=10, normalized=cut, random_state=seed).fit(X)


def index(fit, X: np.ndarray, y: np.ndarray, seeds: int) -> float:
    """The mean adjusted Rand index."""
    from sklearn.metrics import adjusted_rand_score

    return float(np.mean([adjusted_rand_score(y, fit(X, seed).labels_) for seed in range(seeds)]))
