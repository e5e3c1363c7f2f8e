"""Certificates by the thousand: every claim a solver makes, against a minimum found without the library.

    python -m benchmarks.certificates [--problems 2000] [--seed 0] [--show]

Random problems over kernels, losses, representations, solvers, dtypes, offsets, weights, uncentred and
repeated data (tests/certified.py), each held against a bracket of its minimum in long double
(tests/minima.py). Counted are claims that are not true: a gap exceeded, "converged" above the tolerance, an
objective that is not that of the function `predict` evaluates, or is below the minimum.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

# After all others: tests/io would hide the standard library's io.
sys.path.append(str(Path(__file__).parents[1] / "tests"))


def _one(seed: int) -> tuple[object, list[tuple[str, str]] | None]:
    import certified

    case = certified.draw(np.random.default_rng(seed))
    try:
        wrong = certified.check(case)
    except Exception as error:
        wrong = [("error", f"{type(error).__name__}: {error}")]
    return case, wrong


def run(problems: int, seed: int, show: bool, processes: int) -> Counter[str]:
    """Check so many problems; how many were refused, right, and wrong in which way."""
    counts: Counter[str] = Counter()
    with ProcessPoolExecutor(processes) as pool:
        seeds = range(seed * 1_000_000, seed * 1_000_000 + problems)
        for case, wrong in pool.map(_one, seeds, chunksize=10):
            if wrong is None:
                counts["refused"] += 1
                continue
            counts["checked"] += 1
            counts.update({kind for kind, _ in wrong})
            if wrong and show:
                print(case, *(f"\n    {kind}: {words}" for kind, words in wrong), flush=True)
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.certificates", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--problems", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", action="store_true", help="print every problem with an untrue claim")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    started = time.perf_counter()
    counts = run(options.problems, options.seed, options.show, options.processes)
    wrong = {kind: count for kind, count in counts.items() if kind not in ("checked", "refused")}
    print(
        f"{counts['checked']:,} problems checked, {counts['refused']:,} refused, "
        f"{time.perf_counter() - started:.0f} s; untrue: {wrong or 'none'}"
    )


if __name__ == "__main__":
    main()
