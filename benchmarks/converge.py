"""Do defaults converge? Hundreds of configurations that have a well-defined solution: who warns, who is off?

    python -m benchmarks.converge [--cases 200] [--seed 0] [--quick]

n from 50 to 20,000 (few large), d from 1 to 30, λ from 0.1 to 1e-10, float32 and float64, with and without
an offset, repeated rows, uncentred data, weights (tests/quiet.py). Least squares up to 3,000 examples is held
against a dense float64 solve. Counted are warnings where the condition number is below 1e14, and predictions
further from the dense ones than rounding explains.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

# After all others: tests/io would hide the standard library's io.
sys.path.append(str(Path(__file__).parents[1] / "tests"))


def main(argv: list[str] | None = None) -> int:
    import quiet

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="30 cases of up to 600 examples")
    args = parser.parse_args(argv)
    cases, largest = (30, 600) if args.quick else (args.cases, 20_000)
    start, warned, off, beyond, held = time.perf_counter(), 0, 0, 0, 0
    worst = 0.0
    for seed in range(args.seed, args.seed + cases):
        case = quiet.draw(seed, largest)
        found = quiet.check(case)
        if found["condition"] is not None and found["condition"] > quiet.WELL_DEFINED:
            beyond += 1
            continue
        held += found["apart"] is not None
        worst = max(worst, (found["apart"] or 0.0) / (found["allowed"] or 1.0))
        if found["warned"]:
            warned += 1
            print(f"warned  {case}\n        {found['warned']}", flush=True)
        if found["apart"] is not None and found["apart"] > found["allowed"]:
            off += 1
            print(f"off     {case}\n        {found['apart']:.1e}, allowed {found['allowed']:.1e}", flush=True)
    print(
        f"{cases} cases, {beyond} without a well-defined solution; of the others {warned} warned; "
        f"{held} were held against a dense solve: {off} off, the worst {worst:.1e} of what is allowed; "
        f"{time.perf_counter() - start:.0f} s"
    )
    return 1 if warned or off else 0


if __name__ == "__main__":
    sys.exit(main())
