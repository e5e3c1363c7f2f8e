"""Updates a second of online machines, in batches and one by one, beside NumPy and river."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness import measure
from benchmarks.table import count, megabytes, number, ratio, text, times

TITLE = "Online: updates a second, 500 terms, d = 20"
NOTE = (
    "Twenty normal features, two classes, Gaussian kernel. “Batches”: partial_fit with 1,000 rows at a time; "
    "“one by one”: learn_one with a dict. The budget is full before the clock starts. “NumPy” is the same "
    "policy written with NumPy, a row of the kernel a step, arrays of fixed size. river: "
    "feature_extraction.RBFSampler(500) | LogisticRegression(), and a Hoeffding tree. Extra MB is beyond "
    "what was there when the clock started. The last rows are the first and the last tenth of a million "
    "examples in one run."
)
COLUMNS = (
    text("policy", "policy"),
    text("", "who"),
    text("dtype", "dtype"),
    number("updates/s", "rate", ",.0f"),
    times("Mercer is faster"),
    number("mistakes", "mistakes", ".3f"),
    count("changed f", "updates"),
    megabytes(),
)
POLICIES = ("oldest", "smallest", "at random", "window", "Forgetron", "merge", "projection", "features")
WARM, TIMED = 3_000, 60_000
SETUP = """
from benchmarks.bench_online import batches, data, machine_of, one_by_one, plain
X, y = data({n}, {dtype!r})
"""


def run(quick: bool, limits: dict):
    share = 20 if quick else 1
    found: dict[tuple[str, str], float] = {}
    for dtype in ("float32", "float64"):
        for policy in POLICIES:
            n = TIMED // share
            one = _measured(policy, dtype, n, "batches(machine, X[3000:], y[3000:])", repeat=3)
            found[policy, dtype] = one.get("rate", float("nan"))
            yield {"policy": policy, "who": "Mercer, batches", "dtype": dtype} | one
    for policy in POLICIES:
        n = 10_000 // share
        one = _measured(policy, "float64", n, "one_by_one(machine, rows, labels)", rows=True)
        yield {"policy": policy, "who": "Mercer, one by one", "dtype": "float64"} | one
    for dtype in ("float32", "float64"):
        for policy in POLICIES:
            n = 3_000 // share
            setup = SETUP.format(n=WARM + n, dtype=dtype)
            report = f"extra.update(rate={n} / after, mistakes=wrong / {n})"
            statement = f"wrong, after = plain({policy!r}, X, y, {WARM})"
            one = measure(setup, statement, report=report, timeout=1800).record()
            one["ratio"] = ratio(found[policy, dtype], one.get("rate"))
            yield {"policy": policy, "who": "NumPy", "dtype": dtype} | one
    for name in ("RBFSampler", "Hoeffding tree"):
        n = 1_000 // share
        setup = SETUP.format(n=n, dtype="float64")
        setup += f"from benchmarks.bench_online import river\nrun = river({name!r}, X, y)"
        one = _rate(measure(setup, "run()", report=f"extra.update(n={n})", timeout=1800))
        one["ratio"] = ratio(found["features", "float64"], one.get("rate"))
        yield {"policy": name, "who": "river, one by one", "dtype": "float64"} | one
    yield from _million(1_000_000 // share)


def _measured(policy: str, dtype: str, n: int, statement: str, repeat: int = 1, rows: bool = False) -> dict:
    setup = SETUP.format(n=WARM + n, dtype=dtype)
    setup += f"machine = machine_of({policy!r})\nbatches(machine, X[:{WARM}], y[:{WARM}])\n"
    if rows:
        setup += f"machine = machine_of({policy!r})\nnames = [f'x{{i}}' for i in range(20)]\n"
        setup += "every = [dict(zip(names, row)) for row in X.tolist()]\n"
        setup += f"one_by_one(machine, every[:{WARM}], y[:{WARM}].tolist())\n"
        setup += f"rows, labels = every[{WARM}:], y[{WARM}:].tolist()\n"
    report = (
        f"extra.update(n={n}, mistakes=machine.n_mistakes_ / machine.n_seen_, updates=machine.n_updates_, "
        "terms=machine.n_terms_)"
    )
    return _rate(measure(setup, statement, repeat=repeat, report=report, timeout=1800))


def _rate(found: Any) -> dict:
    record = found.record()
    if "n" in record:
        record["rate"] = record.pop("n") / record["seconds"]
    return record


def _million(n: int):
    """Does a step cost the same after a million?"""
    setup = SETUP.format(n=n, dtype="float32")
    setup += "machine = machine_of({policy!r})\nbatches(machine, X[:3000], y[:3000])\n"
    part = n // 10
    cuts = ((0, part), (part, n - part), (n - part, n))
    statement = f"first, _, last = [batches(machine, X[a:b], y[a:b]) for a, b in {cuts}]"
    for policy in ("oldest", "merge", "projection"):
        report = "extra.update(first=first, last=last)"
        one = measure(setup.format(policy=policy), statement, report=report, timeout=1800).record()
        for name in ("first", "last"):
            if name in one:
                case = f"{policy}, {name} {part:,} of {n:,}"
                record = {"rate": part / one[name], "memory": one["memory"]}
                yield {"policy": case, "who": "Mercer, batches", "dtype": "float32"} | record


# -- in the process that is measured ---------------------------------------------------------------------


def data(n: int, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 20))
    y = (np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(n) > 0).astype(int)
    return X.astype(dtype), y


def machine_of(policy: str) -> Any:
    from mercer import OnlineKernelClassifier
    from mercer import online as o
    from mercer.features import RandomFourierFeatures
    from mercer.kernels import Gaussian
    from mercer.representations import Features

    kernel = Gaussian(4.0)
    if policy == "Forgetron":
        return o.forgetron(kernel)
    if policy == "features":
        map = RandomFourierFeatures(kernel, n_features=500)
        return OnlineKernelClassifier(kernel, step=0.5, representation=Features(map), random_state=0)
    budgets = {
        "oldest": o.Oldest,
        "smallest": o.Smallest,
        "at random": o.AtRandom,
        "window": o.Window,
        "merge": o.Merge,
        "projection": o.Projection,
    }
    return OnlineKernelClassifier(kernel, step=0.5, budget=budgets[policy](500), random_state=0)


def batches(machine: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Seconds."""
    import time

    start = time.perf_counter()
    for i in range(0, len(X), 1000):
        machine.partial_fit(X[i : i + 1000], y[i : i + 1000], classes=[0, 1])
    return time.perf_counter() - start


