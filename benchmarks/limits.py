"""What this machine can do at best: matrix products, exponentials, copies. ``python -m benchmarks.limits``.

The limit of a kernel product K V follows from two of them: a pair (x, z) costs d multiply-adds at the rate of
the best matrix product and one exponential at the rate of the best loop over a cached array,

    pairs/s ≤ 1 / (2(d + t − 1)/sgemm + 1/exp)

for d coordinates and t columns of V. The multiply-add of the first column is left out, and so is all traffic
with memory: a limit should be too high rather than too low.
"""

from __future__ import annotations

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from benchmarks.harness import measure

# Rates in units a second: flops, exponentials, bytes. "best" of each kind makes the limit.
_KINDS = {
    "sgemm": "GFLOP/s, float32 matrix product",
    "dgemm": "GFLOP/s, float64 matrix product",
    "exp": "billion float32 exponentials/s",
    "copy": "GB/s, memory copied",
}


def pairs(limits: dict, d: int, t: int = 1) -> float:
    """The limit of K V in float32, pairs a second."""
    return 1 / (2 * (d + t - 1) / limits["sgemm"]["best"] + 1 / limits["exp"]["best"])


def measure_all(quick: bool = False) -> dict:
    """{kind: {who: rate, "best": rate}}, taken in a fresh process."""
    found = measure(
        "from benchmarks.limits import widest_vectors, rates\nwidest_vectors()",
        f"found = rates(quick={quick})",
        report="extra['rates'] = found",
        timeout=300,
    )
    if found.failure:
        raise RuntimeError(f"the machine's limits couldn't be measured: {found.failure}")
    return found.extra["rates"]


def table(limits: dict) -> str:
    lines = ["| limit of this machine | best | measured with |", "|---|---|---|"]
    for kind, unit in _KINDS.items():
        who = ", ".join(f"{w} {r / 1e9:.3g}" for w, r in limits[kind].items() if w != "best")
        lines.append(f"| {kind} | {limits[kind]['best'] / 1e9:.3g} {unit} | {who} |")
    return "\n".join(lines)


def rates(quick: bool = False) -> dict:
    from mercer._threads import cpu_count, one_blas_thread

    threads = cpu_count()
    size = 1024 if quick else 3072
    found: dict[str, dict[str, float]] = {"sgemm": {}, "dgemm": {}, "exp": {}, "copy": {}}
    for kind, dtype in (("sgemm", np.float32), ("dgemm", np.float64)):
        A, out = np.ones((size, size), dtype), np.empty((size, size), dtype)
        found[kind]["NumPy"] = 2 * size**3 / _best(lambda A=A, out=out: np.matmul(A, A, out=out))
        if (torch := _torch()) is not None:
            T, to = torch.from_numpy(A), torch.from_numpy(out)
            found[kind]["torch"] = 2 * size**3 / _best(lambda T=T, to=to: torch.mm(T, T, out=to))
    with one_blas_thread(), ThreadPoolExecutor(threads) as pool:
        found["exp"] = _exponentials(pool, threads, quick)
        half = [(np.ones(16 << 20, np.float32), np.empty(16 << 20, np.float32)) for _ in range(threads)]

        def copy():
            list(pool.map(lambda pair: np.copyto(pair[1], pair[0]), half))

        found["copy"]["NumPy"] = threads * half[0][0].nbytes / _best(copy)
    if (engine := _engine_exponentials(max(found["sgemm"].values()), quick)) is not None:
        found["exp"]["Mercer, d = 1"] = engine
    for kind in found.values():
        kind["best"] = max(kind.values())
    return found


def _exponentials(pool, threads: int, quick: bool) -> dict[str, float]:
    """exp of arrays of 16 kB, which stay in a core's first cache, on all threads."""
    size, rounds = 4096, 500 if quick else 5000
    arrays = [np.linspace(-20, 0, size, dtype=np.float32) for _ in range(threads)]
    outs = [np.empty_like(a) for a in arrays]

    def numpy_exp(a, out):
        for _ in range(rounds):
            np.exp(a, out=out)

    found = {}
    for who, function in (("NumPy", numpy_exp), ("polynomial", _polynomial(rounds))):
        function(arrays[0], outs[0])  # compile
        work = threads * size * rounds
        found[who] = work / _best(lambda function=function: list(pool.map(function, arrays, outs)), 15)
    return found


def _polynomial(rounds: int):
    """exp2 of a fused loop: round, five multiply-adds, the exponent by an integer shift, one sum."""
    import numba
    from llvmlite import ir
    from numba.extending import intrinsic

    @intrinsic
    def scale(typing, p, k):
        """p · 2ᵏ by adding k to the exponent bits of p."""

        def codegen(context, builder, signature, args):
            i32, f32 = ir.IntType(32), ir.FloatType()
            shift = builder.shl(args[1], ir.Constant(i32, 23))
            return builder.bitcast(builder.add(builder.bitcast(args[0], i32), shift), f32)

        return numba.float32(numba.float32, numba.int32), codegen

    c = np.array([1.3333558e-3, 9.618129e-3, 5.5504109e-2, 2.4022651e-1, 6.9314718e-1, 1.0], np.float32)
    c0, c1, c2, c3, c4, c5 = (np.float32(v) for v in c)
    half = np.float32(0.5)

    @numba.njit(nogil=True, fastmath=True)
    def sums(a, out):
        for r in range(rounds):
            total = np.float32(0)
            for i in range(a.size):
                x = a[i]
                k = np.int32(x - half)  # towards zero: the nearest integer, for the x ≤ 0 we have
                f = x - np.float32(k)
                p = ((((c0 * f + c1) * f + c2) * f + c3) * f + c4) * f + c5
                total += scale(p, k)
            out[r % out.size] = total

    return sums


def widest_vectors() -> None:
    """Let numba, not imported yet, use 512-bit vectors: on some chips that have them LLVM prefers 256."""
    import os

    from llvmlite import binding

    features = binding.get_host_cpu_features().flatten()
    os.environ.setdefault("NUMBA_CPU_NAME", binding.get_host_cpu_name())
    os.environ.setdefault("NUMBA_CPU_FEATURES", features + ",-prefer-256-bit")


def _engine_exponentials(sgemm: float, quick: bool) -> float | None:
    """Pairs a second of the engine's own product at d = 1, less the multiply-add: a lower bound for exp."""
    from benchmarks.data import products
    from benchmarks.peers import ours

    call = ours.product(*products(4_000 if quick else 50_000, 4_096, 1, 1), 1.0)
    rate = (4_000 if quick else 50_000) * 4_096 / _best(call)
    rest = 1 / rate - 2 / sgemm
    return 1 / rest if rest > 0 else None


def _best(call, repeat: int = 5) -> float:
    call()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def _torch():
    try:
        import torch
    except ImportError:
        return None
    return torch


if __name__ == "__main__":
    found = measure_all("--quick" in sys.argv)
    print(json.dumps(found) if "--json" in sys.argv else table(found))
