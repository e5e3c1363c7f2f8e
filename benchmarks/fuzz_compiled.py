"""The compiled entry points, called with arrays that lie: an exception or a right answer, never a signal.

    python -m benchmarks.fuzz_compiled [--cases 20000] [--seed 0] [--jobs 2]

The cases are those of the tests (tests/engines/fused/lies.py): products, sandwich, rows, packing, the dual
loop,
combinations of rows, the online loops and the compiled subset, with shapes, widths, strides, dtypes, byte
orders,
alignment and values that are not what they should be. Every batch has a process of its own, with checks of
the heap switched on, so that a crash is seen and named by its seed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_ROOT = Path(__file__).parents[1]
_BATCH = 500
_SECONDS = 600
_STRICT = {"MALLOC_CHECK_": "3", "MALLOC_PERTURB_": "165"}
_SCRIPT = """
import json, sys
sys.path.append(sys.argv[1])
import lies
print(json.dumps(lies.run(int(sys.argv[2]), int(sys.argv[3]))))
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.fuzz_compiled", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    started, total = time.perf_counter(), Counter[str]()
    batches = [
        (min(_BATCH, options.cases - first), options.seed + first)
        for first in range(0, options.cases, _BATCH)
    ]
    with ThreadPoolExecutor(options.jobs) as pool:
        for found in pool.map(lambda batch: run(*batch), batches):
            total.update(found)
    for name, count in sorted(total.items()):
        print(f"{name}: {count:,}")
    print(f"{options.cases:,} cases in {time.perf_counter() - started:.0f} s")
    if any(name.startswith(("SIGNAL", "WRONG", "HANG")) for name in total):
        sys.exit(1)


def run(count: int, seed: int) -> Counter[str]:
    """One batch in a process of its own."""
    path = os.pathsep.join([str(_ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    try:
        done = subprocess.run(
            [sys.executable, "-X", "faulthandler", "-c", _SCRIPT, str(_ROOT / "tests" / "engines" / "fused"),
             str(count), str(seed)],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", **_STRICT},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Counter({f"HANG in the batch of seed {seed}": 1})
    if done.returncode < 0:
        print(done.stderr[-2000:], file=sys.stderr)
        return Counter({f"SIGNAL {-done.returncode} in the batch of seed {seed}": 1})
    if done.returncode:
        print(done.stderr[-2000:], file=sys.stderr)
        return Counter({f"WRONG in the batch of seed {seed}": 1})
    return Counter(json.loads(done.stdout.strip().splitlines()[-1]))


if __name__ == "__main__":
    main()