def one_by_one(machine: Any, rows: list[dict], labels: list[int]) -> None:
    for x, label in zip(rows, labels):
        machine.learn_one(x, label)


def river(name: str, X: np.ndarray, y: np.ndarray) -> Any:
    from river import feature_extraction, linear_model, tree

    machine: Any = tree.HoeffdingTreeClassifier()
    if name == "RBFSampler":
        sampler = feature_extraction.RBFSampler(gamma=1 / 32, n_components=500, seed=0)
        machine = sampler | linear_model.LogisticRegression()
    rows = [dict(enumerate(row)) for row in X.tolist()]

    def run() -> None:
        for x, label in zip(rows, y.tolist()):
            machine.predict_one(x)
            machine.learn_one(x, label)

    return run


def plain(policy: str, X: np.ndarray, y: np.ndarray, warm: int, size: int = 500) -> tuple[int, float]:
    """The same policy in NumPy, one row of the kernel a step.

    Returns mistakes and seconds of what comes after the first `warm` examples, which fill the budget.
    """
    import time

    start = time.perf_counter()
    rng = np.random.default_rng(0)
    step, lam, width = 0.5, 1e-6, 2 * 4.0**2
    Z, a = np.zeros((size + 1, X.shape[1]), X.dtype), np.zeros(size + 1, X.dtype)
    birth = np.zeros(size + 1)
    K = np.zeros((size + 1, size + 1), X.dtype)
    inverse = np.zeros((size, size), X.dtype)
    m, wrong, spent, mistakes = 0, 0, 0.0, 0
    W = (rng.standard_normal((X.shape[1], size)) / 4.0).astype(X.dtype)
    shift, w = rng.uniform(0, 2 * np.pi, size).astype(X.dtype), np.zeros(size, X.dtype)
    signs = 2 * y - 1
    order = range(warm, len(X)) if policy == "features" else range(len(X))
    for t in order:
        x, label = X[t], signs[t]
        if t == warm:
            start = time.perf_counter()
        if policy == "features":
            phi = np.sqrt(2 / size) * np.cos(x @ W + shift)
            s = w @ phi
            wrong += (s > 0) != (label > 0)
            w *= 1 - 2 * step * lam
            w += step * label / (1 + np.exp(label * s)) * phi
            continue
        if policy == "window" and m and birth[0] <= t - size:
            Z[: m - 1], a[: m - 1], birth[: m - 1] = Z[1:m], a[1:m], birth[1:m]
            m -= 1
        D = Z[:m] - x
        k = np.exp(-np.einsum("ij,ij->i", D, D) / width)
        s = k @ a[:m]
        wrong += bool((s > 0) != (label > 0)) and t >= warm
        if policy == "Forgetron":
            if label * s > 0:
                continue
            change = float(label)
            mistakes += 1
        else:
            a[:m] *= 1 - 2 * step * lam
            change = step * label / (1 + np.exp(label * s))
        if policy == "projection":
            if m < size:
                d = inverse[:m, :m] @ k
                rest = 1 - k @ d
                if rest > 0.01:
                    inverse[:m, :m] += np.outer(d, d) / rest
                    inverse[:m, m] = inverse[m, :m] = -d / rest
                    inverse[m, m] = 1 / rest
                    Z[m], a[m] = x, change
                    m += 1
                    continue
            a[:m] += change * (inverse[:m, :m] @ k)
            continue
        Z[m], a[m], birth[m] = x, change, t
        K[m, :m] = K[:m, m] = k
        K[m, m] = 1
        m += 1
        if m <= size or policy == "window":
            continue
        if policy in ("oldest", "Forgetron"):
            gone = int(birth[:m].argmin())
        elif policy == "smallest":
            gone = int(np.abs(a[:m]).argmin())
        elif policy == "at random":
            gone = int(rng.integers(m))
        elif policy == "merge":
            like = K[:m, :m] ** 2
            np.fill_diagonal(like, -1)
            partner = like.argmax(axis=1)
            cost = a[:m] ** 2 * (1 - like[np.arange(m), partner])
            gone = int(cost.argmin())
            a[partner[gone]] += a[gone] * K[gone, partner[gone]]
        if policy == "Forgetron":
            sigma, margin = abs(a[gone]), np.sign(a[gone]) * (K[gone, :m] @ a[:m])
            p, q = sigma**2 - 2 * sigma * margin, 2 * sigma
            left = 15 / 32 * mistakes - spent
            phi = 1.0 if p + q <= left else 2 * left / (q + np.sqrt(max(q**2 + 4 * p * left, 0)))
            spent += phi * (phi * p + q)
            a[:m] *= phi
        # The last takes the place of the one that goes.
        last = m - 1
        Z[gone], a[gone], birth[gone] = Z[last], a[last], birth[last]
        K[gone, :m], K[:m, gone] = K[last, :m], K[:m, last]
        K[gone, gone] = 1
        m = last
    return int(wrong), time.perf_counter() - start
