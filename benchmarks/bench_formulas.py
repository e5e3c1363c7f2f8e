"""What formulas, columns, symmetry and the normal product cost beside the Gaussian K V; Mercer alone."""

from __future__ import annotations

import tempfile

from benchmarks.bench_products import first_rows
from benchmarks.data import products, relative_error
from benchmarks.harness import measure
from benchmarks.table import count, megabytes, number, seconds, text

TITLE = "Formulas, columns, symmetry, K and KᵀK; first calls"
NOTE = (
    "Times are relative to the Gaussian K V of the same sizes, one column, float32. A first call is that of "
    "a fresh process, whatever it imports and compiles included, with an empty and then with a warm cache "
    "folder."
)
COLUMNS = (
    text("job", "job"),
    count("n", "n"),
    count("m", "m"),
    count("d", "d"),
    seconds(),
    number("of the Gaussian K V", "relative", ".2f"),
    number("billion pairs/s", "rate", ".3g", 1e-9),
    number("error", "error", ".0e"),
    megabytes(),
)
# As text, because each case is run in a process of its own.
GAUSSIAN = "Gaussian(2.0)"
FORMULAS = (
    "Laplacian(2.0)",
    "Matern(1.5, 2.0)",
    "Matern(2.5, 2.0)",
    "0.5 * Gaussian(2.0) + Laplacian(1.0) * Polynomial(2)",
)
_TIMEOUT = 300


def run(quick: bool, limits: dict):
    n = 4_000 if quick else 30_000
    for d in (3, 10):
        base = _product(GAUSSIAN, n, n, d)
        jobs = [base, *(_product(formula, n, n, d) for formula in FORMULAS)]
        jobs.append(_product(GAUSSIAN, n, n, d, dtype="float64"))
        jobs.append(_product(GAUSSIAN, n, n, d, how="symmetric"))
        jobs += [_product(GAUSSIAN, n, n, d, t=t) for t in (4, 10)]
        yield from _related(jobs, base)
    for n, m, d in ((100_000, 1_000, 28), (20_000, 5_000, 10)):
        if quick:
            n, m = n // 10, m // 2
        base = _product(GAUSSIAN, n, m, d)
        yield from _related([base, _product(GAUSSIAN, n, m, d, how="normal")], base)
    for formula in (GAUSSIAN, FORMULAS[-1]):
        with tempfile.TemporaryDirectory() as folder:
            for cache in ("empty", "warm"):
                yield _first_call(formula, cache, folder)


def _related(records, base):
    for record in records:
        if "seconds" in record and "seconds" in base:
            record["relative"] = record["seconds"] / base["seconds"]
        yield record


def _product(formula, n, m, d, *, t=1, dtype="float32", how="product"):
    job = {"product": "K V", "symmetric": "K(X, X) V", "normal": "KᵀK V"}[how] + f", {formula}"
    job += f", {t} columns" * (t > 1) + f", {dtype}" * (dtype != "float32")
    found = measure(
        f"from benchmarks.bench_formulas import case\n"
        f"call, finish = case({formula!r}, {n}, {m}, {d}, {t}, {dtype!r}, {how!r})",
        "out = call()",
        repeat=3,
        report="extra.update(finish(out))",
        timeout=_TIMEOUT,
    )
    record = {"job": job, "formula": formula, "how": how, "n": n, "m": m, "d": d, "t": t, "dtype": dtype}
    record |= found.record()
    if not found.failure:
        record["rate"] = n * m / found.seconds
    return record


def case(formula: str, n: int, m: int, d: int, t: int, dtype: str, how: str):
    """In the process of its own: the call to be timed, and what to report of its result."""
    import numpy as np

    from mercer.engines import Tiled

    kernel, engine = kernel_of(formula), Tiled()
    X, Z, V = products(n, m, d, t, dtype)
    if how == "symmetric":
        Z = X
    compute = engine.normal if how == "normal" else engine.product
    # Compiling, and its memory, belong to the first-call rows of the table.
    few = X[: max(2048, first_rows(n, m))]
    compute(kernel, few, *((few, V[: len(few)]) if how == "symmetric" else (Z, V)))

    def finish(out):
        if how == "normal":
            return {}  # its error is that of K V twice over; a reference would take as long as the run
        rows = np.random.default_rng(1).choice(n, min(200, n), replace=False)
        K = kernel.pairwise(X[rows].astype(np.float64), Z.astype(np.float64))
        return {"error": relative_error(out[rows], K @ V.astype(np.float64))}

    return lambda: compute(kernel, X, Z, V), finish


def kernel_of(formula: str):
    """The kernel a formula means, all kernels' names known."""
    from mercer import kernels

    return eval(formula, {name: getattr(kernels, name) for name in kernels.__all__})


def _first_call(formula: str, cache: str, folder: str) -> dict:
    found = measure(
        f"""
        from benchmarks.bench_formulas import kernel_of
        from benchmarks.data import products
        from mercer.engines import Tiled
        kernel, (X, Z, V) = kernel_of({formula!r}), products(2000, 2000, 10, 1)
        """,
        "out = Tiled().product(kernel, X, Z, V)",
        timeout=_TIMEOUT,
        env={"MERCER_CACHE_DIR": folder},
    )
    record = {"job": f"first call, {cache} cache, {formula}", "n": 2000, "m": 2000, "d": 10, "how": "first"}
    return record | {"cache": cache, "formula": formula} | found.record()


def plot(result: dict):
    from benchmarks.plots import bars

    records = [r for r in result["records"] if r.get("relative") is not None]
    labels = [f"{r['job']}, d = {r['d']}" for r in records]
    return bars(labels, [r["relative"] for r in records], "time beside the Gaussian K V", mark=1.0)
