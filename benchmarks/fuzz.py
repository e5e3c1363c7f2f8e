"""Damaged files by the thousand: every one gives an error or a right result.

    python -m benchmarks.fuzz [--models 10000] [--tables 2000] [--seed 0]

The mutations are those of the tests (tests/io/mutations.py, tests/data/mutations.py), run in processes of
their own, so that a crash or a hang would be seen, counted and named by its seed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

_TESTS = Path(__file__).parents[1] / "tests"
_CHUNK = 500
_SECONDS = 300

_MODELS = """
import json, sys
from io_tests import mutations
print(json.dumps(mutations.run(int(sys.argv[1]), seed=int(sys.argv[2]))))
"""
_TABLES = """
import json, sys, tempfile
from collections import Counter
from pathlib import Path
from tables.reading.mutations import KINDS, fuzz
count, seed, total = int(sys.argv[1]), int(sys.argv[2]), Counter()
with tempfile.TemporaryDirectory() as folder:
    for i, kind in enumerate(KINDS):
        total.update(fuzz(kind, count // len(KINDS) + (i < count % len(KINDS)), seed, Path(folder)))
print(json.dumps(total))
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz", description=__doc__.split("\n")[0])
    parser.add_argument("--models", type=int, default=10_000)
    parser.add_argument("--tables", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for name, script, count in (("models", _MODELS, options.models), ("tables", _TABLES, options.tables)):
        started, total = time.perf_counter(), Counter[str]()
        for first in range(0, count, _CHUNK):
            total.update(_chunk(script, min(_CHUNK, count - first), options.seed + first))
        shown = ", ".join(f"{k}: {v:,}" for k, v in sorted(total.items()))
        print(f"{name}: {count:,} files in {time.perf_counter() - started:.0f} s; {shown}", flush=True)


def _chunk(script: str, count: int, seed: int) -> Counter[str]:
    # The folder tests/io would hide the standard library's io if tests/ came first on the path.
    script = script.replace(
        "from io_tests import mutations", f"sys.path.insert(0, {str(_TESTS / 'io')!r})\nimport mutations"
    )
    path = os.pathsep.join([str(_TESTS.parent / "src"), os.environ.get("PYTHONPATH", "")])
    script = f"import sys\nsys.path.append({str(_TESTS)!r})\n{script}"
    try:
        done = subprocess.run(
            [sys.executable, "-X", "faulthandler", "-c", script, str(count), str(seed)],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        )
    except subprocess.TimeoutExpired:
        return Counter({f"HANG in the chunk of seed {seed}": 1})
    if done.returncode:
        print(done.stderr[-2000:], file=sys.stderr)
        return Counter({f"CRASH in the chunk of seed {seed}": 1})
    return Counter(json.loads(done.stdout.strip().splitlines()[-1]))


if __name__ == "__main__":
    main()
