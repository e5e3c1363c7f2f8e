"""Run the benchmarks (all, or those whose names are given) and print their tables."""

import importlib
import json
import pkgutil
import sys
import time
from pathlib import Path

import benchmarks


def main(names: list[str]) -> None:
    results = {}
    for module in sorted(
        m.name for m in pkgutil.iter_modules(benchmarks.__path__) if m.name.startswith("bench_")
    ):
        if names and module.removeprefix("bench_") not in names:
            continue
        bench = importlib.import_module(f"benchmarks.{module}")
        print(f"\n## {bench.TITLE}\n\n| {' | '.join(bench.HEAD)} |\n|{'---|' * len(bench.HEAD)}", flush=True)
        rows = []
        for row in bench.run():
            print(f"| {' | '.join(row)} |", flush=True)
            rows.append(row)
        results[module] = {"title": bench.TITLE, "head": bench.HEAD, "rows": rows}
    folder = Path(benchmarks.__file__).parent / "results"
    folder.mkdir(exist_ok=True)
    (folder / time.strftime("%Y-%m-%d-%H%M%S.json")).write_text(
        json.dumps(results, indent=1, ensure_ascii=False)
    )


if __name__ == "__main__":
    main(sys.argv[1:])
